"""Starts programs by the warm interpreter; it runs beside this process, from its first use on."""

import asyncio
import atexit
import json
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, NotRequired, TypedDict, Unpack

from tests.warm.server import HEAD

ROOT = Path(__file__).parents[2]
_PATIENCE_S = 60.0


class Given(TypedDict):
    """What a program starts with: its environment, its standard streams, its working folder."""

    env: Mapping[str, str]
    stdin: IO[bytes] | int
    stdout: IO[bytes] | int
    stderr: IO[bytes] | int
    folder: NotRequired[Path | None]


class _Started:
    """A program that was started by the warm interpreter."""

    def __init__(self, caller: socket.socket, pid: int) -> None:
        self._caller = caller
        self._returncode: int | None = None
        self.pid = pid

    @property
    def returncode(self) -> int | None:
        """Return the exit code, or the negative number of the signal; None while it runs."""
        if self._returncode is None and _is_ready(self._caller, 0):
            with self._caller:
                self._returncode = os.waitstatus_to_exitcode(_number_of(self._caller))
        return self._returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, if it still runs."""
        if self.returncode is None:
            # It may have ended a moment ago, before its exit code is here.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


class WarmProcess(_Started):
    """A program with the ways of `subprocess.Popen`."""

    def wait(self, within_s: float = _PATIENCE_S) -> int:
        """Return the exit code once it has ended; kills what takes longer."""
        if self._returncode is None and not _is_ready(self._caller, within_s):
            self.kill()
            self.wait()
            raise subprocess.TimeoutExpired(str(self.pid), within_s)
        code = self.returncode
        assert code is not None
        return code


class AsyncWarmProcess(_Started):
    """A program with the ways of `asyncio.subprocess.Process`."""

    async def wait(self) -> int:
        """Return the exit code once it has ended."""
        while (code := self.returncode) is None:
            ended = asyncio.Event()
            loop = asyncio.get_running_loop()
            loop.add_reader(self._caller, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(self._caller)
        return code


def start(*arguments: str, **given: Unpack[Given]) -> WarmProcess:
    """Start what `python` takes as arguments."""
    return WarmProcess(*_order(arguments, given))


def start_async(*arguments: str, **given: Unpack[Given]) -> AsyncWarmProcess:
    """Start what `python` takes as arguments, to be awaited."""
    return AsyncWarmProcess(*_order(arguments, given))


def needs_cold_start(env: Mapping[str, str]) -> bool:
    """Tell whether an environment steers the interpreter itself, which a running one does not see."""
    return any(name.startswith(("PYTHON", "LD_")) for name in env)


def _order(arguments: Sequence[str], given: Given) -> tuple[socket.socket, int]:
    assert not needs_cold_start(given["env"])
    order = {
        "arguments": arguments,
        "environ": dict(given["env"]),
        "folder": str(given.get("folder") or Path.cwd()),
    }
    body = json.dumps(order).encode()
    streams = [
        one if isinstance(one, int) else one.fileno()
        for one in (given["stdin"], given["stdout"], given["stderr"])
    ]
    caller = socket.socket(socket.AF_UNIX)
    caller.connect(place())
    socket.send_fds(caller, [HEAD.pack(len(body))], streams)
    caller.sendall(body)
    return caller, _number_of(caller)


@contextmanager
def stand_in(*arguments: str) -> Iterator[str]:
    """Run a program that says one line and then serves until its input closes; gives the line."""
    with stand_in_started(*arguments) as (process, giver, out):
        yield out.readline()
        giver.close()
        process.wait()


@contextmanager
def stand_in_started(*arguments: str) -> Iterator[tuple[WarmProcess, IO[bytes], IO[str]]]:
    """Start a program that serves; gives it, and the other ends of its input and output."""
    (given, giver), (out, taker) = os.pipe(), os.pipe()
    with (
        os.fdopen(giver, "wb") as typed,
        os.fdopen(out, encoding="utf-8") as said,
        os.fdopen(given, "rb") as read,
    ):
        with os.fdopen(taker, "wb") as written:
            process = start(*arguments, env=surroundings(), stdin=read, stdout=written, stderr=2)
        read.close()
        try:
            yield process, typed, said
        finally:
            process.kill()
            process.wait()


def run(
    *arguments: str,
    env: Mapping[str, str],
    text: str = "",
    within_s: float = _PATIENCE_S,
    folder: Path | None = None,
    is_merged: bool = False,
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end; what it wrote to the error stream may be merged into its output."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(text.encode())
        given.seek(0)
        process = start(
            *arguments,
            env=env,
            stdin=given,
            stdout=out,
            stderr=out if is_merged else err,
            folder=folder,
        )
        code = process.wait(within_s)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
    return subprocess.CompletedProcess(list(arguments), code, *said)


def put_shell_command(folder: Path) -> None:
    """Write a `hermes` into a folder of programs that a shell can start."""
    program = [sys.executable, "-IS", str(Path(__file__).with_name("shell_command.py")), place()]
    file = folder / "hermes"
    file.write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n')
    file.chmod(0o755)


def surroundings() -> dict[str, str]:
    """Return the little of this process's environment that every program gets."""
    machine = os.environ  # noqa: TID251  a test hands its own environment on
    return {name: machine[name] for name in ("PATH", "LANG") if name in machine}


@cache
def place() -> str:
    """Return where the warm interpreter of this process listens; it is started if need be."""
    folder = tempfile.mkdtemp(prefix="hermes-warm-")
    found = f"{folder}/socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(found)
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm.server", str(listener.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd=ROOT,
            env=surroundings(),
            pass_fds=[listener.fileno()],
        )

    def end() -> None:
        process.communicate()
        shutil.rmtree(folder)

    atexit.register(end)
    return found


def _is_ready(caller: socket.socket, within_s: float) -> bool:
    return bool(select.select([caller], [], [], within_s)[0])


def _number_of(caller: socket.socket) -> int:
    number: int
    (number,) = HEAD.unpack(caller.recv(HEAD.size))
    return number
