"""Keeps a platform's socket: greeting, heartbeat, resume from the last event that is in the inbox.

A channel says in a `SocketWire` what the frames mean; this module knows when each is due. An event
is acknowledged, and the session's position moves, only once the event is kept: after a crash the
platform sends the rest again. The position is in the channel's state, never ahead of the inbox.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, Final

import aiohttp
import msgspec
import structlog

from hermes.channel_kit.intake import Sleep
from hermes.channel_kit.socket_wire import (
    SocketFrame,
    SocketMark,
    SocketPosition,
    SocketWire,
    Take,
)
from hermes.errors import (
    AnswerLost,
    BadRequest,
    ConfigurationError,
    ConnectFailed,
    HermesError,
    Refused,
    StoreError,
    TryLater,
)
from hermes.net.client import HttpClient
from hermes.ports.channel_rows import CloseRow, SocketRow
from hermes.ports.channel_state import PlatformState

# The limit of events that are not kept yet; above it no more is read. Each counts for itself, too.
MOST_HELD_BYTES: Final = 16 << 20
_EVENT_BYTES: Final = 2000
_STATE: Final = "socket"
# The position is written at most so often; what a crash repeats because of it the inbox knows.
_WRITE_S: Final = 1.0
# A connection that lives shorter is not replaced at once, so that a failing platform is spared.
_SHORT_S: Final = 5.0
# The pause before a new session after one was invalid: this long, and up to so much more.
_ANEW_S: Final = 1.0
_ANEW_SPREAD_S: Final = 4.0
_RESUME: Final = CloseRow(code=0)
_log = structlog.get_logger(__name__)


class _Line:
    """One connection."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_unanswered = False
        self.is_invalid = False
        self.ready_at = 0.0

    def fail(self, error: HermesError) -> None:
        if not self.ready.done():
            self.ready.set_exception(error)
            # Retrieve the exception, so that asyncio does not warn.
            self.ready.exception()

    async def send(self, frame: str) -> None:
        try:
            await self.socket.send_str(frame)
        except (aiohttp.ClientError, OSError) as error:
            raise ConnectFailed(f"the socket is closed ({type(error).__name__})") from error


class SocketSession:
    """The session of one account, over one connection, or two during a change."""

    def __init__(
        self,
        client: HttpClient,
        wire: SocketWire,
        row: SocketRow,
        *,
        platform: str,
        state: PlatformState,
        take: Take,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._wire = wire
        self._row = row
        self._platform = platform
        self._state = state
        self._take = take
        self._sleep = sleep
        self._chance = chance
        self._line: _Line | None = None
        self._is_replacing = False
        self._lost: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._mark: SocketMark | None = None
        self._position = SocketPosition(0)
        self._moved = asyncio.Event()
        self._held: dict[str, int] = {}
        self._room = asyncio.Event()
        self._room.set()
        self._asked: dict[str, asyncio.Future[SocketFrame]] = {}

    @property
    def is_open(self) -> bool:
        """Whether a connection is open over which events come."""
        return self._line is not None and not self._line.socket.closed

    async def open(self) -> None:
        """Connect, and resume the stored session if there is one; return once it has begun."""
        self._lost = asyncio.get_running_loop().create_future()
        self._mark = await self._stored()
        self._position = SocketPosition(0 if self._mark is None else self._mark.number)
        self._own(self._write(), "write")
        await self._join()

    async def lost(self) -> None:
        """Wait until no connection is open; raise why."""
        if self._lost is None:
            raise ConnectFailed(f"{self._platform}: the socket is not open")
        await asyncio.shield(self._lost)

    async def close(self) -> None:
        """Close every connection; the platform sends again what is not kept."""
        line, self._line = self._line, None
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if line is not None:
            await line.socket.close(code=self._row.leave)
        if self._moved.is_set():
            await self._write_once()
        if self._lost is not None and not self._lost.done():
            self._lost.cancel()

    async def ask(self, request_id: str, frame: str, *, timeout_s: float) -> SocketFrame:
        """Send a request and return its answer; `ConnectFailed` if it certainly was not sent."""
        line = self._line
        if line is None:
            raise ConnectFailed(f"{self._platform}: the socket is not open")
        answer: asyncio.Future[SocketFrame] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = answer
        try:
            await line.send(frame)
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError as error:
            raise AnswerLost(f"{self._platform}: no answer in {timeout_s:g} s") from error
        finally:
            self._asked.pop(request_id, None)

    async def _stored(self) -> SocketMark | None:
        content = await self._state.get(_STATE)
        try:
            mark = None if content is None else msgspec.json.decode(content, type=SocketMark)
        except msgspec.DecodeError:
            return None
        return mark if mark is not None and mark.likeness == self._wire.likeness else None

    async def _join(self) -> None:
        """Open a connection whose session begins or goes on; one try more if it cannot go on."""
        while True:
            resumes = self._mark
            line = await self._connect(await self._wire.address(resumes))
            try:
                await self._greet(line)
            except ConnectFailed:
                if not line.is_invalid or resumes is None:
                    raise
            else:
                return
            finally:
                if line is not self._line:
                    await line.socket.close(code=self._row.leave)
            await self._pause()

    async def _pause(self) -> None:
        await self._sleep(_ANEW_S + _ANEW_SPREAD_S * self._chance())

    async def _connect(self, address: str) -> _Line:
        row = self._row
        try:
            socket = await self._client.session(trusted=True).ws_connect(
                address,
                heartbeat=row.ping_s or None,
                max_msg_size=row.frame_bytes,
                proxy=self._client.settings.proxy,
                timeout=aiohttp.ClientWSTimeout(ws_close=2.0),
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ConnectFailed(
                f"{self._platform}: the socket was not opened ({type(error).__name__})"
            ) from error
        return _Line(socket)

    async def _greet(self, line: _Line) -> None:
        try:
            async with asyncio.timeout(self._row.greeting_s):
                every_s = await self._hello(line) if self._row.greets else 0.0
                first = self._wire.begin(self._mark)
                if first is not None:
                    await line.send(first)
                else:
                    self._is_ready(line)
                self._own(self._read(line), "read")
                if every_s > 0:
                    self._own(self._beat(line, every_s), "heartbeat")
                await line.ready
        except TimeoutError as error:
            raise ConnectFailed(
                f"{self._platform}: no session on the socket in {self._row.greeting_s:g} s"
            ) from error

    def _is_ready(self, line: _Line) -> None:
        if not line.ready.done():
            line.ready.set_result(None)
            line.ready_at = asyncio.get_running_loop().time()
            self._line = line

    async def _hello(self, line: _Line) -> float:
        frame = await self._next(line)
        if frame is None:
            raise self._ended(line)
        if frame.meaning != "hello":
            raise ConnectFailed(f"{self._platform}: the socket did not begin with a hello")
        return frame.every_s

    async def _next(self, line: _Line) -> SocketFrame | None:
        """Return the next readable frame; None at the end of the connection."""
        while True:
            message = await line.socket.receive()
            if message.type is aiohttp.WSMsgType.TEXT:
                data = message.data.encode(errors="replace")
            elif message.type is aiohttp.WSMsgType.BINARY:
                data = message.data
            else:
                return None
            try:
                return self._wire.read(data)
            except BadRequest as error:
                _log.warning("socket.frame_unreadable", platform=self._platform, problem=str(error))

    async def _read(self, line: _Line) -> None:
        try:
            while (frame := await self._next(line)) is not None:
                await self._heard(line, frame)
        except ConnectFailed as failed:
            _log.info("socket.not_answered", platform=self._platform, problem=str(failed))
        error = self._ended(line)
        line.fail(error)
        if line is not self._line or self._is_replacing:
            return
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(AnswerLost(f"{self._platform}: the socket was closed"))
        lived_s = asyncio.get_running_loop().time() - line.ready_at
        if isinstance(error, ConfigurationError) or lived_s < _SHORT_S:
            self._end(error)
        else:
            self._is_replacing = True
            self._own(self._replace(line), "rejoin")

    async def _heard(self, line: _Line, frame: SocketFrame) -> None:
        match frame.meaning:
            case "ready":
                await self._begun(line, frame)
            case "event":
                self._is_ready(line)
                await self._hold(line, frame)
            case "beat":
                await line.send(self._wire.beat(self._position.number or None))
            case "alive":
                line.is_unanswered = False
            case "renew" if line is self._line and not self._is_replacing:
                await self._renew(line)
            case "invalid":
                line.is_invalid = not frame.can_resume
                await line.socket.close(code=self._row.leave)
            case "answer":
                asked = self._asked.get(frame.id)
                if asked is not None and not asked.done():
                    asked.set_result(frame)
            case "final":
                self._end(ConfigurationError(frame.hint))
            case _:
                self._pass(frame)

    async def _begun(self, line: _Line, frame: SocketFrame) -> None:
        """Note a new session, durably before any event of it, or that the old one goes on."""
        if frame.id:
            self._position = SocketPosition(frame.number or 0)
            self._mark = SocketMark(
                id=frame.id,
                address=frame.address,
                number=frame.number or 0,
                likeness=self._wire.likeness,
            )
            await self._write_once()
        else:
            self._pass(frame)
        self._is_ready(line)

    def _pass(self, frame: SocketFrame) -> None:
        """Move on over a frame with a number that nobody has to keep."""
        if frame.number is not None:
            self._position.begin(frame.number)
            self._position.end(frame.number)
            self._moved.set()

    async def _renew(self, line: _Line) -> None:
        if self._row.renew == "beside":
            self._is_replacing = True
            self._own(self._replace(line), "renew")
        else:
            await line.socket.close(code=self._row.leave)

    async def _replace(self, line: _Line) -> None:
        """Open the next connection; what is left of the old one may stay for a while."""
        try:
            if line.is_invalid:
                await self._pause()
            await self._join()
        except HermesError as error:
            _log.warning("socket.not_renewed", platform=self._platform, problem=str(error))
            # An old connection may stay open for a while; its end is reported when it comes.
            if line.socket.closed or isinstance(error, ConfigurationError):
                self._end(error)
            return
        finally:
            self._is_replacing = False
        _log.info("socket.renewed", platform=self._platform)
        if not self.is_open:
            self._end(ConnectFailed(f"{self._platform}: the new socket was closed at once"))
        if not line.socket.closed:
            await self._sleep(self._row.linger_s)
            await line.socket.close(code=self._row.leave)

    async def _hold(self, line: _Line, frame: SocketFrame) -> None:
        """Hold an event once there is room; ignore one that is held already."""
        name = frame.id or str(frame.number)
        if name in self._held:
            return
        while sum(self._held.values()) > MOST_HELD_BYTES:
            self._room.clear()
            await self._room.wait()
        self._held[name] = _EVENT_BYTES + len(frame.payload)
        if frame.number is not None:
            self._position.begin(frame.number)
        self._own(self._handle(line, frame, name=name, position=self._position), "event")

    async def _handle(
        self, line: _Line, frame: SocketFrame, *, name: str, position: SocketPosition
    ) -> None:
        """Hand one event in; acknowledge it and move the position once it is kept."""
        try:
            is_kept = await self._take(frame)
        except Refused as error:
            # What cannot be read or taken now never can be: it must not come again.
            _log.warning("socket.event_refused", platform=self._platform, problem=str(error)[:200])
            is_kept = True
        except HermesError as error:
            _log.warning("socket.event_not_kept", platform=self._platform, code=error.code)
            is_kept = False
        finally:
            self._held.pop(name, None)
            self._room.set()
        if not is_kept:
            if frame.number is not None:
                self._end(ConnectFailed(f"{self._platform}: an event was not kept; it comes again"))
            return
        if frame.number is not None:
            position.end(frame.number)
            self._moved.set()
        answer = self._wire.kept(frame)
        if answer is not None:
            try:
                await line.send(answer)
            except ConnectFailed as error:
                _log.info("socket.not_acknowledged", platform=self._platform, problem=str(error))

    async def _beat(self, line: _Line, every_s: float) -> None:
        """Send heartbeats; close a connection on which the one before was not answered."""
        await self._sleep(every_s * self._chance())
        while not line.socket.closed:
            # While there is no room nothing is read, answers neither.
            if line.is_unanswered and self._room.is_set():
                _log.info("socket.silent", platform=self._platform)
                await line.socket.close(code=self._row.leave)
                return
            line.is_unanswered = True
            try:
                await line.send(self._wire.beat(self._position.number or None))
            except ConnectFailed:
                return
            await self._sleep(every_s)

    async def _write(self) -> None:
        """Store the position as it moves."""
        while True:
            await self._moved.wait()
            await self._write_once()
            await self._sleep(_WRITE_S)

    async def _write_once(self) -> None:
        self._moved.clear()
        if self._mark is None:
            return
        self._mark = msgspec.structs.replace(self._mark, number=self._position.number)
        try:
            await self._state.put(_STATE, msgspec.json.encode(self._mark))
        except (StoreError, TryLater) as error:
            # An older position repeats events; none is lost.
            self._moved.set()
            _log.warning("socket.position_not_stored", platform=self._platform, code=error.code)

    def _ended(self, line: _Line) -> HermesError:
        """Return what the end of a connection means, by its close code."""
        code = line.socket.close_code
        row = next((one for one in self._row.close if one.code == code), _RESUME)
        if row.then == "final":
            return ConfigurationError(
                f"{self._platform}: the socket was closed ({code}): {row.hint}"
            )
        if row.then == "anew":
            line.is_invalid = True
        if line.is_invalid:
            self._mark = None
        return ConnectFailed(
            f"{self._platform}: the socket was closed ({code or 'without a code'})"
        )

    # Any: what may be sent into an asyncio task, which is nothing.
    def _own(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=f"{self._platform} socket {name}")
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("socket.task_failed", task=task.get_name(), problem=type(error).__name__)

    def _end(self, error: HermesError) -> None:
        if self._lost is not None and not self._lost.done():
            self._lost.set_exception(error)
            # Retrieve the exception, so that asyncio does not warn.
            self._lost.exception()
