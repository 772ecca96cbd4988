"""A reader's computer: an empty home folder, a network of its own, and a terminal.

Nothing on a page is replaced, so `~/.hermes` and port 8080 must be free for it. The home folder is
an empty one, and a network namespace has all ports free. Only the model behind it is a stand-in.
"""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tests.warm.python import surroundings

START_S = 60.0
_HOLDER = Path(__file__).with_name("own_network.py")
_NEEDED = (
    "a page needs a network of its own (`unshare --net`, from util-linux): run the tests as root, "
    "or allow user namespaces (`sysctl kernel.unprivileged_userns_clone=1`)"
)


@dataclass(frozen=True)
class Computer:
    """Where a page is tried."""

    home: Path
    environ: Mapping[str, str]
    keeper: int
    listener: socket.socket

    def with_variables(self, more: Mapping[str, str]) -> "Computer":
        """Return the same computer with more environment variables."""
        return replace(self, environ={**self.environ, **more})

    async def start(self, *command: str, output: Path) -> Process:
        """Start a program in the home folder; it writes both its streams to `output`."""
        enter = ["nsenter", f"--net=/proc/{self.keeper}/ns/net", *_as_user(self.keeper)]
        with output.open("wb") as file:
            return await asyncio.create_subprocess_exec(
                *enter, "--", *command,
                cwd=self.home, env=self.environ, stdin=DEVNULL, stdout=file, stderr=STDOUT,
            )  # fmt: skip

    def switch_off(self) -> None:
        """End what a terminal left in the background: every process in this network."""
        network = Path(f"/proc/{self.keeper}/ns/net").readlink()
        assert network != Path("/proc/self/ns/net").readlink(), _NEEDED
        for folder in Path("/proc").glob("[0-9]*"):
            if folder.name == str(self.keeper):
                continue
            # It may have ended, or belong to somebody else.
            with suppress(OSError):
                if (folder / "ns" / "net").readlink() == network:
                    os.kill(int(folder.name), signal.SIGKILL)


@asynccontextmanager
async def computer(
    folder: Path, programs: Path, more: Mapping[str, str]
) -> AsyncIterator[Computer]:
    """Give a computer whose programs are those of the machine, after the ones in `programs`."""
    home = folder / "reader"
    home.mkdir()
    usual = surroundings()
    path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), usual["PATH"]))
    mine, theirs = socket.socketpair()
    with mine, theirs:
        keeper = await asyncio.create_subprocess_exec(
            "unshare", "--net", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]),
            sys.executable, "-IS", str(_HOLDER), str(theirs.fileno()),
            pass_fds=[theirs.fileno()],
        )  # fmt: skip
        theirs.close()
        try:
            listener = await asyncio.to_thread(_receive, mine)
            with listener:
                environ = {**usual, **more, "HOME": str(home), "PATH": path}
                made = Computer(home, environ, keeper.pid, listener)
                try:
                    yield made
                finally:
                    made.switch_off()
        finally:
            mine.close()
            await keeper.wait()


def _receive(mine: socket.socket) -> socket.socket:
    mine.settimeout(START_S)
    _, sockets, _, _ = socket.recv_fds(mine, 1, 1)
    assert sockets, _NEEDED
    return socket.socket(fileno=sockets[0])


def _as_user(keeper: int) -> list[str]:
    if os.geteuid() == 0:
        return []
    return [f"--user=/proc/{keeper}/ns/user", "--preserve-credentials"]
