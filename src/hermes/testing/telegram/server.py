"""The stand-in Telegram on loopback: `/bot<token>/<method>` and `/file/bot<token>/<path>`.

Implements `hermes.testing.stand_in.StandIn`.
"""

import asyncio
import hmac
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from hermes.ports.clock import Clock, SystemClock
from hermes.testing.loopback import HttpLoopback
from hermes.testing.stand_in import Fault, PersonMessage, Post, no_rejections
from hermes.testing.telegram import rules
from hermes.testing.telegram.people import People
from hermes.testing.telegram.refusal import ApiError, bad
from hermes.testing.telegram.state import (
    MAX_DOWNLOAD_BYTES,
    Draft,
    StoredMessage,
    TelegramState,
    Upload,
)
from hermes.testing.telegram.updates import PendingUpdate, Updates

TOKEN: Final = "7000000001:AAF-not-a-real-token_of_any_bot-000"
SECRET: Final = "not-a-real-webhook-secret"
_FILES: Final = {
    "sendPhoto": "photo",
    "sendDocument": "document",
    "sendVoice": "voice",
    "sendAudio": "audio",
    "sendVideo": "video",
}
_SENDS: Final = frozenset({*_FILES, "sendMessage", "sendMediaGroup"})
_MAX_BODY: Final = 80 << 20
_UNAUTHORIZED: Final = ApiError(401, "Unauthorized", is_rule=False)
# How long nothing listens for each refused connection.
_REFUSED_S: Final = 0.05


class TelegramStandIn:
    """One Telegram with one bot."""

    def __init__(
        self,
        *,
        mode: str = "poll",
        is_limited: bool = False,
        is_local: bool = False,
        token: str = TOKEN,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self._mode = mode
        self.state = TelegramState(clock=clock, is_limited=is_limited)
        self.people = People(self.state, clock=clock)
        self.updates = Updates(clock=clock, is_local=is_local)
        self.calls: list[str] = []
        self.answered: list[str] = []
        self.port = 0
        self._token = token
        self._is_revoked = False
        self._faults: list[Fault] = []
        self._late: list[PendingUpdate] = []
        self._rejections = no_rejections()
        self._released = asyncio.Event()
        self._http = HttpLoopback()

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        settings = {"bot_token": self._token, "api_url": f"http://127.0.0.1:{self.port}"}
        hooked = {"mode": "webhook", "webhook_secret": SECRET}
        return {**settings, **hooked} if self._mode == "webhook" else settings

    @property
    def is_listening(self) -> bool:
        """Whether connections are accepted."""
        return self._http.is_listening

    @property
    def rejections(self) -> tuple[str, ...]:
        """Every refusal because the caller broke a rule."""
        return tuple(self._rejections)

    async def start(self) -> None:
        """Listen."""
        await self.listen()

    async def listen(self, *, port: int = 0) -> None:
        """Listen on a port; 0 takes a free one."""
        app = web.Application(client_max_size=_MAX_BODY)
        # A token contains a colon, so the pattern must not stop at one.
        app.add_routes(
            [
                web.route("*", "/bot{token:[^/]+}/{method}", self._handle),
                web.get("/file/bot{token:[^/]+}/{path:.+}", self._download),
            ]
        )
        await self._http.start(app, port=port)
        self.port = self._http.port

    async def stop(self) -> None:
        """Close every connection."""
        self._released.set()
        await self.updates.close()
        await self._http.stop()

    def point_at(self, webhook_url: str) -> None:
        """Call this address instead of the webhook's own, like a proxy in front of it."""
        self.updates.pointed_at = webhook_url

    async def say(self, said: PersonMessage) -> str:
        """Act as a person; return the event's id there, once the bot has accepted it."""
        messages = self.people.messages(said)
        first = messages[0]
        kind = "channel_post" if first["chat"]["type"] == "channel" else "message"
        chat = first["chat"]["id"]
        told = [self.updates.happen(kind, one, chat=chat, times=said.times) for one in messages]
        if said.late:
            self._late += told
        else:
            told, self._late = [*told, *self._late], []
            for update in told:
                self.updates.tell(update)
            await asyncio.gather(*(one.taken.wait() for one in told))
        return f"{first['message_id']}@{chat}"

    def posts(self, chat: str) -> tuple[Post, ...]:
        """Return the bot's messages in a chat, oldest first."""
        number = self.people.chat_id(chat)
        return () if number is None else tuple(map(_post, self.state.own(number)))

    def drafts(self, chat: str) -> tuple[Draft, ...]:
        """Return the bot's drafts, oldest first."""
        return tuple(self.state.drafts.get(self.people.chat_id(chat) or 0, ()))

    def shown(self, chat: str) -> tuple[str, ...]:
        """Return the earlier texts of the bot's edited messages in a chat."""
        number = self.people.chat_id(chat) or 0
        return tuple(text for stored in self.state.own(number) for text in stored.before)

    def plan(self, fault: Fault) -> None:
        """Plan a fault."""
        if fault.kind == "refuse_connection":
            self._http.refuse(fault.times * _REFUSED_S)
        else:
            self._faults.extend([fault] * fault.times)

    async def cut(self) -> None:
        """Drop every open connection of the bot."""
        await self._http.cut()

    def revoke(self) -> None:
        """Invalidate the bot's token from now on."""
        self._is_revoked = True
        self.updates.wake()

    def restore(self) -> None:
        """Make the bot's token valid again."""
        self._is_revoked = False

    def renew(self, token: str) -> None:
        """Give the bot another token; the old one becomes invalid."""
        self._token, self._is_revoked = token, False

    def release(self) -> None:
        """Release the hanging calls."""
        self._released.set()
        self._released = asyncio.Event()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        self.calls.append(method)
        try:
            self._authenticate(request)
            fault = self._take_fault(_operation(method))
            params, files = await _read(request, method)
            result = await self._perform(method, params, files)
            self._authenticate(request)
        except ApiError as error:
            is_late = self._is_revoked and error.code == 409
            return self._refusal(method, _UNAUTHORIZED if is_late else error)
        if fault is not None:
            return await self._lose(request, fault)
        return _json({"ok": True, "result": result})

    async def _perform(self, method: str, params: dict[str, Any], files: dict[str, Upload]) -> Any:
        if method == "getUpdates":
            return await self.updates.get(params)
        if method in _FILES:
            kind = _FILES[method]
            upload = files.get(kind)
            if upload is None:
                raise bad("wrong file identifier/HTTP URL specified")
            return self.state.wire(self.state.send_file(params, upload, kind=kind))
        if method == "sendMediaGroup":
            return [self.state.wire(one) for one in self.state.send_album(params, files)]
        return self._simple[method](params)

    @property
    def _simple(self) -> Mapping[str, Callable[[dict[str, Any]], Any]]:
        state, updates = self.state, self.updates
        return {
            "getMe": lambda _params: state.bot,
            "setWebhook": updates.set_webhook,
            "deleteWebhook": updates.delete_webhook,
            "getWebhookInfo": lambda _params: updates.info,
            "sendMessage": lambda params: state.wire(state.send_text(params)),
            "editMessageText": lambda params: state.wire(state.edit(params)),
            "deleteMessage": state.delete,
            "sendMessageDraft": state.draft,
            "sendChatAction": self._act,
            "getFile": self._file,
            "getChat": lambda params: state.chat(params["chat_id"]).wire,
            "getChatMemberCount": self._count_members,
            "answerCallbackQuery": self._answer_button,
        }

    def _act(self, params: dict[str, Any]) -> bool:
        if params["action"] not in rules.ACTIONS:
            raise bad("wrong parameter action in request")
        chat = self.state.chat(params["chat_id"])
        if chat.type == "channel":
            raise bad("CHAT_ACTION_NOT_SUPPORTED")
        self.state.actions.append((chat.id, params["action"]))
        return True

    def _count_members(self, params: dict[str, Any]) -> int:
        return 2 if self.state.chat(params["chat_id"]).type == "private" else 3

    def _file(self, params: dict[str, Any]) -> dict[str, Any]:
        found = self.state.files.get(params["file_id"])
        if found is None:
            raise bad("wrong file_id or the file is temporarily unavailable")
        path, data = found
        if len(data) > MAX_DOWNLOAD_BYTES:
            raise bad("file is too big")
        return {
            "file_id": params["file_id"],
            "file_unique_id": f"u-{params['file_id']}",
            "file_size": len(data),
            "file_path": path,
        }

    def _answer_button(self, params: dict[str, Any]) -> bool:
        query = params["callback_query_id"]
        if query in self.answered:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        self.answered.append(query)
        return True

    async def _download(self, request: web.Request) -> web.StreamResponse:
        try:
            self._authenticate(request)
            fault = self._take_fault("fetch")
            by_path = dict(self.state.files.values())
            data = by_path.get(request.match_info["path"])
            if data is None:
                raise ApiError(404, "Not Found")
        except ApiError as error:
            return self._refusal("file", error)
        if fault is not None:
            return await self._lose(request, fault)
        return web.Response(body=data, content_type="application/octet-stream")

    def _authenticate(self, request: web.Request) -> None:
        shown = request.match_info["token"].encode()
        if self._is_revoked:
            raise _UNAUTHORIZED
        if not hmac.compare_digest(shown, self._token.encode()):
            raise ApiError(401, "Unauthorized")

    def _take_fault(self, operation: str) -> Fault | None:
        """Return a fault that applies after the call; raise one that applies before it."""
        for fault in self._faults:
            if fault.op in {operation, "any"}:
                self._faults.remove(fault)
                break
        else:
            return None
        if fault.kind == "rate_limited":
            wait = int(fault.retry_after)
            text = f"Too Many Requests: retry after {wait}"
            raise ApiError(429, text, is_rule=False, retry_after=wait)
        if fault.kind == "server_error":
            raise ApiError(502, "Bad Gateway", is_rule=False)
        if fault.kind == "rejected":
            raise ApiError(403, "Forbidden: bot was blocked by the user", is_rule=False)
        if fault.kind == "unauthorized":
            raise _UNAUTHORIZED
        return fault

    async def _lose(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        """Send no answer, although the call took effect."""
        if fault.kind == "hang":
            await self._released.wait()
        if request.transport is not None:
            request.transport.abort()
        raise asyncio.CancelledError

    def _refusal(self, method: str, error: ApiError) -> web.Response:
        if error.is_rule:
            self._rejections.append(f"{method}: {error.code} {error.description}")
        return _json(error.body, status=error.code)


def _operation(method: str) -> str:
    if method in _SENDS:
        return "send"
    return {"editMessageText": "edit", "getFile": "fetch"}.get(method, method)


def _post(stored: StoredMessage) -> Post:
    return Post(
        id=str(stored.message_id),
        chat=str(stored.chat),
        text=stored.text,
        markup=stored.markup,
        thread=None if stored.thread is None else str(stored.thread),
        reply_to=None if stored.reply_to is None else f"{stored.reply_to}@{stored.chat}",
        edits=stored.edits,
        files=(stored.file,) if stored.file else (),
        deleted=stored.deleted,
    )


async def _read(request: web.Request, method: str) -> tuple[dict[str, Any], dict[str, Upload]]:
    """Return a call's checked parameters, and its files."""
    files: dict[str, Upload] = {}
    given: dict[str, Any] = dict(request.query)
    is_json = request.content_type == "application/json"
    if is_json and request.can_read_body:
        try:
            body = msgspec.json.decode(await request.read(), type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise bad("Can't parse JSON object") from None
        given |= body
    elif request.content_type == "multipart/form-data":
        for name, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                upload = Upload(value.filename, value.content_type, value.file.read())
                given[name] = files[name] = upload
            else:
                given[name] = value
    attached = {name for name in files if method == "sendMediaGroup"}
    named = {name: value for name, value in given.items() if name not in attached}
    return rules.check(method, named, is_form=not is_json), files


def _json(value: object, *, status: int = 200) -> web.Response:
    body = msgspec.json.encode(value)
    return web.Response(body=body, status=status, content_type="application/json")
