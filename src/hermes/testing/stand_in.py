"""The interface of every stand-in platform, used by the common suite, the demo page and plugin
authors.

A stand-in implements the platform's wire protocol on loopback and refuses what the real one
refuses. `PersonMessage` is what a person does there, `Post` is a message of the bot as people see
it, `Fault` is a planned fault.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

import msgspec

from hermes.message.source import ChatType

FaultKind = Literal[
    "rate_limited",  # refused for now, with the platform's form of Retry-After
    "server_error",  # answered 5xx or equivalent: certainly not delivered
    "rejected",  # refused for good: the chat is gone, or the text is not accepted
    "unauthorized",  # the credential is not (or no longer) valid
    "refuse_connection",  # nobody listens
    "reset_before",  # the connection was lost, and it took no effect
    "hang_before",  # no answer comes, and it took no effect
    "reset_after",  # it took effect, and the answer was lost
    "hang",  # it took effect, and no answer comes
    "garbage",  # it took effect, and something else answered
]
Operation = Literal["send", "edit", "fetch", "history", "any"]
_KEPT = 1000


def no_rejections() -> deque[str]:
    """Return an empty list of rejections, which keeps the newest."""
    return deque(maxlen=_KEPT)


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of the next `times` calls of a kind, in one chat or in all.

    Every platform has the first five kinds, `reset_after` and `hang`, those that are a `Site` all.
    """

    op: Operation = "send"
    kind: FaultKind
    times: int = 1
    retry_after: float = 7.0
    chat: str | None = None


def take_fault(
    faults: list[Fault], operation: str, *, chat: Callable[[], str | None] = lambda: None
) -> Fault | None:
    """Return the fault of a call of this kind, using it up once; `chat` says where it acts."""
    for place, fault in enumerate(faults):
        if fault.op in (operation, "any") and (fault.chat is None or fault.chat == chat()):
            left = fault.times - 1
            rest = msgspec.structs.replace(fault, times=left)
            faults[place : place + 1] = [rest] if left > 0 else []
            return fault
    return None


class File(msgspec.Struct, frozen=True, kw_only=True):
    """An attachment that a person sends."""

    data: bytes
    mime: str
    name: str = "file"


class PersonMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What a person does on the platform; `id` is the platform's id of it, generated if empty.

    `album` groups several pictures if the platform has albums; `mentions` mentions the bot in the
    platform's way; `times` sends the same event repeatedly, as platforms do; a `late` event happens
    now and is sent to the bot after the next one.
    """

    text: str = ""
    chat: str = "chat-1"
    chat_type: ChatType = "dm"
    user: str = "user-1"
    user_name: str = "Ada"
    thread: str | None = None
    id: str = ""
    reply_to: str | None = None
    files: tuple[File, ...] = ()
    album: str | None = None
    mentions: bool = False
    is_bot: bool = False
    times: int = 1
    late: bool = False


class PostButton(msgspec.Struct, frozen=True):
    """A button under a message of the bot; who presses it sends the value."""

    label: str
    value: str


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the bot as people see it now; `text` is what they read, without markup."""

    id: str
    chat: str
    text: str
    markup: str = ""
    thread: str | None = None
    reply_to: str | None = None
    edits: int = 0
    files: tuple[str, ...] = ()
    deleted: bool = False
    buttons: tuple[PostButton, ...] = ()


class StandIn(Protocol):
    """One platform on loopback."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it: addresses, tokens, secrets."""
        ...

    @property
    def rejections(self) -> tuple[str, ...]:
        """Every refusal because the caller broke a rule, with the rule."""
        ...

    async def start(self) -> None:
        """Listen."""
        ...

    async def stop(self) -> None:
        """Close every connection."""
        ...

    def point_at(self, webhook_url: str) -> None:
        """Send events to this address, which an operator would set on the platform's page."""
        ...

    async def say(self, said: PersonMessage) -> str:
        """Act as a person; return the event's id there, once the bot has accepted it.

        If the platform pushes, it repeats until it is answered 2xx, as the real one does.
        """
        ...

    def posts(self, chat: str) -> tuple[Post, ...]:
        """Return the bot's messages in a chat, oldest first."""
        ...

    def plan(self, fault: Fault) -> None:
        """Plan a fault."""
        ...

    async def cut(self) -> None:
        """Drop every open connection of the bot, like a network failure."""
        ...

    def revoke(self) -> None:
        """Invalidate the bot's credential from now on."""
        ...

    def restore(self) -> None:
        """Make the bot's credential valid again."""
        ...
