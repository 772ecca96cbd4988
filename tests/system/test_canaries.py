"""Two hundred credentials, a gateway that holds them all, and everything that it lets anybody read.

They are in the configuration, in variables, in the environment of MCP servers, in headers, in keys
of callers and in key files. Model services throw back what they were called with, and send their
callers elsewhere; an MCP server cries out its environment.
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from tests.system.canaries import Canaries, Table, variables, write_home
from tests.system.live import (
    Live,
    live_gateway,
    run_command,
)
from tests.system.parrot import Parrot, a_parrot

# Where credentials belong: what holds them, and what the command line opens the gateway with.
KEEPERS = frozenset({"config.yaml", ".env", "store.keys", "gateway.json"})
COMMANDS = (
    ("config", "show"),
    ("config", "show", "--origin", "--json"),
    ("status", "--json"),
    ("mcp", "list"),
    ("models",),
    ("keys", "list", "--json"),
)


class Watch:
    """Reads everything, and notes which credential stood where."""

    def __init__(self, live: Live, canaries: Canaries, http: aiohttp.ClientSession) -> None:
        self.live = live
        self.canaries = canaries
        self.http = http
        self.found: list[str] = []
        self.statuses: list[tuple[str, int]] = []

    def see(self, what: str, content: bytes, *, but: tuple[str, ...] = ()) -> None:
        """Look at something that anybody may read."""
        self.found += [f"{what}: {one}" for one in self.canaries.found_in(content, but=but)]

    async def ask(
        self, method: str, path: str, *, but: tuple[str, ...] = (), **more: object
    ) -> bytes:
        """Ask the gateway something, and look at the answer with its head."""
        # Any keyword of aiohttp's request.
        async with self.http.request(method, path, **more) as answer:  # type: ignore[arg-type]
            content = await answer.read()
            self.see(
                f"{method} {path.partition('?')[0]}",
                str(answer.headers).encode() + content,
                but=but,
            )
            self.statuses.append((path.partition("?")[0], answer.status))
            return content


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[tuple[Watch, Parrot, SamplePlatform]]:
    canaries, home = Canaries(), folder / "home"
    home.mkdir(mode=0o700)
    async with a_parrot() as parrot:
        pigeon = SamplePlatform(SampleSettings(token="", signing_secret="", chats=()))
        await pigeon.start()
        try:
            write_home(
                home, canaries, parrot=parrot, pigeon_url=pigeon.base_url, python=sys.executable
            )
            more = {**variables(canaries), "PYTHONFAULTHANDLER": "1"}
            async with live_gateway(home, more) as live, aiohttp.ClientSession(live.url) as http:
                canaries.keep("the local token", live.token)
                yield Watch(live, canaries, http), parrot, pigeon
        finally:
            await pigeon.stop()


async def make_credentials(watch: Watch) -> list[str]:
    """Let the gateway make credentials of its own: keys of people, tokens, links, a key file."""
    head, keys = watch.live.bearer, []
    for n in range(20):
        async with watch.http.post("/control/keys", json={"user": f"u{n}"}, headers=head) as made:
            keys.append(watch.canaries.keep(f"keys.{n}", (await made.json())["secret"]))
    for n in range(7):
        async with watch.http.post("/control/token", headers=head) as made:
            watch.canaries.keep(f"tokens.{n}", (await made.json())["token"])
    for n in range(5):
        async with watch.http.post("/control/link", headers=head) as made:
            address = str(next(iter((await made.json()).values())))
            watch.canaries.keep(f"links.{n}", address.rpartition("=")[2].rpartition("/")[2])
    content = (watch.live.home / "keys" / "store.keys").read_bytes()
    watch.canaries.keep("the store's key", content.split()[-1].decode("latin-1"))
    return keys


async def talk(watch: Watch, keys: list[str]) -> None:
    """Use every way in, with every service, and with what goes wrong."""
    head = watch.live.bearer
    for agent in ("main", *["echo"] * 10, *["moved"] * 3):
        for accept in ("application/json", "text/event-stream"):
            body = {"sender": "ann", "text": "hello, who are you?", "agent": agent}
            await watch.ask("POST", "/api/messages", json=body, headers={**head, "accept": accept})
    for n, key in enumerate(keys):
        model = ("auto", "echo:parrot", "moved:parrot", "agent:main", "agent:echo")[n % 5]
        asked: Table = {"model": model, "messages": [{"role": "user", "content": "hello"}]}
        for path in ("/v1/chat/completions", "/v1/messages", "/v1/responses"):
            shown = {"input": "hello", "model": model} if "responses" in path else asked
            more = {"max_tokens": 50} if "messages" in path else {}
            bearer = {"authorization": f"Bearer {key}"}
            await watch.ask("POST", path, json={**shown, **more}, headers=bearer)
            stream = {**shown, **more, "stream": True}
            await watch.ask("POST", path, json=stream, headers=bearer)
        # A slip of the hand, and a key in the wrong place.
        wrong = {"authorization": f"Bearer {key}x"}
        await watch.ask("POST", "/v1/chat/completions", json=asked, headers=wrong)
        await watch.ask("GET", f"/api/messages/m_1?token={key}")
        await watch.ask("GET", f"/control/status?key={key}", headers={"x-api-key": key})


async def break_in(watch: Watch, pigeon: SamplePlatform) -> None:
    """A webhook comes with a wrong signature; the platform itself refuses the bot's token."""
    pigeon.webhooks.url = f"{watch.live.url}/webhooks/pigeon"
    assert await pigeon.webhooks.post(b'{"event_id":"e1"}') in {400, 401, 403, 404, 503}


async def look(watch: Watch) -> None:
    """Everything that an operator is shown; new credentials are shown once, where they are made."""
    head = watch.live.bearer
    for name in ("status", "models", "costs", "keys", "users", "pair", "mcp", "credits"):
        await watch.ask("GET", f"/control/{name}", headers=head)
    for path in ("/readyz", "/healthz", "/metrics", "/", "/nowhere", "/v1/models"):
        await watch.ask("GET", path, headers=head)
    for message in await _messages(watch):
        await watch.ask("GET", f"/control/why/{message}?text=true", headers=head)


async def _messages(watch: Watch) -> list[str]:
    log = (watch.live.home / "logs" / "hermes.log").read_text()
    words = log.replace('"', " ").split()
    return sorted({word for word in words if word.startswith("m_")})[:60]


async def run_commands(watch: Watch, more: dict[str, str]) -> None:
    async def run(arguments: tuple[str, ...]) -> None:
        done = await run_command(watch.live.home, *arguments, more=more, is_merged=True)
        assert done.stdout
        watch.see(f"hermes {' '.join(arguments)}", done.stdout.encode())

    await asyncio.gather(*(run(one) for one in COMMANDS))


def read_processes(watch: Watch) -> None:
    """Anybody on the machine sees what a process was called with, and what it is called."""
    pids = [watch.live.process.pid, *_children(watch.live.process.pid)]
    for pid in pids:
        for name in ("cmdline", "comm"):
            watch.see(f"{name} of a process", Path(f"/proc/{pid}/{name}").read_bytes())


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    return [int(one) for task in tasks.iterdir() for one in (task / "children").read_text().split()]


def check_server(watch: Watch, folder: Path) -> None:
    """What an MCP server was started with holds its own credentials and nobody else's."""
    given = (folder / "given.txt").read_bytes()
    assert len(watch.canaries.found_in(given)) == 10
    watch.see("an MCP server's environment", given, but=("mcp.leaky", "environment.named"))


def read_files(watch: Watch) -> None:
    """All that it leaves behind, but the files that are there to keep credentials."""
    watch.see("what it printed", watch.live.output.read_bytes())
    for path in watch.live.home.rglob("*"):
        if path.is_file() and path.name not in KEEPERS:
            watch.see(path.name, path.read_bytes())


@pytest.mark.req("A30", "W35", "W34", "J24")
async def test_no_credential_is_to_be_read_anywhere(tmp_path: Path) -> None:
    async with watched(tmp_path) as (watch, parrot, pigeon):
        keys = await make_credentials(watch)
        await talk(watch, keys)
        await break_in(watch, pigeon)
        await look(watch)
        await run_commands(watch, {})
        read_processes(watch)
        check_server(watch, tmp_path)
        os.kill(watch.live.process.pid, signal.SIGABRT)
        await watch.live.process.wait()
        read_files(watch)

        assert len(watch.canaries.values) >= 200
        assert sorted({re.sub("m_[a-z0-9]+", "m_", one) for one in watch.found}) == []
        # The services did get their own credential, and nobody else got one.
        assert parrot.seen["echo"] >= 10
        assert parrot.seen["moved"] >= 3
        assert parrot.elsewhere == []
        assert f"Bearer {watch.canaries.values['providers.p00']}" in parrot.authorizations
        assert "Fatal Python error: Aborted" in watch.live.said()
