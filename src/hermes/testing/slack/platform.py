"""Slack on loopback as one object: the server, its faults, and what people do there.

Fits `testing.stand_in.StandIn`. `/api` is the Web API, `/link` Socket Mode, `/upload` and
`/files-pri` the files.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from aiohttp import web

from hermes.ports.clock import Clock, SystemClock
from hermes.testing.loopback import lose
from hermes.testing.slack.arguments import ALL_SCOPES, METHODS, Json, read_arguments
from hermes.testing.slack.calls import Calls
from hermes.testing.slack.events import Events
from hermes.testing.slack.markup import as_read
from hermes.testing.slack.methods import Methods
from hermes.testing.slack.refusal import SlackError
from hermes.testing.slack.sockets import Sockets
from hermes.testing.slack.state import SlackState
from hermes.testing.stand_in import Fault, FaultKind, PersonMessage, Post, no_rejections, take_fault

BOT_TOKEN = "xoxb-not-a-real-token"
APP_TOKEN = "xapp-not-a-real-token"
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
_MAX_BODY = 60_000_000
_OPS = {
    "chat.postMessage": "send",
    "files.completeUploadExternal": "send",
    "chat.update": "edit",
}
_AFTER: frozenset[FaultKind] = frozenset({"reset_after", "hang"})
_REFUSED_S = 0.5


class SlackStandIn:
    """One workspace with one app in it; `mode` is how the app receives events."""

    def __init__(
        self,
        mode: Literal["socket", "http"] = "socket",
        *,
        clock: Clock | None = None,
        scopes: frozenset[str] = ALL_SCOPES,
        resend_s: float = 3.0,
    ) -> None:
        self._mode = mode
        self._scopes = scopes
        clock = clock or SystemClock()
        self.state = SlackState(clock)
        self.methods = Methods(self.state, clock=clock)
        self.events = Events(self.state)
        self.sockets = Sockets(resend_s=resend_s)
        self.calls = Calls(SIGNING_SECRET, clock=clock)
        # Every call to the Web API, with its error code or `ok`.
        self.log: list[tuple[str, str]] = []
        self._rejections = no_rejections()
        self._faults: list[Fault] = []
        self._late: list[Json] = []
        self._is_revoked = False
        self._released = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._listener: asyncio.Server | None = None
        self._again: asyncio.Task[None] | None = None
        self.port = 0

    @property
    def base_url(self) -> str:
        """The address of the Web API."""
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        secret = (
            {"app_token": APP_TOKEN}
            if self._mode == "socket"
            else {"signing_secret": SIGNING_SECRET}
        )
        return {
            "bot_token": BOT_TOKEN,
            "mode": self._mode,
            "base_url": self.base_url,
            **secret,
        }

    @property
    def rejections(self) -> tuple[str, ...]:
        """Every refusal because the caller broke a rule, with the rule."""
        return (*self._rejections, *self.sockets.rejections, *self.calls.rejections)

    async def start(self, port: int = 0) -> None:
        """Listen; also again after connections were refused."""
        if self._runner is None:
            app = web.Application(client_max_size=_MAX_BODY)
            app.add_routes(
                [
                    web.get("/link/", self._link),
                    web.route("*", "/api/{method}", self._api),
                    web.post("/upload/v1/{file}", self._upload),
                    web.get("/files-pri/{file}/{name}", self._download),
                ]
            )
            self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
            await self._runner.setup()
        if self._listener is None:
            server = self._runner.server
            assert server is not None
            self._listener = await asyncio.get_running_loop().create_server(
                server, "127.0.0.1", port or self.port
            )
            self.port = self._listener.sockets[0].getsockname()[1]
            self.methods.base_url = self.events.base_url = f"http://127.0.0.1:{self.port}"

    async def stop(self) -> None:
        """Close every connection."""
        self._released.set()
        if self._again is not None:
            self._again.cancel()
        await self.calls.close()
        await self.sockets.close()
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def point_at(self, webhook_url: str) -> None:
        """Send events to this Request URL."""
        self.calls.url = webhook_url

    async def say(self, said: PersonMessage) -> str:
        """Write as a person; return `channel:ts` once the bot has accepted all its events."""
        happened = self.events.happen(said)
        calls = list(happened.calls) * max(1, said.times)
        if said.late:
            self._late += calls
        else:
            calls, self._late = [*calls, *self._late], []
            for call in calls:
                await self.tell(call)
        return happened.id

    async def tell(self, call: Json) -> None:
        """Send the app an event, by its mode."""
        if self._mode == "socket":
            await self.sockets.deliver("events_api", call)
        else:
            await self.calls.event(call)

    async def command(self, said: PersonMessage, command: str = "/hermes") -> None:
        """Send a slash command as a person."""
        fields = self.events.command(said, command)
        if self._mode == "socket":
            await self.sockets.deliver("slash_commands", fields)
        else:
            await self.calls.form(fields)

    async def press(self, said: PersonMessage) -> None:
        """Press a button whose value is the text, as a person."""
        payload = self.events.press(said)
        if self._mode == "socket":
            await self.sockets.deliver("interactive", payload)
        else:
            await self.calls.form({"payload": msgspec.json.encode(payload).decode()})

    def posts(self, chat: str) -> tuple[Post, ...]:
        """Return the bot's messages in a chat, oldest first."""
        if not self.state.has_chat(chat):
            return ()
        channel = self.state.find_chat(chat).id
        return tuple(
            Post(
                id=f"{one.channel}:{one.ts}",
                chat=chat,
                text=as_read(one.text),
                markup=one.text,
                thread=one.thread_ts,
                reply_to=None if one.thread_ts is None else f"{one.channel}:{one.thread_ts}",
                edits=one.edits,
                files=tuple(file["name"] for file in one.files),
                deleted=one.is_deleted,
            )
            for one in self.state.messages
            if one.channel == channel and one.is_bots
        )

    def plan(self, fault: Fault) -> None:
        """Plan a fault; each refused connection means half a second without listening."""
        if fault.kind == "refuse_connection":
            self._stop_listening(fault.times * _REFUSED_S)
        else:
            self._faults.append(fault)

    def _stop_listening(self, seconds: float) -> None:
        if self._listener is None or self._runner is None or self._runner.server is None:
            return
        self._listener.close()
        self._listener = None
        for connection in self._runner.server.connections:
            if connection.transport is not None:
                connection.transport.abort()
        self._again = asyncio.ensure_future(self._listen_again(seconds))

    async def _listen_again(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.start()

    async def cut(self) -> None:
        """Drop every open connection of the bot."""
        await self.sockets.cut()

    def revoke(self) -> None:
        """Invalidate both tokens from now on; an open socket is notified and closed."""
        self._is_revoked = True
        self.sockets.disable()

    def restore(self) -> None:
        """Make both tokens valid again."""
        self._is_revoked = False

    async def _link(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self.methods.tickets:
            self._rejections.append("socket: a ticket that is used or was never given")
            return web.Response(status=401)
        self.methods.tickets.discard(ticket)
        return await self.sockets.serve(request)

    async def _api(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["method"]
        try:
            body = await request.read()
            fault = take_fault(self._faults, _OPS.get(name, "any"))
            if fault is not None and fault.kind not in _AFTER:
                self.log.append((name, fault.kind))
                return _failed(fault, is_edit=name == "chat.update")
            self._check_token(name, request)
            arguments = read_arguments(
                name, request.query_string, kind=request.content_type, body=body
            )
            found = self.methods.handlers[name](arguments)
        except SlackError as error:
            self.log.append((name, error.code))
            if error.rule:
                self._rejections.append(f"{name}: {error.code} ({error.rule})")
            return _refusal(error)
        self.log.append((name, "ok" if fault is None else fault.kind))
        if fault is not None:
            await lose(request, fault, self._released)
        return _json({"ok": True, **found})

    def _check_token(self, name: str, request: web.Request) -> None:
        method = METHODS.get(name)
        shown = request.headers.get("Authorization", "")
        if not shown.startswith("Bearer "):
            raise SlackError("not_authed", "no token")
        token = shown.removeprefix("Bearer ")
        if self._is_revoked and token in (BOT_TOKEN, APP_TOKEN):
            raise SlackError("token_revoked")
        if token not in (BOT_TOKEN, APP_TOKEN):
            raise SlackError("invalid_auth")
        if method is None:
            return
        if not token.startswith(method.token):
            raise SlackError("not_allowed_token_type", name)
        has_scope = not method.scopes or token == APP_TOKEN or self._scopes & set(method.scopes)
        if not has_scope:
            provided = ",".join(sorted(self._scopes))
            raise SlackError("missing_scope", needed=method.scopes[0], provided=provided)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        file = self.state.files.get(request.match_info["file"])
        data = await _uploaded(request)
        if file is None or file.length != len(data):
            self._rejections.append("upload: another length than was announced")
            return web.Response(status=400)
        file.data = data
        return web.Response(text=f"OK - {len(data)}")

    async def _download(self, request: web.Request) -> web.StreamResponse:
        fault = take_fault(self._faults, "fetch")
        if fault is not None and fault.kind not in _AFTER:
            return _failed(fault, is_edit=False)
        file = self.state.files.get(request.match_info["file"].rpartition("-")[2])
        shown = request.headers.get("Authorization", "")
        if shown != f"Bearer {BOT_TOKEN}" or self._is_revoked:
            return web.Response(status=302, headers={"Location": "https://slack.com/signin"})
        if file is None or file.data is None:
            return web.Response(status=404)
        if fault is not None:
            await lose(request, fault, self._released)
        return web.Response(body=file.data, content_type=file.mime)


async def _uploaded(request: web.Request) -> bytes:
    """Return the bytes of an upload, raw or as the form that SDKs send."""
    if request.content_type != "multipart/form-data":
        return await request.read()
    for part in (await request.post()).values():
        if isinstance(part, web.FileField):
            return part.file.read()
    return b""


def _json(value: object, *, status: int = 200) -> web.Response:
    body = msgspec.json.encode(value)
    return web.Response(body=body, status=status, content_type="application/json", charset="utf-8")


def _refusal(error: SlackError) -> web.Response:
    wait = error.more.pop("wait", None)
    answer = _json({"ok": False, "error": error.code, **error.more}, status=error.status)
    if wait is not None:
        answer.headers["Retry-After"] = str(wait)
    return answer


def _failed(fault: Fault, *, is_edit: bool) -> web.Response:
    if fault.kind == "rate_limited":
        wait = {"wait": f"{fault.retry_after:g}"}
        return _refusal(SlackError("ratelimited", status=429, **wait))
    if fault.kind == "server_error":
        return web.Response(status=503, text="<html>Slack is having trouble</html>")
    if fault.kind == "unauthorized":
        return _json({"ok": False, "error": "invalid_auth"})
    code = "cant_update_message" if is_edit else "is_archived"
    return _json({"ok": False, "error": code})
