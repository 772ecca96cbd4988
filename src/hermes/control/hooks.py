"""`hermes hooks list`: the hooks of a gateway and how they fare, or those that its files hold."""

from pathlib import Path

import msgspec

from hermes.config.findings import raise_all
from hermes.config.hook_files import read_hook_files
from hermes.plugins.hook_worker import HookReport


class HooksReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every hook; where no gateway is `running`, those of the home's folder alone."""

    running: bool
    hooks: tuple[HookReport, ...] = ()


def hooks_on_disk(home: Path, *, timeout_s: float) -> HooksReport:
    """Return the hooks that the next start would find in the home; their code is not run."""
    files, problems = read_hook_files(home)
    if problems:
        raise_all(problems)
    return HooksReport(
        running=False,
        hooks=tuple(
            HookReport(
                name=file.name,
                events=file.said.events,
                description=file.said.description,
                place=str(file.handler),
                timeout_s=file.said.timeout or timeout_s,
                decides=file.said.decides,
                text=file.said.text,
                state="not started",
            )
            for file in files
        ),
    )
