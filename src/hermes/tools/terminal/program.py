"""Starts a program in the sandbox and ends it with everything that it started.

Under bubblewrap the end of the sandbox's first process ends its whole process tree. An unsafe
program is ended as a process group; what left the group is found by a mark in its environment, on
Linux, unless it removed the mark.
"""

import asyncio
import os
import secrets
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from hermes.errors import ToolError
from hermes.tools.terminal.sandbox import Sandbox, tools_problem

_MARK: Final = "HERMES_PROGRAM"
_OWNER: Final = "HERMES_PROGRAM_OF"
_PROCESSES: Final = Path("/proc")
_POLL_S: Final = 0.02
_PIPE_S: Final = 1.0
_LOOK_S: Final = 2.0
_SHARE: Final = 10
_PIECE: Final = 65_536
_KILL_ROUNDS: Final = 50
_STOP_ROUNDS: Final = 500
_STOP_S: Final = 0.002
_PROBE_S: Final = 10.0


async def _is_never_full() -> bool:
    return False


class ProgramResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended: its exit code, negative for a signal; None if its time was over."""

    code: int | None
    output: str
    seconds: float
    # Whether it was ended because its working folder was full.
    was_full: bool = False


class KeptOutput:
    """The beginning and the end of an output, with a note of what is missing between them."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, piece: bytes) -> None:
        """Add what was written."""
        self._total += len(piece)
        room = self._half - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def text(self) -> str:
        """The output as text; bytes that are none become U+FFFD."""
        tail = self._tail[-self._half :]
        missing = self._total - len(self._head) - len(tail)
        note = f"\n[{missing} bytes are left out here]\n".encode() if missing else b""
        return (bytes(self._head) + note + bytes(tail)).decode(errors="replace")


class SandboxedProgram:
    """A running program with its streams; whoever starts one awaits its `end`."""

    def __init__(self, process: Process, *, mark: str, lifeline: int) -> None:
        self._process = process
        self._mark = mark
        self._lifeline: int | None = lifeline

    @property
    def streams(self) -> Process:
        """The process, for its standard input, output and error."""
        return self._process

    async def exited(self) -> int:
        """Wait for the program, not for its pipes: what it started may hold them open."""
        # The process's own `wait` may wait for the pipes, too.
        while self._process.returncode is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._process.wait()
        return self._process.returncode

    async def exited_or(self, is_full: Callable[[], Awaitable[bool]]) -> int | None:
        """Wait for the program; return None as soon as its folder is full."""
        exited = asyncio.create_task(self.exited(), name="program exit")
        try:
            pause = _LOOK_S
            while not (await asyncio.wait({exited}, timeout=pause))[0]:
                began = asyncio.get_running_loop().time()
                if await is_full():
                    return None
                # A folder of many files takes time to measure, which the gateway needs for others.
                pause = max(_LOOK_S, _SHARE * (asyncio.get_running_loop().time() - began))
            return exited.result()
        finally:
            exited.cancel()

    async def read(self, take: Callable[[bytes], object]) -> None:
        """Pass on all output as it comes."""
        assert self._process.stdout is not None
        while piece := await self._process.stdout.read(_PIECE):
            take(piece)

    async def end(self) -> int | None:
        """Kill the program and everything that it started; return its exit code."""
        if self._mark:
            await asyncio.to_thread(_kill_marked, self._process.pid, self._mark)
        elif self._process.returncode is None:
            await _kill_sandbox(self._process.pid)
        async with asyncio.timeout(_PROBE_S):
            return await self.exited()

    def close(self) -> None:
        """Close the pipes, also if somebody else holds them; there is no public API for this."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()


async def start(
    sandbox: Sandbox,
    program: Sequence[str],
    *,
    folder: Path,
    with_input: bool = False,
    joins_errors: bool = True,
) -> SandboxedProgram:
    """Start a program; its standard error joins its output, or has a pipe of its own."""
    _check_tools(sandbox)
    is_safe = sandbox.kind == "bubblewrap"
    mark = "" if is_safe else secrets.token_hex(16)
    variables = sandbox.environment(folder)
    # Our end is not inherited, so it closes when this process ends, however it does.
    theirs, lifeline = os.pipe()
    walls = _in_memory(sandbox.walls(folder)) if is_safe else None
    try:
        process = await asyncio.create_subprocess_exec(
            *sandbox.command(program, folder=folder, lifeline=theirs, walls=walls),
            stdin=PIPE if with_input else DEVNULL,
            stdout=PIPE,
            stderr=STDOUT if joins_errors else PIPE,
            env={**variables, _MARK: mark, _OWNER: sandbox.owner} if mark else variables,
            cwd="/" if is_safe else folder,
            start_new_session=True,
            pass_fds=(theirs, walls) if walls is not None else (),
        )
    except (OSError, ValueError) as error:
        os.close(lifeline)
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ToolError(f"the program {program[0]!r} cannot be started: {reason}") from error
    finally:
        os.close(theirs)
        if walls is not None:
            os.close(walls)
    return SandboxedProgram(process, mark=mark, lifeline=lifeline)


def _in_memory(options: Sequence[str]) -> int:
    """Return a file with the options of bubblewrap; it reads them before the program starts."""
    descriptor = os.memfd_create("walls")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(b"".join(os.fsencode(one) + b"\0" for one in options))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


async def run(
    sandbox: Sandbox,
    program: Sequence[str],
    *,
    folder: Path,
    timeout_s: float,
    output_bytes: int,
    is_full: Callable[[], Awaitable[bool]] = _is_never_full,
) -> ProgramResult:
    """Run a program to its end, or to the end of its time; nothing that it started is left."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    started = await start_or_end(sandbox, program, folder=folder)
    kept = KeptOutput(output_bytes)
    reading = asyncio.create_task(started.read(kept.add), name="program output")
    code, was_full = None, False
    try:
        async with asyncio.timeout(timeout_s):
            code = await started.exited_or(is_full)
            was_full = code is None
    except TimeoutError:
        code = None
    finally:
        await finish(started, reading)
    return ProgramResult(
        code=code, output=kept.text, seconds=loop.time() - began, was_full=was_full
    )


async def start_or_end(
    sandbox: Sandbox,
    program: Sequence[str],
    *,
    folder: Path,
    with_input: bool = False,
    joins_errors: bool = True,
) -> SandboxedProgram:
    """Start a program; if that is cancelled, nothing is left of it."""
    starting = asyncio.ensure_future(
        start(sandbox, program, folder=folder, with_input=with_input, joins_errors=joins_errors)
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(ToolError):
            begun = await starting
            await begun.end()
            begun.close()
        raise


async def finish(started: SandboxedProgram, reading: "asyncio.Task[None]") -> None:
    """End a program, read the rest of its output and close its pipes, also if it is cancelled."""
    await asyncio.shield(_finish(started, reading))


async def _finish(started: SandboxedProgram, reading: "asyncio.Task[None]") -> None:
    try:
        await started.end()
        await asyncio.wait({reading}, timeout=_PIPE_S)
    finally:
        reading.cancel()
        started.close()


async def problem(sandbox: Sandbox, *, folder: Path) -> str | None:
    """Return why no program can be started in the sandbox; None if one was."""
    try:
        ended = await run(sandbox, ("true",), folder=folder, timeout_s=_PROBE_S, output_bytes=1_000)
    except ToolError as error:
        return str(error)
    if ended.code == 0:
        return None
    said = " ".join(ended.output.split())[:300] or "it said nothing"
    return f"the sandbox does not work here: {said}"


def _check_tools(sandbox: Sandbox) -> None:
    found = tools_problem() if sandbox.kind == "bubblewrap" else None
    if found is not None:
        raise ToolError(found)


async def _kill_sandbox(outer: int) -> None:
    """Kill bubblewrap and the first process of its sandbox, with which all others in it end.

    The end of bubblewrap alone is not enough: while it starts, that process does not yet end with it.
    So it is stopped first, and then starts nothing more.
    """
    _signal(lambda: os.kill(outer, signal.SIGSTOP))
    for _ in range(_STOP_ROUNDS):
        if _state_and_parent(outer)[0] in ("T", "Z", "X", ""):
            break
        await asyncio.sleep(_STOP_S)
    await asyncio.to_thread(_kill_with_children, outer)


def _kill_with_children(parent: int) -> None:
    for entry in _PROCESSES.glob("[0-9]*"):
        if _state_and_parent(int(entry.name))[1] == parent:
            _signal(partial(os.kill, int(entry.name), signal.SIGKILL))
    _signal(lambda: os.kill(parent, signal.SIGKILL))


def _state_and_parent(pid: int) -> tuple[str, int]:
    """Return the state and the parent of a process; both are empty if it is gone."""
    try:
        status = (_PROCESSES / str(pid) / "stat").read_bytes()
    except OSError:
        return "", 0
    # The name before may have any letters, parentheses too.
    state, parent = status.rpartition(b")")[2].split()[:2]
    return state.decode(), int(parent)


def end_leftovers(owner: str) -> int:
    """Kill what unsafe programs of an owner have left behind; return how many processes there were.

    Under bubblewrap nothing outlives the process that started it.
    """
    ended, wanted = 0, f"{_OWNER}={owner}".encode()
    for _ in range(_KILL_ROUNDS):
        found = [pid for pid in _marked(wanted) if pid != os.getpid()]
        for pid in found:
            _signal(partial(os.kill, pid, signal.SIGKILL))
        ended += len(found)
        if not found:
            break
    return ended


def _kill_marked(leader: int, mark: str) -> None:
    """Kill a process group and everything with the mark, until none is left."""
    wanted = f"{_MARK}={mark}".encode()
    for _ in range(_KILL_ROUNDS):
        _signal(lambda: os.killpg(leader, signal.SIGKILL))
        found = list(_marked(wanted))
        for pid in found:
            _signal(partial(os.kill, pid, signal.SIGKILL))
        if not found:
            return


def _marked(wanted: bytes) -> Iterator[int]:
    for entry in _PROCESSES.glob("[0-9]*"):
        try:
            variables = (entry / "environ").read_bytes()
        except OSError:
            # It has ended, or it is somebody else's.
            continue
        if wanted in variables.split(b"\0"):
            yield int(entry.name)


def _signal(kill: Callable[[], None]) -> None:
    try:
        kill()
    except (ProcessLookupError, PermissionError):
        # Nothing is left, or nothing that we may end.
        return
