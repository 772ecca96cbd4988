"""The Slack channel: Socket Mode or signed webhooks in, the Web API out.

Fits `PushChannel`, `WebhookChannel` and every optional ability but drafts. It verifies and
translates; retries, order and storage belong to the inbox and the outbox.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec
import structlog

from hermes.channels.slack.client import SlackApi
from hermes.channels.slack.file_sender import FileSender
from hermes.channels.slack.inbound import SlackIdentity
from hermes.channels.slack.names import UserNames
from hermes.channels.slack.outbound import (
    REVOKED,
    Json,
    SlackRejected,
    attachments_of,
    chat_info_of,
    content_of,
    delete_body,
    entries_of,
    find_key,
    history_query,
    next_cursor,
    post_body,
    receipt_of,
    thread_of,
    update_body,
)
from hermes.channels.slack.receiver import Receiver, Threads
from hermes.channels.slack.settings import SlackSettings, read
from hermes.channels.slack.signature import SignatureCheck
from hermes.channels.slack.socket_mode import SocketMode
from hermes.channels.slack.uploads import Uploads
from hermes.channels.slack.wire import WireCall, decode
from hermes.errors import (
    BadRequest,
    ConfigurationError,
    ConnectFailed,
    DeliveryError,
    DeliveryRejected,
    FailureClass,
    NotFound,
    Overloaded,
    Refused,
    StoreError,
    TooLarge,
    TryLater,
)
from hermes.http.errors import error_response, wrong_method
from hermes.http.json_body import json_response
from hermes.message.markup.conversion import converted
from hermes.message.markup.marks import Marks
from hermes.message.markup.parse import parse
from hermes.message.parts import Media, text_of
from hermes.ports.channel import (
    Accept,
    Capabilities,
    ChatInfo,
    Delivery,
    HttpRequest,
    HttpResponse,
    Receipt,
    Target,
)
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.directory import ChatEntry

# Slack waits three seconds for an answer.
_ANSWER_S: Final = 2.5
_LOOK_BACK_S: Final = 86_400.0
_MOST_PAGES: Final = 20
_KINDS: Final = "public_channel,private_channel,mpim,im"
_STATUS: Final = "is thinking..."
_log = structlog.get_logger(__name__)


class SlackChannel:
    """One Slack app in one workspace."""

    def __init__(self, setup: ChannelSetup, settings: SlackSettings) -> None:
        self._setup = setup
        self._settings = settings
        self._api = SlackApi(
            setup.client,
            base_url=settings.base_url,
            token=settings.bot_token,
            on_refused=self._refused,
        )
        self._names = UserNames(self._api, clock=setup.clock, is_on=settings.look_up_names)
        self._marks = Marks(setup.rows.markup)
        self._threads = Threads(setup.state)
        self._file_sender = FileSender(
            self._api,
            Uploads(setup.state),
            marks=self._marks,
            media=setup.media,
            limit=setup.capabilities.media_bytes,
        )
        self._signatures = SignatureCheck(settings.signing_secret)
        self._receiver: Receiver | None = None
        self._socket: SocketMode | None = None
        self._over: asyncio.Future[None] | None = None
        self._team: str | None = None
        self._answering: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The platform's name."""
        return self._setup.name

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        return self._setup.capabilities

    async def connect(self, accept: Accept) -> None:
        """Start receiving; return once Slack accepts the token and, with a socket, has sent
        hello.
        """
        # A failed attempt may have left something open.
        await self.disconnect()
        self._over = asyncio.get_running_loop().create_future()
        me = await self._who_am_i()
        self._team = me.team_id
        self._receiver = Receiver(
            accept,
            me,
            names=self._names,
            threads=self._threads,
            clock=self._setup.clock,
            verify=self._verify,
            waits=self._settings.mode == "socket",
        )
        if self._settings.mode == "socket":
            await self._open_socket(self._receiver)

    async def _open_socket(self, receiver: Receiver) -> None:
        self._socket = SocketMode(
            self._setup.client,
            self._api,
            app_token=self._settings.app_token,
            ping_s=self._settings.ping_s,
            take=receiver.take,
        )
        await self._socket.open()

    async def disconnect(self) -> None:
        """Stop receiving and close the socket; the shared client keeps its own connections."""
        self._receiver = None
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()
        for task in tuple(self._answering):
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)

    async def lost(self) -> None:
        """Wait until the socket is lost or the token is invalid; raise which."""
        if self._over is None:
            raise ConnectFailed("slack is not connected")
        waits: list[asyncio.Future[None]] = [self._over]
        socket = self._socket
        ended = None if socket is None else asyncio.ensure_future(socket.lost())
        try:
            done, _ = await asyncio.wait(
                [*waits, *([ended] if ended is not None else [])],
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            if ended is not None and not ended.done():
                ended.cancel()
        over = self._over if self._over in done else ended
        if over is not None:
            await over

    async def probe(self) -> None:
        """Return if Slack still accepts the token and the socket, if there is one, is open."""
        await self._who_am_i()
        if self._settings.mode == "socket" and (self._socket is None or not self._socket.is_open):
            raise ConnectFailed("slack: the socket is closed; no message can come in")

    async def _who_am_i(self) -> SlackIdentity:
        try:
            found = await self._api.form("auth.test", {})
        except SlackRejected as error:
            raise _wrong_token(error) from error
        user_id, bot_id, team_id = (found.get(key) for key in ("user_id", "bot_id", "team_id"))
        if not isinstance(user_id, str) or not user_id:
            raise ConnectFailed("slack: auth.test did not say who the bot is")
        return SlackIdentity(
            user_id=user_id,
            bot_id=bot_id if isinstance(bot_id, str) else None,
            team_id=team_id if isinstance(team_id, str) else None,
            account=self._setup.account,
            reply_in_thread=self._settings.reply_in_thread,
            command=self._settings.command,
        )

    async def _verify(self) -> None:
        """Check whether the token is still valid, since Slack reports that one was revoked."""
        try:
            await self._api.form("auth.test", {})
        except DeliveryError as error:
            _log.warning("slack.token_in_doubt", problem=str(error))

    def _refused(self, error: SlackRejected) -> None:
        if error.said in REVOKED and self._over is not None and not self._over.done():
            self._over.set_exception(_wrong_token(error))
            # Retrieve the exception, so that asyncio does not warn.
            self._over.exception()

    def glance(self, headers: Mapping[str, str], *, path: str) -> None:
        """Raise for a call that is unsigned, or not recent."""
        if self._settings.mode != "http":
            raise NotFound("slack comes in by Socket Mode here; set platforms.slack.mode to http")
        self._signatures.glance(headers, now=self._setup.clock.now())

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        """Handle one call: its signature over the raw bytes first, then its shape, then the
        inbox.
        """
        if request.method != "POST":
            return wrong_method(request.method, "POST")
        self.glance(request.headers, path=request.path)
        now = self._setup.clock.now()
        signature = self._signatures.check(request.headers, request.body, now=now)
        retry = request.headers.get("x-slack-retry-num")
        if retry is not None:
            reason = request.headers.get("x-slack-retry-reason", "")
            _log.info("slack.sent_again", number=retry[:10], reason=reason[:40])
        try:
            answer = await self._answer(request)
        except (BadRequest, TooLarge) as error:
            return _for_good(error)
        except Refused as error:
            _log.warning("slack.refused", code=error.code, problem=str(error)[:200])
            answer = _done()
        self._signatures.taken(signature, now=now)
        return answer

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            call = decode(request.body, WireCall)
            if call.type == "url_verification":
                return json_response({"challenge": (call.challenge or "")[:1000]})
            work = self._receiving().call(call)
        elif kind == "application/x-www-form-urlencoded":
            work = self._receiving().form(request.body)
        else:
            raise BadRequest(f"slack sends JSON or a form, found {kind[:60]!r}")
        task = asyncio.create_task(work, name="slack webhook")
        self._answering.add(task)
        task.add_done_callback(self._answered)
        await asyncio.wait({task}, timeout=_ANSWER_S)
        if not task.done():
            # The task continues; if the message is sent again, it is known.
            raise Overloaded("the message is not stored yet; send it again", retry_after=5.0)
        task.result()
        return _done()

    def _answered(self, task: "asyncio.Task[None]") -> None:
        self._answering.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.info("slack.webhook_failed", problem=type(error).__name__)

    def _receiving(self) -> Receiver:
        if self._receiver is None:
            raise Overloaded("slack is not connected; send it again", retry_after=5.0)
        return self._receiver

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        target = delivery.target
        thread = thread_of(target, reply_in_thread=self._settings.reply_in_thread)
        if thread is not None:
            await self._follow(target.chat_id, thread)
        files = attachments_of(delivery)
        if files:
            channel = await self._file_sender.channel_of(target.chat_id)
            return await self._file_sender.share(delivery, files, channel=channel, thread=thread)
        body = post_body(
            delivery,
            await self._content(text_of(delivery.parts)),
            reply_in_thread=self._settings.reply_in_thread,
            unfurl=self._settings.unfurl,
        )
        found = await self._api.post("chat.postMessage", body)
        return receipt_of(found, chat_id=target.chat_id)

    async def _follow(self, chat_id: str, thread: str) -> None:
        """Follow the thread of a reply, before anybody can answer there."""
        try:
            await self._threads.follow(chat_id, thread)
        except (StoreError, TryLater) as error:
            # The reply matters more: whoever answers it can name the bot.
            _log.warning("slack.thread_not_followed", problem=str(error)[:200])

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message that was sent before."""
        content = await self._content(text)
        body = update_body(target, platform_message_id, content=content)
        await self._api.post("chat.update", body)

    async def _content(self, text: str) -> Json:
        return await converted(lambda: content_of(text, self._marks), chars=len(text))

    async def delete(self, target: Target, platform_message_id: str) -> None:
        """Delete a message or a file that was sent before."""
        try:
            if platform_message_id.startswith("F"):
                await self._api.form("files.delete", {"file": platform_message_id})
            else:
                await self._api.post("chat.delete", delete_body(target, platform_message_id))
        except SlackRejected as error:
            if error.said not in ("message_not_found", "file_not_found", "file_deleted"):
                raise

    async def find(self, target: Target, key: str) -> Receipt | None:
        """Look for the message that carries the key, in its thread or in the channel's history."""
        channel = await self._file_sender.channel_of(target.chat_id)
        file_id = await self._file_sender.uploads.find(key)
        thread = thread_of(target, reply_in_thread=self._settings.reply_in_thread)
        method = "conversations.history" if thread is None else "conversations.replies"
        oldest = self._setup.clock.now() - _LOOK_BACK_S
        cursor = ""
        for _ in range(_MOST_PAGES):
            query = history_query(channel, thread, oldest=oldest, cursor=cursor)
            found = await self._api.form(method, query)
            receipt = find_key(found, key, channel=channel, file_id=file_id)
            cursor = next_cursor(found)
            if receipt is not None or not cursor:
                return receipt
        raise DeliveryRejected(
            f"slack: the chat's history has more than {_MOST_PAGES} pages since then; look "
            "in the chat whether the message was posted",
            FailureClass.REJECTED,
        )

    async def typing(self, target: Target) -> None:
        """Show a status in the target's thread; Slack can show none elsewhere."""
        thread = thread_of(target, reply_in_thread=self._settings.reply_in_thread)
        if thread is not None:
            status = {"channel_id": target.chat_id, "thread_ts": thread, "status": _STATUS}
            await self._api.post("assistant.threads.setStatus", status)

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of a file that somebody shared."""
        return await self._api.fetch(media.ref or "", limit=limit, mime=media.mime)

    async def directory(self) -> tuple[ChatEntry, ...]:
        """Return the channels that the bot is in, and its direct chats."""
        entries: list[ChatEntry] = []
        query: Json = {"types": _KINDS, "exclude_archived": True, "limit": 200}
        for _ in range(_MOST_PAGES):
            found = await self._api.form("conversations.list", query)
            entries += entries_of(found, team=self._team)
            cursor = next_cursor(found)
            if not cursor:
                break
            query = {**query, "cursor": cursor}
        people = await self._names.of(entry.user_id for entry in entries if entry.user_id)
        return tuple(
            msgspec.structs.replace(entry, name=people.get(entry.user_id or "", entry.name))
            for entry in entries
        )

    async def chat_info(self, target: Target) -> ChatInfo:
        """Return Slack's information about a chat."""
        channel = await self._file_sender.channel_of(target.chat_id)
        query: Json = {"channel": channel, "include_num_members": True}
        return chat_info_of(await self._api.form("conversations.info", query), chat_id=channel)

    def measure(self, text: str) -> int:
        """Return the length of a Markdown text as mrkdwn."""
        return len(self._marks.write(parse(text)))


def make(setup: ChannelSetup) -> SlackChannel:
    """Return the channel of one configured Slack app."""
    return SlackChannel(setup, read(setup.settings))


def _wrong_token(error: SlackRejected) -> ConfigurationError:
    return ConfigurationError(
        f"platforms.slack.bot_token: Slack refused it ({error.said}); set the 'Bot User OAuth Token' "
        "that 'Install App' on the app's page shows, and start the gateway again"
    )


def _done() -> HttpResponse:
    return HttpResponse(status=200, content_type="text/plain")


def _for_good(error: Refused) -> HttpResponse:
    answer = error_response(error)
    return msgspec.structs.replace(answer, headers={**answer.headers, "x-slack-no-retry": "1"})
