"""W21: what a model's service has read before comes in the same bytes again, turn after turn.

A real gateway talks to two stand-ins through taps that keep what came out of the socket. It is
stopped, killed between turns and killed in the middle of a call, while facts change all the time.
What is compared is text as it was sent; nothing is decoded and written again.
"""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals

import aiohttp
import httptools
import msgspec
import pytest
import yaml
from aiohttp import web

from hermes.testing.anthropic_server import AnthropicServer
from hermes.testing.model_script import ScriptedTurn, SeenConversation, answer_by_text
from hermes.testing.model_server import ModelServer
from tests.system.live import Live, live_gateway

AGENTS = ("main", "other")
TOPICS = ("dog", "sister", "bicycle")
# The marks say how far to cache. They move with every call and are no part of what is cached.
MARK = b',"cache_control":{"type":"ephemeral"}'
HOLD = "hold the line"
TOOLS = '''"""What the house can do."""

from hermes.tools import tool


@tool(idempotent=True)
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It is wet in {city}."


@tool(idempotent=True)
def find_venue(kind: str, near: str = "") -> str:
    """Find a place to eat or drink."""
    return "Trattoria Luna"
'''
# Ten turns; what becomes known before each of them, and which signal ends the gateway before it.
Change = tuple[str, str | None]
STORY: tuple[tuple[str, tuple[Change, ...], Signals | None], ...] = (
    ("find me a bar in the old town", (), None),
    ("what do you know of my dog?", (("home_city", "Porto"), ("dog", "Biscuit, a terrier")), None),
    ("thanks!", (("diet", "vegan"),), None),
    (
        '[[tool:get_weather {"city": "Rome"}]] what about Rome',
        (("dog", "Crumb, a poodle"),),
        SIGTERM,
    ),
    ("does my sister like my dog?", (("sister", "Ines, a pilot"),), None),
    ("👍", (("home_city", "Faro"), ("diet", None)), None),
    ("and my bicycle?", (("bicycle", "green, stolen twice"),), SIGKILL),
    (f"{HOLD}, and tell me of my sister", (("sister", "Ines, a diver"),), None),
    ("ok", (("dog", None), ("time_zone", "Europe/Lisbon")), None),
    ("will it rain tomorrow?", (("language", "Portuguese"),), None),
)


class Tap:
    """Passes bytes on to a server and keeps the bodies of the requests among them."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._server: asyncio.Server | None = None
        self._pumps: set[asyncio.Task[None]] = set()
        self.bodies: list[bytes] = []
        self.held = asyncio.Event()
        self.url = ""

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    async def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", self._upstream)
        parser = httptools.HttpRequestParser(_Bodies(self))
        for source, target, seen in ((reader, forth, parser), (back, writer, None)):
            pump = asyncio.create_task(_pump(source, target, parser=seen))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    def keep(self, body: bytes) -> None:
        self.bodies.append(body)
        if HOLD.encode() in body:
            self.held.set()


class _Bodies:
    """Collects the body of one request after another."""

    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        self._body = b""

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self._tap.keep(self._body)
        self._body = b""


async def _pump(
    source: StreamReader, target: StreamWriter, *, parser: httptools.HttpRequestParser | None
) -> None:
    # A process that is killed leaves its connections as they are.
    with suppress(OSError):
        while piece := await source.read(65_536):
            if parser is not None:
                parser.feed_data(piece)
            target.write(piece)
            await target.drain()
    target.close()


class Holding:
    """A script that lets the first call of a message hang, for whoever wants to kill meanwhile."""

    def __init__(self) -> None:
        self._held = False

    def __call__(self, seen: SeenConversation, number: int) -> ScriptedTurn:
        if HOLD in seen.last_text and not self._held:
            self._held = True
            return ScriptedTurn(fault="hang")
        return answer_by_text(seen, number)


async def _embed(http: web.Request) -> web.Response:
    """Turn texts into vectors by the topics that they name."""
    asked = msgspec.json.decode(await http.read())
    data = [
        {"index": n, "embedding": [0.01, *(float(topic in text) for topic in TOPICS)]}
        for n, text in enumerate(asked["input"])
    ]
    return web.Response(body=msgspec.json.encode({"data": data}), content_type="application/json")


@asynccontextmanager
async def an_embedder() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/embeddings", _embed)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/v1"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def a_home(folder: Path) -> AsyncIterator[tuple[Path, dict[str, Tap]]]:
    """Give a home whose two agents speak two dialects, and the taps on their wires."""
    async with AsyncExitStack() as stack:
        openai = await stack.enter_async_context(ModelServer(Holding()))
        anthropic = await stack.enter_async_context(AnthropicServer(Holding()))
        taps = {"main": Tap(openai.port), "other": Tap(anthropic.port)}
        for tap in taps.values():
            await tap.start()
            stack.push_async_callback(tap.stop)
        near = await stack.enter_async_context(an_embedder())
        home = folder / "home"
        home.mkdir(mode=0o700)
        (home / "house.py").write_text(TOOLS)
        path = home / "config.yaml"
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(settings_for(taps, near)))
        yield home, taps


def settings_for(taps: dict[str, Tap], near: str) -> dict[str, object]:
    openai = {"base_url": f"{taps['main'].url}/v1", "api_key": "test", "model": "gpt-4o-mini"}
    anthropic = {"base_url": taps["other"].url, "api_key": "test", "model": "claude-haiku-4-5"}
    return {
        "providers": {
            "openai": openai,
            "anthropic": anthropic,
            "vllm": {"base_url": near, "model": "near"},
        },
        "models": {"default": "openai:gpt-4o-mini"},
        "agents": {
            "main": {"model": "openai:gpt-4o-mini"},
            "other": {"model": "anthropic:claude-haiku-4-5"},
        },
        "tools": {"modules": ["house.py"]},
        "memory": {"embedder": "vllm"},
    }


class Talk:
    """One person in a session with each agent, over as many gateways as it takes."""

    def __init__(self, home: Path, taps: dict[str, Tap]) -> None:
        self._home = home
        self._taps = taps
        self._stack = AsyncExitStack()
        self._http: aiohttp.ClientSession | None = None
        self._live: Live | None = None

    async def start(self) -> None:
        self._live = await self._stack.enter_async_context(live_gateway(self._home))
        self._http = await self._stack.enter_async_context(
            aiohttp.ClientSession(self._live.url, headers=self._live.bearer)
        )

    async def end(self, number: Signals) -> None:
        assert self._live is not None
        await self._live.stop(number)
        await self.close()

    async def close(self) -> None:
        await self._stack.aclose()

    async def learn(self, key: str, value: str | None) -> None:
        """Let a fact be known, or be forgotten."""
        where = "memory" if value is not None else "memory/forget"
        told = {"user": "rest:ann", "key": key, **({} if value is None else {"value": value})}
        assert self._http is not None
        async with self._http.post(f"/control/{where}", json=told) as answer:
            assert answer.status == 200, await answer.text()

    async def say(self, text: str, *, agent: str, where: str = "talk") -> str:
        body = {"sender": "ann", "text": text, "agent": agent, "conversation": f"{where}-{agent}"}
        assert self._http is not None
        # Said again after a kill it is the same message, whose end is waited for.
        asked = {**body, "id": f"{where} {agent} {text}"}
        async with self._http.post("/api/messages", json=asked) as answer:
            return str((await answer.json())["outcome"])

    async def turn(self, text: str) -> None:
        outcomes = await asyncio.gather(*(self.say(text, agent=agent) for agent in AGENTS))
        assert outcomes == ["answered", "answered"], text

    async def die_meanwhile(self, text: str) -> None:
        """Say something, and kill the gateway once both models were asked."""
        said = [asyncio.create_task(self.say(text, agent=agent)) for agent in AGENTS]
        async with asyncio.timeout(20):
            await asyncio.gather(*(tap.held.wait() for tap in self._taps.values()))
        await self.end(SIGKILL)
        await asyncio.gather(*said, return_exceptions=True)
        await self.start()

    async def tell(self) -> None:
        """Tell the story, with another conversation of the same person between its turns."""
        for text, changes, ending in STORY:
            if ending is not None:
                await self.end(ending)
                await self.start()
            for key, value in changes:
                await self.learn(key, value)
            if HOLD in text:
                await self.die_meanwhile(text)
            await self.turn(text)


class Sent:
    """One call as it was on the wire: the raw text of its parts."""

    def __init__(self, body: bytes) -> None:
        self.marks = body.count(MARK)
        self.body = body.replace(MARK, b"")
        fields = msgspec.json.decode(self.body, type=dict[str, msgspec.Raw])
        self.tools = bytes(fields.get("tools", b""))
        self.system = bytes(fields.get("system", b""))
        self.messages = [
            bytes(raw) for raw in msgspec.json.decode(fields["messages"], type=list[msgspec.Raw])
        ]

    @property
    def beginning(self) -> bytes:
        """Everything up to the end of the last message."""
        messages = b'"messages":[' + b",".join(self.messages)
        return self.body[: self.body.index(messages) + len(messages)]


def differences(calls: list[Sent]) -> list[str]:
    """Return where a call does not begin with the bytes of the one before."""
    found: list[str] = []
    for number, (before, after) in enumerate(pairwise(calls), start=2):
        same = {
            "tools": before.tools == after.tools,
            "system": before.system == after.system,
            "messages": after.messages[: len(before.messages)] == before.messages,
            "body": after.body.startswith(before.beginning),
        }
        found += [f"call {number}: {name}" for name, is_same in same.items() if not is_same]
    return found


@pytest.mark.req("W21", "A10", "A12", "A17", "J7", "J23")
async def test_every_call_begins_with_the_bytes_of_the_call_before(tmp_path: Path) -> None:
    async with a_home(tmp_path) as (home, taps), AsyncExitStack() as stack:
        talk = Talk(home, taps)
        await talk.start()
        stack.push_async_callback(talk.close)
        # What is known before the session begins is in its frozen blocks.
        await asyncio.gather(*(talk.say("hello there", agent=one, where="past") for one in AGENTS))
        await talk.learn("home_city", "Lisbon")
        for tap in taps.values():
            tap.bodies.clear()
        await talk.tell()
        await talk.end(SIGTERM)

    for agent, tap in taps.items():
        calls = list(map(Sent, tap.bodies))
        # Ten turns, one more for the tool's result, and the one that was killed, again.
        assert len(calls) == 12, agent
        assert differences(calls) == []
        (held, again) = (call for call in calls if HOLD.encode() in call.messages[-1])
        assert held.body == again.body
        assert b"get_weather" in calls[0].tools
        assert b"Lisbon" in calls[0].body
        assert b"hello there" in calls[0].body
        # Facts did change, and the right ones were recalled: behind all that was sent before.
        assert b"Biscuit" in calls[1].messages[-1]
        assert b"Crumb" in calls[5].messages[-1]
        assert b"stolen twice" in calls[7].messages[-1]
        assert b"Faro" in calls[6].messages[-1]
        assert b"wet in Rome" in calls[4].messages[-1]
        assert b"Crumb" not in calls[-1].messages[-1]
