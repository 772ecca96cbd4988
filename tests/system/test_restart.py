"""W3: a restart replaces the process, on its terminal; under a supervisor it ends with 75."""

import asyncio
import json
import os
import pty
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from hermes.ops.process import start_time_of
from tests.system.live import (
    START_S,
    Live,
    cold_gateway,
    environment,
    model_server,
    run_command,
    with_model,
)
from tests.warm.python import AsyncWarmProcess

pytestmark = pytest.mark.req("W3")

ADMIN = {"HERMES_ACCESS__PLATFORMS__REST__COMMANDS__DM__ADMINS": "ann"}


class Terminal:
    """A terminal of its own, with everything that was printed on it."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        self.text = ""
        asyncio.get_running_loop().add_reader(self._ours, self._read)

    def _read(self) -> None:
        try:
            self.text += os.read(self._ours, 65536).decode(errors="replace")
        except OSError:  # nobody has the other end any more
            asyncio.get_running_loop().remove_reader(self._ours)

    def press_ctrl_c(self) -> None:
        """Type Ctrl-C, which reaches the programs that this terminal controls."""
        os.write(self._ours, b"\x03")

    def close(self) -> None:
        """Take the terminal away."""
        asyncio.get_running_loop().remove_reader(self._ours)
        os.close(self._ours)


@asynccontextmanager
async def on_terminal(home: Path, more: dict[str, str]) -> AsyncIterator[tuple[Live, Terminal]]:
    """Run `hermes up` in the foreground of a terminal."""
    terminal = Terminal()
    # A short program first makes the terminal the controlling one of the gateway.
    command = (sys.executable, "-c", _CONTROLLED, sys.executable, "-m", "hermes", "up")
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environment(home, more),
        stdin=terminal.theirs,
        stdout=terminal.theirs,
        stderr=terminal.theirs,
        start_new_session=True,
    )
    os.close(terminal.theirs)
    try:
        await until_started(home, after=0.0)
        yield await reached(home, process), terminal
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        terminal.close()


_CONTROLLED = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


async def reached(home: Path, process: Process | AsyncWarmProcess) -> Live:
    """Return the gateway at the address that it has now."""
    address = _address(home)
    url = f"http://{address['host']}:{address['port']}"
    return Live(process, home, url, str(address["token"]), home)


def _address(home: Path) -> dict[str, object]:
    try:
        found: dict[str, object] = json.loads((home / "run" / "gateway.json").read_text())
    except FileNotFoundError:
        return {"started_at": 0.0}
    return found


async def until_started(home: Path, *, after: float) -> float:
    """Wait for a gateway that started later than `after`; return when it did."""
    async with asyncio.timeout(2 * START_S):
        while float(str(_address(home)["started_at"])) <= after:  # noqa: ASYNC110  another process
            await asyncio.sleep(0.02)
    return float(str(_address(home)["started_at"]))


async def until_printed(terminal: Terminal, text: str, *, times: int) -> None:
    async with asyncio.timeout(START_S):
        while terminal.text.count(text) < times:  # noqa: ASYNC110  another process prints it
            await asyncio.sleep(0.02)


async def test_restart_keeps_the_process_the_terminal_and_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with (
        model_server() as url,
        aiohttp.ClientSession() as http,
        on_terminal(home, {**with_model(url), **ADMIN}) as (live, terminal),
    ):
        pid, first = live.process.pid, await until_started(home, after=0.0)
        born = start_time_of(pid)
        told = await live.post(http, sender="ann", conversation="a", text="/restart")

        second = await until_started(home, after=first)
        again = await reached(home, live.process)
        answer = await again.post(http, sender="ann", conversation="a", text="hello")
        await until_printed(terminal, "Ctrl-C stops it", times=2)

        assert told["reply"] == "I finish what I am doing and restart."
        assert second > first
        assert json.loads((home / "run" / "gateway.pid").read_text())["pid"] == pid
        assert start_time_of(pid) == born, "the same process, not a second one"
        assert answer["outcome"] == "answered"
        assert "hermes: restarting" in terminal.text
        assert not (home / "logs" / "gateway_shutdown.json").exists()

        terminal.press_ctrl_c()
        async with asyncio.timeout(START_S):
            assert await live.process.wait() == 0


async def test_sigusr1_restarts_again_and_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with cold_gateway(home) as live:
        at = await until_started(home, after=0.0)
        for _ in range(2):
            live.process.send_signal(signal.SIGUSR1)
            at = await until_started(home, after=at)
        stopped = await run_command(home, "stop")

        assert stopped.returncode == 0
        assert await live.process.wait() == 0


@pytest.mark.parametrize(
    "supervised",
    [{"HERMES_PROCESS__RESTART": "exit"}, {"INVOCATION_ID": "4a1f"}],
    ids=["setting", "systemd"],
)
async def test_under_a_supervisor_it_ends_with_75(
    supervised: dict[str, str], tmp_path: Path
) -> None:
    async with cold_gateway(tmp_path / "home", supervised) as live:
        assert await live.stop(signal.SIGUSR1) == 75


async def test_it_does_not_restart_into_a_configuration_that_would_not_start(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with (
        model_server() as url,
        aiohttp.ClientSession() as http,
        cold_gateway(home, {**with_model(url), **ADMIN}) as live,
    ):
        (home / "config.yaml").write_text("server: {prot: 1}\n")
        told = await live.post(http, sender="ann", conversation="a", text="/restart")
        live.process.send_signal(signal.SIGUSR1)
        answer = await live.post(http, sender="ann", conversation="a", text="hello")

        assert "would not start again" in str(told["reply"])
        assert "config.yaml: unknown key server.prot" in str(told["reply"])
        assert answer["outcome"] == "answered"


async def test_a_stop_while_it_drains_for_a_restart_ends_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with (
        model_server() as url,
        aiohttp.ClientSession() as http,
        cold_gateway(home, with_model(url)) as live,
    ):
        asking = asyncio.create_task(
            live.post(http, sender="ann", conversation="a", text="[[slow:2]] hello")
        )
        await _until_running(live, http)
        live.process.send_signal(signal.SIGUSR1)
        stopped = await run_command(home, "stop")

        assert (await asking)["outcome"] == "answered"
        assert stopped.returncode == 0
        assert await live.process.wait() == 0


async def _until_running(live: Live, http: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(START_S):
        while True:
            async with http.get(f"{live.url}/control/status", headers=live.bearer) as answer:
                if (await answer.json())["running_turns"]:
                    return
            await asyncio.sleep(0.02)
