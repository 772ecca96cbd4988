"""What every stand-in platform can do, so that one suite, the demo page and plugin authors drive it.

A stand-in speaks the platform's wire protocol on loopback and refuses what the real one refuses.
`PersonMessage` is what a person does there, `Post` what they see of the bot, `Fault` what goes wrong.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec

from hermes.message.source import ChatType

FaultKind = Literal[
    "rate_limited",  # refused for now, with the platform's form of Retry-After
    "server_error",  # answered 5xx or its equal: certainly not there
    "rejected",  # refused for good: the chat is gone, the text is not taken
    "unauthorized",  # the credential is not (or no longer) good
    "refuse_connection",  # nobody listens
    "reset_after",  # it happened, and the answer was lost
    "hang",  # it happened, and no answer comes
]
Operation = Literal["send", "edit", "fetch", "any"]
_KEPT = 1000


def no_rejections() -> deque[str]:
    """Return an empty book of rejections, which keeps the newest."""
    return deque(maxlen=_KEPT)


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Something that goes wrong with the next `times` calls of a kind."""

    op: Operation = "send"
    kind: FaultKind
    times: int = 1
    retry_after: float = 7.0


def take_fault(faults: list[Fault], operation: str) -> Fault | None:
    """Return what goes wrong with a call of this kind, once less from now on."""
    for place, fault in enumerate(faults):
        if fault.op in (operation, "any"):
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
    """What a person does on the platform; `id` is the platform's id of it, made up if empty.

    `album` ties several pictures together where the platform knows albums; `mentions` names the bot
    as the platform does it; `times` sends the same event again, as platforms do; one that is `late`
    happens now and is told to the bot after the next one.
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


class StandIn(Protocol):
    """One platform on loopback."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings by which a channel speaks to it: addresses, tokens, secrets."""
        ...

    @property
    def rejections(self) -> tuple[str, ...]:
        """Everything it refused because the caller broke a rule, with the rule."""
        ...

    async def start(self) -> None:
        """Listen."""
        ...

    async def stop(self) -> None:
        """End every connection."""
        ...

    def point_at(self, webhook_url: str) -> None:
        """Send events to this address, where an operator would set it on the platform's page."""
        ...

    async def say(self, said: PersonMessage) -> str:
        """Let a person do something; return the event's id there, once the bot has taken it.

        Where the platform pushes, it repeats until it is answered 2xx, as the platform does.
        """
        ...

    def posts(self, chat: str) -> tuple[Post, ...]:
        """Return what the bot has written in a chat, oldest first."""
        ...

    def plan(self, fault: Fault) -> None:
        """Let something go wrong."""
        ...

    async def cut(self) -> None:
        """Drop every standing connection of the bot, as a network does."""
        ...

    def revoke(self) -> None:
        """Make the bot's credential worthless from now on."""
        ...

    def restore(self) -> None:
        """Make the bot's credential good again."""
        ...
