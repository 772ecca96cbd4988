"""How stand-in platforms send events to a bot, each again until the bot has accepted it.

`SignedPush` calls a webhook, `PollQueue` answers polls with a cursor, `EventSocket` speaks over
WebSockets whose frames are acknowledged, and `ResumableSocket` over those that number them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp
import msgspec
from aiohttp import WSMsgType, web

from hermes.channel_kit.proof import sign
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import HttpRequest
from hermes.ports.clock import Clock
from hermes.testing.call_rules import Json, SiteRefusal, fill
from hermes.testing.stand_in import no_rejections

_MAX_WAIT_S = 60.0
Sleep = Callable[[float], Awaitable[None]]
# Returns a call with its proof, made at this time: see `channel_kit.proof.sign`.
Sign = Callable[[HttpRequest, float], HttpRequest]


def proof_signer(package: str, secret: str, *, url: str = "") -> Sign:
    """Return how the platform of a channel's package proves its calls, by the row that the channel reads."""
    row = load_manifest(package).rows.webhook
    assert row is not None
    assert row.proof is not None
    proof = row.proof
    return lambda call, now: sign(proof, call, secret=secret, now=now, url=url)


class PushRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a platform calls a webhook: how often, after which waits (the last one repeats), and when
    it gives up: at a status of `final`, which is a rejection, or at an answer with the header `stop`.
    `own_times` says that no two calls of one body are signed at the same time.
    """

    tries: int = 100_000
    waits_s: tuple[float, ...] = (0.05,)
    timeout_s: float = 10.0
    headers: Mapping[str, str] = {}
    repeat_headers: Mapping[str, str] = {}
    final: tuple[int, ...] = ()
    stop: str = ""
    own_times: bool = False


class PushAnswer(msgspec.Struct, frozen=True):
    """How a webhook answered; the status 0 means not at all."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


class SignedPush:
    """Calls one webhook."""

    def __init__(
        self, row: PushRow, sign: Sign, *, clock: Clock, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._row = row
        self._sign = sign
        self._clock = clock
        self._sleep = sleep
        self._session: aiohttp.ClientSession | None = None
        self._stamps: dict[bytes, float] = {}
        self.url: str | None = None
        self.statuses: list[int] = []
        self.rejections = no_rejections()

    async def deliver(self, body: bytes, kind: str = "application/json", *, path: str = "") -> int:
        """Call until the body is accepted, or refused for good; return the last status."""
        answer = PushAnswer(0)
        for attempt in range(self._row.tries):
            answer = await self.post(body, kind, attempt=attempt, path=path)
            if answer.status in self._row.final:
                self.rejections.append(
                    f"an event was answered {answer.status}: {answer.body[:200]!r}"
                )
                break
            if 200 <= answer.status < 300 or self._row.stop in answer.headers:
                break
            await self.pause(attempt)
        return answer.status

    async def post(
        self,
        body: bytes,
        kind: str = "application/json",
        *,
        attempt: int = 0,
        call: HttpRequest | None = None,
        path: str = "",
    ) -> PushAnswer:
        """Call once; `call` is sent instead of a newly signed one."""
        if self.url is None:
            raise AssertionError("point_at says where events go")
        if self._session is None:
            self._session = aiohttp.ClientSession()
        call = call or self.signed(body, kind, path=path)
        headers = dict(call.headers)
        if attempt:
            headers |= fill(dict(self._row.repeat_headers), {"attempt": str(attempt)})
        try:
            async with self._session.post(
                self.url + path,
                params=call.query,
                data=call.body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=self._row.timeout_s),
            ) as answer:
                told = {name.lower(): value for name, value in answer.headers.items()}
                found = PushAnswer(answer.status, await answer.read(), told)
        except (aiohttp.ClientError, TimeoutError, OSError):
            found = PushAnswer(0)
        self.statuses.append(found.status)
        return found

    def signed(self, body: bytes, kind: str = "application/json", *, path: str = "") -> HttpRequest:
        """Return a new call with its proof; `path` is what follows the webhook's address."""
        stamp = self._clock.now()
        if self._row.own_times:
            stamp = self._stamps[body] = max(stamp, self._stamps.get(body, 0.0) + 1)
        headers = {"content-type": kind, **self._row.headers}
        call = HttpRequest(method="POST", path=path, query={}, headers=headers, body=body)
        return self._sign(call, stamp)

    async def pause(self, attempt: int = 0) -> None:
        """Wait as long as after this attempt."""
        await self._sleep(self._row.waits_s[min(attempt, len(self._row.waits_s) - 1)])

    async def close(self) -> None:
        """Release the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


class QueuedEvent(msgspec.Struct, kw_only=True):
    """An event that is not accepted yet; `times` is how often it is still to be delivered."""

    number: int
    body: Json
    times: int = 1
    taken: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


class PollQueue:
    """The events of one bot, which it confirms by the cursor of its next poll."""

    def __init__(self, *, first: int = 1) -> None:
        self.waiting: dict[int, QueuedEvent] = {}
        self.next = first
        self._arrived = asyncio.Event()
        self._poll: asyncio.Event | None = None

    def put(self, event: QueuedEvent) -> None:
        """Deliver an event from now on."""
        self.waiting[event.number] = event
        self.wake()

    def confirm(self, number: int) -> None:
        """Count everything below this number as delivered once."""
        for event in [one for one in self.waiting.values() if one.number < number]:
            self.taken(event)

    def taken(self, event: QueuedEvent) -> None:
        """Count an event as delivered once."""
        event.times -= 1
        if event.times <= 0:
            self.waiting.pop(event.number, None)
            event.taken.set()

    async def wait(self, timeout_s: float, *, conflict: str) -> list[QueuedEvent]:
        """Return what waits, oldest first, once there is something; another poll ends this one."""
        self.end_poll()
        gone = self._poll = asyncio.Event()
        try:
            async with asyncio.timeout(timeout_s):
                while not self.waiting and not gone.is_set():
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            return []
        finally:
            self._poll = None if self._poll is gone else self._poll
        if gone.is_set():
            raise SiteRefusal(conflict)
        return sorted(self.waiting.values(), key=lambda one: one.number)

    def end_poll(self) -> None:
        """End the poll that waits."""
        if self._poll is not None:
            self._poll.set()
        self.wake()

    def wake(self) -> None:
        """Let the poll that waits look again."""
        self._arrived.set()

    def drop(self) -> None:
        """Forget everything that waits."""
        for event in self.waiting.values():
            event.taken.set()
        self.waiting.clear()


class Connection:
    """One connection of the app; frames go to it while it is ready."""

    def __init__(self, socket: web.WebSocketResponse, request: web.Request) -> None:
        self.socket = socket
        self.request = request
        self.is_ready = False
        self.gone = asyncio.Event()


Greet = Callable[[Connection], Awaitable[None]]
Hear = Callable[[Connection, Json], Awaitable[None]]


class EventSocket:
    """The open connections, and the frames that are not acknowledged.

    A frame goes to one of them, and again after `resend_s` until `acknowledge` is called with its id.
    `greet` is called when a connection opens, `hear` with each frame of the app.
    """

    def __init__(self, greet: Greet, hear: Hear, *, resend_s: float = 3.0) -> None:
        self._greet = greet
        self._hear = hear
        self._resend_s = resend_s
        self._changed = asyncio.Condition()
        self._waiting: dict[str, asyncio.Event] = {}
        self._turn = 0
        self._telling: asyncio.Future[None] | None = None
        self.connections: list[Connection] = []
        self.opened = 0
        # How often each frame was sent.
        self.sent: dict[str, int] = {}
        self.rejections = no_rejections()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection until it ends."""
        socket = web.WebSocketResponse(heartbeat=10.0)
        await socket.prepare(request)
        connection = Connection(socket, request)
        self.opened += 1
        self.connections.append(connection)
        try:
            await self._greet(connection)
            await self.notify()
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    await self._read(connection, message.data)
        finally:
            connection.gone.set()
            connection.is_ready = False
            self.connections.remove(connection)
            await self.notify()
        return socket

    async def _read(self, connection: Connection, data: str) -> None:
        try:
            frame = msgspec.json.decode(data, type=dict[str, Any])
        except msgspec.DecodeError:
            self.rejections.append("socket: a frame that is not a JSON object")
        else:
            await self._hear(connection, frame)

    async def deliver(self, name: str, frame: Callable[[int], Json]) -> None:
        """Send the frame of each attempt until one is acknowledged under this name."""
        waiting = self._waiting[name] = asyncio.Event()
        self._turn += 1
        try:
            async with asyncio.timeout(_MAX_WAIT_S):
                attempt = 0
                while not waiting.is_set():
                    await self._try(name, frame(attempt), waiting)
                    attempt += 1
        finally:
            del self._waiting[name]

    def acknowledge(self, name: str) -> None:
        """Take the app's word that it has a frame."""
        if name not in self.sent:
            self.rejections.append("socket: an acknowledgement of nothing that was sent")
        elif name in self._waiting:
            self._waiting[name].set()

    async def _try(self, name: str, frame: Json, waiting: asyncio.Event) -> None:
        ready = await self.ready()
        connection = ready[self._turn % len(ready)]
        self.sent[name] = self.sent.get(name, 0) + 1
        if not await self.send(connection, frame):
            return
        ends = [asyncio.create_task(one.wait()) for one in (waiting, connection.gone)]
        try:
            await asyncio.wait(ends, timeout=self._resend_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()

    async def send(self, connection: Connection, frame: Json) -> bool:
        """Send a frame; return whether the connection was open."""
        try:
            await connection.socket.send_json(frame)
        except (ConnectionError, RuntimeError):
            connection.is_ready = False
        return connection.is_ready

    async def ready(self, *, other_than: tuple[Connection, ...] = ()) -> list[Connection]:
        """Return the connections that are ready, waiting for one."""
        async with asyncio.timeout(_MAX_WAIT_S), self._changed:
            while not (
                found := [one for one in self.connections if one.is_ready and one not in other_than]
            ):
                await self._changed.wait()
        return found

    async def wait_open(self, opened: int = 1) -> None:
        """Wait until this many connections have been opened in total, and one is ready."""
        async with asyncio.timeout(_MAX_WAIT_S), self._changed:
            while self.opened < opened or not any(one.is_ready for one in self.connections):
                await self._changed.wait()

    async def tell(self, frame: Json) -> None:
        """Send a frame over every connection."""
        for connection in tuple(self.connections):
            await connection.socket.send_json(frame)

    async def replace(self, frame: Json) -> None:
        """Announce the end of every connection, and close each once a new one is ready."""
        old = tuple(one for one in self.connections if one.is_ready)
        await self.tell(frame)
        await self.ready(other_than=old)
        for connection in old:
            connection.is_ready = False
            await connection.socket.close()

    def disable(self, frame: Json) -> None:
        """Announce the end of every connection, and send nothing else over it."""
        for connection in self.connections:
            connection.is_ready = False
        self._telling = asyncio.ensure_future(self.tell(frame))

    async def close(self, *, code: int = 1000) -> None:
        """Close every connection properly."""
        for connection in tuple(self.connections):
            connection.is_ready = False
            await connection.socket.close(code=code)

    async def notify(self) -> None:
        """Let everyone who waits look again."""
        async with self._changed:
            self._changed.notify_all()


class ResumableSocket(EventSocket):
    """Frames are numbered; who resumes a session gets those after the number that it names.

    A frame counts as accepted once the app has named its number, in a heartbeat or when it resumes.
    """

    def __init__(self, greet: Greet, hear: Hear) -> None:
        super().__init__(greet, hear)
        self.session = ""
        self.frames: list[Json] = []
        self.confirmed = 0

    async def emit(self, frame: Callable[[int], Json]) -> None:
        """Send the frame of the next number; return once the app has confirmed it.

        It waits for the first session, and happens again in the next one if its own is over before.
        """
        async with asyncio.timeout(_MAX_WAIT_S):
            while True:
                async with self._changed:
                    await self._changed.wait_for(lambda: self.session)
                session, number = self.session, await self.send_next(frame)
                if await self._is_confirmed(session, number):
                    return

    async def _is_confirmed(self, session: str, number: int) -> bool:
        """Wait until a number is confirmed, or its session is over."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: self.session != session or self.confirmed >= number
            )
        return self.session == session

    async def send_next(self, frame: Callable[[int], Json]) -> int:
        """Send the frame of the next number to who is ready; return the number."""
        number = len(self.frames) + 1
        self.frames.append(frame(number))
        for connection in tuple(one for one in self.connections if one.is_ready):
            await self.send(connection, self.frames[number - 1])
        return number

    async def confirm(self, number: int) -> None:
        """Take the app's word that it has everything up to this number."""
        if number > len(self.frames):
            self.rejections.append(f"socket: the number {number} was never sent")
        self.confirmed = max(self.confirmed, number)
        await self.notify()

    async def resume(self, connection: Connection, session: str, number: int) -> bool:
        """Send what came after a number; return False if there is no such session."""
        if not session or session != self.session or number > len(self.frames):
            return False
        await self.confirm(number)
        connection.is_ready = True
        for frame in self.frames[number:]:
            await self.send(connection, frame)
        await self.notify()
        return True

    def forget(self) -> None:
        """End the session, so that the app has to begin a new one; its frames are lost."""
        self.session = ""
        self.frames.clear()
        self.confirmed = 0
