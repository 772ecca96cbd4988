"""The terminal of a gateway: its tools, the files of sessions, and what ends background processes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from hermes.app.lifecycle import Component
from hermes.config import Settings
from hermes.errors import ConfigurationError
from hermes.ports.clock import Clock
from hermes.ports.store import Store
from hermes.ports.tool import Tool
from hermes.schedule.rounds import Rounds
from hermes.tools.terminal.background import BackgroundLimits, BackgroundProcesses
from hermes.tools.terminal.commands import Commands, SkillFolders, no_skill_folders
from hermes.tools.terminal.program import problem
from hermes.tools.terminal.sandbox import (
    ProgramLimits,
    Sandbox,
    runs_as_root,
    tools_problem,
)
from hermes.tools.terminal.session_files import SessionFiles
from hermes.tools.terminal.tools import TerminalTool, file_tools, process_tools
from hermes.tools.terminal.work_folders import FOLDER, WorkFolder, WorkFolders

_CHECK_S = 5.0
_DAY_S = 86_400.0
_MB = 1_000_000
_ERASE_TRIES = 40
_ERASE_PAUSE_S = 0.25
_SANDBOXED = (
    "It has no network, reads the programs of the system, and writes only to that folder and to /tmp,"
    " which is empty for each command."
)
_FREE = "It runs with all rights of the gateway's user."
_log = structlog.get_logger(__name__)


class Terminal(msgspec.Struct, frozen=True, kw_only=True):
    """The terminal and the files of sessions; nothing is in use that is not switched on."""

    tools: tuple[Tool, ...]
    files: SessionFiles | None
    folders: WorkFolders
    processes: BackgroundProcesses
    commands: Commands
    is_erased: Callable[[str], Awaitable[bool]]

    def component(self) -> Component:
        """Return what ends background processes: with their session, and with the gateway."""
        if not self.tools:
            return Component(name="terminal")
        rounds = Rounds("terminal", self.processes.check, every_s=_CHECK_S)

        async def stop() -> None:
            await rounds.stop()
            await self.processes.close()

        return Component(name="terminal", start=rounds.start, stop=stop)

    async def erase(self, person_id: str) -> None:
        """End a person's commands and processes, and remove their folders."""
        await self.processes.end_below(self.folders.of(person_id, "").records.parent)
        await asyncio.to_thread(self.folders.close, person_id)
        for _ in range(_ERASE_TRIES):
            with suppress(OSError):
                await asyncio.to_thread(self.folders.erase, person_id)
                return
            # A command that has not ended yet writes more.
            await asyncio.sleep(_ERASE_PAUSE_S)
        await asyncio.to_thread(self.folders.erase, person_id)

    async def tidy(self) -> None:
        """Remove folders that were not used for long, and what an erasure that was cut off has left.

        A folder with a process is in use.
        """
        if not self.folders.is_due():
            return
        for one in self.processes.running():
            await asyncio.to_thread(self.folders.touch, one.records)
        for person_id in await asyncio.to_thread(self.folders.people):
            if await self.is_erased(person_id):
                await self.erase(person_id)
        if count := await asyncio.to_thread(self.folders.tidy):
            _log.info("work_folders_removed", count=count)


def make_terminal(
    store: Store,
    settings: Settings,
    *,
    home: Path,
    clock: Clock,
    run: str,
    skills: SkillFolders = no_skill_folders,
) -> Terminal:
    """Return the terminal of a home; `run` names this process of the gateway."""
    terminal = settings.terminal
    sandbox = make_sandbox(settings, home=home)
    if terminal.enabled:
        _warn(sandbox)

    async def epoch_of(lane: str) -> int:
        return (await store.turns.view(lane)).epoch

    async def is_erased(person_id: str) -> bool:
        person = await store.people.get(person_id)
        return person is not None and person.is_erased

    folders = WorkFolders(
        home / FOLDER,
        sandbox=sandbox,
        shared=terminal.cwd,
        keep_s=_kept_days(settings) * _DAY_S,
        free_mb=terminal.min_free_mb,
        clock=clock,
    )
    processes = BackgroundProcesses(
        sandbox,
        limits=BackgroundLimits(
            most=terminal.background_processes,
            timeout_s=terminal.background_timeout_s,
            output_bytes=terminal.output_bytes,
        ),
        epoch_of=epoch_of,
        is_full=_is_full(folders, terminal.folder_mb),
        clock=clock,
        run=run,
    )
    commands = Commands(
        terminal,
        sandbox=sandbox,
        folders=folders,
        processes=processes,
        epoch_of=epoch_of,
        skills=skills,
    )
    files = SessionFiles(folders, folder_mb=terminal.folder_mb, most_bytes=terminal.upload_bytes)
    is_used = terminal.enabled or terminal.files
    return Terminal(
        tools=_tools(settings, commands, files),
        files=files if is_used else None,
        folders=folders,
        processes=processes,
        commands=commands,
        is_erased=is_erased,
    )


def make_sandbox(settings: Settings, *, home: Path) -> Sandbox:
    """Return how programs of models are started; raises if the settings would show them the home."""
    terminal = settings.terminal
    check_shown("terminal.readable", terminal.readable, home=home)
    if terminal.cwd is not None:
        check_shown("terminal.cwd", (terminal.cwd,), home=home)
        if terminal.cwd.resolve().is_relative_to(home.resolve()):
            raise ConfigurationError(
                f"terminal.cwd is {terminal.cwd}, which is in the home {home}: commands could change what"
                " the gateway runs and reads there; name another folder"
            )
    return Sandbox(
        kind=terminal.sandbox,
        limits=ProgramLimits(
            processes=terminal.processes,
            cpu_s=terminal.cpu_s,
            memory_mb=terminal.memory_mb,
            file_mb=terminal.file_mb,
        ),
        readable=terminal.readable,
        hidden=(home.resolve(),),
        variables={name: one.get_secret_value() for name, one in terminal.variables.items()},
        is_root=runs_as_root(),
    )


def check_shown(setting: str, folders: Iterable[Path], *, home: Path) -> None:
    """Raise `ConfigurationError` if a setting would show the home to programs."""
    for folder in folders:
        if home.resolve().is_relative_to(folder.resolve()):
            raise ConfigurationError(
                f"{setting} is {folder}, which contains the home {home}: commands could read the keys of"
                " the gateway; name another folder"
            )


def _warn(sandbox: Sandbox) -> None:
    """Say at the start what an operator should know of the sandbox."""
    if sandbox.kind == "unsafe":
        _log.warning("terminal_unsafe", problem="commands of models run without a sandbox")
    elif found := tools_problem():
        _log.warning("terminal_refuses", problem=found)


async def sandbox_problem(settings: Settings, *, home: Path, folder: Path) -> str | None:
    """Return why commands cannot run in the sandbox of the settings; None if one ran in `folder`."""
    return await problem(make_sandbox(settings, home=home), folder=folder)


def _kept_days(settings: Settings) -> int:
    """Return after how many unused days a folder is removed: never later than its conversation."""
    sessions = settings.sessions
    pruned = sessions.prune_days if sessions.prune else 0
    return min(filter(None, (settings.terminal.keep_days, pruned, sessions.retention_days)))


def _tools(settings: Settings, commands: Commands, files: SessionFiles) -> tuple[Tool, ...]:
    terminal = settings.terminal
    found: tuple[Tool, ...] = file_tools(files) if terminal.files else ()
    if not terminal.enabled:
        return found
    about = _SANDBOXED if terminal.sandbox == "bubblewrap" else _FREE
    own = TerminalTool(commands, timeout_s=terminal.timeout_s, about=about)
    return (own, *process_tools(commands), *found)


def _is_full(folders: WorkFolders, folder_mb: int) -> Callable[[WorkFolder], Awaitable[bool]]:
    async def is_full(work: WorkFolder) -> bool:
        return await asyncio.to_thread(folders.is_full, work, folder_mb * _MB)

    return is_full
