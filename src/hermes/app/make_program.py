"""One program that answers agents, made of its settings; imported where there is one."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from hermes.config import AdapterSettings
from hermes.tools.programs.adapter import ProgramAdapter, ProgramSettings
from hermes.tools.programs.description import read_description
from hermes.tools.programs.prompt import ReadMedia
from hermes.tools.programs.relay import OpenModels
from hermes.tools.programs.run_keys import RunKeys
from hermes.tools.terminal.sandbox import ProgramLimits, Sandbox
from hermes.tools.terminal.work_folders import WorkFolders

_MB = 1_000_000


def make_program(
    name: str,
    table: AdapterSettings,
    *,
    sandbox: Sandbox,
    folders: WorkFolders,
    folder_mb: int,
    keys: RunKeys,
    open_models: OpenModels | None,
    read_media: ReadMedia,
) -> ProgramAdapter:
    """Return the adapter of a configured program; raises `ConfigurationError` if it is described wrongly."""
    return ProgramAdapter(
        name,
        read_description(name, table.description),
        settings=_settings(table, folder_mb=folder_mb),
        sandbox=_sandbox(sandbox, table),
        folders=folders,
        keys=keys,
        open_models=open_models,
        read_media=read_media,
    )


def _settings(table: AdapterSettings, *, folder_mb: int) -> ProgramSettings:
    variables: Mapping[str, str] = {
        name: one.get_secret_value() for name, one in table.variables.items()
    }
    return ProgramSettings(
        program=table.program or "",
        arguments=table.arguments,
        model=table.model or "",
        variables=variables,
        timeout_s=table.timeout_s,
        silence_s=table.silence_s,
        question_s=table.question_s,
        output_bytes=table.output_mb * _MB,
        answer_chars=table.answer_chars,
        folder_bytes=folder_mb * _MB,
    )


def _sandbox(base: Sandbox, table: AdapterSettings) -> Sandbox:
    """Return the sandbox of a program: that of the terminal, with its own limits and folders."""
    limits = ProgramLimits(
        processes=table.processes,
        cpu_s=base.limits.cpu_s,
        memory_mb=table.memory_mb,
        file_mb=base.limits.file_mb,
    )
    return msgspec.structs.replace(
        base,
        limits=limits,
        readable=(*base.readable, *table.readable, *_folders_of(table.program)),
        variables={},
        has_network=table.models == "own",
    )


def _folders_of(program: str | None) -> tuple[Path, ...]:
    """Return the folders that a program outside of the system is in, by its name and really."""
    if program is None or not Path(program).is_absolute():
        return ()
    found = dict.fromkeys((Path(program).parent, Path(program).resolve().parent))
    return tuple(one for one in found if not one.is_relative_to("/usr"))
