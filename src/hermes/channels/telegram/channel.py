"""The Telegram channel: polls or webhook calls in, calls of the Bot API out.

Fits `PushChannel`, `WebhookChannel`, `LiveChannel`, `ProbingChannel`, `MeasuringChannel`,
`DraftChannel`, `DeletingChannel`, `TypingChannel`, `MediaChannel` and `InformedChannel`. It
verifies and translates; the outbox handles order, rate and retries.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final

import structlog

from hermes.channel_kit.attachments import read_attachment
from hermes.channels.telegram import format as telegram_html
from hermes.channels.telegram import settings as telegram_settings
from hermes.channels.telegram.client import TelegramClient
from hermes.channels.telegram.inbound import ALLOWED_UPDATES, check_secret, read_update
from hermes.channels.telegram.intake import TelegramIntake
from hermes.channels.telegram.outbound import (
    MAX_UPLOAD_BYTES,
    BotCall,
    BotUpload,
    chat_id_of,
    draft_call,
    edit_call,
    kind_of,
    media_calls,
    media_of,
    number_of,
    place,
    text_call,
)
from hermes.channels.telegram.poller import Poller
from hermes.channels.telegram.refusals import BotAnswer, bad_token, message_id, read_result, refusal
from hermes.channels.telegram.wire import Chat, FileInfo, User, WebhookInfo
from hermes.errors import (
    BadRequest,
    ConfigurationError,
    DeliveryError,
    DeliveryUnknown,
    FailureClass,
    HermesError,
    NotDelivered,
    NotFound,
    Overloaded,
    TooLarge,
)
from hermes.http.errors import wrong_method
from hermes.http.json_body import json_response
from hermes.message.markup.conversion import converted
from hermes.message.markup.marks import Marks
from hermes.message.markup.parse import parse
from hermes.message.parts import Media, Part, text_of
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

log = structlog.get_logger(__name__)

MAX_DOWNLOAD_BYTES: Final = 20_000_000
_PATH: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9_-][A-Za-z0-9_./ -]{0,300}")
# A webhook that failed this recently, with updates waiting, does not receive.
_RECENT_S: Final = 120.0
_SILENT_S: Final = 30.0
# Groups that became supergroups since the start; the platform reports it again when asked.
_MAX_MOVED: Final = 1000
_CHAT_TYPES: Final = {"private": "dm", "channel": "channel"}


class TelegramChannel:
    """One bot on Telegram."""

    def __init__(self, settings: telegram_settings.TelegramSettings, setup: ChannelSetup) -> None:
        self.name = setup.name
        self._settings = settings
        self._setup = setup
        self._marks = Marks(setup.rows.markup)
        self._api = TelegramClient(
            setup.client,
            api_url=settings.api_url,
            token=settings.bot_token,
            make_id=setup.make_id,
        )
        self._intake: TelegramIntake | None = None
        self._poller: Poller | None = None
        self._polling: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._why: HermesError | None = None
        self._moved: dict[int, int] = {}

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do, as the manifest says."""
        return self._setup.capabilities

    async def connect(self, accept: Accept) -> None:
        """Start receiving; return once Telegram has confirmed the bot."""
        bot = read_result(await self._prove(await self._api.ask("getMe")), User)
        self._ended, self._why = asyncio.Event(), None
        await (self._hook() if self._settings.mode == "webhook" else self._unhook())
        self._intake = TelegramIntake(
            accept,
            bot=bot,
            account=self._setup.account,
            clock=self._setup.clock,
            answer_button=self._answer_button,
            on_migration=self._move,
        )
        log.info("telegram.connected", bot=bot.username, mode=self._settings.mode)
        if self._settings.mode == "poll":
            self._poller = Poller(
                self._api,
                self._intake,
                timeout_s=self._settings.poll_timeout_s,
                clock=self._setup.clock,
            )
            self._polling = asyncio.create_task(self._poll(self._poller), name="telegram polls")

    async def disconnect(self) -> None:
        """Stop receiving; a webhook stays set, so that Telegram keeps what arrives meanwhile."""
        self._intake = None
        polling, self._polling = self._polling, None
        if polling is not None:
            polling.cancel()
            await asyncio.gather(polling, return_exceptions=True)
        self._poller = None

    async def lost(self) -> None:
        """Wait until receiving has ended; raise why."""
        ended = self._ended
        await ended.wait()
        raise self._why or NotDelivered(
            "telegram: the polls have ended", FailureClass.SERVICE_UNAVAILABLE
        )

    async def probe(self) -> None:
        """Return if Telegram knows the bot and its messages arrive here."""
        await self._prove(await self._api.ask("getMe"))
        if self._settings.mode == "webhook":
            reply = await self._prove(await self._api.ask("getWebhookInfo"))
            self._check_hook(read_result(reply, WebhookInfo))
        elif self._poller is None or self._poller.silent_s > self._longest_silence_s:
            silent_s = 0.0 if self._poller is None else self._poller.silent_s
            raise NotDelivered(
                f"telegram: no poll has been answered for {silent_s:.0f} s; nothing is received",
                FailureClass.SERVICE_UNAVAILABLE,
            )

    def glance(self, headers: Mapping[str, str], *, path: str) -> None:
        """Raise for a call without the secret."""
        if self._settings.mode != "webhook":
            raise NotFound("telegram is polled here: platforms.telegram.mode is poll")
        check_secret(headers, secret=self._settings.webhook_secret)

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        """Handle one webhook call: check the secret, process the update, answer."""
        if request.method != "POST":
            return wrong_method(request.method, "POST")
        self.glance(request.headers, path=request.path)
        if self._intake is None:
            raise Overloaded("telegram is not connected; send the update again", retry_after=1.0)
        await self._intake.take(read_update(request.body), request.body)
        return json_response({})

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        target, parts = delivery.target, delivery.parts
        attached = [part for part in parts if media_of(part) is not None]
        if not attached:
            text = await self._written(text_of(parts))
            call = text_call(target, text, settings=self._settings)
            return Receipt(message_id(await self._carry_out(call)))
        uploads = [await self._load(part) for part in attached]
        text = await self._written(text_of(parts))
        calls = media_calls(target, text, uploads=uploads, settings=self._settings)
        first = message_id(await self._carry_out(calls[0]))
        for call in calls[1:]:
            await self._carry_out_rest(call)
        return Receipt(first)

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message; one that already reads so is fine."""
        written = await self._written(text)
        call = edit_call(target, platform_message_id, text=written, settings=self._settings)
        reply = await self._try(call)
        if not reply.is_ok and not reply.is_not_modified:
            raise self._refused(reply)

    def measure(self, text: str) -> int:
        """Return how many UTF-16 units of a Markdown text people read."""
        return telegram_html.measure(parse(text), self._marks)

    async def draft(self, target: Target, draft_id: int, *, text: str) -> None:
        """Show the text so far as a draft."""
        await self._carry_out(draft_call(target, draft_id, text=await self._written(text)))

    async def _written(self, text: str) -> telegram_html.MarkupText:
        return await converted(lambda: telegram_html.written(text, self._marks), chars=len(text))

    async def delete(self, target: Target, platform_message_id: str) -> None:
        """Delete a message; one that is already gone is not an error."""
        params = {"chat_id": chat_id_of(target), "message_id": number_of(platform_message_id)}
        reply = await self._try(BotCall(method="deleteMessage", params=params))
        if not reply.is_ok and not reply.is_gone:
            raise self._refused(reply)

    async def typing(self, target: Target) -> None:
        """Show "typing" for five seconds, or until a message arrives."""
        params = {**place(target), "action": "typing"}
        await self._carry_out(BotCall(method="sendChatAction", params=params))

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of an attachment that somebody sent."""
        limit = min(limit, MAX_DOWNLOAD_BYTES)
        _check_size(media.size, limit)
        if not media.ref:
            raise BadRequest("the attachment has no file_id of Telegram")
        reply = await self._api.ask("getFile", {"file_id": media.ref})
        if reply.is_too_big:
            raise TooLarge("the attachment is larger than the 20 MB that bots may download")
        info = read_result(self._good(reply), FileInfo)
        _check_size(info.file_size, limit)
        if _PATH.fullmatch(info.file_path) is None:
            raise BadRequest("Telegram gave no path by which the attachment can be fetched")
        answer = await self._api.download(info.file_path, limit=limit)
        if not answer.is_ok:
            raise NotDelivered(
                f"telegram: the attachment could not be fetched ({answer.status})",
                FailureClass.SERVICE_UNAVAILABLE,
            )
        return answer.body

    async def chat_info(self, target: Target) -> ChatInfo:
        """Return Telegram's information about a chat."""
        params = {"chat_id": chat_id_of(target)}
        chat = read_result(self._good(await self._api.ask("getChat", params)), Chat)
        members: int | None = None
        if chat.type != "private":
            count = await self._api.ask("getChatMemberCount", params)
            members = read_result(count, int) if count.is_ok else None
        return ChatInfo(
            chat_id=str(chat.id),
            chat_type=_CHAT_TYPES.get(chat.type, "group"),
            name=chat.name,
            topic=chat.description or None,
            members=members,
        )

    async def _hook(self) -> None:
        """Register the webhook with its address and secret."""
        params = {
            "url": self._settings.webhook_url,
            "secret_token": self._settings.webhook_secret,
            "allowed_updates": ALLOWED_UPDATES,
            "max_connections": 40,
        }
        reply = await self._api.ask("setWebhook", params)
        if reply.status == 400:
            raise ConfigurationError(
                f"server.public_url: Telegram refuses to call it ({reply.said}); it must be an "
                "https address on port 443, 80, 88 or 8443 that the internet reaches"
            )
        await self._prove(reply)

    async def _unhook(self) -> None:
        """Remove a webhook from an earlier set-up: it would prevent polling."""
        await self._prove(await self._api.ask("deleteWebhook", {"drop_pending_updates": False}))

    def _check_hook(self, info: WebhookInfo) -> None:
        if info.url != self._settings.webhook_url:
            raise NotDelivered(
                "telegram: the bot's webhook points elsewhere; another program uses the token",
                FailureClass.SERVICE_UNAVAILABLE,
            )
        is_failing = self._setup.clock.now() - info.last_error_date < _RECENT_S
        if info.pending_update_count and is_failing:
            raise NotDelivered(
                f"telegram: {info.pending_update_count} updates wait because the webhook cannot be "
                f"reached ({info.last_error_message[:200]}); check server.public_url",
                FailureClass.SERVICE_UNAVAILABLE,
            )

    @property
    def _longest_silence_s(self) -> float:
        return self._settings.poll_timeout_s + _SILENT_S

    async def _poll(self, poller: Poller) -> None:
        try:
            await poller.run()
        except HermesError as error:
            self._end(error)
        # Boundary: the polls' own task; without this, nobody would notice that it stopped.
        except Exception as error:
            log.exception("telegram.polls_failed")
            self._end(
                NotDelivered(
                    f"telegram: the polls failed ({type(error).__name__})",
                    FailureClass.SERVICE_UNAVAILABLE,
                )
            )

    def _end(self, why: HermesError) -> None:
        if self._why is None:
            self._why = why
        self._ended.set()

    async def _prove(self, reply: BotAnswer) -> BotAnswer:
        """Return a success; an invalid token ends the channel for good."""
        if reply.is_bad_token:
            raise bad_token(reply)
        return self._good(reply)

    def _good(self, reply: BotAnswer) -> BotAnswer:
        if not reply.is_ok:
            raise self._refused(reply)
        return reply

    def _refused(self, reply: BotAnswer) -> DeliveryError:
        if reply.is_bad_token:
            self._end(bad_token(reply))
        return refusal(reply)

    async def _carry_out(self, call: BotCall) -> BotAnswer:
        return self._good(await self._try(call))

    async def _carry_out_rest(self, call: BotCall) -> None:
        """Send the remaining calls after a part has arrived: a failure now does not undo that."""
        try:
            await self._carry_out(call)
        except DeliveryError as error:
            raise DeliveryUnknown(
                f"{error}; another part of the same message has arrived", error.failure
            ) from None

    async def _try(self, call: BotCall) -> BotAnswer:
        """Call; then retry once as Telegram requires it: another chat, no markup, a file."""
        chat = call.params.get("chat_id")
        if chat in self._moved:
            call = call.to_chat(self._moved[chat])
        reply = await self._ask(call)
        if reply.migrated_to is not None and isinstance(chat, int):
            self._move(chat, reply.migrated_to)
            call = call.to_chat(reply.migrated_to)
            reply = await self._ask(call)
        if reply.is_bad_picture and call.method == "sendPhoto":
            call = call.as_document()
            reply = await self._ask(call)
        if reply.is_bad_markup and call.text_field:
            log.warning("telegram.markup_refused", method=call.method, said=reply.said)
            reply = await self._ask(call.without_markup())
        return reply

    async def _ask(self, call: BotCall) -> BotAnswer:
        return await self._api.ask(call.method, call.params, files=call.files)

    async def _answer_button(self, query_id: str) -> None:
        """Confirm a press to Telegram, or the button would show a clock forever."""
        try:
            reply = await self._api.ask("answerCallbackQuery", {"callback_query_id": query_id})
        except DeliveryError as error:
            log.info("telegram.button_unanswered", problem=str(error))
            return
        if not reply.is_ok:
            log.info("telegram.button_unanswered", problem=f"{reply.status} {reply.said}")

    def _move(self, old: int, new: int) -> None:
        if len(self._moved) < _MAX_MOVED:
            self._moved[old] = new

    async def _load(self, part: Part) -> BotUpload:
        media: Any = media_of(part)  # Any: `send` has picked the parts that have one
        data = await read_attachment(
            self._setup.media, media, limit=MAX_UPLOAD_BYTES, platform="telegram"
        )
        kind = kind_of(part, size=len(data))
        return BotUpload(kind=kind, name=media.name or f"file.{kind}", mime=media.mime, data=data)


def _check_size(size: int | None, limit: int) -> None:
    if size is not None and size > limit:
        raise TooLarge(f"the attachment has {size} bytes, at most {limit} are fetched")


def make(setup: ChannelSetup) -> TelegramChannel:
    """Return the channel of one bot."""
    checked = telegram_settings.read(setup.settings, webhook_url=setup.webhook_url)
    return TelegramChannel(checked, setup)
