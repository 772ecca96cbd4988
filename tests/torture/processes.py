"""Gateways as processes: started by the fork server or by the real command, awaited, killed."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec

from hermes.testing.fork_server import News, Order
from hermes.testing.power_cut import PowerCut
from tests.torture.homes import Home
from tests.torture.polling import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


def environment(**more: str) -> dict[str, str]:
    """Return a small environment of its own for a gateway."""
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **more}


class GatewayProcess:
    """One gateway process; `status` is its wait status once it has ended."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ended = asyncio.Event()
        self.status: int | None = None
        self.watcher: asyncio.Task[None] | None = None

    def end(self, status: int) -> None:
        """Note how it ended."""
        self.status = status
        self.ended.set()

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it still runs; it is reaped only by us, so the pid is its own."""
        if not self.ended.is_set():
            os.kill(self.pid, number)

    async def wait(self, within_s: float = 60.0) -> int:
        """Return the wait status."""
        async with asyncio.timeout(within_s * PATIENCE):
            await self.ended.wait()
        assert self.status is not None
        return self.status

    @property
    def was_killed(self) -> bool:
        """Whether SIGKILL ended it."""
        return self.status is not None and os.WIFSIGNALED(self.status)


class Forks:
    """The fork server's other side."""

    def __init__(self) -> None:
        self._server: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._starting: asyncio.Queue[GatewayProcess] = asyncio.Queue()
        self._running: dict[int, GatewayProcess] = {}
        self._one_by_one = asyncio.Lock()

    async def open(self) -> None:
        """Start the fork server."""
        self._server = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "hermes.testing.fork_server",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
        )
        self._reader = asyncio.create_task(self._read())

    async def close(self) -> None:
        """End it, and with it every gateway that still runs."""
        assert self._server is not None
        assert self._server.stdin is not None
        assert self._reader is not None
        self._server.stdin.close()
        await self._server.wait()
        await self._reader

    async def start(
        self, home: Home, *, failpoints: str = "", power_cut: PowerCut | None = None
    ) -> GatewayProcess:
        """Start a gateway that dies at the failpoints, if any are named."""
        assert self._server is not None
        assert self._server.stdin is not None
        order = Order(
            home=str(home.folder),
            environ=environment(HERMES_FAILPOINTS=failpoints) if failpoints else environment(),
            trace=str(home.trace),
            power_cut=power_cut,
        )
        async with self._one_by_one:
            self._server.stdin.write(msgspec.json.encode(order) + b"\n")
            return await self._starting.get()

    async def _read(self) -> None:
        assert self._server is not None
        assert self._server.stdout is not None
        async for line in self._server.stdout:
            news = msgspec.json.decode(line, type=News)
            if news.ended is None:
                process = self._running[news.pid] = GatewayProcess(news.pid)
                # It may end before anybody looks: whoever waits for it gets it all the same.
                self._starting.put_nowait(process)
            else:
                self._running.pop(news.pid).end(news.ended)


async def start_command(home: Home, *, failpoints: str = "") -> GatewayProcess:
    """Start a gateway by the real command `hermes up`."""
    more = {"HERMES_FAILPOINTS": failpoints} if failpoints else {}
    log = os.open(home.folder / "gateway.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "hermes",
            "up",
            "--home",
            str(home.folder),
            "--port",
            "0",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(**more),
            cwd=ROOT,
        )
    finally:
        os.close(log)
    process = GatewayProcess(child.pid)

    async def watch() -> None:
        code = await child.wait()
        process.end(-code if code < 0 else code << 8)

    process.watcher = asyncio.create_task(watch())
    return process
