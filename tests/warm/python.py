"""Starts programs by the warm interpreter; it runs beside this process, from its first use on."""

import asyncio
import atexit
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO

from tests.warm.server import HEAD

ROOT = Path(__file__).parents[2]
# What would steer the interpreter itself comes too late for one that runs.
_STEERS = "PYTHON"
_PATIENCE_S = 60.0


class WarmProcess:
    """A program that was started by the warm interpreter, with the usual ways to wait and to end it."""

    def __init__(self, caller: socket.socket, pid: int) -> None:
        self._caller = caller
        self._returncode: int | None = None
        self.pid = pid

    @property
    def returncode(self) -> int | None:
        """Return the exit code, or the negative number of the signal; None while it runs."""
        if self._returncode is None and select.select([self._caller], [], [], 0)[0]:
            with self._caller:
                self._returncode = os.waitstatus_to_exitcode(_number_of(self._caller))
        return self._returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, if it still runs."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    async def wait(self) -> int:
        """Return the exit code once it has ended."""
        if (code := self.returncode) is not None:
            return code
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.add_reader(self._caller, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._caller)
        return await self.wait()

    def wait_blocking(self, within_s: float) -> int:
        """Return the exit code once it has ended; kills what takes longer."""
        if self.returncode is None and not select.select([self._caller], [], [], within_s)[0]:
            self.kill()
            select.select([self._caller], [], [])
            assert self.returncode is not None
            raise subprocess.TimeoutExpired(str(self.pid), within_s)
        code = self.returncode
        assert code is not None
        return code


def start(
    *arguments: str,
    env: Mapping[str, str],
    stdin: IO[bytes] | int,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    folder: Path | None = None,
    is_session: bool = False,
) -> WarmProcess:
    """Start what `python` takes as arguments, with these files as its standard streams."""
    steering = [name for name in env if name.startswith(_STEERS)]
    assert not steering, f"{steering} take effect only in an interpreter that starts: run one"
    order = {
        "arguments": arguments,
        "environ": dict(env),
        "folder": str(folder or Path.cwd()),
        "is_session": is_session,
    }
    body = json.dumps(order).encode()
    streams = [one if isinstance(one, int) else one.fileno() for one in (stdin, stdout, stderr)]
    caller = _call(place())
    socket.send_fds(caller, [HEAD.pack(len(body))], streams)
    caller.sendall(body)
    return WarmProcess(caller, _number_of(caller))


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
        code = process.wait_blocking(within_s)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
    return subprocess.CompletedProcess(list(arguments), code, *said)


async def command(
    *arguments: str,
    env: Mapping[str, str],
    text: str = "",
    within_s: float = _PATIENCE_S,
    is_merged: bool = False,
) -> "subprocess.CompletedProcess[str]":
    """Run `hermes` to its end, beside what else runs in this process."""
    return await asyncio.to_thread(
        run, "-m", "hermes", *arguments, env=env, text=text, within_s=within_s, is_merged=is_merged
    )


@cache
def place() -> str:
    """Return where the warm interpreter of this process listens; it is started if need be."""
    folder = tempfile.mkdtemp(prefix="hermes-warm-")
    machine = os.environ  # noqa: TID251  a test hands its own environment on
    found = f"{folder}/socket"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.warm.server", found],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
        env={name: machine[name] for name in ("PATH", "LANG") if name in machine},
    )

    def end() -> None:
        process.communicate()
        shutil.rmtree(folder)

    atexit.register(end)
    return found


def _call(path: str) -> socket.socket:
    """Connect; a warm interpreter that has just been started does not listen yet."""
    last = time.monotonic() + _PATIENCE_S
    while True:
        caller = socket.socket(socket.AF_UNIX)
        try:
            caller.connect(path)
        except OSError:
            caller.close()
            if time.monotonic() > last:
                raise
            time.sleep(0.01)
        else:
            return caller


def _number_of(caller: socket.socket) -> int:
    number: int
    (number,) = HEAD.unpack(caller.recv(HEAD.size))
    return number
