"""`load_history` alone: which messages of which session it asks for, and what it keeps ready."""

from dataclasses import dataclass, field

import msgspec
import pytest

from hermes.config import Settings
from hermes.message.chat import ChatMessage
from hermes.pipeline.session_keep import Signature
from hermes.pipeline.stages.load_history import load_history
from hermes.pipeline.turn import Turn
from hermes.ports.memory import Soul
from hermes.ports.session_history import PastExchange
from hermes.ports.transcripts import VisibleHistory
from hermes.tools.tool_sets import ToolSets
from tests.unit.pipeline.stage_parts import LANE, Context, make_event, make_turn, said

SAID = (said("user", "hi"), said("assistant", "hello"))


class Transcripts:
    def __init__(self, start: int | None = 4, messages: tuple[ChatMessage, ...] = SAID) -> None:
        self._history = VisibleHistory(start, messages)
        self.asked: list[tuple[str, int, int, int, int]] = []

    async def history(
        self,
        lane: str,
        *,
        epoch: int,
        head: int,
        limit: int,
        cut: int = 0,
        compaction: int | None = None,
    ) -> VisibleHistory:
        self.asked.append((lane, epoch, head, limit, cut))
        return self._history

    async def exchanges(
        self, lane: str, *, epoch: int, since: int = 0, limit: int
    ) -> tuple[PastExchange, ...]:
        raise AssertionError((lane, epoch, since, limit))


class Keep:
    def __init__(self) -> None:
        self.used: list[tuple[str, Signature]] = []

    def use(self, lane: str, signature: Signature, /) -> None:
        self.used.append((lane, signature))


class Souls:
    async def get(self, lane: str, epoch: int) -> Soul | None:
        raise AssertionError((lane, epoch))


@dataclass(frozen=True)
class Store:
    transcripts: Transcripts = field(default_factory=Transcripts)
    souls: Souls = field(default_factory=Souls)


@dataclass(frozen=True)
class Planner:
    default_model: str | None = "house:small"


@dataclass(frozen=True)
class Sizes:
    largest_context: int = 10


@dataclass(frozen=True)
class Services:
    store: Store = field(default_factory=Store)
    session_keep: Keep = field(default_factory=Keep)
    planner: Planner = Planner()
    tool_sets: ToolSets = field(default_factory=lambda: ToolSets({}))
    calls: Sizes = Sizes()
    settings: Settings = field(default_factory=Settings)


@pytest.mark.req("A15")
async def test_the_turn_gets_the_newest_messages_of_its_own_session() -> None:
    services = Services()
    turn = msgspec.structs.replace(make_turn(), epoch=2, head=6)

    loaded = await load_history(turn, Context(services))

    assert isinstance(loaded, Turn)
    assert (loaded.history, loaded.start) == (SAID, 4)
    assert services.store.transcripts.asked == [(LANE, 2, 6, 50, 0)]


@pytest.mark.req("W18")
async def test_a_retry_leaves_out_the_messages_behind_the_one_it_answers_again() -> None:
    services = Services()

    await load_history(msgspec.structs.replace(make_turn(), retry=3), Context(services))

    assert services.store.transcripts.asked[0][-1] == 3


@pytest.mark.req("A15")
async def test_what_a_caller_brings_along_stands_behind_the_session_and_is_no_run_of_it() -> None:
    brought = (said("user", "before"),)
    event = msgspec.structs.replace(make_event(), history=brought)

    loaded = await load_history(make_turn(event), Context(Services()))

    assert isinstance(loaded, Turn)
    assert (loaded.history, loaded.start) == ((*SAID, *brought), None)


@pytest.mark.req("A15")
async def test_a_session_of_which_messages_are_gone_has_no_place_to_count_from() -> None:
    services = Services(store=Store(Transcripts(None, SAID[:1])))

    loaded = await load_history(make_turn(), Context(services))

    assert isinstance(loaded, Turn)
    assert (loaded.history, loaded.start) == (SAID[:1], None)


@pytest.mark.req("W39")
async def test_w39_the_session_is_used_with_the_model_it_will_have() -> None:
    services = Services()
    turn = make_turn()
    choices = msgspec.structs.replace(turn.choices, model="own:model")

    await load_history(turn, Context(services))
    await load_history(msgspec.structs.replace(turn, choices=choices), Context(services))

    assert services.session_keep.used == [
        (LANE, (turn.agent, "house:small", None)),
        (LANE, (turn.agent, "own:model", None)),
    ]


@pytest.mark.req("W39")
async def test_w39_a_subagents_lane_keeps_nothing_ready_and_has_its_history() -> None:
    services = Services()

    loaded = await load_history(make_turn(make_event(internal=True)), Context(services))

    assert isinstance(loaded, Turn)
    assert loaded.history == SAID
    assert services.session_keep.used == []
