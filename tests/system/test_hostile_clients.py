"""Clients that are silent, slow, huge or gone, at every kind of route of a real gateway.

A row is what the client does; it does it at all kinds of routes at once, while another caller
sends a message. What the gateway then has open is looked up in the kernel.
"""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import msgspec
import pytest
import pytest_asyncio
from starlette.routing import Route, Router

from hermes.app import Gateway
from hermes.config import load
from tests.system.live import Live, live_gateway, model_server, with_model

PATIENCE_S = 60.0
SECRET = "a-secret-of-the-webhook"
SETTINGS = {
    "HERMES_SERVER__HEAD_TIMEOUT_S": "2",
    "HERMES_SERVER__KEEP_ALIVE_S": "1",
    "HERMES_SERVER__SEND_TIMEOUT_S": "1",
    "HERMES_V1__MAX_BODY_BYTES": "2097152",
    "HERMES_PLATFORMS__WEBHOOK__ENABLED": "true",
    "HERMES_PLATFORMS__WEBHOOK__EXTRA__ROUTES__CI__SECRET": SECRET,
    "HERMES_PLATFORMS__WEBHOOK__EXTRA__ROUTES__CI__SCHEME": "gitlab",
}
# Long enough to be left in the middle of.
ANSWER = "[[deltas:3]][[gap:0.3]]"


@dataclass(frozen=True)
class Kind:
    """One kind of route: which paths are of it, and a good request to one of them."""

    paths: tuple[str, ...]
    target: str
    status: bytes = b"200"
    body: dict[str, object] | None = None

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"


CALL = {"model": "openai:gpt-4o-mini", "messages": [{"role": "user", "content": ANSWER}]}
KINDS = {
    "page": Kind(("/", "/dashboard", "/dashboard/{page:path}"), "/"),
    "page of a message": Kind(("/why/{id}",), "/why/none"),
    "file": Kind(("/assets/{name}", "/dashboard/static/{name:path}"), "/assets/app.js"),
    "sign-in": Kind(("/signin", "/signout"), "/signin", b"401", {"token": "nobody's"}),
    "health": Kind(("/healthz", "/readyz"), "/healthz"),
    "metrics": Kind(("/metrics",), "/metrics"),
    "webhook": Kind(
        ("/webhooks/{platform}", "/webhooks/{platform}/{rest:path}"),
        "/webhooks/webhook/ci",
        body={"text": ANSWER},
    ),
    "message": Kind(("/api/messages",), "/api/messages", body={"sender": "eve", "text": ANSWER}),
    "message state": Kind(("/api/messages/{id}",), "/api/messages/none", b"404"),
    "chat message": Kind(
        ("/web/messages", "/web/stop", "/web/sessions/end"),
        "/web/messages",
        body={"conversation": "eve", "text": ANSWER, "id": "1"},
    ),
    "chat stream": Kind(
        ("/web/messages/{id}/events", "/dashboard/turns/{id}/events"),
        "/web/messages/none/events",
        b"404",
    ),
    "chat story": Kind(("/web/messages/{id}/why",), "/web/messages/none/why", b"404"),
    "chat report": Kind(
        (
            *("/web/conversations", "/web/conversations/{id}", "/web/info", "/web/me"),
            *("/web/menu", "/web/sessions", "/dashboard/catalogue.json"),
        ),
        "/web/conversations",
    ),
    "call": Kind(
        ("/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"),
        "/v1/chat/completions",
        body={**CALL, "stream": True},
    ),
    "numbers of a text": Kind(
        ("/v1/embeddings", "/v1/messages/count_tokens"),
        "/v1/messages/count_tokens",
        body={**CALL},
    ),
    "mcp": Kind(("/mcp",), "/mcp", b"406", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    "models": Kind(("/v1/models", "/v1/models/{id:path}"), "/v1/models"),
    "stored response": Kind(
        ("/v1/responses/{id}", "/v1/responses/{id}/input_items"), "/v1/responses/none", b"404"
    ),
    "description": Kind(
        ("/api/openapi.json", "/api/docs", "/api/docs/{name}"), "/api/openapi.json"
    ),
    "order": Kind(("/control/",), "/control/route", body={"prompt": "hello"}),
    "agents": Kind(("/workspaces",), "/workspaces"),
    "A2A": Kind(
        ("/workspaces/{id}/a2a",),
        "/workspaces/main/a2a",
        body={"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "none"}},
    ),
    "card": Kind(
        ("/.well-known/agent-card.json", "/.well-known/agent.json"),
        "/.well-known/agent-card.json",
    ),
    "conversation": Kind(("/api/conversations/{name}",), "/api/conversations/none?sender=eve"),
    "file of a message": Kind(
        (
            "/api/messages/{id}/files/{side}/{number}",
            "/web/messages/{id}/files/{side}/{number}",
        ),
        "/api/messages/none/files/sent/0",
        b"404",
    ),
    "files": Kind(("/api/files", "/api/files/{path:path}"), "/api/files?sender=eve", b"404"),
}
WITH_BODY = [name for name, kind in KINDS.items() if kind.body is not None]


@dataclass
class Rig:
    """A gateway, and how to reach it without a well-behaved client."""

    live: Live
    count_file: Path

    @property
    def port(self) -> int:
        port = urlsplit(self.live.url).port
        assert port is not None
        return port

    def request(self, name: str, *more: str, body: bytes | None = None, number: str = "") -> bytes:
        """Return a good request to a kind of route; `more` are its further header lines."""
        kind = KINDS[name]
        if body is None and kind.body is not None:
            body = msgspec.json.encode({**kind.body, **self.marked(name, number)})
        size = [] if body is None else [f"content-length: {len(body)}"]
        lines = [
            f"{kind.method} {kind.target} HTTP/1.1",
            f"host: localhost:{self.port}",
            f"authorization: Bearer {self.live.token}",
            "content-type: application/json",
            f"x-gitlab-token: {SECRET}",
            *(more or size),
        ]
        return "\r\n".join([*lines, "", ""]).encode() + (body or b"")

    def marked(self, name: str, number: str) -> dict[str, str]:
        """Return what makes a message one of its own."""
        if not number or name not in {"message", "chat message", "webhook"}:
            return {}
        own = {} if name == "webhook" else {"id": f"{name}-{number}"}
        return {"text": f"{name} {number} {ANSWER}", **own}

    @asynccontextmanager
    async def peers(self, names: Iterable[str]) -> AsyncIterator[dict[str, "Peer"]]:
        """Connect once for each name; every connection has ended afterwards."""
        async with AsyncExitStack() as stack:
            peers = {}
            for name in names:
                peers[name] = Peer(*await asyncio.open_connection("127.0.0.1", self.port))
                stack.push_async_callback(peers[name].end)
            yield peers

    def connections(self) -> int:
        """Return how many connections the kernel knows that the gateway has not closed."""
        rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
        local = f"0100007F:{self.port:04X}"
        open_states = {"01", "08"}
        return sum(row.split()[1] == local and row.split()[3] in open_states for row in rows)

    def calls_of(self, text: str) -> int:
        """Return how often the model was asked with a text."""
        lines = self.count_file.read_text().splitlines()
        return sum(text in json.loads(line)["text"] for line in lines)


class Peer:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def send_until_closed(self, data: bytes, *, pause_s: float = 0.0) -> None:
        """Send the same again and again."""
        with suppress(ConnectionError):
            while not self._reader.at_eof():
                await self.send(data)
                await asyncio.sleep(pause_s)

    async def begin(self) -> bytes:
        """Return the first bytes of an answer."""
        return await self._reader.read(100)

    async def status(self) -> bytes:
        """Read until the gateway closes; return the status it answered, if it did."""
        answer = b""
        with suppress(ConnectionError):
            while piece := await self._reader.read(65_536):
                answer = (answer + piece)[:20]
        return answer.split(b" ")[1] if answer else b""

    def stop_reading(self) -> None:
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]

    def abort(self) -> None:
        self._writer.transport.abort()

    async def end(self) -> None:
        self.abort()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    folder = tmp_path_factory.mktemp("hostile")
    count_file = folder / "calls"
    count_file.touch()
    async with (
        model_server("--count-file", str(count_file)) as url,
        live_gateway(folder / "home", {**with_model(url), **SETTINGS}) as live,
    ):
        yield Rig(live, count_file)


Row = Callable[[Rig, Peer, str], Coroutine[None, None, bytes]]


async def silent(_rig: Rig, peer: Peer, _name: str) -> bytes:
    return await peer.status()


async def half_head(rig: Rig, peer: Peer, name: str) -> bytes:
    await peer.send(rig.request(name)[:40])
    return await peer.status()


async def slow_head(rig: Rig, peer: Peer, name: str) -> bytes:
    await peer.send(rig.request(name).partition(b"\r\n")[0] + b"\r\nx: ")
    dripping = asyncio.create_task(peer.send_until_closed(b"y", pause_s=0.05))
    status = await peer.status()
    peer.abort()
    await dripping
    return status


async def huge_header(rig: Rig, peer: Peer, name: str) -> bytes:
    await peer.send(rig.request(name).partition(b"\r\n")[0] + b"\r\nx: " + b"y" * 500_000)
    return await peer.status()


async def many_headers(rig: Rig, peer: Peer, name: str) -> bytes:
    await peer.send(rig.request(name, *(f"x-{number}: y" for number in range(100))))
    return await peer.status()


async def long_address(rig: Rig, peer: Peer, name: str) -> bytes:
    await peer.send(rig.request(name).replace(b" HTTP", b"?" + b"a" * 20_000 + b" HTTP", 1))
    return await peer.status()


async def huge_body_declared(rig: Rig, peer: Peer, name: str) -> bytes:
    await peer.send(rig.request(name, f"content-length: {10**10}", body=b"{"))
    return await peer.status()


async def huge_body_in_chunks(rig: Rig, peer: Peer, name: str) -> bytes:
    await peer.send(rig.request(name, "transfer-encoding: chunked", body=b""))
    with suppress(ConnectionError):
        for _ in range(40):
            await peer.send(b"10000\r\n" + b" " * 65_536 + b"\r\n")
    return await peer.status()


async def large_chunk_extension(rig: Rig, peer: Peer, name: str) -> bytes:
    await peer.send(rig.request(name, "transfer-encoding: chunked", body=b""))
    await peer.send(b"1;" + b"e" * 300_000)
    return await peer.status()


async def late_reader(rig: Rig, peer: Peer, name: str) -> bytes:
    peer.stop_reading()
    await peer.send(rig.request(name))
    return b""


async def half_request(rig: Rig, peer: Peer, name: str) -> bytes:
    await peer.send(rig.request(name)[:-1])
    return b""


async def left_in_the_answer(rig: Rig, peer: Peer, name: str) -> bytes:
    await peer.send(rig.request(name, number="left"))
    await peer.begin()
    return b""


def refused(status: bytes) -> dict[str, bytes]:
    return dict.fromkeys(KINDS, status)


def too_large() -> dict[str, bytes]:
    """A body that nobody asked for is not looked at."""
    return {name: b"413" if kind.body else kind.status for name, kind in KINDS.items()}


# What every kind of route answers before the gateway closes the connection.
CLOSED: list[tuple[Row, dict[str, bytes]]] = [
    (silent, refused(b"")),
    (half_head, refused(b"408")),
    (slow_head, refused(b"408")),
    (huge_header, refused(b"431")),
    (many_headers, refused(b"431")),
    (long_address, refused(b"414")),
    (huge_body_declared, too_large()),
    (huge_body_in_chunks, too_large()),
    (large_chunk_extension, dict.fromkeys(WITH_BODY, b"400")),
    (late_reader, refused(b"")),
]
LEFT: list[Row] = [half_request, left_in_the_answer]


async def is_served(rig: Rig, sender: str) -> bool:
    """Tell whether somebody else is alive, ready and answered, once."""
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(rig.live.url, connector=connector) as http:
        async with http.get("/readyz") as ready:
            assert ready.status == 200
        answer = await rig.live.post(http, sender=sender, text=f"from {sender}", id=sender)
    return answer["reply"] == f"#1 from {sender}" and rig.calls_of(f"from {sender}") == 1


async def until_nothing_is_open(rig: Rig) -> None:
    while True:
        if not rig.connections():
            return
        await asyncio.sleep(0.05)


@pytest.mark.req("W1", "J10")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("row", "expected"), CLOSED, ids=[row.__name__ for row, _ in CLOSED])
async def test_a_hostile_client_is_closed_and_others_are_served(
    rig: Rig, row: Row, expected: dict[str, bytes]
) -> None:
    async with asyncio.timeout(PATIENCE_S), rig.peers(expected) as peers:
        doing = [asyncio.create_task(row(rig, peer, name)) for name, peer in peers.items()]
        served = await is_served(rig, row.__name__)
        statuses = dict(zip(peers, await asyncio.gather(*doing), strict=True))
        await until_nothing_is_open(rig)

    assert (statuses, served) == (expected, True)


@pytest.mark.req("W1", "J10")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("row", LEFT)
async def test_a_client_that_leaves_frees_its_place(rig: Rig, row: Row) -> None:
    async with asyncio.timeout(PATIENCE_S), rig.peers(KINDS) as peers:
        await asyncio.gather(*(row(rig, peer, name) for name, peer in peers.items()))
        served = await is_served(rig, row.__name__)
        for peer in peers.values():
            peer.abort()
        await until_nothing_is_open(rig)

    assert served


@pytest.mark.req("J1", "J10")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", ["message", "chat message"])
async def test_a_message_whose_sender_left_is_answered_once(rig: Rig, name: str) -> None:
    request = rig.request(name, number="once")
    async with asyncio.timeout(PATIENCE_S), rig.peers(["leaving", "again"]) as peers:
        await peers["leaving"].send(request)
        peers["leaving"].abort()
        await peers["again"].send(request)
        status = await peers["again"].status()
        await until_nothing_is_open(rig)

    assert (status, rig.calls_of(f"{name} once")) == (b"200", 1)


@pytest.mark.req("W1")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", ["file", "metrics"])
async def test_a_client_that_asks_on_and_on_and_reads_nothing_is_closed(
    rig: Rig, name: str
) -> None:
    async with asyncio.timeout(PATIENCE_S), rig.peers([name]) as peers:
        peer = peers[name]
        peer.stop_reading()
        await peer.send_until_closed(rig.request(name))
        served = await is_served(rig, f"unread {name}")
        await until_nothing_is_open(rig)

    assert served


@pytest.mark.req("W1")
async def test_every_route_of_a_gateway_is_of_a_kind_that_is_met_here(tmp_path: Path) -> None:
    environment = {
        "HERMES_SERVER__PORT": "0",
        "HERMES_PROCESS__LOCK_DIR": str(tmp_path / "locks"),
        **with_model("http://127.0.0.1:9/v1"),
    }
    known = [path for kind in KINDS.values() for path in kind.paths]
    async with Gateway(load(environment, tmp_path / "home")):
        # Nothing else knows all routes of a running gateway.
        routers = [thing for thing in gc.get_objects() if isinstance(thing, Router)]
        routes = {
            route.path for router in routers for route in router.routes if isinstance(route, Route)
        }

    assert "/healthz" in routes
    assert {path for path in routes if not is_known(path, known)} == set()


def is_known(path: str, known: list[str]) -> bool:
    return path in known or path.startswith(("/control/", "/workspaces/", "/settings/"))
