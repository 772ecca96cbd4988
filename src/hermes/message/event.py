"""`MessageEvent`: the one shape of every platform's input."""

from typing import Final, Literal

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import Part, text_of
from hermes.message.source import Source

EventType = Literal["text", "image", "audio", "video", "file", "command", "location", "reaction"]
# The decoder takes no `Raw | None`: "no raw event" is this one value.
NO_RAW: Final = msgspec.Raw()


class ReplyContext(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The earlier message that this one answers."""

    message_id: str
    text: str | None = None
    user_id: str | None = None


class ScheduledRun(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A scheduled job whose run an event is; the reply goes to `target`, under `head` if there is one.

    `due_at` is the instant that was due; without a target it goes back to where the job was made.
    An operator's job may go where its person has never been.
    """

    job: str
    due_at: float
    head: str = ""
    target: str = ""
    is_operators: bool = False


class MessageEvent(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One inbound message, normalised; nothing platform-specific is visible past this value.

    `account` and `route` say through which configured account and which API it came;
    `external_id` is the platform's id of the message, unique within (account, platform, route).
    `history` is what a caller without a session of its own says was said before.
    `key` is the id of the caller's key that pays for it. `token` is the id of the API token that
    brought it, where one program speaks for many senders: they share one part of what there is.
    `addressed` is false for a message in a group that neither names the bot nor replies to it.
    `album` is the platform's id of several pictures that were sent as one; `is_queued` says that the
    sender put it behind what runs (`/queue`), to be answered by itself; `is_held_back` that it was
    to join what runs (`/steer`), which was for somebody else, so that it waits for its own turn.
    `scheduled` says that no person wrote it just now: a job of theirs was due.
    `raw` is the untouched wire event, kept for debugging.
    """

    account: str
    route: str
    external_id: str
    source: Source
    parts: tuple[Part, ...]
    at: float
    type: EventType = "text"
    agent: str | None = None
    reply_to: ReplyContext | None = None
    addressed: bool = True
    skill: str | None = None
    channel_prompt: str | None = None
    channel_context: str | None = None
    history: tuple[ChatMessage, ...] = ()
    key: str | None = None
    token: str = ""
    internal: bool = False
    album: str | None = None
    is_queued: bool = False
    is_held_back: bool = False
    scheduled: ScheduledRun | None = None
    raw: msgspec.Raw = NO_RAW

    @property
    def text(self) -> str:
        """The plain text of the event."""
        return text_of(self.parts)
