"""The small interfaces through which stages see the rest of Hermes.

A stage's second argument is a `StageContext` of the services and the journal methods that it uses,
and of nothing else. What several stages use is declared here, what one of them uses beside it.
`TurnContext` fits every stage: mypy checks it in `plan.py`, where the stages are listed. At run time
these classes do nothing.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from hermes.calls.call_charge import SpendLog
from hermes.calls.events import CallEvent
from hermes.calls.model_caller import CallSpec
from hermes.config import Settings
from hermes.message.event import MessageEvent
from hermes.message.outcome import DeliveryState
from hermes.message.parts import ImagePart, Media, ToolCallPart
from hermes.pipeline.interrupts import Interrupt
from hermes.pipeline.turn import PreparedTurn, Turn
from hermes.ports.approvals import NewApproval
from hermes.ports.channel import Acceptance
from hermes.ports.clock import Clock
from hermes.ports.keys import CallerKey
from hermes.ports.media import LocalMedia, MediaOwner
from hermes.ports.outbox import NewDelivery
from hermes.ports.spend import SpendEntry
from hermes.ports.steps import Lease, PaidBy, Step, StepFacts, StepKind, TimelineEvent
from hermes.ports.upward import Progress, Watch
from hermes.ports.vision import VisionPipeline
from hermes.ports.wallet import Wallet
from hermes.routing.plan import CallNeeds, Candidate, Plan
from hermes.sessions.commands import CommandBook
from hermes.tools.tool_sets import ToolSets

T_co = TypeVar("T_co", covariant=True)
ServicesT_co = TypeVar("ServicesT_co", covariant=True)
JournalT_co = TypeVar("JournalT_co", covariant=True)

Sleep = Callable[[float], Awaitable[None]]
Follow = Callable[[str], AsyncIterator[Progress]]
PutChild = Callable[[MessageEvent, str], Awaitable[Acceptance]]


class StopTurn(Protocol):
    """Stops a turn if it still runs."""

    def __call__(self, lane: str, by: str, *, message_id: str | None) -> None:
        """Stop the turn of `message_id` on a lane, for the sake of the message `by`."""
        ...


class StageContext(Protocol[ServicesT_co, JournalT_co]):
    """What a stage gets beside the turn."""

    @property
    def services(self) -> ServicesT_co: ...
    @property
    def journal(self) -> JournalT_co: ...


class StoppableContext(
    StageContext[ServicesT_co, JournalT_co], Protocol[ServicesT_co, JournalT_co]
):
    """What a stage gets that waits for something, and that a person can stop meanwhile."""

    @property
    def interrupt(self) -> Interrupt: ...


class TimelineWriter(Protocol):
    """Adds lines to the timeline of a message, which `hermes why` reads."""

    def note(self, kind: str, **data: object) -> None: ...


class StepWriter(TimelineWriter, Protocol):
    """Writes effects down: before they start, and when they have ended."""

    @property
    def steps(self) -> tuple[Step, ...]: ...
    async def start(
        self,
        turn: Turn,
        kind: StepKind,
        *,
        name: str,
        arguments: bytes = b"",
        prepared: PreparedTurn | None = None,
        facts: StepFacts | None = None,
    ) -> int: ...
    def end(
        self,
        ordinal: int,
        body: bytes | None,
        *,
        step: Step | None = None,
        payer: PaidBy = "person",
    ) -> Step: ...
    async def write_results(self, turn: Turn) -> None: ...


class ModelJournal(StepWriter, Protocol):
    """Writes model calls down, and what they cost."""

    waits_for_place: bool

    @property
    def begun(self) -> bool: ...
    @property
    def lease(self) -> Lease | None: ...
    def spend(self, spent: tuple[SpendEntry, ...]) -> None: ...


class ToolJournal(StepWriter, Protocol):
    """Writes tool calls down: their results, subagents, and what a person was asked."""

    @property
    def open_ordinals(self) -> frozenset[int]: ...
    @property
    def spent(self) -> set[str]: ...
    async def start_tools(
        self, turn: Turn, calls: Sequence[ToolCallPart], *, arguments: Sequence[bytes]
    ) -> tuple[int, ...]: ...
    def output_step(self, name: str, body: bytes) -> Step: ...
    async def keep_output(self, turn: Turn, step: Step) -> None: ...
    async def claim(self, turn: Turn, message_id: str, *, body: bytes) -> int: ...
    def next_child(self, call: int) -> str: ...
    def took_child(self, ordinal: int, lane: str) -> None: ...
    def take_children(self, ordinal: int | None = None) -> tuple[str, ...]: ...
    async def park(
        self, turn: Turn, approval: NewApproval, *, question: NewDelivery | None
    ) -> None: ...
    async def ask(
        self, turn: Turn, approval: NewApproval, *, question: NewDelivery | None
    ) -> None: ...
    def attempts(self, ordinal: int) -> frozenset[int]: ...
    async def adopt(self, question_id: str) -> None: ...


class Lookup(Protocol[T_co]):
    """Finds a record by its id."""

    async def get(self, record_id: str, /) -> T_co | None: ...


class HasSettings(Protocol):
    """Knows the configuration."""

    @property
    def settings(self) -> Settings: ...


class HasClock(Protocol):
    """Knows the time."""

    @property
    def clock(self) -> Clock: ...


class KnowsIds(Protocol):
    """Knows the channels on which the ids of people and chats say who somebody is."""

    @property
    def personal_ids(self) -> frozenset[str]: ...


class HasWatch(Protocol):
    """Gives access to the watchers of a turn."""

    @property
    def watch(self) -> Watch: ...


class HasCommands(Protocol):
    """Tells commands from other messages."""

    @property
    def commands(self) -> CommandBook: ...


class HasVisions(Protocol):
    """Knows the plugins that answer pictures, by intent."""

    @property
    def visions(self) -> Mapping[str, VisionPipeline]: ...


class HasToolSets(Protocol):
    """Knows which tools an agent may use."""

    @property
    def tool_sets(self) -> ToolSets: ...


class HasOutbox(Protocol):
    """Knows whether a platform's replies are sent or fetched, and wakes their sender."""

    @property
    def first_state(self) -> Callable[[str], DeliveryState]: ...
    @property
    def wake_outbox(self) -> Callable[[str], None]: ...


class HasDigest(Protocol):
    """A store that makes keyed hashes."""

    def digest(self, content: bytes) -> bytes: ...


class HasWallets(Protocol):
    """A store that knows what people have left."""

    @property
    def wallets(self) -> Lookup[Wallet]: ...


class CreditServices(HasSettings, Protocol):
    """Prices, and what people have left."""

    @property
    def store(self) -> HasWallets: ...


class MediaFetcher(Protocol):
    """Makes files of attachments."""

    async def bring(self, media: Media, *, platform: str, owner: MediaOwner) -> LocalMedia: ...


class PictureFinder(Protocol):
    """Knows where the files of pictures are."""

    def located(self, picture: ImagePart) -> ImagePart: ...


class HasPictureFiles(Protocol):
    """The files of pictures, where there are any."""

    @property
    def media(self) -> PictureFinder | None: ...


class MediaServices(HasSettings, Protocol):
    """The fetching of attachments, where there is any, and its limits."""

    @property
    def media(self) -> MediaFetcher | None: ...


class WaitNotes(Protocol):
    """Writes a line to the timeline of a message at once."""

    async def note(self, message_id: str, event: TimelineEvent) -> None: ...


class ModelStore(HasDigest, HasWallets, Protocol):
    """What a model call needs of the store."""

    @property
    def keys(self) -> Lookup[CallerKey]: ...
    @property
    def inbox(self) -> WaitNotes: ...


class ModelPlanner(Protocol):
    """Chooses the models that a call tries."""

    @property
    def default_model(self) -> str | None: ...
    async def plan(self, ask: CallNeeds) -> Plan: ...
    async def plan_or(self, ask: CallNeeds, smaller: CallNeeds) -> tuple[Plan, bool]: ...
    def is_demonstration(self, plan: Plan) -> bool: ...
    def sees(self, plan: Plan) -> bool: ...


class ModelRunner(Protocol):
    """Runs model calls."""

    @property
    def largest_context(self) -> int: ...
    def room_of(self, candidate: Candidate, person_id: str) -> int | None: ...
    def run(
        self, spec: CallSpec, plan: Plan, *, receipt: SpendLog
    ) -> AsyncGenerator[CallEvent, None]: ...


class ModelServices(HasSettings, HasClock, HasWatch, HasToolSets, Protocol):
    """What a stage needs that calls a model."""

    @property
    def store(self) -> ModelStore: ...
    @property
    def planner(self) -> ModelPlanner: ...
    @property
    def calls(self) -> ModelRunner: ...
