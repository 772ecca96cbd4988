"""The turn: a frozen value that the stages of `plan.py` pass along, each returning a new one."""

import msgspec

from hermes.agents.roster import Agent
from hermes.graph.records import Link
from hermes.message.chat import ChatMessage
from hermes.message.choices import NO_CHOICES, SessionChoices
from hermes.message.event import MessageEvent
from hermes.message.reply import Usage
from hermes.message.session_key import depth_of
from hermes.ports.memory import Soul
from hermes.ports.people import Person
from hermes.ports.provider import ToolSpec
from hermes.ports.session_history import NO_COMPACTION
from hermes.ports.steps import Rest
from hermes.ports.transcripts import Compaction, NewCall, TranscriptEntry, VisibleHistory
from hermes.ports.turns import CreditHold, ToolUse
from hermes.routing.plan import Plan


class PendingImages(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Pictures that are still to be dealt with before the model is called.

    `own` of them came with the message itself; `rule` is what told the intent. The turn is `blind`
    if its model cannot see them; None as long as no model was chosen.
    """

    intent: str
    rule: str = ""
    own: int = 0
    blind: bool | None = None


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One message on its way to its outcome.

    `exchanged` is what the turn itself has added after the user's message: model answers, tool
    results and messages that were steered in, each with the step that holds it. `start` is where
    `history` begins in the session's graph; None if it is no run of messages there. A `compaction`
    takes the place of what was said before it; one without a version is new, `compacted` is the version of the one that was there. What is known
    of the person may be used only where the turn `is_personal`; `soul` is what its commit keeps. One that
    `is_temporary` uses nothing of other sessions and leaves nothing to them. A
    session that others joined is shown from message `shared_from` on. `pending_images` is there while pictures
    wait to be dealt with, `unseen` is what the person is told of those that nobody could look at, `missed` of attachments
    that could not be had. `notices` are what they are told
    beside the reply, `choices` what the session's people chose for it. A turn that answers an earlier
    message again has no `user`: its history ends with that message, and `retry` messages behind it
    are left out of it, which its commit replaces. One whose message replaces an earlier one leaves out the
    last `cut` messages. `stop_reason` is why its last model call stopped, and
    what happens to the `rest` of an answer that reached its length limit. Messages that were sent one after the other are one event: those
    that `joined` are in it, and `own` is the event as it came without them.
    """

    id: str
    lane: str
    event: MessageEvent
    person_id: str
    received_at: float
    epoch: int
    head: int
    agent: Agent
    person: Person | None = None
    hold: CreditHold | None = None
    system: tuple[str, ...] = ()
    history: tuple[ChatMessage, ...] = ()
    start: int | None = 0
    compaction: Compaction | None = None
    compacted: int = NO_COMPACTION
    user: ChatMessage | None = None
    tools: tuple[ToolSpec, ...] = ()
    plan: Plan | None = None
    exchanged: tuple[TranscriptEntry, ...] = ()
    calls: tuple[NewCall, ...] = ()
    links: tuple[Link, ...] = ()
    usage: Usage = Usage()
    platform_usage: Usage = Usage()
    tool_uses: tuple[ToolUse, ...] = ()
    tool_ms: float = 0.0
    soul_ms: float = 0.0
    soul: Soul | None = None
    is_personal: bool = False
    is_temporary: bool = False
    shared_from: int = 0
    has_recalled: bool = False
    model: str | None = None
    stop_reason: str = ""
    rest: Rest = ""
    is_from_memory: bool = False
    claimed: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    own: MessageEvent | None = None
    pending_images: PendingImages | None = None
    unseen: str = ""
    missed: str = ""
    notices: tuple[str, ...] = ()
    choices: SessionChoices = NO_CHOICES
    retry: int | None = None
    cut: int = 0
    # The skills that the model may read, and the instructions of the one that the person runs.
    skills: tuple[str, ...] = ()
    instructions: str = ""
    # The words of the message are those of an MCP server's prompt.
    is_prompt: bool = False

    def plus(self, message: ChatMessage, *, ordinal: int | None) -> "Turn":
        """Return the turn with one more message exchanged."""
        entry = TranscriptEntry(message, ordinal)
        return msgspec.structs.replace(self, exchanged=(*self.exchanged, entry))

    @property
    def depth(self) -> int:
        """How many turns wait for this one, here and on other gateways."""
        return self.event.depth + depth_of(self.lane)

    @property
    def asked(self) -> ChatMessage | None:
        """The message that is answered."""
        if self.retry is not None and self.history:
            return self.history[-1]
        return self.user

    def after(self, said: VisibleHistory) -> "Turn":
        """Return the turn with what was said before it, here and in what it brought along."""
        brought = self.event.history
        start = None if brought else said.start
        return msgspec.structs.replace(
            self,
            history=(*said.messages, *brought),
            start=start,
            compaction=said.compaction,
            compacted=_version_of(said.compaction),
        )

    @property
    def tools_run(self) -> tuple[ToolUse, ...]:
        """The calls whose tools ran; a denied one did not."""
        return tuple(use for use in self.tool_uses if use.was_run)

    @property
    def base(self) -> int:
        """The first message of the graph that nothing has taken the place of."""
        return self.shared_from if self.compaction is None else self.compaction.stop

    def since(self, shared_from: int) -> "Turn":
        """Return the turn without what was said while the session was one person's alone."""
        if not shared_from:
            return self
        turn = msgspec.structs.replace(self, shared_from=shared_from)
        if turn.compaction is not None and turn.compaction.start < shared_from:
            turn = msgspec.structs.replace(turn, compaction=None)
        if turn.start is None:
            return msgspec.structs.replace(turn, history=turn.event.history)
        cut = max(0, shared_from - turn.start)
        return msgspec.structs.replace(turn, history=turn.history[cut:], start=turn.start + cut)

    def context(self) -> tuple[ChatMessage, ...]:
        """Return the messages that the next model call sees."""
        said = () if self.user is None else (self.user,)
        before = () if self.compaction is None else (self.compaction.message,)
        return (*before, *self.history, *said, *(entry.message for entry in self.exchanged))


def _version_of(compaction: Compaction | None) -> int:
    if compaction is None or compaction.version is None:
        return NO_COMPACTION
    return compaction.version


def estimate(turn: Turn, written: str = "") -> Usage:
    """Return what a call that did not end has used: about four characters to a token."""
    read = sum(len(block) for block in turn.system)
    read += sum(len(message.text) for message in turn.context())
    return Usage(tokens_in=read // 4, tokens_out=len(written) // 4)


class PreparedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """What the first step freezes; resuming never recomputes it.

    The context root is the lane's transcript before `head`; nothing can move it while the turn is
    on its lane.
    """

    agent: str
    # The version of the agent that the turn began with; 0 for an agent of config.yaml.
    agent_version: int = 0
    epoch: int
    head: int
    # How many bytes of the session were read; in the steps of an older Hermes, messages.
    history_limit: int
    # The version of the compaction that was there; None in the steps of an older Hermes.
    compaction: int | None = None
    # Before which message of the graph this turn itself has left out what was said.
    left_out: int | None = None
    system: tuple[str, ...]
    user: ChatMessage | None
    tools: tuple[str, ...]
    plan: Plan
    person: Person | None
    hold: CreditHold | None
    soul_ms: float = 0.0
    soul: Soul | None = None
    shared_from: int = 0
    has_recalled: bool = False
    # What the calls of this turn were shown; None in the steps of an older Hermes.
    shown: int | None = None
    tools_digest: bytes | None = None
    missed: str = ""
    pending_images: PendingImages | None = msgspec.field(name="sight", default=None)
    retry: int | None = None
    cut: int = 0
    skills: tuple[str, ...] = ()
