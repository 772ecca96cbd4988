"""A socket session against a server that says word by word what the test tells it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from aiohttp import WSMsgType, web

from hermes.channel_kit.socket_session import SocketSession
from hermes.channel_kit.socket_wire import SocketFrame, SocketMark
from hermes.errors import (
    AnswerLost,
    BadRequest,
    ConfigurationError,
    ConnectFailed,
    StoreError,
)
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.channel_rows import CloseRow, SocketRow
from hermes.ports.channel_state import PlatformState
from hermes.testing.channel_state import MemoryChannelState, memory_state

ROW = SocketRow(
    leave=4000,
    greeting_s=2.0,
    close=(
        CloseRow(code=4004, then="final", hint="set the token"),
        CloseRow(code=4007, then="anew"),
    ),
)


class Peer:
    """One connection, on the server's side."""

    def __init__(self, socket: web.WebSocketResponse, path: str) -> None:
        self.socket = socket
        self.path = path
        self.heard: asyncio.Queue[Any] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def says(self, *frames: dict[str, Any]) -> None:
        for frame in frames:
            await self.socket.send_json(frame)

    async def hears(self) -> Any:
        async with asyncio.timeout(5):
            return await self.heard.get()

    async def ends(self) -> int | None:
        async with asyncio.timeout(5):
            await self.closed.wait()
        return self.socket.close_code

    def breaks(self) -> None:
        """Drop the connection without a word, as a network does."""
        assert self.socket._req is not None
        assert self.socket._req.transport is not None
        self.socket._req.transport.abort()


class Server:
    def __init__(self) -> None:
        self._peers: asyncio.Queue[Peer] = asyncio.Queue()
        self.url = ""
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> "Server":
        app = web.Application()
        app.add_routes([web.get("/{path}", self._serve)])
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def peer(self) -> Peer:
        async with asyncio.timeout(5):
            return await self._peers.get()

    @property
    def is_idle(self) -> bool:
        return self._peers.empty()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        peer = Peer(socket, request.match_info["path"])
        self._peers.put_nowait(peer)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                peer.heard.put_nowait(msgspec.json.decode(message.data))
        peer.closed.set()
        return socket


class Wire:
    """Frames that are a `SocketFrame` as JSON; `x` is nothing that anybody knows."""

    likeness = "bot-1"

    def __init__(self, url: str, *, greets: bool = True) -> None:
        self._url = url
        self._greets = greets
        self.acknowledges = False

    async def address(self, mark: SocketMark | None) -> str:
        return f"{self._url}/{mark.address if mark is not None else 'first'}"

    def read(self, data: bytes) -> SocketFrame:
        try:
            return msgspec.json.decode(data, type=SocketFrame)
        except msgspec.DecodeError as error:
            raise BadRequest("no frame") from error

    def begin(self, mark: SocketMark | None) -> str | None:
        if not self._greets:
            return None
        return '"identify"' if mark is None else f'["resume","{mark.id}",{mark.number}]'

    def beat(self, number: int | None) -> str:
        return msgspec.json.encode({"beat": number}).decode()

    def kept(self, frame: SocketFrame) -> str | None:
        return msgspec.json.encode({"kept": frame.id}).decode() if self.acknowledges else None


class Sleeps:
    """A sleep that lasts until the test says so."""

    def __init__(self) -> None:
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def __call__(self, seconds: float) -> None:
        wakes: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((seconds, wakes))
        await wakes

    async def wake(self, wanted: float) -> None:
        """Wait until somebody sleeps so long, and wake them."""
        async with asyncio.timeout(5):
            while not (found := [one for one in self._sleepers if one[0] == wanted]):  # noqa: ASYNC110
                await asyncio.sleep(0)
        self._sleepers.remove(found[0])
        if not found[0][1].done():
            found[0][1].set_result(None)


class Inbox:
    def __init__(self) -> None:
        self.taken: list[int | str] = []
        self.gates: dict[int, asyncio.Event] = {}
        self.answers: dict[int, bool] = {}
        self.begun: asyncio.Queue[int | None] = asyncio.Queue()

    async def take(self, frame: SocketFrame) -> bool:
        self.begun.put_nowait(frame.number)
        if frame.number in self.gates:
            await self.gates[frame.number].wait()
        self.taken.append(frame.number if frame.number is not None else frame.id)
        return self.answers.get(frame.number or 0, True)

    async def has(self, *numbers: int | str) -> None:
        async with asyncio.timeout(5):
            while self.taken != list(numbers):  # noqa: ASYNC110
                await asyncio.sleep(0)


class Rig:
    def __init__(self, server: Server, client: HttpClient) -> None:
        self.server = server
        self.client = client
        self.state = memory_state()
        self.inbox = Inbox()
        self.sleeps = Sleeps()
        self.wire = Wire(server.url)
        self.made: list[SocketSession] = []

    def session(self, row: SocketRow = ROW) -> SocketSession:
        session = SocketSession(
            self.client,
            self.wire,
            row,
            platform="test",
            state=self.state,
            take=self.inbox.take,
            sleep=self.sleeps,
            chance=lambda: 0.5,
        )
        self.made.append(session)
        return session

    async def begun(self, row: SocketRow = ROW, *, every_s: float = 0.0) -> tuple[Any, Peer]:
        """Return a session that has begun, and its other side."""
        session = self.session(row)
        opening = asyncio.create_task(session.open())
        peer = await self.server.peer()
        await peer.says({"meaning": "hello", "every_s": every_s})
        assert await peer.hears() == "identify"
        await peer.says({"meaning": "ready", "id": "s-1", "address": "again", "number": 1})
        await opening
        return session, peer

    async def resumed(self, session: SocketSession) -> tuple[Peer, Any]:
        """Let a session connect again; return the other side and how it began."""
        opening = asyncio.create_task(session.open())
        peer = await self.server.peer()
        await peer.says({"meaning": "hello"})
        first = await peer.hears()
        await peer.says({"meaning": "ready"})
        await opening
        return peer, first

    async def mark(self, number: int) -> SocketMark:
        """Wait until the stored position is so."""
        async with asyncio.timeout(5):
            while True:
                content = await self.state.get("socket")
                if content is not None:
                    mark = msgspec.json.decode(content, type=SocketMark)
                    if mark.number == number:
                        return mark
                await asyncio.sleep(0)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    client = HttpClient(HttpSettings())
    async with Server() as server:
        made = Rig(server, client)
        yield made
        for session in made.made:
            await session.close()
    await client.close()


def event(number: int, **more: Any) -> dict[str, Any]:
    return {"meaning": "event", "number": number, **more}


async def test_the_position_moves_only_past_what_is_kept(rig: Rig) -> None:
    rig.inbox.gates[2] = asyncio.Event()
    _session, peer = await rig.begun()
    await peer.says(event(2), event(3), {"meaning": "other", "number": 4})
    await rig.inbox.has(3)
    assert (await rig.mark(1)).id == "s-1"

    rig.inbox.gates[2].set()
    await rig.sleeps.wake(1.0)
    assert await rig.mark(4) == SocketMark(id="s-1", address="again", number=4, likeness="bot-1")


async def test_what_was_not_kept_when_the_process_died_is_asked_for_again(rig: Rig) -> None:
    rig.inbox.gates[3] = asyncio.Event()
    session, peer = await rig.begun()
    await peer.says(event(2), event(3))
    await rig.inbox.has(2)
    await rig.mark(2)
    # As kill -9 leaves it: what is in the state counts, and nothing is said on the way out.
    content = await rig.state.get("socket")
    assert content is not None
    await session.close()

    peer, first = await rig.resumed(rig.session())
    assert (peer.path, first) == ("again", ["resume", "s-1", 2])
    rig.inbox.gates[3].set()
    await peer.says(event(3))
    await rig.inbox.has(2, 3)


async def test_leaving_keeps_the_session_and_stores_where_it_was(rig: Rig) -> None:
    session, peer = await rig.begun()
    await peer.says(event(2))
    await rig.inbox.has(2)
    await session.close()
    assert await peer.ends() == 4000
    assert (await rig.mark(2)).number == 2


async def test_another_account_does_not_resume_the_session_of_the_one_before(rig: Rig) -> None:
    session, _peer = await rig.begun()
    await session.close()
    rig.wire.likeness = "bot-2"
    _session, peer = await rig.begun()
    assert peer.path == "first"


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_session_that_is_over_is_begun_anew_after_a_pause(rig: Rig, is_told: bool) -> None:
    session, _peer = await rig.begun()
    await session.close()
    session = rig.session()
    opening = asyncio.create_task(session.open())
    peer = await rig.server.peer()
    await peer.says({"meaning": "hello"})
    assert await peer.hears() == ["resume", "s-1", 1]
    if is_told:
        await peer.says({"meaning": "invalid"})
    else:
        await peer.socket.close(code=4007)
    await rig.sleeps.wake(3.0)
    peer = await rig.server.peer()
    await peer.says({"meaning": "hello"})
    assert (peer.path, await peer.hears()) == ("first", "identify")
    await peer.says({"meaning": "ready", "id": "s-2", "address": "again", "number": 1})
    await opening
    assert (await rig.mark(1)).id == "s-2"


async def test_a_code_that_is_final_names_what_to_do(rig: Rig) -> None:
    session = rig.session()
    opening = asyncio.create_task(session.open())
    peer = await rig.server.peer()
    await peer.says({"meaning": "hello"})
    await peer.hears()
    await peer.socket.close(code=4004)
    with pytest.raises(ConfigurationError, match=r"closed \(4004\): set the token"):
        await opening


async def test_a_final_code_in_the_middle_is_why_it_is_lost(rig: Rig) -> None:
    session, peer = await rig.begun()
    await peer.socket.close(code=4004)
    with pytest.raises(ConfigurationError, match="set the token"):
        await session.lost()


async def test_a_connection_that_breaks_early_is_reported_and_keeps_its_place(rig: Rig) -> None:
    session, peer = await rig.begun()
    await peer.says(event(2))
    await rig.inbox.has(2)
    peer.breaks()
    with pytest.raises(ConnectFailed):
        await session.lost()
    await session.close()
    _peer, first = await rig.resumed(rig.session())
    assert first == ["resume", "s-1", 2]


async def test_a_connection_that_lasted_is_replaced_without_a_word(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes.channel_kit.socket_session._SHORT_S", -1.0)
    session, peer = await rig.begun()
    await peer.says({"meaning": "renew"})
    assert await peer.ends() == 4000
    peer = await rig.server.peer()
    await peer.says({"meaning": "hello"})
    assert await peer.hears() == ["resume", "s-1", 1]
    await peer.says({"meaning": "ready", "number": 2}, event(3))
    await rig.inbox.has(3)
    assert session.is_open


async def test_heartbeats_say_the_position_and_a_silent_connection_is_left(rig: Rig) -> None:
    session, peer = await rig.begun(every_s=40.0)
    await rig.sleeps.wake(20.0)
    assert await peer.hears() == {"beat": 1}
    await peer.says({"meaning": "alive"}, event(2))
    await rig.inbox.has(2)
    await rig.sleeps.wake(40.0)
    assert await peer.hears() == {"beat": 2}
    await rig.sleeps.wake(40.0)
    assert await peer.ends() == 4000
    with pytest.raises(ConnectFailed):
        await session.lost()


async def test_a_heartbeat_that_is_wanted_is_sent_at_once(rig: Rig) -> None:
    _session, peer = await rig.begun()
    await peer.says({"meaning": "beat"})
    assert await peer.hears() == {"beat": 1}


async def test_an_event_that_must_come_again_ends_the_connection(rig: Rig) -> None:
    rig.inbox.answers[2] = False
    session, peer = await rig.begun()
    await peer.says(event(2))
    with pytest.raises(ConnectFailed, match="comes again"):
        await session.lost()
    await session.close()
    rig.inbox.answers.clear()
    _peer, first = await rig.resumed(rig.session())
    assert first == ["resume", "s-1", 1]


async def test_what_cannot_be_read_or_is_unknown_is_passed_over(rig: Rig) -> None:
    _session, peer = await rig.begun()
    await peer.socket.send_str("{{{ nothing")
    await peer.socket.send_bytes(b"\xff\xfe")
    await peer.says({"meaning": "other", "number": 2}, event(3))
    await rig.inbox.has(3)


async def test_a_position_that_cannot_be_stored_is_stored_later(rig: Rig) -> None:
    broken: list[bool] = []

    class Breaking(MemoryChannelState):
        async def put(
            self, platform: str, key: str, *, value: bytes, fence: int | None = None
        ) -> None:
            if broken:
                broken.pop()
                raise StoreError("the disk")
            await super().put(platform, key, value=value, fence=fence)

    rig.state = PlatformState(Breaking(), "test")
    _session, peer = await rig.begun()
    broken.append(True)
    await peer.says(event(2))
    await rig.inbox.has(2)
    await rig.sleeps.wake(1.0)
    await rig.mark(2)


SLACK = SocketRow(renew="beside", linger_s=15.0, greeting_s=2.0)


async def test_an_event_is_acknowledged_once_it_is_kept_and_not_taken_twice(rig: Rig) -> None:
    rig.wire = Wire(rig.server.url, greets=False)
    rig.wire.acknowledges = True
    session = rig.session(SLACK)
    opening = asyncio.create_task(session.open())
    peer = await rig.server.peer()
    await peer.says({"meaning": "hello"})
    await opening
    await peer.says({"meaning": "event", "id": "e-1"}, {"meaning": "event", "id": "e-2"})
    assert await peer.hears() == {"kept": "e-1"}
    assert await peer.hears() == {"kept": "e-2"}
    assert rig.inbox.taken == ["e-1", "e-2"]
    assert await rig.state.get("socket") is None


async def test_the_next_connection_is_open_before_the_old_one_ends(rig: Rig) -> None:
    rig.wire = Wire(rig.server.url, greets=False)
    session = rig.session(SLACK)
    opening = asyncio.create_task(session.open())
    old = await rig.server.peer()
    await old.says({"meaning": "hello"})
    await opening
    await old.says({"meaning": "renew"}, {"meaning": "renew"})
    new = await rig.server.peer()
    await new.says({"meaning": "hello"})
    await new.says({"meaning": "event", "id": "e-1"})
    await rig.inbox.has("e-1")
    await old.says({"meaning": "event", "id": "e-2"})
    await rig.inbox.has("e-1", "e-2")
    await rig.sleeps.wake(15.0)
    await old.ends()
    assert session.is_open
    assert rig.server.is_idle


async def test_an_end_for_good_is_told_with_its_hint(rig: Rig) -> None:
    session, peer = await rig.begun()
    await peer.says({"meaning": "final", "hint": "switch it on"})
    with pytest.raises(ConfigurationError, match="switch it on"):
        await session.lost()


async def test_a_request_gets_the_answer_of_its_id(rig: Rig) -> None:
    session, peer = await rig.begun()
    asking = asyncio.create_task(session.ask("q-1", '{"ask":1}', timeout_s=5.0))
    assert await peer.hears() == {"ask": 1}
    await peer.says({"meaning": "answer", "id": "q-0"}, {"meaning": "answer", "id": "q-1"})
    assert (await asking).id == "q-1"


async def test_a_request_whose_connection_ends_has_lost_its_answer(rig: Rig) -> None:
    session, peer = await rig.begun()
    asking = asyncio.create_task(session.ask("q-1", '{"ask":1}', timeout_s=5.0))
    await peer.hears()
    await peer.socket.close()
    with pytest.raises(AnswerLost):
        await asking


@pytest.mark.parametrize(
    "greeting",
    [
        pytest.param(lambda peer: peer.says({"meaning": "event", "number": 9}), id="no hello"),
        pytest.param(lambda peer: peer.socket.close(), id="closed"),
    ],
)
async def test_a_socket_that_does_not_greet_is_not_used(
    rig: Rig, greeting: Callable[[Peer], Any]
) -> None:
    opening = asyncio.create_task(rig.session().open())
    peer = await rig.server.peer()
    await greeting(peer)
    with pytest.raises(ConnectFailed):
        await opening


async def test_while_too_much_is_not_kept_nothing_more_is_read(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes.channel_kit.socket_session.MOST_HELD_BYTES", 5000)
    rig.inbox.gates = {number: asyncio.Event() for number in range(2, 7)}
    _session, peer = await rig.begun(every_s=40.0)
    await peer.says(*(event(number) for number in range(2, 7)))
    assert [await rig.inbox.begun.get() for _ in range(3)] == [2, 3, 4]
    # No answer to a heartbeat is read now; the connection is not blamed for it.
    await rig.sleeps.wake(20.0)
    await rig.sleeps.wake(40.0)
    assert [await peer.hears(), await peer.hears()] == [{"beat": 1}, {"beat": 1}]
    assert rig.inbox.begun.empty()
    for gate in rig.inbox.gates.values():
        gate.set()
    await rig.inbox.has(2, 3, 4, 5, 6)
