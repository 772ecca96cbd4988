"""The stand-in homeserver on loopback: the part of the client-server API that a bot uses,
strictly.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web

from hermes.testing.loopback import lose
from hermes.testing.matrix.rules import MatrixError, check_filter, check_room_filter, read_object
from hermes.testing.matrix.state import BOT, BOT_NAME, SERVER, MatrixState
from hermes.testing.matrix.sync import is_empty, page_answer, read_token, sync_answer
from hermes.testing.stand_in import Fault, no_rejections, take_fault

V3: Final = "/_matrix/client/v3"
PASSWORD: Final = "not-a-real-password"
_AFTER = frozenset({"reset_after", "hang"})
_MAX_UPLOAD = 50_000_000
_LONGEST_POLL_S = 60.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Wire:
    """The sockets of the homeserver; `people.py` handles what people do."""

    def __init__(self) -> None:
        self.state = MatrixState()
        self.token = "not-a-real-token"
        self.device = "STANDIN"
        self.is_revoked = False
        self.rejected = no_rejections()
        self.calls: list[str] = []
        self.faults: list[Fault] = []
        self.read: list[tuple[str, str]] = []
        self.typing: list[tuple[str, bool]] = []
        self.acknowledged = 0
        # The maximum number of sends per second; 0: no limit.
        self.sends_per_second = 0
        self.knows_new_media = True
        self._sent_at: deque[float] = deque()
        self._transactions: dict[tuple[str, str, str], str] = {}
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self._open: set[asyncio.Transport] = set()
        self._released = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Listen, on the same port as before if there was one."""
        self._released.clear()
        app = web.Application(middlewares=[self._around], client_max_size=2 * _MAX_UPLOAD)
        app.add_routes(self._routes())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await self._listen()

    async def stop(self) -> None:
        """Close every connection."""
        if self._closing is not None:
            self._closing.cancel()
            await asyncio.gather(self._closing, return_exceptions=True)
            self._closing = None
        self._released.set()
        self.state.wake()
        await self.cut()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = self._site = None

    async def cut(self) -> None:
        """Drop every open connection, like a network failure."""
        for transport in tuple(self._open):
            transport.abort()
        self._open.clear()
        await asyncio.sleep(0)

    def plan(self, fault: Fault) -> None:
        """Plan a fault."""
        if fault.kind == "refuse_connection":
            self._closing = asyncio.create_task(self._close_for(0.3 * fault.times))
        else:
            self.faults.append(fault)

    def revoke(self) -> None:
        """Invalidate the token."""
        self.is_revoked = True
        self.state.wake()

    async def _listen(self) -> None:
        assert self._runner is not None
        self._site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await self._site.start()
        self._port = int(self._runner.addresses[0][1])

    async def _close_for(self, seconds: float) -> None:
        assert self._site is not None
        await self._site.stop()
        await self.cut()
        await asyncio.sleep(seconds)
        await self._listen()

    def _routes(self) -> list[web.RouteDef]:
        room = f"{V3}/rooms/{{room}}"
        return [
            web.post(f"{V3}/login", self._login),
            web.get(f"{V3}/account/whoami", self._whoami),
            web.get(f"{V3}/sync", self._sync),
            web.get(f"{V3}/joined_rooms", self._joined_rooms),
            web.get(f"{V3}/profile/{{user}}/displayname", self._display_name),
            web.post(f"{V3}/join/{{room}}", self._join),
            web.put(f"{V3}/user/{{user}}/account_data/m.direct", self._keep_direct),
            web.get(f"{room}/messages", self._messages),
            web.get(f"{room}/event/{{event}}", self._event),
            web.put(f"{room}/send/m.room.message/{{txn}}", self._send),
            web.put(f"{room}/redact/{{event}}/{{txn}}", self._redact),
            web.put(f"{room}/typing/{{user}}", self._typing),
            web.post(f"{room}/receipt/m.read/{{event}}", self._receipt),
            web.post("/_matrix/media/v3/upload", self._upload),
            web.get("/_matrix/client/v1/media/download/{server}/{id}", self._download),
            web.get("/_matrix/media/v3/download/{server}/{id}", self._old_download),
        ]

    @web.middleware
    async def _around(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if isinstance(request.transport, asyncio.Transport):
            self._open.add(request.transport)
        name = f"{request.method} {request.path}"
        self.calls.append(name)
        try:
            self._check_token(request)
            fault = take_fault(self.faults, await _operation(request))
            if fault is not None and fault.kind not in _AFTER:
                raise _refusal(fault)
            answer = await handler(request)
            if fault is not None:
                await lose(request, fault, self._released)
            return answer
        except MatrixError as error:
            if not error.planned:
                self.rejected.append(f"{name}: {error}")
            return _refused(error)
        except web.HTTPException as error:
            self.rejected.append(f"{name}: {error.status} M_UNRECOGNIZED")
            return _refused(MatrixError(error.status, "M_UNRECOGNIZED", "Unrecognized request"))

    def _check_token(self, request: web.Request) -> None:
        if request.path == f"{V3}/login":
            return
        if "access_token" in request.query:
            raise MatrixError(401, "M_MISSING_TOKEN", "a token in an address ends up in logs")
        shown = request.headers.get("Authorization", "")
        if not shown.startswith("Bearer "):
            raise MatrixError(401, "M_MISSING_TOKEN", "Missing access token")
        if self.is_revoked:
            raise MatrixError(401, "M_UNKNOWN_TOKEN", "Invalid access token passed.", planned=True)
        if shown.removeprefix("Bearer ") != self.token:
            raise MatrixError(401, "M_UNKNOWN_TOKEN", "Invalid access token passed.")

    async def _login(self, request: web.Request) -> web.Response:
        body = await _body(request)
        if body.get("type") != "m.login.password":
            raise MatrixError(400, "M_UNKNOWN", "Unknown login type")
        user = body.get("identifier", {}).get("user")
        if user not in {BOT, "hermes"} or body.get("password") != PASSWORD:
            raise MatrixError(403, "M_FORBIDDEN", "Invalid username or password")
        self.device = body.get("device_id") or self.state.next_id("DEVICE")
        self.token = self.state.next_id("not-a-real-token-")
        self.is_revoked = False
        return web.json_response(
            {"user_id": BOT, "access_token": self.token, "device_id": self.device}
        )

    async def _whoami(self, request: web.Request) -> web.Response:
        return web.json_response({"user_id": BOT, "device_id": self.device, "is_guest": False})

    async def _sync(self, request: web.Request) -> web.Response:
        _check_query(request, {"filter", "timeout", "since", "full_state", "set_presence"})
        asked = check_filter(request.query.get("filter", "{}"))
        asked.setdefault("room", {}).setdefault("timeline", {})
        wait_s = int(request.query.get("timeout", "0")) / 1000
        since = request.query.get("since")
        start = None if since is None else read_token(since, self.state)
        if start is not None:
            self.acknowledged = max(self.acknowledged, start)
            self.state.wake()
        end = asyncio.get_running_loop().time() + min(wait_s, _LONGEST_POLL_S)
        while True:
            self._check_token(request)
            answer = sync_answer(self.state, start, asked)
            left_s = end - asyncio.get_running_loop().time()
            if start is None or not is_empty(answer) or left_s <= 0 or self._released.is_set():
                return web.json_response(answer)
            await self.state.changed(left_s)

    async def _messages(self, request: web.Request) -> web.Response:
        _check_query(request, {"dir", "limit", "filter", "from", "to"})
        room = self.state.own_room(request.match_info["room"])
        if request.query.get("dir") != "b":
            raise MatrixError(400, "M_MISSING_PARAM", "dir must be b here")
        asked = check_room_filter(read_object(request.query.get("filter", "{}").encode()))
        start, stop = request.query.get("from"), request.query.get("to")
        return web.json_response(
            page_answer(
                self.state,
                room,
                start=self.state.position if start is None else read_token(start, self.state),
                stop=read_token(stop, self.state),
                limit=int(request.query.get("limit", "10")),
                asked=asked,
            )
        )

    async def _event(self, request: web.Request) -> web.Response:
        event = self.state.own_room(request.match_info["room"]).find(request.match_info["event"])
        if event is None:
            raise MatrixError(404, "M_NOT_FOUND", "Event not found.", planned=True)
        return web.json_response(event)

    async def _send(self, request: web.Request) -> web.Response:
        room, txn = request.match_info["room"], request.match_info["txn"]
        content = await _body(request)
        event_id = self._transactions.get((self.device, room, txn))
        if event_id is None:
            self._check_rate()
            event_id = str(self.state.send(room, content)["event_id"])
            self._transactions[self.device, room, txn] = event_id
        return web.json_response({"event_id": event_id})

    async def _redact(self, request: web.Request) -> web.Response:
        room, txn = request.match_info["room"], request.match_info["txn"]
        await _body(request)
        event_id = self._transactions.get((self.device, room, txn))
        if event_id is None:
            event_id = str(self.state.redact(room, request.match_info["event"])["event_id"])
            self._transactions[self.device, room, txn] = event_id
        return web.json_response({"event_id": event_id})

    async def _typing(self, request: web.Request) -> web.Response:
        room = self.state.own_room(request.match_info["room"])
        body = await _body(request)
        if request.match_info["user"] != BOT:
            raise MatrixError(403, "M_FORBIDDEN", "Cannot set another user's typing state")
        if not isinstance(body.get("typing"), bool) or set(body) - {"typing", "timeout"}:
            raise MatrixError(400, "M_BAD_JSON", "typing must be true or false")
        self.typing.append((room.id, body["typing"]))
        return web.json_response({})

    async def _receipt(self, request: web.Request) -> web.Response:
        room = self.state.own_room(request.match_info["room"])
        body = await _body(request)
        if set(body) - {"thread_id"} or room.find(request.match_info["event"]) is None:
            raise MatrixError(400, "M_INVALID_PARAM", "a receipt of what does not exist")
        self.read.append((room.id, request.match_info["event"]))
        return web.json_response({})

    async def _join(self, request: web.Request) -> web.Response:
        await _body(request)
        room = self.state.rooms.get(request.match_info["room"])
        if room is None or room.membership(BOT) not in {"invite", "join"}:
            raise MatrixError(403, "M_FORBIDDEN", "You are not invited to this room.")
        self.state.enter(room.id, BOT, BOT_NAME)
        return web.json_response({"room_id": room.id})

    async def _joined_rooms(self, request: web.Request) -> web.Response:
        rooms = [room.id for room in self.state.rooms.values() if room.membership(BOT) == "join"]
        return web.json_response({"joined_rooms": rooms})

    async def _display_name(self, request: web.Request) -> web.Response:
        if request.match_info["user"] != BOT:
            raise MatrixError(404, "M_NOT_FOUND", "Profile not found")
        return web.json_response({"displayname": BOT_NAME})

    async def _keep_direct(self, request: web.Request) -> web.Response:
        body = await _body(request)
        if request.match_info["user"] != BOT:
            raise MatrixError(403, "M_FORBIDDEN", "Cannot add account data for other users.")
        self.state.direct = body
        self.state.position += 1
        self.state.direct_at = self.state.position
        return web.json_response({})

    async def _upload(self, request: web.Request) -> web.Response:
        _check_query(request, {"filename"})
        data = await request.read()
        if len(data) > _MAX_UPLOAD:
            raise MatrixError(413, "M_TOO_LARGE", "Upload request body is too large")
        media_id = self.state.next_id("media")
        self.state.media[media_id] = (data, request.content_type)
        return web.json_response({"content_uri": f"mxc://{SERVER}/{media_id}"})

    async def _download(self, request: web.Request) -> web.Response:
        if not self.knows_new_media:
            raise MatrixError(404, "M_UNRECOGNIZED", "Unrecognized request", planned=True)
        return await self._old_download(request)

    async def _old_download(self, request: web.Request) -> web.Response:
        found = self.state.media.get(request.match_info["id"])
        if found is None or request.match_info["server"] != SERVER:
            raise MatrixError(404, "M_NOT_FOUND", "Not found")
        return web.Response(body=found[0], content_type=found[1])

    def _check_rate(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._sent_at and self._sent_at[0] <= now - 1.0:
            self._sent_at.popleft()
        if self.sends_per_second and len(self._sent_at) >= self.sends_per_second:
            wait = self._sent_at[0] + 1.0 - now
            raise MatrixError(429, "M_LIMIT_EXCEEDED", "Too Many Requests", retry_after=wait)
        self._sent_at.append(now)


async def _operation(request: web.Request) -> str:
    """Return the kind of a call, as faults name it."""
    if "/media/download/" in request.path or "/v3/download/" in request.path:
        return "fetch"
    if "/send/m.room.message/" in request.path:
        return "edit" if b'"m.replace"' in await request.read() else "send"
    return "other"


async def _body(request: web.Request) -> dict[str, Any]:
    if request.content_type != "application/json":
        raise MatrixError(400, "M_NOT_JSON", "the content type is not JSON")
    return read_object(await request.read())


def _check_query(request: web.Request, known: set[str]) -> None:
    unknown = set(request.query) - known
    if unknown:
        raise MatrixError(400, "M_INVALID_PARAM", f"there is no parameter {sorted(unknown)}")


def _refusal(fault: Fault) -> MatrixError:
    """Return a fault in the form of this platform."""
    if fault.kind == "rate_limited":
        return MatrixError(
            429,
            "M_LIMIT_EXCEEDED",
            "Too Many Requests",
            retry_after=fault.retry_after,
            planned=True,
        )
    if fault.kind == "server_error":
        return MatrixError(500, "M_UNKNOWN", "Internal server error", planned=True)
    if fault.kind == "unauthorized":
        return MatrixError(401, "M_UNKNOWN_TOKEN", "Invalid access token passed.", planned=True)
    return MatrixError(403, "M_FORBIDDEN", "User not in room", planned=True)


def _refused(error: MatrixError) -> web.Response:
    body: dict[str, Any] = {"errcode": error.code, "error": error.text}
    headers = {}
    if error.retry_after is not None:
        body["retry_after_ms"] = int(error.retry_after * 1000)
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    if error.code == "M_UNKNOWN_TOKEN":
        body["soft_logout"] = error.soft_logout
    return web.json_response(body, status=error.status, headers=headers)
