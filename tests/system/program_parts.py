"""A gateway whose agents are answered by programs: its configuration, its agents, and what they say."""

import asyncio
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import aiohttp

from hermes.tools.terminal.sandbox import missing_tools
from tests.system.live import Live, run_command
from tests.unit.tools.programs.program_rig import PYTHON, install

WAIT_S = 30.0
# Without bubblewrap the scripted program runs as it is.
SANDBOX = "unsafe" if missing_tools() else "bubblewrap"
DESCRIPTION = """
speaks = "lines"
command = ["{python}", "-I", "{program}"]
check = ["{python}", "-I", "-c", "{check}"]

[gateway_variables]
SCRIPTED_MODELS = "{{models}}"
SCRIPTED_KEY = "{{key}}"
SCRIPTED_MODEL = "{{model}}"
"""


def write_home(
    home: Path,
    *,
    more: dict[str, Any] | None = None,
    sandbox: str = SANDBOX,
    terminal: dict[str, Any] | None = None,
    **own: Any,
) -> Path:
    """Write a configuration with the adapters `one` and `two`, and `broken`, which does not start."""
    home.mkdir(mode=0o700, exist_ok=True)
    tools = home.parent / "tools"
    program = install(tools)
    readable = [str(tools), sys.base_prefix]
    adapters: dict[str, Any] = {}
    for name, check in (("one", "pass"), ("two", "pass"), ("broken", "raise SystemExit(7)")):
        path = tools / f"{name}.toml"
        path.write_text(DESCRIPTION.format(python=PYTHON, program=program, check=check))
        adapters[name] = {"description": str(path), "readable": readable, **own}
    settings = {
        "adapters": {**adapters, **(more or {})},
        "terminal": {"sandbox": sandbox, **(terminal or {})},
    }
    (home / "config.yaml").write_text(json.dumps(settings))
    return home


class Desk:
    """What operators and people ask of a gateway over HTTP."""

    def __init__(self, live: Live, session: aiohttp.ClientSession) -> None:
        self.live = live
        self._session = session

    async def ask(self, method: str, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
        """Send a request and return its status and body."""
        async with self._session.request(
            method, self.live.url + path, json=body or None, headers=self.live.bearer
        ) as answer:
            return answer.status, await answer.json()

    async def make(
        self,
        runtime: str,
        people: Iterable[str] = ("rest:ann",),
        roles: Iterable[str] = (),
        **more: Any,
    ) -> str:
        """Create the agent `coder` and wait until it is checked; return its state."""
        adapter = {"people": list(people), "roles": list(roles)}
        _, made = await self.ask(
            "POST", "/workspaces", name="coder", runtime=runtime, adapter=adapter, **more
        )
        async with asyncio.timeout(WAIT_S):
            while made["status"] == "provisioning":
                await asyncio.sleep(0.05)
                _, made = await self.ask("GET", "/workspaces/coder")
        return str(made["status"])

    async def say(self, text: str, *, sender: str = "ann", wait: bool = True) -> dict[str, Any]:
        """Say something to `coder`; return the reply."""
        path = "/api/messages" if wait else "/api/messages?wait=false"
        _, reply = await self.ask("POST", path, agent="coder", sender=sender, text=text)
        return reply

    async def files(self) -> list[str]:
        """Return the files of the conversation of `ann` with `coder`."""
        _, found = await self.ask("GET", "/api/files?sender=ann&agent=coder")
        return [one["path"] for one in found["files"]]

    async def put(self, path: str, data: bytes) -> int:
        """Upload a file there; return the status."""
        url = f"{self.live.url}/api/files/{path}?sender=ann&agent=coder"
        async with self._session.put(url, data=data, headers=self.live.bearer) as answer:
            return answer.status

    async def reply(self, message_id: str) -> dict[str, Any]:
        """Wait until a message has ended, and return its reply."""
        async with asyncio.timeout(WAIT_S):
            while True:
                _, reply = await self.ask("GET", f"/api/messages/{message_id}")
                if reply["state"] == "done":
                    return reply
                await asyncio.sleep(0.05)


async def costs_of(home: Path, by: str) -> str:
    """Return what was spent, once it is written: calls of `/v1` wait for a moment."""
    async with asyncio.timeout(WAIT_S):
        while True:
            told = (await run_command(home, "costs", "--by", by)).stdout
            if "Nothing was spent" not in told:
                return told


def sessions_in(home: Path) -> list[list[str]]:
    """Return what the scripted program was asked in each of its sessions, the oldest first."""
    found = sorted(
        home.glob("workdirs/p_*/*/files/sessions/*"), key=lambda path: path.stat().st_ctime
    )
    return [[json.loads(line) for line in path.read_text().splitlines()] for path in found]
