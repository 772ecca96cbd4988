"""Hand-made parts for tests of one stage alone: a turn, a journal that keeps what it hears, a context."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from zoneinfo import ZoneInfo

import msgspec

from hermes.agents.roster import Agent
from hermes.config import AgentSettings
from hermes.message.chat import ChatMessage
from hermes.message.event import MessageEvent
from hermes.message.outcome import BusyPolicy, MessageState
from hermes.message.parts import ImagePart, Media, Part, TextPart, ToolCallPart, ToolResultPart
from hermes.message.source import ChatType, Source
from hermes.pipeline.interrupts import Interrupt
from hermes.pipeline.turn import PreparedTurn, Turn
from hermes.ports.approvals import NewApproval
from hermes.ports.outbox import NewDelivery
from hermes.ports.provider import ToolSpec
from hermes.ports.spend import SpendEntry
from hermes.ports.steps import Lease, PaidBy, Step, StepFacts, StepKind, TimelineEvent
from hermes.ports.tool import ToolContext, ToolTraits
from hermes.ports.transcripts import TranscriptEntry
from hermes.ports.turns import MessageRecord
from hermes.ports.upward import Progress

LANE = "agent:main:telegram:dm:ann"
NOW = 1_700_000_000.0
LEASE = Lease(LANE, "test", 1)
PICTURE = ImagePart(Media("image/png", url="https://pictures.example/a.png"))
T = TypeVar("T")
S = TypeVar("S")


class KeptJournal:
    """Fits what every stage asks of the journal, and keeps what it is told in lists."""

    def __init__(self, *steps: Step, lease: Lease | None = None, is_followed: bool = False) -> None:
        self.steps = steps
        self.lease = lease
        self.is_followed = is_followed
        self.waits_for_place = False
        self.trace = None
        self.notes: list[tuple[str, dict[str, object]]] = []
        self.started: list[Step] = []
        self.ended: list[Step] = []
        self.paid: list[SpendEntry] = []
        self.prepared: list[PreparedTurn | None] = []
        self.claimed: list[str] = []
        self.joined: tuple[str, ...] = ()
        self.parked: list[NewApproval] = []
        self.begins: list[Turn] = []
        self.writes = 0
        self.spent: set[str] = set()
        self._next = 1 + max((step.ordinal for step in steps), default=0)
        self._open = {step.ordinal: step for step in steps if step.state == "started"}

    @property
    def begun(self) -> bool:
        return self.lease is not None

    @property
    def open_ordinals(self) -> frozenset[int]:
        return frozenset(self._open)

    def note(self, kind: str, **data: object) -> None:
        self.notes.append((kind, data))

    def spend(self, spent: tuple[SpendEntry, ...]) -> None:
        self.paid.extend(spent)

    async def begin(self, turn: Turn) -> None:
        self.begins.append(turn)
        self.lease = LEASE

    async def start(
        self,
        turn: Turn,
        kind: StepKind,
        *,
        name: str,
        arguments: bytes = b"",
        prepared: PreparedTurn | None = None,
        facts: StepFacts | None = None,
    ) -> int:
        self.prepared.append(prepared)
        self.lease = LEASE
        return self._start(kind, name, arguments, facts)

    async def start_tools(
        self, turn: Turn, calls: Sequence[ToolCallPart], *, arguments: Sequence[bytes]
    ) -> tuple[int, ...]:
        return tuple(
            self._start("tool", call.name, bound)
            for call, bound in zip(calls, arguments, strict=True)
        )

    def _start(
        self, kind: StepKind, name: str, arguments: bytes, facts: StepFacts | None = None
    ) -> int:
        step = Step(
            ordinal=self._next,
            kind=kind,
            state="started",
            name=name,
            arguments_hash=arguments,
            facts=facts,
        )
        self._next += 1
        self.started.append(step)
        self._open[step.ordinal] = step
        return step.ordinal

    def end(
        self,
        ordinal: int,
        body: bytes | None,
        *,
        step: Step | None = None,
        payer: PaidBy = "person",
    ) -> Step:
        known = self._open.pop(ordinal)
        given = step or msgspec.structs.replace(known, state="done")
        ended = msgspec.structs.replace(
            known,
            state=given.state,
            body=body,
            usage=given.usage,
            payer=payer,
            facts=given.facts or known.facts,
        )
        self.ended.append(ended)
        return ended

    async def write_results(self, turn: Turn) -> None:
        self.writes += 1

    def output_step(self, name: str, body: bytes) -> Step:
        self._next += 1
        return Step(ordinal=self._next - 1, kind="output", state="done", name=name, body=body)

    async def keep_output(self, turn: Turn, step: Step) -> None:
        self.started.append(step)

    async def claim(self, turn: Turn, message_id: str, *, body: bytes) -> int:
        self.claimed.append(message_id)
        self._next += 1
        return self._next - 1

    def join(self, message_ids: tuple[str, ...]) -> None:
        self.joined = message_ids

    async def park(
        self, turn: Turn, approval: NewApproval, *, question: NewDelivery | None
    ) -> None:
        self.parked.append(approval)
        self.lease = None

    async def ask(self, turn: Turn, approval: NewApproval, *, question: NewDelivery | None) -> None:
        raise AssertionError("no tool of these tests asks")

    def attempts(self, ordinal: int) -> frozenset[int]:
        raise AssertionError("no tool of these tests asks")

    async def adopt(self, question_id: str) -> None:
        raise AssertionError("no tool of these tests asks")

    def next_child(self, call: int) -> str:
        return str(call)

    def took_child(self, ordinal: int, lane: str) -> None:
        raise AssertionError("no tool of these tests starts a subagent")

    def take_children(self, ordinal: int | None = None) -> tuple[str, ...]:
        return ()

    def take_ended(self) -> tuple[Step, ...]:
        ended, self.ended = tuple(self.ended), []
        return ended

    def take_spent(self) -> tuple[SpendEntry, ...]:
        spent, self.paid = tuple(self.paid), []
        return spent

    def take_events(self) -> tuple[TimelineEvent, ...]:
        return tuple(TimelineEvent(kind, NOW, data) for kind, data in self.notes)


@dataclass
class Context(Generic[S]):
    """What a stage gets: its own narrow services, and a journal that keeps what it is told."""

    services: S
    journal: KeptJournal = field(default_factory=KeptJournal)
    interrupt: Interrupt = field(default_factory=Interrupt)


@dataclass(frozen=True)
class Zone:
    """Knows in which time zone days begin."""

    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))


class Table(Generic[T]):
    """Records by id; counts how often it was asked."""

    def __init__(self, records: Mapping[str, T] | None = None) -> None:
        self.records = dict(records or {})
        self.asked: list[str] = []

    async def get(self, record_id: str, /) -> T | None:
        self.asked.append(record_id)
        return self.records.get(record_id)


class KeptWatch:
    """Fits `Watch`: keeps what is published."""

    def __init__(self) -> None:
        self.published: list[tuple[str, Progress]] = []

    def publish(self, message_id: str, progress: Progress) -> None:
        self.published.append((message_id, progress))

    def text(self, message_id: str) -> str:
        return "".join(one.text for name, one in self.published if name == message_id)

    def subscribe(self, message_id: str) -> "NoProgress":
        return NoProgress()


class NoProgress:
    """A turn of which nobody hears any more."""

    def __aiter__(self) -> "NoProgress":
        return self

    async def __anext__(self) -> Progress:
        raise StopAsyncIteration


class SmallTool:
    """A tool that answers its name and counts its runs."""

    def __init__(self, name: str, *, traits: ToolTraits | None = None, text: str = "") -> None:
        self.spec = ToolSpec(name, f"Runs {name}.", msgspec.Raw(b'{"type":"object"}'))
        self.traits = traits or ToolTraits()
        self.runs = 0
        self.seen: list[ToolContext] = []
        self._text = text or f"{name} ran"

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        self.runs += 1
        self.seen.append(context)
        return self._text


def make_event(
    text: str = "hello",
    *,
    platform: str = "telegram",
    chat_type: ChatType = "dm",
    attached: tuple[Part, ...] = (),
    external_id: str = "x1",
    internal: bool = False,
    key: str | None = None,
) -> MessageEvent:
    return MessageEvent(
        account="default",
        route="poll",
        external_id=external_id,
        source=Source(platform=platform, chat_id="ann", user_id="ann", chat_type=chat_type),
        parts=(*((TextPart(text),) if text else ()), *attached),
        at=NOW,
        internal=internal,
        key=key,
    )


def make_turn(event: MessageEvent | None = None, *, agent: AgentSettings | None = None) -> Turn:
    return Turn(
        id="m_1",
        lane=LANE,
        event=event or make_event(),
        person_id="p_ann",
        received_at=NOW,
        epoch=0,
        head=0,
        agent=Agent("main", agent or AgentSettings()),
    )


def make_record(
    message_id: str,
    event: MessageEvent | None,
    *,
    person_id: str = "p_ann",
    received_at: float = NOW,
    busy: BusyPolicy = BusyPolicy.QUEUE,
) -> MessageRecord:
    return MessageRecord(
        id=message_id,
        seq=1,
        lane=LANE,
        person_id=person_id,
        event=event,
        state=MessageState.NEW,
        busy=busy,
        control=False,
        received_at=received_at,
        attempts=0,
        external_id=message_id,
        platform="telegram",
    )


def said(role: str, text: str) -> ChatMessage:
    assert role in ("user", "assistant")
    return ChatMessage("user" if role == "user" else "assistant", (TextPart(text),))


def asking(turn: Turn, *calls: ToolCallPart) -> Turn:
    """Return the turn after an answer that asks for tools."""
    return turn.plus(ChatMessage("assistant", calls), ordinal=1)


def with_rounds(turn: Turn, rounds: int) -> Turn:
    """Return the turn after some rounds of one tool call each, all with results."""
    for number in range(rounds):
        call = ToolCallPart(f"c{number}", "look", "{}")
        result = ToolResultPart(call.id, call.name, f"result {number}")
        exchanged = (
            *turn.exchanged,
            TranscriptEntry(ChatMessage("assistant", (call,)), 2 * number + 1),
            TranscriptEntry(ChatMessage("tool", (result,)), 2 * number + 2),
        )
        turn = msgspec.structs.replace(turn, exchanged=exchanged)
    return turn


def digest(content: bytes) -> bytes:
    return content
