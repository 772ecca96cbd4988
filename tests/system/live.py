"""The real thing: `hermes up` as its own process, with a scripted model behind a loopback port."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiohttp

from tests.warm.python import (
    AsyncWarmProcess,
    needs_cold_start,
    run,
    stand_in_started,
    start_async,
)

START_S = 30.0
NOTHING = Path(os.devnull)


@dataclass
class Live:
    """A running gateway."""

    process: Process | AsyncWarmProcess
    home: Path
    url: str
    token: str
    output: Path

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def said(self) -> str:
        """Return what it has printed so far."""
        return self.output.read_text()

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        async with asyncio.timeout(START_S):
            return await self.process.wait()

    async def settled(self) -> None:
        """Wait until no reply is on its way: seen by its reader it may not yet be confirmed."""
        url = f"{self.url}/control/status"
        async with (
            asyncio.timeout(START_S),
            aiohttp.ClientSession(headers=self.bearer) as session,
        ):
            while True:
                async with session.get(url) as answer:
                    if not (await answer.json())["waiting_deliveries"]:
                        return
                await asyncio.sleep(0.02)

    async def post(self, session: aiohttp.ClientSession, **message: object) -> dict[str, object]:
        """Send a message through REST and return the reply's JSON."""
        async with session.post(
            f"{self.url}/api/messages", json=message, headers=self.bearer
        ) as answer:
            body: dict[str, object] = await answer.json()
            return body


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a gateway on `home`, without this machine's own keys."""
    machine = os.environ  # noqa: TID251  a test hands its own environment on
    kept = {name: machine[name] for name in ("PATH", "LANG") if name in machine}
    own = {
        "HERMES_HOME": str(home),
        "HERMES_SERVER__PORT": "0",
        # Tests that run side by side give their bots the same tokens.
        "HERMES_PROCESS__LOCK_DIR": str(home.parent / "locks"),
    }
    return {**kept, **own, **(more or {})}


@asynccontextmanager
async def model_server(*options: str) -> AsyncIterator[str]:
    """Run the scripted model server; gives its base URL."""
    program = ("-m", "hermes.testing.model_server", "--port", "0", *options)
    with stand_in_started(*program) as (process, giver, out):
        line = await asyncio.wait_for(asyncio.to_thread(out.readline), START_S)
        yield str(json.loads(line)["base_url"])
        giver.close()
        await asyncio.to_thread(process.wait, START_S)


@asynccontextmanager
async def live_gateway(
    home: Path, more: Mapping[str, str] | None = None, *options: str, is_cold: bool = False
) -> AsyncIterator[Live]:
    """Run `hermes up` on `home` until it is ready; ends it if the test did not.

    It is a fork of the warm interpreter, unless the start itself is the point.
    """
    output = home.parent / f"{home.name}{''.join(options)}.out"
    env = environment(home, more)
    arguments = ("-m", "hermes", "up", *options)
    with output.open("wb") as file, NOTHING.open("rb") as nothing:  # noqa: ASYNC230
        process = (
            await asyncio.create_subprocess_exec(
                sys.executable, *arguments, env=env, stdin=nothing, stdout=file, stderr=file
            )
            if is_cold or needs_cold_start(env)
            else start_async(*arguments, env=env, stdin=nothing, stdout=file, stderr=file)
        )
    try:
        url, token = await _address(process, home, output=output)
        yield Live(process, home, url, token, output)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


cold_gateway = partial(live_gateway, is_cold=True)


async def run_command(
    home: Path,
    *arguments: str,
    more: Mapping[str, str] | None = None,
    text: str = "",
    is_merged: bool = False,
) -> "subprocess.CompletedProcess[str]":
    """Run `hermes` on `home` to its end, beside what else runs in this process."""
    return await asyncio.to_thread(
        run, "-m", "hermes", *arguments, env=environment(home, more), text=text, is_merged=is_merged
    )


async def _address(
    process: Process | AsyncWarmProcess, home: Path, *, output: Path
) -> tuple[str, str]:
    """Wait for the end of the banner; the address then stands in a file for commands."""
    path = home / "run" / "gateway.json"
    async with asyncio.timeout(START_S):
        while "Ctrl-C stops it" not in output.read_text():  # noqa: ASYNC240
            if process.returncode is not None:
                raise AssertionError(f"hermes up ended: {output.read_text()}")  # noqa: ASYNC240
            await asyncio.sleep(0.02)
    address = json.loads(path.read_text())
    return f"http://{address['host']}:{address['port']}", address["token"]


def with_model(base_url: str) -> dict[str, str]:
    """Return the variables that put a model behind a gateway."""
    return {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "sk-test-not-a-real-key"}
