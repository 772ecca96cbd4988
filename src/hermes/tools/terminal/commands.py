"""Runs the commands of models: in the session's folder, by the policy, within the limits."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from hermes.config import TerminalSettings
from hermes.errors import TooLarge, ToolError
from hermes.message.session_key import root_lane
from hermes.ports.tool import Approver, ToolContext
from hermes.ports.work_files import SessionOwner
from hermes.tools.terminal.background import BackgroundProcesses, ProcessRecord
from hermes.tools.terminal.command_shapes import fits
from hermes.tools.terminal.folder_tree import used_bytes
from hermes.tools.terminal.program import ProgramResult, run
from hermes.tools.terminal.sandbox import Sandbox
from hermes.tools.terminal.work_folders import WorkFolder, WorkFolders, has_path

_MB: Final = 1_000_000
_GRANT: Final = "approved"
_SHELLS: Final = ("/bin/bash", "/bin/sh")
EpochOf = Callable[[str], Awaitable[int]]
# Returns the folders of skills, by name; it reads the disk.
SkillFolders = Callable[[Iterable[str]], Mapping[str, Path]]


def no_skill_folders(_names: Iterable[str]) -> Mapping[str, Path]:
    """Return no folders; used without skills."""
    return {}


class Commands:
    """Runs commands, in the foreground and in the background."""

    def __init__(
        self,
        settings: TerminalSettings,
        *,
        sandbox: Sandbox,
        folders: WorkFolders,
        processes: BackgroundProcesses,
        epoch_of: EpochOf,
        skills: SkillFolders = no_skill_folders,
    ) -> None:
        self._skills = skills
        self._settings = settings
        self._sandbox = sandbox
        self._folders = folders
        self._processes = processes
        self._epoch_of = epoch_of

    async def approver(self, command: str, context: ToolContext) -> Approver:
        """Return who has to agree to a command by the policy."""
        settings = self._settings
        if settings.approval == "allow" and fits(command, settings.allow):
            return "nobody"
        if settings.approval == "once" and await self._is_granted(context):
            return "nobody"
        return "person"

    async def run(self, command: str, context: ToolContext, *, timeout_s: float) -> str:
        """Run a command to its end and return its exit code and output."""
        work = await self._begin(command, context)
        # What is too large already may be made smaller.
        most = max(self._settings.folder_mb * _MB, await self._used(work))

        async def is_full() -> bool:
            return await asyncio.to_thread(self._folders.is_full, work, most)

        ended = await run(
            await self._sandbox_of(context),
            shell_program(command),
            folder=work.files,
            timeout_s=min(timeout_s, self._settings.timeout_s),
            output_bytes=self._settings.output_bytes,
            is_full=is_full,
        )
        return _told(ended, self._settings.folder_mb)

    async def start(self, command: str, context: ToolContext) -> str:
        """Start a command in the background and return its id."""
        if not self._settings.background_processes:
            raise ToolError("background processes are off here (terminal.background_processes)")
        work = await self._begin(command, context)
        record = await self._processes.start(
            work,
            shell_program(command),
            command=command,
            sandbox=await self._sandbox_of(context),
        )
        return (
            f"started as {record.id}; it runs until it ends, terminal_stop ends it, or this "
            f"conversation ends. terminal_output shows what it writes."
        )

    async def output(self, name: str, context: ToolContext) -> str:
        """Return the state and the output of a background process; without a name, all states."""
        work = self._of(context)
        if not name:
            found = await self._processes.records(work)
            return "\n".join(one.line for one in found) or "No background process was started."
        record = await self._processes.record(work, name)
        await self._processes.note_told(work, record, context.turn_id)
        output = await self._processes.output(work, name)
        return f"{record.line}\n\n{output}" if output else f"{record.line}\n\n(no output)"

    async def stop(self, name: str, context: ToolContext) -> str:
        """End a background process."""
        work = self._of(context)
        record: ProcessRecord = await self._processes.stop(work, name)
        await self._processes.note_told(work, record, context.turn_id)
        return record.line

    async def news(self, owner: SessionOwner, turn_id: str) -> tuple[str, ...]:
        """Return which background processes ended since the last turn of a session.

        A subagent is not told: it would be the only one that hears of it.
        """
        if root_lane(owner.lane) != owner.lane or not self._folders.has_any:
            return ()
        work = self._folders.of(owner.person_id, owner.lane, beside=owner.folder)
        if not has_path(work.records):
            return ()
        return await self._processes.news(work, turn_id)

    async def _begin(self, command: str, context: ToolContext) -> WorkFolder:
        """Check the approval once more, and return the folder to work in."""
        agreed = context.approved_by != "nobody"
        if not agreed and await self.approver(command, context) != "nobody":
            raise ToolError("nobody has approved this command yet; call the tool again")
        work = await asyncio.to_thread(
            self._folders.open, context.person_id, context.lane, beside=context.folder
        )
        try:
            self._folders.check_disk(work)
        except TooLarge as error:
            raise ToolError(str(error)) from error
        if agreed and self._settings.approval == "once":
            epoch = await self._epoch_of(work.lane)
            await asyncio.to_thread((work.records / _GRANT).write_text, str(epoch))
        return work

    async def _sandbox_of(self, context: ToolContext) -> Sandbox:
        """Return the sandbox with the skills of the turn, and no others."""
        if not context.skills:
            return self._sandbox
        folders = await asyncio.to_thread(self._skills, context.skills)
        return msgspec.structs.replace(self._sandbox, skills=folders)

    async def _is_granted(self, context: ToolContext) -> bool:
        """Return whether a command was approved since the session began."""
        work = self._of(context)
        granted = await asyncio.to_thread(_text_of, work.records / _GRANT)
        return granted == str(await self._epoch_of(work.lane))

    def _of(self, context: ToolContext) -> WorkFolder:
        return self._folders.of(context.person_id, context.lane, beside=context.folder)

    async def _used(self, work: WorkFolder) -> int:
        try:
            return await asyncio.to_thread(used_bytes, work.files)
        except TooLarge as error:
            raise ToolError(str(error)) from error


def shell_program(command: str) -> tuple[str, ...]:
    """Return the program that runs a command line: bash where there is one, else sh."""
    shell = next((one for one in _SHELLS if Path(one).exists()), _SHELLS[-1])
    return (shell, "-c", command)


def _told(ended: ProgramResult, folder_mb: int) -> str:
    if ended.was_full:
        how = f"ended after {ended.seconds:.1f} s: the working folder exceeds {folder_mb} MB, or the disk is nearly full"
    elif ended.code is None:
        how = f"ended after {ended.seconds:.1f} s: its time was over; it may have taken effect in part"
    elif ended.code < 0:
        how = f"killed by signal {-ended.code} after {ended.seconds:.1f} s"
    else:
        how = f"exit code {ended.code} after {ended.seconds:.1f} s"
    return f"{how}\n\n{ended.output or '(no output)'}"


def _text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""
