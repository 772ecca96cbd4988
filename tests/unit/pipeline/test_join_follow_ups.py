"""`join_follow_ups` alone: which waiting messages become part of the turn, and what a crash leaves."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import pytest

from hermes.config import BusySettings, Settings
from hermes.message.chat import ChatMessage
from hermes.message.outcome import BusyPolicy, DeliveryState
from hermes.message.parts import TextPart
from hermes.pipeline.exchange import with_claimed
from hermes.pipeline.interrupts import Arrivals, Interrupt
from hermes.pipeline.stages.join_follow_ups import gather, has_company, join_follow_ups
from hermes.pipeline.turn import Turn
from hermes.ports.steps import Step
from hermes.ports.turns import MessageRecord
from hermes.sessions.commands import CommandBook
from hermes.testing.manual_time import ManualClock
from tests.unit.pipeline.stage_parts import (
    LANE,
    NOW,
    PICTURE,
    Context,
    KeptJournal,
    Table,
    make_event,
    make_record,
    make_turn,
)


class Waiting:
    """The messages behind the turn's own."""

    def __init__(self, *records: MessageRecord) -> None:
        self.records = records

    async def waiting(self, lane: str) -> tuple[MessageRecord, ...]:
        assert lane == LANE
        return self.records


@dataclass(frozen=True)
class Store:
    turns: Waiting = field(default_factory=Waiting)
    inbox: Table[MessageRecord] = field(default_factory=Table)


def _pushed(_platform: str) -> DeliveryState:
    return DeliveryState.PENDING


@dataclass(frozen=True)
class Services:
    store: Store = field(default_factory=Store)
    merging: frozenset[str] = frozenset({"telegram"})
    first_state: Callable[[str], DeliveryState] = _pushed
    settings: Settings = field(default_factory=Settings)
    commands: CommandBook = field(default_factory=CommandBook)
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))


def context(
    *records: MessageRecord, settings: Settings | None = None, after_stop: bool = False
) -> Context[Services]:
    ctx = Context(
        Services(store=Store(Waiting(*records)), settings=settings or Settings()),
        KeptJournal(is_followed=bool(records)),
        Interrupt(),
    )
    ctx.interrupt.gathering = Arrivals(is_after_stop=after_stop)
    return ctx


async def join(turn: Turn, ctx: Context[Services]) -> Turn:
    joined = await join_follow_ups(turn, ctx)
    assert isinstance(joined, Turn)
    return joined


@pytest.mark.req("W20")
async def test_w20_a_message_alone_passes_at_once() -> None:
    ctx, turn = context(), make_turn()

    assert await join_follow_ups(turn, ctx) is turn
    assert (ctx.journal.joined, ctx.journal.notes) == ((), [])


@pytest.mark.req("W20")
async def test_w20_what_waits_behind_it_is_said_in_the_same_turn() -> None:
    ctx = context(make_record("m_2", make_event("and")), make_record("m_3", make_event("why?")))
    turn = make_turn()

    joined = await join(turn, ctx)

    assert joined.event.text == "hello\nand\nwhy?"
    assert (joined.own, joined.joined) == (turn.event, ("m_2", "m_3"))
    assert ctx.journal.joined == ("m_2", "m_3")
    assert ctx.interrupt.joined == frozenset({"m_2", "m_3"})
    assert ctx.journal.notes == [("joined", {"messages": ["m_2", "m_3"]})]


@pytest.mark.req("W20")
@pytest.mark.parametrize(
    "other",
    [
        make_record("m_2", make_event("/credits")),
        make_record("m_2", make_event("hi"), person_id="p_bob"),
        make_record("m_2", make_event("hi"), busy=BusyPolicy.STEER),
        make_record("m_2", msgspec.structs.replace(make_event("hi"), is_queued=True)),
        make_record("m_2", make_event("hi", key="k_1")),
        make_record("m_2", None),
    ],
    ids=["a-command", "of-somebody-else", "to-steer", "queued", "of-a-program", "erased"],
)
async def test_w20_what_needs_its_own_turn_holds_back_all_behind_it(other: MessageRecord) -> None:
    ctx = context(other, make_record("m_3", make_event("me too")))
    turn = make_turn()

    assert await join_follow_ups(turn, ctx) is turn
    assert ctx.journal.notes == []


@pytest.mark.req("W20")
@pytest.mark.parametrize(
    "busy", [BusySettings(max_merged=2), BusySettings(max_merged_chars=len("helloand"))]
)
async def test_w20_no_more_join_than_the_settings_allow(busy: BusySettings) -> None:
    ctx = context(
        make_record("m_2", make_event("and")),
        make_record("m_3", make_event("why?")),
        settings=Settings(busy=busy),
    )

    assert (await join(make_turn(), ctx)).joined == ("m_2",)


@pytest.mark.req("W20")
@pytest.mark.parametrize(
    "busy", [BusySettings(max_merged=3), BusySettings(max_merged_chars=len("hello12345678"))]
)
async def test_the_limits_are_those_of_the_turn_and_not_of_one_round(busy: BusySettings) -> None:
    ctx = context(
        make_record("m_3", make_event("5678")),
        make_record("m_4", make_event("9")),
        settings=Settings(busy=busy),
    )
    before = ChatMessage("user", (TextPart("1234"),))
    turn = with_claimed(make_turn(), "m_2", before, ordinal=1)
    arrivals = ctx.interrupt.gathering
    assert arrivals is not None

    assert [one.id for one in await gather(turn, ctx, arrivals)] == ["m_3"]


@pytest.mark.req("W20")
async def test_w20_on_other_platforms_every_message_is_answered_by_itself() -> None:
    event = make_event(platform="rest")
    ctx = context(make_record("m_2", make_event("and", platform="rest")))
    turn = make_turn(event)

    assert await join_follow_ups(turn, ctx) is turn


@pytest.mark.req("W16", "W20")
async def test_a_photo_waits_for_the_next_one_and_goes_on_when_none_comes() -> None:
    settings = Settings(busy=BusySettings(photo_burst_s=0.01))
    ctx = context(settings=settings)
    arrivals = ctx.interrupt.gathering
    assert arrivals is not None
    photo = make_event("", attached=(PICTURE,))

    def arrive() -> None:
        ctx.services.store.turns.records = (make_record("m_2", photo),)
        arrivals.add("m_2", stops=False)

    asyncio.get_running_loop().call_soon(arrive)
    joined = await join(make_turn(photo), ctx)

    assert (joined.joined, joined.event.parts) == (("m_2",), (PICTURE, PICTURE))


@pytest.mark.req("W16", "W20")
async def test_a_photo_does_not_wait_for_more_than_may_join() -> None:
    photo = make_event("", attached=(PICTURE,))
    busy = BusySettings(photo_burst_s=600, max_merged=2)
    ctx = context(make_record("m_2", photo), settings=Settings(busy=busy))

    async with asyncio.timeout(30):
        joined = await join(make_turn(photo), ctx)

    assert joined.joined == ("m_2",)


@pytest.mark.req("J12", "W20")
async def test_a_photo_that_waits_is_let_go_when_the_turn_is_stopped() -> None:
    ctx = context(settings=Settings(busy=BusySettings(photo_burst_s=600)))
    turn = make_turn(make_event("", attached=(PICTURE,)))
    asyncio.get_running_loop().call_soon(ctx.interrupt.press, "m_9")

    assert await join_follow_ups(turn, ctx) is turn


@pytest.mark.req("W20")
async def test_a_message_that_stopped_another_waits_for_more() -> None:
    settings = Settings(busy=BusySettings(follow_up_s=0.01))
    ctx = context(settings=settings, after_stop=True)
    arrivals = ctx.interrupt.gathering
    assert arrivals is not None

    def arrive() -> None:
        ctx.services.store.turns.records = (make_record("m_2", make_event("I meant tea")),)
        arrivals.add("m_2", stops=True)

    asyncio.get_running_loop().call_soon(arrive)

    assert (await join(make_turn(), ctx)).joined == ("m_2",)


@pytest.mark.req("J13", "W20")
async def test_j13_after_a_crash_the_same_messages_are_part_of_the_turn() -> None:
    burst = Step(ordinal=1, kind="burst", state="done", name="m_2")
    gone = Step(ordinal=2, kind="burst", state="done", name="m_3")
    inbox = Table({"m_2": make_record("m_2", make_event("and"))})
    ctx = Context(Services(store=Store(inbox=inbox)), KeptJournal(burst, gone))

    joined = await join(make_turn(), ctx)

    assert (joined.event.text, joined.joined) == ("hello\nand", ("m_2",))
    assert inbox.asked == ["m_2", "m_3"]
    assert ctx.journal.joined == ()


@pytest.mark.req("J13")
async def test_j13_after_a_crash_nothing_new_joins() -> None:
    waiting = Waiting(make_record("m_2", make_event("and")))
    model = Step(ordinal=1, kind="model", state="done", name="house:small")
    turn = make_turn()

    for journal in (KeptJournal(model, is_followed=True), KeptJournal(is_followed=True)):
        ctx = Context(Services(store=Store(waiting)), journal)
        assert await join_follow_ups(turn, ctx) is turn


@pytest.mark.req("W20")
async def test_w20_who_comes_while_the_turn_is_prepared_has_it_prepared_again() -> None:
    ctx = context(make_record("m_2", make_event("and")))
    arrivals = ctx.interrupt.gathering
    assert arrivals is not None
    arrivals.add("m_2", stops=True)
    turn = make_turn()

    assert await has_company(turn, turn, ctx)
    assert ctx.interrupt.gathering is arrivals
    assert ctx.interrupt.by is None


@pytest.mark.req("J12", "W20")
async def test_j12_who_cannot_join_a_prepared_turn_stops_it() -> None:
    ctx = context(make_record("m_2", make_event("hi"), person_id="p_bob"))
    arrivals = ctx.interrupt.gathering
    assert arrivals is not None
    arrivals.add("m_2", stops=True)
    turn = make_turn()

    assert not await has_company(turn, turn, ctx)
    assert (ctx.interrupt.gathering, ctx.interrupt.by) == (None, "m_2")


@pytest.mark.req("W20")
async def test_w20_without_arrivals_a_prepared_turn_takes_nobody_in_any_more() -> None:
    ctx, turn = context(make_record("m_2", make_event("and"))), make_turn()

    assert not await has_company(turn, turn, ctx)
    assert (ctx.interrupt.gathering, ctx.interrupt.by) == (None, None)
