"""The channel port: how a platform's messages come in and replies go out.

A channel verifies and normalises; it hands events to `Accept` and sends `Delivery` values. It
never decides, retries or stores.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Protocol, runtime_checkable

import msgspec

from hermes.errors import FailureClass
from hermes.message.event import MessageEvent, ReplyHandle
from hermes.message.parts import Media, Part
from hermes.ports.channel_rows import RateRow
from hermes.ports.directory import ChatEntry
from hermes.ports.people import Unknown

DeliveryMode = Literal["pull", "push"]
MediaKind = Literal["image", "audio", "video", "file"]


ReactionName = Literal["seen", "working", "done"]


class Buttons(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What fits on the buttons of one message: how many, how long each label and its value."""

    most: int
    label_chars: int
    value_bytes: int


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What the platform can do, as data from the channel's manifest.

    `key_window_s` is how long the platform remembers an idempotency key (0: it takes none).
    `send_s` is how long a call may last where `outbox.send_timeout_s` is too short for it.
    `history_whole` says that what is not found there was certainly not sent; otherwise only finding
    it proves something.
    `unknown` is what strangers get unless the operator says otherwise: `allow` where a caller has
    proven themselves to the gateway already, as those who pull have, `pair` where anybody can write:
    that is what unset means. `answers` says whether
    whoever wrote can be asked something while their message is worked on. `unit` is what `max_chars`
    counts, `media` what can be attached, `media_bytes` how large. `attaches_with_text` says that one
    message can hold text and several attachments, up to `media_bytes` in all; it counts where a message
    cannot be edited. `max_messages` is how many messages the text of one reply may be (0: any number);
    the rest is cut, and the last one says so. `per_second` is how many messages
    the platform takes in all, `chat_gap_s` and `group_gap_s` how far apart those to one chat must be
    (0: no limit). `in_doubt` is what becomes of a reply of which nobody knows whether it arrived, where
    it can neither be found nor repeated under its key: sent once more and marked, or held for the
    operator. `lasting_senders` are those whose conversations do not end by the clock (`*`: everybody's)
    unless `sessions.reset_platforms` names the platform. `hint` is what a model is told of how the platform shows what it writes. `probe_s` is how often a channel that can is asked whether it still hears. `keeps` says
    whether the platform keeps messages for a bot that is away. `is_program` says that a sender is a
    program that tells of many things, not a person: `inbox.max_waiting_each` does not count for it. `own_chats`
    says that callers name chats themselves, so that the name of a direct chat means another chat for
    every sender.
    `reply_s` is how long after a message it can be answered with its handle, `replies` how often (0: no
    limit); `reply_late` says what becomes of a later reply: a dead letter, or a message without the
    handle. `redelivers` says whether the platform sends a message again that was not acknowledged.
    `buttons` is what can be pressed under a message, `reactions` says that the bot can react to one,
    `vanishes` that the platform itself can show a message for a while only. `rates` are limits of
    messages in a time, beside the gaps. `proof_s` is how long after a lost answer the platform may still
    tell that the message arrived (0: it never does); nothing is sent again before. `personal_ids` says
    that ids of people and chats say who somebody is, as telephone numbers do: models see hashes of them.
    """

    delivery: DeliveryMode
    edit: bool = False
    draft: bool = False
    history: bool = False
    history_whole: bool = True
    key_window_s: float = 0.0
    max_chars: int = 4000
    max_messages: int = 0
    unit: Literal["chars", "utf16", "bytes"] = "chars"
    delete: bool = False
    typing: bool = False
    threads: bool = False
    media: tuple[MediaKind, ...] = ()
    media_bytes: int = 0
    attaches_with_text: bool = False
    per_second: float = 0.0
    chat_gap_s: float = 0.0
    group_gap_s: float = 0.0
    probe_s: float = 0.0
    send_s: float = 0.0
    in_doubt: Literal["mark", "hold"] = "mark"
    lasting_senders: tuple[str, ...] = ()
    hint: str = ""
    busy: Literal["interrupt", "queue", "steer"] = "interrupt"
    unknown: Unknown | None = None
    answers: bool = True
    keeps: bool = True
    is_program: bool = False
    own_chats: bool = False
    reply_s: float = 0.0
    replies: int = 0
    reply_late: Literal["dead", "plain"] = "dead"
    redelivers: bool = True
    buttons: Buttons | None = None
    reactions: bool = False
    vanishes: bool = False
    rates: tuple[RateRow, ...] = ()
    proof_s: float = 0.0
    personal_ids: bool = False

    @property
    def takes_handles(self) -> bool:
        """Whether a reply must carry the handle of the message that it answers."""
        return self.reply_s > 0 or self.replies > 0

    @property
    def strangers(self) -> Unknown:
        """What strangers get on this platform unless the operator says otherwise."""
        return self.unknown or ("allow" if self.delivery == "pull" else "pair")


class Target(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where a reply goes, in the platform's own ids; `group` where more than one person reads it.

    `language` is the one in which what Hermes adds to the reply is said; English if it is empty.
    """

    platform: str
    account: str
    chat_id: str
    thread_id: str | None = None
    reply_to: str | None = None
    group: bool = False
    language: str = ""


class ReturnedDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """What a platform had taken and brought back later; `key` is that of its `Delivery`.

    `status` is the platform's code for the reason, never words of it: they may name people.
    """

    key: str
    failure: FailureClass
    status: str = ""


TellReturned = Callable[[ReturnedDelivery], Awaitable[None]]


class ArrivedDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """What a platform says later to have arrived; `key` is that of its `Delivery`."""

    key: str
    platform_message_id: str


TellArrived = Callable[[ArrivedDelivery], Awaitable[None]]


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One wire send: a chunk of a reply; `key` is stable over retries.

    `handle` is that of the message it answers. `vanish_s` is how long it is to be seen (0: for good),
    where the platform `vanishes` messages itself.
    """

    id: str
    target: Target
    parts: tuple[Part, ...]
    key: str
    handle: ReplyHandle | None = None
    vanish_s: float = 0.0


class Receipt(msgspec.Struct, frozen=True):
    """The platform's word that it has the message, with its id there."""

    platform_message_id: str


class DeniedApproval(msgspec.Struct, frozen=True):
    """An approval that a new message has denied, and the tool that does not run."""

    approval: str
    tool: str


class Acceptance(msgspec.Struct, frozen=True, kw_only=True):
    """The inbox's word that a message is on disk; `duplicate` when it already was.

    `is_new` when a turn will end it and none has begun yet; `denied` is what it has denied. Of a
    stranger (`is_stranger`) a channel shows nothing to others.
    """

    message_id: str
    duplicate: bool = False
    is_new: bool = False
    denied: DeniedApproval | None = None
    is_stranger: bool = False


Accept = Callable[[MessageEvent], Awaitable[Acceptance]]


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook call as the server hands it to a channel: raw bytes, lower-case headers.

    `query_string` is the query as it came, before it was decoded; some platforms sign it.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    query_string: str = ""


class HttpResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What the server answers for the channel."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}


@runtime_checkable
class Channel(Protocol):
    """One configured platform account."""

    @property
    def name(self) -> str:
        """The platform's name."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        ...

    async def connect(self, accept: Accept) -> None:
        """Start receiving; return once the transport has proven itself."""
        ...

    async def disconnect(self) -> None:
        """Stop receiving and release sockets."""
        ...


@runtime_checkable
class PushChannel(Channel, Protocol):
    """A channel that must make a wire call to deliver."""

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        ...


@runtime_checkable
class EditingChannel(Channel, Protocol):
    """A channel that can change a message, where `edit` is declared."""

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message that was sent before; its buttons are gone then."""
        ...


@runtime_checkable
class ReactingChannel(Channel, Protocol):
    """A channel that can put a reaction on a message, where `reactions` is declared."""

    async def react(self, target: Target, platform_message_id: str, name: ReactionName) -> None:
        """React to a message of the chat, in place of the bot's reaction before."""
        ...


@runtime_checkable
class FindingChannel(Channel, Protocol):
    """A channel that can look up what it has sent, where `history` is declared."""

    async def find(self, target: Target, key: str) -> Receipt | None:
        """Look the message up in the platform's history."""
        ...


@runtime_checkable
class ListingChannel(Channel, Protocol):
    """A channel whose platform can list its chats."""

    async def directory(self) -> tuple[ChatEntry, ...]:
        """Return all chats that could be written in; raises a `HermesError` if it cannot be told."""
        ...


@runtime_checkable
class WebhookChannel(Channel, Protocol):
    """A channel that receives by HTTP; `webhook` authenticates the raw bytes first."""

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        """Handle one webhook call."""
        ...


class GlancingChannel(WebhookChannel, Protocol):
    """A channel that can refuse some calls by their headers, before their body has come."""

    def glance(self, headers: Mapping[str, str], *, path: str) -> None:
        """Raise for a call that can be no authentic one; `webhook` checks all of it again."""
        ...


@runtime_checkable
class LiveChannel(Channel, Protocol):
    """A channel that holds a connection or polls, and can lose it."""

    async def lost(self) -> None:
        """Wait until the transport is gone; raises a `HermesError` that says why.

        A `ConfigurationError` is final (a token that was revoked); after any other end the
        channel is disconnected and connected again, with growing waits.
        """
        ...


@runtime_checkable
class ProbingChannel(Channel, Protocol):
    """A channel whose platform can be asked whether this account still receives and sends."""

    async def probe(self) -> None:
        """Return if it does; raises a `HermesError` that says what is deaf."""
        ...


@runtime_checkable
class MeasuringChannel(Channel, Protocol):
    """A channel that knows how long a text is once it is rendered, in the platform's own unit."""

    def measure(self, text: str) -> int:
        """Return the size of a Markdown text on the wire, to hold against `max_chars`."""
        ...


@runtime_checkable
class DraftChannel(Channel, Protocol):
    """A channel that shows a reply being written natively, without a message standing."""

    async def draft(self, target: Target, draft_id: int, *, text: str) -> None:
        """Show the Markdown so far; the same `draft_id` replaces what it showed before."""
        ...


@runtime_checkable
class DeletingChannel(Channel, Protocol):
    """A channel that can take a message back."""

    async def delete(self, target: Target, platform_message_id: str) -> None:
        """Delete a message that was sent before; one that is already gone is not an error."""
        ...


@runtime_checkable
class TypingChannel(Channel, Protocol):
    """A channel that can show that an answer is being worked on."""

    async def typing(self, target: Target) -> None:
        """Show it, for as long as the platform does; whatever fails is a `DeliveryError`."""
        ...


@runtime_checkable
class MediaChannel(Channel, Protocol):
    """A channel whose attachments are fetched from the platform by a reference."""

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes behind `media.ref`; raises a `HermesError` past `limit` or on failure."""
        ...


class ChatInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A platform's information about a chat."""

    chat_id: str
    chat_type: str
    name: str | None = None
    topic: str | None = None
    members: int | None = None


@runtime_checkable
class InformedChannel(Channel, Protocol):
    """A channel whose platform gives information about a chat."""

    async def chat_info(self, target: Target) -> ChatInfo:
        """Return the chat's information; raises a `DeliveryError` if it cannot be read."""
        ...


@runtime_checkable
class IdentifiedChannel(Channel, Protocol):
    """A channel whose device people recognise by a key."""

    @property
    def identity(self) -> str:
        """What people compare, in words; empty if there is nothing to compare."""
        ...
