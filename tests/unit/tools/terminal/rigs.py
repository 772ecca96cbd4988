"""A terminal over the real sandbox and real files, outside of a gateway."""

import asyncio
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from hermes.config import TerminalSettings
from hermes.message.parts import ToolCallPart, ToolResultPart
from hermes.ports.clock import SystemClock
from hermes.ports.tool import Approver, Tool, ToolContext
from hermes.tools.executor import run_tool
from hermes.tools.terminal.background import BackgroundLimits, BackgroundProcesses
from hermes.tools.terminal.commands import Commands
from hermes.tools.terminal.program import ProgramResult, run
from hermes.tools.terminal.sandbox import ProgramLimits, Sandbox, SandboxKind, runs_as_root
from hermes.tools.terminal.session_files import SessionFiles
from hermes.tools.terminal.tools import TerminalTool, file_tools, process_tools
from hermes.tools.terminal.work_folders import WorkFolder, WorkFolders
from tests.unit.tools.tool_runs import no_child

LANE = "agent:main:rest:dm:ann"


async def until(claim: Callable[[], object]) -> None:
    """Wait until a claim about other processes is true."""
    async with asyncio.timeout(20):
        for _ in itertools.count():
            if claim():
                return
            await asyncio.sleep(0.02)


def make_sandbox(kind: SandboxKind = "bubblewrap", *, hidden: tuple[Path, ...] = ()) -> Sandbox:
    limits = ProgramLimits(processes=80, file_mb=20)
    return Sandbox(kind=kind, limits=limits, hidden=hidden, is_root=runs_as_root())


def work_folder(tmp_path: Path, sandbox: Sandbox) -> Path:
    """Return a folder in which the sandbox's programs may write."""
    folder = tmp_path / "work"
    folder.mkdir(mode=0o700)
    if sandbox.owner_id is not None:
        os.chown(folder, sandbox.owner_id, sandbox.owner_id)
    return folder


async def shell(
    sandbox: Sandbox, command: str, folder: Path, *, timeout_s: float = 20
) -> ProgramResult:
    """Run a command line in a folder."""
    program = ("/bin/bash", "-c", command)
    return await run(sandbox, program, folder=folder, timeout_s=timeout_s, output_bytes=20_000)


class TerminalRig:
    """The tools of one home; `epoch` is the session's, and changes as by `/new`."""

    def __init__(
        self,
        home: Path,
        settings: TerminalSettings | None = None,
        *,
        run: str = "n_1",
        kind: SandboxKind = "bubblewrap",
        free_mb: int = 0,
    ) -> None:
        self.epoch = 0
        self.settings = settings or TerminalSettings()
        self.clock = SystemClock()
        sandbox = make_sandbox(kind, hidden=(home,))
        self.folders = WorkFolders(
            home / "workdirs",
            sandbox=sandbox,
            shared=None,
            keep_s=3_600,
            free_mb=free_mb,
            clock=self.clock,
        )
        self.processes = BackgroundProcesses(
            sandbox,
            limits=BackgroundLimits(most=2, output_bytes=2_000),
            epoch_of=self._epoch_of,
            is_full=self._is_full,
            clock=self.clock,
            run=run,
        )
        self.commands = Commands(
            self.settings,
            sandbox=sandbox,
            folders=self.folders,
            processes=self.processes,
            epoch_of=self._epoch_of,
        )
        self.files = SessionFiles(
            self.folders, folder_mb=self.settings.folder_mb, most_bytes=1_000_000
        )
        self.terminal = TerminalTool(self.commands, timeout_s=self.settings.timeout_s, about="")
        own = (self.terminal, *process_tools(self.commands), *file_tools(self.files))
        self.tools: dict[str, Tool] = {one.spec.name: one for one in own}

    async def _epoch_of(self, _lane: str) -> int:
        return self.epoch

    async def _is_full(self, _work: WorkFolder) -> bool:
        return False

    def work(self, person: str = "p_ann") -> WorkFolder:
        return self.folders.of(person, LANE)

    async def approver(self, command: str) -> Approver:
        raw = msgspec.Raw(msgspec.json.encode({"command": command}))
        return await self.terminal.approver(raw, context())

    async def call(
        self,
        name: str,
        *,
        person: str = "p_ann",
        approved_by: Approver = "person",
        **arguments: object,
    ) -> ToolResultPart:
        """Run a tool as a turn would whose call a person approved."""
        part = ToolCallPart("c1", name, msgspec.json.encode(arguments).decode())
        around = context(person=person, approved_by=approved_by)
        return await run_tool(self.tools[name], part, context=around, timeout_s=30)


def context(
    *, person: str = "p_ann", approved_by: Approver = "nobody", turn: str = "m_1"
) -> ToolContext:
    return ToolContext(
        turn_id=turn,
        ordinal=3,
        person_id=person,
        lane=LANE,
        run_child=no_child,
        approved_by=approved_by,
    )
