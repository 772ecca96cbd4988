"""Socket Mode: the connection over which Slack sends envelopes.

An envelope is acknowledged only after its message is stored. While too many are not, nothing more
is read. When Slack announces the end of a connection, a new one is opened before the old one is
closed. It knows frames, not their contents.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import aiohttp
import structlog

from hermes.channels.slack.client import SlackApi
from hermes.channels.slack.outbound import REVOKED, SlackRejected
from hermes.channels.slack.wire import Frame, decode
from hermes.errors import (
    BadRequest,
    ConfigurationError,
    ConnectFailed,
    HermesError,
)
from hermes.net.client import HttpClient

_HELLO_S: Final = 10.0
MAX_FRAME: Final = 4 << 20
# The limit of unstored content; above it no more is read. An envelope counts for itself and its
# content.
MOST_HELD_BYTES: Final = 16 << 20
_ENVELOPE_BYTES: Final = 2000
# How long Slack keeps a connection open after its warning, and a little more.
_LINGER_S: Final = 15.0
_log = structlog.get_logger(__name__)

# Takes an envelope and returns whether to acknowledge it.
Take = Callable[[Frame], Awaitable[bool]]


class SocketMode:
    """The connections of one app: one, or two during a changeover."""

    def __init__(
        self, client: HttpClient, api: SlackApi, *, app_token: str, ping_s: float, take: Take
    ) -> None:
        self._client = client
        self._api = api
        self._app_token = app_token
        self._ping_s = ping_s
        self._take = take
        self._current: aiohttp.ClientWebSocketResponse | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._lost: asyncio.Future[None] | None = None
        self._held: dict[str, int] = {}
        self._room = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Whether a connection is open that can deliver envelopes."""
        return self._current is not None and not self._current.closed

    async def open(self) -> None:
        """Connect; return once Slack has sent hello."""
        self._lost = asyncio.get_running_loop().create_future()
        await self._renew()

    async def lost(self) -> None:
        """Wait until no connection is open; raise why."""
        if self._lost is None:
            raise ConnectFailed("slack: the socket is not open")
        await asyncio.shield(self._lost)

    async def close(self) -> None:
        """Close every connection; Slack sends unacknowledged envelopes again."""
        current, self._current = self._current, None
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if current is not None:
            await current.close()
        if self._lost is not None and not self._lost.done():
            self._lost.cancel()

    async def _renew(self) -> None:
        socket = await self._connect()
        self._current = socket
        self._own(self._read(socket), "slack socket")

    async def _connect(self) -> aiohttp.ClientWebSocketResponse:
        url = await self._ticket()
        session = self._client.session(trusted=True)
        try:
            socket = await session.ws_connect(
                self._api.own_address(url),
                heartbeat=self._ping_s,
                max_msg_size=MAX_FRAME,
                proxy=self._client.settings.proxy,
                timeout=aiohttp.ClientWSTimeout(ws_close=2.0),
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ConnectFailed(
                f"slack: the socket was not opened ({type(error).__name__})"
            ) from error
        has_begun = False
        try:
            await self._hello(socket)
            has_begun = True
        finally:
            if not has_begun:
                await socket.close()
        return socket

    async def _ticket(self) -> str:
        """Return the address of a new connection; each is valid once."""
        try:
            found = await self._api.form("apps.connections.open", {}, token=self._app_token)
        except SlackRejected as error:
            if error.said in REVOKED | {"missing_scope", "not_allowed_token_type"}:
                raise ConfigurationError(
                    f"platforms.slack.app_token: Slack refused it ({error.said}); set the app-level "
                    "token (xapp-...) with the scope connections:write, and switch Socket Mode on"
                ) from error
            raise
        url = found.get("url")
        if not isinstance(url, str):
            raise ConnectFailed("slack: apps.connections.open named no address")
        return url

    async def _hello(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        try:
            async with asyncio.timeout(_HELLO_S):
                frame = await self._next(socket)
        except TimeoutError as error:
            raise ConnectFailed(f"slack: no hello on the socket in {_HELLO_S:g} s") from error
        if frame is None or frame.type != "hello":
            raise ConnectFailed("slack: the socket did not begin with a hello")

    async def _next(self, socket: aiohttp.ClientWebSocketResponse) -> Frame | None:
        """Return the next readable frame; None at the end of the connection."""
        while True:
            message = await socket.receive()
            if message.type is aiohttp.WSMsgType.TEXT:
                try:
                    return decode(message.data.encode(errors="replace"), Frame)
                except BadRequest as error:
                    _log.warning("slack.frame_unreadable", problem=str(error))
            elif message.type is not aiohttp.WSMsgType.BINARY:
                return None

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        try:
            async with asyncio.timeout(None) as limit:
                while (frame := await self._next(socket)) is not None:
                    if frame.type == "disconnect" and await self._is_replaced(socket, frame):
                        limit.reschedule(asyncio.get_running_loop().time() + _LINGER_S)
                    elif frame.envelope_id is not None:
                        await self._hold(socket, frame, frame.envelope_id)
        except TimeoutError:
            await socket.close()
        finally:
            if socket is self._current:
                self._end(ConnectFailed("slack: the socket was closed"))

    async def _is_replaced(self, socket: aiohttp.ClientWebSocketResponse, frame: Frame) -> bool:
        """Open a new connection next to one that will end; return whether it is open."""
        if socket is not self._current:
            return False
        if frame.reason == "link_disabled":
            self._end(
                ConfigurationError(
                    "platforms.slack: Slack ended the socket for good: Socket Mode was switched off, "
                    "or the app was removed or its tokens revoked; look at the app's page, or set "
                    "mode to http"
                )
            )
            return False
        try:
            await self._renew()
        except ConfigurationError as error:
            self._end(error)
        except HermesError as error:
            # The old connection may stay open for a while; its end is reported when it comes.
            _log.warning("slack.socket_not_renewed", problem=str(error))
        _log.info("slack.socket_renewed", reason=frame.reason, stands=socket is not self._current)
        return socket is not self._current

    async def _hold(self, socket: aiohttp.ClientWebSocketResponse, frame: Frame, name: str) -> None:
        """Hold an envelope once there is room; ignore one that is already held."""
        if name in self._held:
            return
        while sum(self._held.values()) > MOST_HELD_BYTES:
            self._room.clear()
            await self._room.wait()
        self._held[name] = _ENVELOPE_BYTES + len(bytes(frame.payload))
        self._own(self._handle(socket, frame, name), "slack envelope")

    async def _handle(
        self, socket: aiohttp.ClientWebSocketResponse, frame: Frame, name: str
    ) -> None:
        """Handle one envelope and acknowledge it; if the connection is lost, Slack sends it
        again.
        """
        try:
            is_taken = await self._take(frame)
        finally:
            self._held.pop(name, None)
            self._room.set()
        if not is_taken:
            return
        try:
            await socket.send_json({"envelope_id": name})
        except (aiohttp.ClientError, OSError) as error:
            _log.info("slack.not_acknowledged", problem=type(error).__name__)

    # Any: what may be sent into an asyncio task, which is nothing.
    def _own(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("slack.task_failed", task=task.get_name(), problem=type(error).__name__)

    def _end(self, error: HermesError) -> None:
        if self._lost is not None and not self._lost.done():
            self._lost.set_exception(error)
            # Retrieve the exception, so that asyncio does not warn.
            self._lost.exception()
