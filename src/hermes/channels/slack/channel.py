"""The Slack channel: Socket Mode or signed webhooks in, the Web API out.

Fits `PushChannel`, `WebhookChannel` and every optional ability but drafts. It verifies and
translates; retries, order and storage belong to the inbox and the outbox.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec
import structlog

from hermes.channel_kit.account_life import AccountLife
from hermes.channel_kit.attachments import attachments_of
from hermes.channel_kit.bot_reactions import BotReactions
from hermes.channel_kit.intake import Intake
from hermes.channel_kit.names import Names
from hermes.channel_kit.webhook_door import WebhookDoor
from hermes.channels.slack import outbound
from hermes.channels.slack.client import SlackSocketWire, make_api
from hermes.channels.slack.file_sender import FileSender
from hermes.channels.slack.inbound import COMMAND, SlackIdentity
from hermes.channels.slack.outbound import Json
from hermes.channels.slack.receiver import Receiver, Threads
from hermes.channels.slack.settings import SlackSettings, read
from hermes.errors import (
    DeliveryError,
    DeliveryRejected,
    FailureClass,
    StoreError,
    TryLater,
)
from hermes.message.markup.conversion import converted
from hermes.message.markup.marks import Marks
from hermes.message.markup.parse import parse
from hermes.message.parts import Choice, Media, choices_of, text_of
from hermes.ports.channel import (
    Accept,
    ChatInfo,
    Delivery,
    HttpRequest,
    ReactionName,
    Receipt,
    Target,
)
from hermes.ports.channel_rows import SocketRow
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.directory import ChatEntry

_LOOK_BACK_S: Final = 86_400.0
_MOST_PAGES: Final = 20
_NAME_S: Final = 1.0
_KINDS: Final = "public_channel,private_channel,mpim,im"
_STATUS: Final = "is thinking..."
_GONE: Final = frozenset({"message_not_found", "file_not_found", "file_deleted"})
_NO_CALLS: Final = "slack comes in by Socket Mode here; set platforms.slack.mode to http"
_log = structlog.get_logger(__name__)


class SlackChannel:
    """One Slack app in one workspace."""

    def __init__(self, setup: ChannelSetup, settings: SlackSettings) -> None:
        self.name = setup.name
        self.capabilities = setup.capabilities
        self._setup = setup
        self._settings = settings
        self._is_socket = settings.mode == "socket"
        door = WebhookDoor.of(setup, self._take, unused=_NO_CALLS if self._is_socket else "")
        life = AccountLife(setup, door, credential="bot_token", check=self._who_am_i)
        self._life = life
        self._api = make_api(setup, settings, token=settings.bot_token, on_refused=life.refused)
        self._names = Names(self._name_of, clock=setup.clock, wait_s=_NAME_S)
        self._marks = Marks(setup.rows.markup)
        self._threads = Threads(setup.state)
        self._file_sender = FileSender(self._api, setup, marks=self._marks)
        self._reactions = BotReactions(setup.rows.reactions, clock=setup.clock)
        self._receiver: Receiver | None = None
        self._team: str | None = None
        self.disconnect, self.lost, self.probe = life.disconnect, life.lost, life.probe
        self.glance, self.webhook = door.glance, door.answer

    async def connect(self, accept: Accept) -> None:
        """Start receiving; return once Slack accepts the token and, with a socket, has sent
        hello.
        """
        me = await self._life.start()
        self._team = me.team_id
        self._receiver = Receiver(
            Intake(accept, platform=self.name, repeats=not self._is_socket),
            me,
            names=self._names,
            threads=self._threads,
            clock=self._setup.clock,
            verify=self._verify,
            arrived=self._setup.arrived,
        )
        if self._is_socket:
            await self._open_socket(self._receiver)
        else:
            self._life.open_door(accept)

    async def _open_socket(self, receiver: Receiver) -> None:
        row, settings = self._setup.rows.socket or SocketRow(), self._settings
        await self._life.open_socket(
            SlackSocketWire(make_api(self._setup, settings, token=settings.app_token)),
            receiver.take,
            row=msgspec.structs.replace(row, ping_s=settings.ping_s),
        )

    async def _who_am_i(self) -> SlackIdentity:
        found = await self._api.call("POST", "auth.test", form={})
        return outbound.identity_of(found, self._settings, account=self._setup.account)

    async def _verify(self) -> None:
        """Check whether the token is still valid, since Slack reports that one was revoked."""
        try:
            await self._api.call("POST", "auth.test", form={})
        except DeliveryError as error:
            _log.warning("slack.token_in_doubt", problem=str(error))

    async def _name_of(self, user_id: str) -> str | None:
        if not self._settings.look_up_names:
            return None
        form = {"user": user_id}
        found = await self._api.call("POST", "users.info", form=form, timeout_s=_NAME_S)
        return outbound.user_name_of(found)

    async def _take(self, request: HttpRequest, _accept: Accept) -> None:
        if self._receiver is not None:
            await self._receiver.take_call(request)

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        target = delivery.target
        thread = outbound.thread_of(target, reply_in_thread=self._settings.reply_in_thread)
        if thread is not None:
            await self._follow(target.chat_id, thread)
        files = attachments_of(delivery.parts)
        if files:
            channel = await self._file_sender.channel_of(target.chat_id)
            return await self._file_sender.share(delivery, files, channel=channel, thread=thread)
        content = await self._content(text_of(delivery.parts), choices_of(delivery.parts))
        body = outbound.post_body(delivery, content, thread=thread, unfurl=self._settings.unfurl)
        found = await self._api.call("POST", "chat.postMessage", json=body)
        return outbound.receipt_of(found, chat_id=target.chat_id)

    async def _follow(self, chat_id: str, thread: str) -> None:
        """Follow the thread of a reply, before anybody can answer there."""
        try:
            await self._threads.follow(chat_id, thread)
        except (StoreError, TryLater) as error:
            # The reply matters more: whoever answers it can name the bot.
            _log.warning("slack.thread_not_followed", problem=str(error)[:200])

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message that was sent before; its metadata stays, its buttons go."""
        channel, ts = outbound.place_of(target, platform_message_id)
        body = {"channel": channel, "ts": ts, **(await self._content(text))}
        await self._api.call("POST", "chat.update", json=body)

    async def _content(self, text: str, choices: Sequence[Choice] = ()) -> Json:
        return await converted(
            lambda: outbound.content_of(text, self._marks, choices), chars=len(text)
        )

    async def delete(self, target: Target, platform_message_id: str) -> None:
        """Delete a message or a file that was sent before."""
        channel, ts = outbound.place_of(target, platform_message_id)
        method, body = "chat.delete", {"channel": channel, "ts": ts}
        if platform_message_id.startswith("F"):
            method, body = "files.delete", {"file": platform_message_id}
        said = await self._api.ask("POST", method, form=body)
        if said.code not in _GONE:
            self._api.success(said, path=method)

    async def react(self, target: Target, platform_message_id: str, name: ReactionName) -> None:
        """React to a message, in place of the bot's reaction before; a command is no message."""
        if platform_message_id.startswith(COMMAND):
            return
        channel, ts = outbound.place_of(target, platform_message_id)
        place = {"channel": channel, "timestamp": ts}
        await self._reactions.replace(
            platform_message_id,
            name,
            put=lambda emoji: self._react("add", {**place, "name": emoji}),
            remove=lambda emoji: self._react("remove", {**place, "name": emoji}),
        )

    async def _react(self, what: str, form: Json) -> None:
        await self._api.call("POST", f"reactions.{what}", form=form)

    async def find(self, target: Target, key: str) -> Receipt | None:
        """Look for the message that carries the key, in its thread or in the channel's history."""
        channel = await self._file_sender.channel_of(target.chat_id)
        file_id = await self._file_sender.uploads.find(key)
        thread = outbound.thread_of(target, reply_in_thread=self._settings.reply_in_thread)
        method = "conversations.history" if thread is None else "conversations.replies"
        query = outbound.history_query(
            channel, thread, oldest=self._setup.clock.now() - _LOOK_BACK_S
        )
        found: Json = {}
        async for found in self._pages(method, query):
            receipt = outbound.find_key(found, key, channel=channel, file_id=file_id)
            if receipt is not None:
                return receipt
        if not outbound.next_cursor(found):
            return None
        raise DeliveryRejected(
            f"slack: the chat's history has more than {_MOST_PAGES} pages since then; look "
            "in the chat whether the message was posted",
            FailureClass.REJECTED,
        )

    async def _pages(self, method: str, query: Json) -> AsyncIterator[Json]:
        """Yield the pages of a list, up to a limit."""
        for _ in range(_MOST_PAGES):
            found = await self._api.call("POST", method, form=query)
            yield found
            if not (cursor := outbound.next_cursor(found)):
                return
            query = {**query, "cursor": cursor}

    async def typing(self, target: Target) -> None:
        """Show a status in the target's thread; Slack can show none elsewhere."""
        thread = outbound.thread_of(target, reply_in_thread=self._settings.reply_in_thread)
        if thread is not None:
            status = {"channel_id": target.chat_id, "thread_ts": thread, "status": _STATUS}
            await self._api.call("POST", "assistant.threads.setStatus", json=status)

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of a file that somebody shared."""
        address = self._api.own_address(media.ref or "")
        try:
            answer = await self._api.download(address, limit=limit, most_hops=0)
        except DeliveryRejected as error:
            raise _no_file(error.failure) from error
        headers = {name.lower(): value for name, value in answer.headers.items()}
        is_page = headers.get("content-type", "").startswith("text/html")
        if is_page and media.mime != "text/html":
            raise _no_file(FailureClass.UNAUTHORIZED)
        return answer.body

    async def directory(self) -> tuple[ChatEntry, ...]:
        """Return the channels that the bot is in, and its direct chats."""
        query: Json = {"types": _KINDS, "exclude_archived": True, "limit": outbound.PAGE}
        entries: list[ChatEntry] = []
        async for found in self._pages("conversations.list", query):
            entries += outbound.entries_of(found, team=self._team)
        people = await self._names.of(entry.user_id for entry in entries if entry.user_id)
        return tuple(
            msgspec.structs.replace(entry, name=people.get(entry.user_id or "", entry.name))
            for entry in entries
        )

    async def chat_info(self, target: Target) -> ChatInfo:
        """Return Slack's information about a chat."""
        channel = await self._file_sender.channel_of(target.chat_id)
        query: Json = {"channel": channel, "include_num_members": True}
        found = await self._api.call("POST", "conversations.info", form=query)
        return outbound.chat_info_of(found, chat_id=channel)

    def measure(self, text: str) -> int:
        """Return the length of a Markdown text as mrkdwn."""
        return len(self._marks.write(parse(text)))


def make(setup: ChannelSetup) -> SlackChannel:
    """Return the channel of one configured Slack app."""
    return SlackChannel(setup, read(setup.settings))


def _no_file(failure: FailureClass) -> DeliveryRejected:
    # Without the scope Slack shows its sign-in page, by a redirect or directly.
    return DeliveryRejected(
        "slack: a shared file could not be read; the app needs the scope files:read", failure
    )
