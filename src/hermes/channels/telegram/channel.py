"""The Telegram channel: polls or webhook calls in, calls of the Bot API out.

Fits `PushChannel`, `EditingChannel`, `ReactingChannel`, `WebhookChannel`, `LiveChannel`,
`ProbingChannel`, `MeasuringChannel`, `DraftChannel`, `DeletingChannel`, `TypingChannel`,
`MediaChannel` and `InformedChannel`. It verifies and translates; the outbox handles order, rate and
retries.
"""

from typing import Any, Final

import structlog

from hermes.channel_kit.account_life import AccountLife
from hermes.channel_kit.attachments import read_attachment
from hermes.channel_kit.long_poll import LongPoll
from hermes.channel_kit.webhook_door import WebhookDoor
from hermes.channels.telegram import format as telegram_html
from hermes.channels.telegram import settings as telegram_settings
from hermes.channels.telegram.client import TelegramClient
from hermes.channels.telegram.inbound import ALLOWED_UPDATES
from hermes.channels.telegram.outbound import (
    MAX_UPLOAD_BYTES,
    BotCall,
    BotUpload,
    chat_id_of,
    draft_call,
    edit_call,
    kind_of,
    media_of,
    message_of,
    place,
    reaction_call,
    send_calls,
)
from hermes.channels.telegram.receiver import ReceivedUpdate, TelegramReceiver
from hermes.channels.telegram.wire import Chat, User, WebhookInfo
from hermes.errors import (
    ConfigurationError,
    DeliveryError,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.message.markup.conversion import converted
from hermes.message.markup.marks import Marks
from hermes.message.markup.parse import parse
from hermes.message.parts import Media, Part, choices_of, text_of
from hermes.ports.channel import (
    Accept,
    ChatInfo,
    Delivery,
    HttpRequest,
    ReactionName,
    Receipt,
    Target,
)
from hermes.ports.channel_setup import ChannelSetup

log = structlog.get_logger(__name__)

# A webhook that failed this recently, with updates waiting, does not receive.
_RECENT_S: Final = 120.0
_CHAT_TYPES: Final = {"private": "dm", "channel": "channel"}
_NO_CALLS: Final = "telegram is polled here: platforms.telegram.mode is poll"


class TelegramChannel:
    """One bot on Telegram."""

    def __init__(self, settings: telegram_settings.TelegramSettings, setup: ChannelSetup) -> None:
        self.name = setup.name
        self.capabilities = setup.capabilities
        self._settings = settings
        self._setup = setup
        self._marks = Marks(setup.rows.markup)
        self._is_webhook = settings.mode == "webhook"
        door = WebhookDoor.of(setup, self._take, unused="" if self._is_webhook else _NO_CALLS)
        self._life = AccountLife(setup, door, credential="bot_token", check=self._bot)
        self._client = TelegramClient(settings, setup, on_refused=self._life.refused)
        self._receiver: TelegramReceiver | None = None
        self._polls: LongPoll[ReceivedUpdate] | None = None
        self.disconnect, self.lost = self._life.disconnect, self._life.lost
        self.glance, self.webhook = door.glance, door.answer

    async def _bot(self) -> User:
        return await self._client.call("getMe", User)

    async def connect(self, accept: Accept) -> None:
        """Start receiving; return once Telegram has confirmed the bot."""
        bot = await self._life.start()
        await (self._hook() if self._is_webhook else self._unhook())
        self._receiver = TelegramReceiver(
            accept, bot=bot, setup=self._setup, client=self._client, life=self._life
        )
        log.info("telegram.connected", bot=bot.username, mode=self._settings.mode)
        if self._is_webhook:
            self._life.open_door(accept)
            return
        self._polls = LongPoll(
            self._receiver.poll,
            self._receiver.take,
            platform="telegram",
            poll_s=self._settings.poll_timeout_s,
            clock=self._setup.clock,
        )
        self._life.run(self._polls.run(), "polls")

    async def probe(self) -> None:
        """Return if Telegram knows the bot and its messages arrive here."""
        await self._life.probe()
        if self._is_webhook:
            info = self._client.call("getWebhookInfo", WebhookInfo)
            self._check_hook(await self._life.proven(info))
        elif self._polls is not None:
            self._polls.check_hears()

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        parts = delivery.parts
        uploads = [await self._load(part) for part in parts if media_of(part) is not None]
        first, *rest = send_calls(
            delivery.target,
            await self._written(text_of(parts)),
            uploads=uploads,
            choices=choices_of(parts),
            settings=self._settings,
        )
        sent = await self._client.send(first)
        for call in rest:
            await self._send_rest(call)
        return Receipt(sent)

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message; one that already reads so is fine."""
        written = await self._written(text)
        await self._client.carry_out(
            edit_call(target, platform_message_id, text=written, settings=self._settings)
        )

    async def react(self, target: Target, platform_message_id: str, name: ReactionName) -> None:
        """React to a message, in place of the bot's reaction before."""
        emoji = self._setup.rows.reactions[name]
        await self._client.carry_out(reaction_call(target, platform_message_id, emoji=emoji))

    def measure(self, text: str) -> int:
        """Return how many UTF-16 units of a Markdown text people read."""
        return telegram_html.measure(parse(text), self._marks)

    async def draft(self, target: Target, draft_id: int, *, text: str) -> None:
        """Show the text so far as a draft."""
        await self._client.carry_out(draft_call(target, draft_id, text=await self._written(text)))

    async def delete(self, target: Target, platform_message_id: str) -> None:
        """Delete a message; one that is already gone is not an error."""
        params = message_of(target, platform_message_id)
        await self._client.carry_out(BotCall(method="deleteMessage", params=params))

    async def typing(self, target: Target) -> None:
        """Show "typing" for five seconds, or until a message arrives."""
        params = {**place(target), "action": "typing"}
        await self._client.carry_out(BotCall(method="sendChatAction", params=params))

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of an attachment that somebody sent."""
        return await self._client.download(media, limit=limit)

    async def chat_info(self, target: Target) -> ChatInfo:
        """Return Telegram's information about a chat."""
        params = {"chat_id": chat_id_of(target)}
        chat = await self._client.call("getChat", Chat, params)
        members: int | None = None
        if chat.type != "private":
            count = await self._client.ask("getChatMemberCount", params)
            members = count.found.get("result") if count.ok else None
        return ChatInfo(
            chat_id=str(chat.id),
            chat_type=_CHAT_TYPES.get(chat.type, "group"),
            name=chat.name,
            topic=chat.description or None,
            members=members if isinstance(members, int) else None,
        )

    async def _hook(self) -> None:
        """Register the webhook with its address and secret."""
        params = {
            "url": self._settings.webhook_url,
            "secret_token": self._settings.webhook_secret,
            "allowed_updates": ALLOWED_UPDATES,
            "max_connections": 40,
        }
        said = await self._client.ask("setWebhook", params)
        if said.status == 400:
            raise ConfigurationError(
                f"server.public_url: Telegram refuses to call it ({said.sentence}); it must be an "
                "https address on port 443, 80, 88 or 8443 that the internet reaches"
            )
        self._client.result(said, bool, "setWebhook")

    async def _unhook(self) -> None:
        """Remove a webhook from an earlier set-up: it would prevent polling."""
        params = {"drop_pending_updates": False}
        await self._life.proven(self._client.call("deleteWebhook", bool, params))

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

    async def _take(self, request: HttpRequest, accept: Accept) -> None:
        if self._receiver is not None:
            await self._receiver.webhook(request, accept)

    async def _send_rest(self, call: BotCall) -> None:
        """Send the remaining calls after a part has arrived: a failure now does not undo that."""
        try:
            await self._client.carry_out(call)
        except DeliveryError as error:
            raise DeliveryUnknown(
                f"{error}; another part of the same message has arrived", error.failure
            ) from None

    async def _written(self, text: str) -> telegram_html.MarkupText:
        return await converted(lambda: telegram_html.written(text, self._marks), chars=len(text))

    async def _load(self, part: Part) -> BotUpload:
        media: Any = media_of(part)  # Any: `send` has picked the parts that have one
        data = await read_attachment(
            self._setup.media, media, limit=MAX_UPLOAD_BYTES, platform="telegram"
        )
        kind = kind_of(part, size=len(data))
        return BotUpload(kind=kind, name=media.name or f"file.{kind}", mime=media.mime, data=data)


def make(setup: ChannelSetup) -> TelegramChannel:
    """Return the channel of one bot."""
    checked = telegram_settings.read(setup.settings, webhook_url=setup.webhook_url)
    return TelegramChannel(checked, setup)
