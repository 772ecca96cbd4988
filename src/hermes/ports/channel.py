"""The channel port: how a platform's messages come in and replies go out.

A channel verifies and normalises; it hands events to `Accept` and sends `Delivery` values. It
never decides, retries or stores.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Protocol, runtime_checkable

import msgspec

from hermes.message.event import MessageEvent
from hermes.message.parts import Part
from hermes.ports.directory import ChatEntry
from hermes.ports.people import Unknown

DeliveryMode = Literal["pull", "push"]


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What the platform can do, as data from the channel's manifest.

    `key_window_s` is how long the platform remembers an idempotency key (0: it takes none).
    `unknown` is what strangers get unless the operator says otherwise: `allow` where a caller has
    proven themselves to the gateway already, `pair` where anybody can write. `answers` says whether
    whoever wrote can be asked something while their message is worked on.
    """

    delivery: DeliveryMode
    edit: bool = False
    draft: bool = False
    history: bool = False
    key_window_s: float = 0.0
    max_chars: int = 4000
    busy: Literal["interrupt", "queue", "steer"] = "interrupt"
    unknown: Unknown = "allow"
    answers: bool = True


class Target(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where a reply goes, in the platform's own ids."""

    platform: str
    account: str
    chat_id: str
    thread_id: str | None = None
    reply_to: str | None = None


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One wire send: a chunk of a reply; `key` is stable over retries."""

    id: str
    target: Target
    parts: tuple[Part, ...]
    key: str


class Receipt(msgspec.Struct, frozen=True):
    """The platform's word that it has the message, with its id there."""

    platform_message_id: str


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """The inbox's word that a message is on disk; `duplicate` when it already was."""

    message_id: str
    duplicate: bool = False


Accept = Callable[[MessageEvent], Awaitable[Accepted]]


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook call as the server hands it to a channel: raw bytes, lower-case headers."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class HttpResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What the server answers for the channel."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}


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
        """Start receiving; returns once the transport has proven itself."""
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

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message that was sent before."""
        ...

    async def find(self, target: Target, key: str) -> Receipt | None:
        """Look the message up in the platform's history, where `history` is declared."""
        ...


@runtime_checkable
class ListingChannel(Channel, Protocol):
    """A channel whose platform tells which chats there are."""

    async def directory(self) -> tuple[ChatEntry, ...]:
        """Return all chats that could be written in; raises a `HermesError` if it cannot be told."""
        ...


@runtime_checkable
class WebhookChannel(Channel, Protocol):
    """A channel that receives by HTTP; `webhook` authenticates the raw bytes first."""

    async def webhook(self, request: HttpRequest) -> HttpResponse:
        """Handle one webhook call."""
        ...
