"""Hand-made parts for tests of the stages that call a model: a planner, a caller, and their services."""

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from hermes.calls.call_charge import SpendLog
from hermes.calls.events import CallEvent, CallStart, FullAnswer
from hermes.calls.model_caller import CallSpec
from hermes.config import Settings
from hermes.message.parts import Part, TextPart
from hermes.message.reply import Usage
from hermes.pipeline.needs import PictureFinder
from hermes.ports.channel import Target
from hermes.ports.keys import CallerKey
from hermes.ports.provider import CallEnd, ModelRequest, StopReason, TextDelta
from hermes.ports.steps import Lease, TimelineEvent
from hermes.ports.vision import VisionPipeline
from hermes.ports.wallet import Wallet
from hermes.routing.plan import CallNeeds, Candidate, Plan
from hermes.testing.manual_time import ManualClock
from hermes.tools.tool_sets import ToolSets
from tests.unit.pipeline.stage_parts import NOW, KeptWatch, Table, digest

SMALL = Candidate("house", "small", "default")
LARGE = Candidate("house", "large", "fallback")
PLAN = Plan((SMALL, LARGE))
Script = Callable[[CallSpec, SpendLog], AsyncGenerator[CallEvent, None]]


def end_of(*parts: Part, model: str = "small") -> CallEnd:
    return CallEnd(parts, "end", Usage(tokens_in=10, tokens_out=2), model)


def answers(
    *parts: Part,
    candidate: Candidate = SMALL,
    cached_from: str | None = None,
    stop: StopReason = "end",
) -> Script:
    """Return a call that shows the text of some parts and then answers with all of them."""

    async def run(spec: CallSpec, receipt: SpendLog) -> AsyncGenerator[CallEvent, None]:
        yield CallStart(candidate)
        for part in parts:
            if isinstance(part, TextPart):
                yield TextDelta(part.text)
        end = msgspec.structs.replace(end_of(*parts, model=candidate.model), stop_reason=stop)
        yield FullAnswer(candidate=candidate, end=end, cached_from=cached_from)

    return run


class Caller:
    """Runs one script after the other, and keeps what it was asked."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self.specs: list[CallSpec] = []
        self.plans: list[Plan] = []
        self.room: int | None = None

    largest_context = 128_000

    def room_of(self, candidate: Candidate, person_id: str) -> int | None:
        return self.room

    @property
    def requests(self) -> list[ModelRequest]:
        return [spec.request for spec in self.specs]

    def run(
        self, spec: CallSpec, plan: Plan, *, receipt: SpendLog
    ) -> AsyncGenerator[CallEvent, None]:
        self.specs.append(spec)
        self.plans.append(plan)
        return self._scripts.pop(0)(spec, receipt)


class Planner:
    """Returns the plans that it was given, or raises them, one by one; the last one stays."""

    def __init__(
        self, *plans: Plan | Exception, is_small: bool = False, sees_pictures: bool = True
    ) -> None:
        self.default_model: str | None = None
        self._plans = list(plans or (PLAN,))
        self._is_small = is_small
        self._sees = sees_pictures
        self.asked: list[CallNeeds] = []

    async def plan(self, ask: CallNeeds) -> Plan:
        self.asked.append(ask)
        plan = self._plans.pop(0) if len(self._plans) > 1 else self._plans[0]
        if isinstance(plan, Exception):
            raise plan
        return plan

    async def plan_or(self, ask: CallNeeds, smaller: CallNeeds) -> tuple[Plan, bool]:
        return await self.plan(ask), self._is_small

    def is_demonstration(self, plan: Plan) -> bool:
        return self._is_small

    def sees(self, plan: Plan) -> bool:
        return self._sees


class KeptPreview:
    """Keeps what it shows, and whether it still does."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.is_closed = False

    async def update(self, text: str) -> None:
        self.shown.append(text)

    async def close(self) -> None:
        self.is_closed = True


@dataclass
class Previews:
    """Opens one preview, where the platform can show one."""

    can: bool = False
    error: Exception | None = None
    preview: KeptPreview = field(default_factory=KeptPreview)

    def can_preview(self, target: Target) -> bool:
        return self.can

    async def open(
        self, lease: Lease, *, target: Target, message_id: str, person_id: str
    ) -> KeptPreview:
        if self.error is not None:
            raise self.error
        return self.preview


class KeptNotes:
    """Keeps lines of timelines; raises what it was given."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error
        self.noted: list[tuple[str, str]] = []

    async def note(self, message_id: str, event: TimelineEvent) -> None:
        if self._error is not None:
            raise self._error
        self.noted.append((message_id, event.kind))


@dataclass(frozen=True)
class ModelStore:
    wallets: Table[Wallet] = field(default_factory=Table)
    keys: Table[CallerKey] = field(default_factory=Table)
    inbox: KeptNotes = field(default_factory=KeptNotes)

    def digest(self, content: bytes) -> bytes:
        return digest(content)


@dataclass(frozen=True)
class ModelServices:
    calls: Caller = field(default_factory=Caller)
    planner: Planner = field(default_factory=Planner)
    store: ModelStore = field(default_factory=ModelStore)
    settings: Settings = field(default_factory=Settings)
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    watch: KeptWatch = field(default_factory=KeptWatch)
    tool_sets: ToolSets = field(default_factory=lambda: ToolSets({}))
    previewer: Previews = field(default_factory=Previews)
    visions: Mapping[str, VisionPipeline] = field(default_factory=dict)
    media: PictureFinder | None = None
