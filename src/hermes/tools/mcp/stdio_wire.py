"""Talks to a program over its pipes: one JSON message per line, with limits.

The SDK's own stdio transport reads a line without any limit, at a cost that grows with the square
of its length; a hostile or broken program could take all memory and time. So this is our own
transport under the SDK's session. A program runs in its own process group, which ends with it.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from hermes.config.code_files import program_problem
from hermes.tools.mcp.clean_text import Scrubber, one_line
from hermes.tools.mcp.connection import LinkLost
from hermes.tools.mcp.traffic_limit import TrafficLimit

Incoming = SessionMessage | Exception
_GRACE_S = 2.0
_CODE_S = 0.5
_POLL_S = 0.01
_STDERR_LINES = 5
_STDERR_CHARS = 300
# A banner on standard output is common; this many lines in a row without a message are not.
_MAX_GARBAGE = 200


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What is started, and how much of it is read at once."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None
    max_message_bytes: int
    home: Path | None = None


class StdioWire:
    """A running program and its exit."""

    def __init__(self, program: Program, pace: TrafficLimit, secrets: Scrubber) -> None:
        self._program = program
        self._pace = pace
        self._process: asyncio.subprocess.Process | None = None
        self._said: deque[str] = deque(maxlen=_STDERR_LINES)
        self._secrets = secrets
        self.problem: str | None = None

    def epitaph(self) -> str:
        """Return why nothing more comes, with the last lines of the program's standard error."""
        code = None if self._process is None else self._process.returncode
        ended = self.problem or (
            "the program closed its output"
            if code is None
            else f"the program ended with code {code}"
        )
        return f"{ended} ({' | '.join(self._said)})" if self._said else ended

    @asynccontextmanager
    async def open(
        self,
    ) -> AsyncIterator[tuple[ObjectReceiveStream[Incoming], ObjectSendStream[SessionMessage]]]:
        """Start the program and return the streams to and from it; leaving ends the program."""
        process = self._process = await self._start()
        wire, incoming = anyio.create_memory_object_stream[Incoming](0)
        outgoing, queue = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as tasks, wire, incoming, outgoing, queue:
                tasks.start_soon(self._read, process, wire)
                tasks.start_soon(self._write, process, queue)
                tasks.start_soon(self._overhear, process)
                try:
                    yield incoming, outgoing
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)

    async def _start(self) -> asyncio.subprocess.Process:
        program = self._program
        problem = None if program.home is None else _unsafe(program, program.home)
        if problem is not None:
            raise LinkLost(problem)
        try:
            return await asyncio.create_subprocess_exec(
                program.command,
                *program.args,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**get_default_environment(), **program.env},
                cwd=program.cwd,
                start_new_session=True,
                limit=program.max_message_bytes,
            )
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise LinkLost(
                f"the program {program.command!r} cannot be started ({reason}); install it, or "
                "write its full path"
            ) from error

    async def _read(
        self, process: asyncio.subprocess.Process, wire: ObjectSendStream[Incoming]
    ) -> None:
        assert process.stdout is not None
        garbage = 0
        async with wire:
            while garbage < _MAX_GARBAGE:
                try:
                    line = await process.stdout.readuntil(b"\n")
                except asyncio.IncompleteReadError:
                    # Its output ends a moment before the process does; the exit code says more.
                    await _gone(process, within_s=_CODE_S)
                    return
                except asyncio.LimitOverrunError:
                    limit = self._program.max_message_bytes
                    self.problem = f"it sent a message of more than {limit} bytes"
                    return
                await self._pace.spend_bytes(len(line))
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:
                    garbage += 1
                    await self._pace.spend(1)
                    continue
                garbage = 0
                try:
                    await wire.send(SessionMessage(message))
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return
            self.problem = f"it wrote {_MAX_GARBAGE} lines in a row that are not messages"

    async def _write(
        self, process: asyncio.subprocess.Process, queue: ObjectReceiveStream[SessionMessage]
    ) -> None:
        assert process.stdin is not None
        async with queue:
            async for item in queue:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    process.stdin.write(text.encode(errors="replace") + b"\n")
                    await process.stdin.drain()
                except OSError:
                    # The session notices the end of the output.
                    return

    async def _overhear(self, process: asyncio.subprocess.Process) -> None:
        """Keep the last lines of standard error; they explain most failures to start."""
        assert process.stderr is not None
        rest = b""
        while chunk := await process.stderr.read(4_096):
            await self._pace.spend_bytes(len(chunk))
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _STDERR_CHARS:
                # Start at a whole word: half a secret would not be found below.
                rest = rest[-_STDERR_CHARS:].partition(b" ")[2]
            for line in (*lines[-_STDERR_LINES:],):
                said = self._secrets.scrub(line.decode(errors="replace"))
                if told := one_line(said, _STDERR_CHARS):
                    self._said.append(told)


def _unsafe(program: Program, home: Path) -> str | None:
    return program_problem(program.command, program.args, cwd=program.cwd, home=home)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a program and everything it started: close its input, then ask, then kill."""
    if process.stdin is not None:
        process.stdin.close()
    if not await _gone(process, within_s=_GRACE_S):
        _signal(process, signal.SIGTERM)
        await _gone(process, within_s=_GRACE_S)
    # Even if it ended by itself: what it started may still run.
    _signal(process, signal.SIGKILL)
    await _gone(process, within_s=_CODE_S, with_group=True)
    # A surviving child may hold the pipes open; they are not waited for. There is no public API for
    # this.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


async def _gone(
    process: asyncio.subprocess.Process, *, within_s: float, with_group: bool = False
) -> bool:
    """Wait for the process, not for the pipes: another process may hold them open."""
    for _ in range(int(within_s / _POLL_S)):
        if process.returncode is not None and not (with_group and _signal(process, None)):
            return True
        await anyio.sleep(_POLL_S)
    return process.returncode is not None


def _signal(process: asyncio.subprocess.Process, number: signal.Signals | None) -> bool:
    """Send a signal to everything that the program started; return whether any of it exists."""
    try:
        os.killpg(process.pid, number or 0)
    except (ProcessLookupError, PermissionError):
        # Nothing is left, or nothing that we may end.
        return False
    return True
