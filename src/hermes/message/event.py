"""`MessageEvent`: the one shape of every platform's input."""

from typing import Final, Literal

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.choices import TaskType
from hermes.message.parts import Part, text_of
from hermes.message.source import Source

EventType = Literal[
    "text", "image", "audio", "video", "file", "command", "location", "reaction", "choice"
]
# The decoder does not accept `Raw | None`: this value means "no raw event".
NO_RAW: Final = msgspec.Raw()


class ReplyContext(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The earlier message that this one answers."""

    message_id: str
    text: str | None = None
    user_id: str | None = None


class ReplyHandle(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a reply to a message must carry: the platform's token for it.

    It is good for until `until` (None: as long as the manifest's `reply_s`) and for `uses` sends (0: as
    many as the manifest's `replies`). The token is a secret of the platform's.
    """

    token: str
    until: float | None = None
    uses: int = 0

    def __repr__(self) -> str:
        return f"ReplyHandle(until={self.until}, uses={self.uses})"


class PressedChoice(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A button that somebody pressed: its value, and the platform's id of the message with it.

    `refusal` is what they are told if the press does nothing; only the inbox sets it.
    """

    value: str
    message_id: str
    refusal: str = ""


class Reaction(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An emoji (in Unicode) that somebody put on a message of the bot, or took away from it."""

    message_id: str
    emoji: str
    is_removed: bool = False


class ScheduledRun(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A scheduled job whose run an event is; the reply goes to `target`, with `head` above it if
    set.

    `due_at` is the instant that was due; without a target the reply goes to where the job was made.
    An operator's job may go where its person has never been.
    """

    job: str
    due_at: float
    head: str = ""
    target: str = ""
    is_operators: bool = False


# As what the `depth` of an event travels to another gateway, in the metadata of a message.
DEPTH: Final = "hermes/depth"


class Delegation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How a turn that another one has started came about.

    `agents` are the keys of those above it, the first one first. Its time is up at `until`. One without
    `has_tools` only answers: its words are those of a server, which could have tools used.
    """

    agents: tuple[str, ...]
    until: float | None = None
    has_tools: bool = True


class MessageEvent(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One inbound message, normalised; nothing platform-specific is visible past this value.

    `account` and `route` are the configured account and the API through which it came;
    `external_id` is the platform's id of the message, unique within (account, platform, route).
    `content_key` is a keyed hash of what the sender signed, if the signature does not cover the id:
    two events of one route with the same key are one message, whatever their ids.
    `history` are the earlier messages that a caller without its own session sends. `key` is the id
    of the caller's key that pays for it. `token` is the id of the API token that sent it, if one
    program speaks for many senders: they share one fair share. `addressed` is false for a message
    in a group that neither names the bot nor replies to it. `album` is the platform's id of several
    pictures that were sent as one; `is_queued` is true if the sender queued it after the running
    turn (`/queue`), to be answered separately; `is_held_back` if it should have joined the running
    turn (`/steer`), which belonged to somebody else, so that it waits for its own turn. One that
    `denies_approval` denies what its conversation waits for, also where messages queue. One that
    `is_temporary` begins a conversation that uses nothing of others and leaves nothing to them, or goes
    on with one. One that `replaces` an earlier message, by its id, takes the place of it and of all that
    followed. `task` is the task type that the sender asked for, whose route chooses the model. `scheduled`
    is set if no person wrote it just now: one of their jobs was due. A `delegation` is there if another
    turn has started it. It `may_delegate` if the credential that sent it holds that right: then its text may
    be commands that delegate tasks. `depth` is how many agents of other gateways have passed it on, each by a
    call of the next one. A reply must carry the `handle`, if there is one. An event of the type `choice`
    has `pressed` a button, one of the type `reaction` has the `reaction`; neither needs parts. `language`
    is the language that the platform names for the sender, such as `de`, if it names one. `raw` is
    the unchanged wire event, kept for debugging.
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
    content_key: str = ""
    is_queued: bool = False
    is_held_back: bool = False
    denies_approval: bool = False
    is_temporary: bool = False
    replaces: str = ""
    task: TaskType | None = None
    scheduled: ScheduledRun | None = None
    delegation: Delegation | None = None
    may_delegate: bool = False
    depth: int = 0
    handle: ReplyHandle | None = None
    pressed: PressedChoice | None = None
    reaction: Reaction | None = None
    language: str = ""
    raw: msgspec.Raw = NO_RAW

    @property
    def text(self) -> str:
        """The plain text of the event."""
        return text_of(self.parts)
