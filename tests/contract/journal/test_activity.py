"""What operators see of turns: counts over time, written with each end, and the turns that run."""

import asyncio

import pytest

from hermes.calls.days import Calendar
from hermes.control.live import LiveOperations, TurnAsk, TurnOrder, TurnsAsk
from hermes.control.overview import OverviewAsk, OverviewOperations, OverviewPoint
from hermes.control.runtime import RuntimeHandles
from hermes.errors import BadRequest, Conflict
from hermes.message.outcome import Outcome
from hermes.ports.activity import NOT_TIMED, TurnCount, slowness_of
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, ToolUse
from tests.contract.journal.rig import RunTool, open_rig

HOUR = 3_600
DAY = 86_400
NOON = 1_700_049_600  # a whole day's noon, in UTC


def with_a_tool(seen, _number):
    if seen.tool_results:
        return ScriptedTurn(text="done", tokens_in=20, tokens_out=5)
    return ScriptedTurn(tools=(ToolUse("look", "{}"),), tokens_in=30, tokens_out=7)


async def test_every_end_of_a_turn_is_counted_once(tmp_path):
    clock = ManualClock(NOON + 10.0)

    async def take_three_seconds(_context):
        clock.advance(3.0)
        return "seen"

    look = RunTool("look", take_three_seconds)
    async with open_rig(tmp_path, clock=clock, script=with_a_tool, tools=(look,)) as rig:
        for text in ("one", "two", "/memory"):
            await rig.outcome(await rig.say(text))
        counts = await rig.store.activity.counts(NOON, span_s=300)

    # a command beside the turns is none
    assert counts == (
        TurnCount(
            at=NOON,
            outcome=Outcome.ANSWERED,
            slowness=slowness_of(3.0),
            turns=2,
            messages=2,
            tokens=124,
            cost_usd=0.0,
            unpriced=124,
        ),
    )


async def test_a_turn_that_failed_is_counted_as_one(tmp_path):
    async with open_rig(tmp_path, clock=ManualClock(NOON + 10.0)) as rig:
        await rig.outcome(await rig.say("[[fail:400]]"))
        (count,) = await rig.store.activity.counts(NOON, span_s=300)

    assert (count.outcome, count.turns, count.slowness) == (Outcome.FAILED, 1, NOT_TIMED)


async def test_counts_survive_a_crash_and_old_ones_become_hours_and_days(tmp_path):
    clock = ManualClock(NOON + 10.0)
    async with open_rig(tmp_path, clock=clock) as rig:
        for _ in range(3):
            await rig.outcome(await rig.say("hello"))
            clock.advance(600.0)
        await rig.crash()

    async with open_rig(tmp_path, clock=clock) as rig:
        activity = rig.store.activity
        short = await activity.counts(NOON, span_s=300)
        await activity.tidy(NOON + 2 * HOUR)
        kept = await activity.counts(NOON, span_s=300)
        await activity.tidy(NOON + 4 * HOUR)
        joined = await activity.counts(NOON, span_s=300)
        await activity.tidy(NOON + 4 * HOUR)
        again = await activity.counts(NOON, span_s=300)
        await activity.tidy(NOON + 4 * DAY)
        day = await activity.counts(NOON // DAY * DAY, span_s=DAY)
        await activity.tidy(NOON + 102 * DAY)
        gone = await activity.counts(0, span_s=DAY)

    assert [one.at - NOON for one in short] == [0, 600, 1_200]
    assert kept == short
    assert [(one.at, one.turns) for one in joined] == [(NOON, 3)]
    assert again == joined
    assert [(one.at, one.turns) for one in day] == [(NOON // DAY * DAY, 3)]
    assert gone == ()


@pytest.mark.parametrize(("span", "step"), [("hour", 300), ("day", HOUR), ("month", DAY)])
async def test_the_overview_adds_up_to_what_happened(tmp_path, span, step):
    clock = ManualClock(NOON + 10.0)
    async with open_rig(tmp_path, clock=clock, settings={"ROUTING__RETRIES": "0"}) as rig:
        await rig.outcome(await rig.say("hello"))
        desk = OverviewOperations(
            rig.store, RuntimeHandles(), calendar=Calendar("UTC"), clock=clock
        )
        report = await desk.overview(OverviewAsk(span=span))

    happened = [one for one in report.points if one != OverviewPoint(at=one.at)]
    assert [one.at for one in happened] == [NOON // step * step]
    assert (report.whole.turns, report.whole.messages, report.whole.errors) == (1, 1, 0)
    assert report.whole.p50_s == happened[0].p95_s is not None
    assert [b.at - a.at for a, b in zip(report.points, report.points[1:], strict=False)] == [
        step
    ] * (len(report.points) - 1)
    assert report.attention == ()


async def test_a_running_turn_is_shown_with_what_it_took_and_can_be_stopped(tmp_path):
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def wait(_context):
        inside.set()
        await go_on.wait()
        return "seen"

    look = RunTool("look", wait)
    async with open_rig(tmp_path, script=with_a_tool, tools=(look,)) as rig:
        message_id = await rig.say("look around")
        await asyncio.wait_for(inside.wait(), 10)
        desk = LiveOperations(
            rig.store,
            RuntimeHandles(
                written=rig.watch.text,
                stop_turn=lambda name, by: rig.core.gateway_api.stop(name, by=by),
            ),
        )
        (turn,) = (await desk.list(TurnsAsk())).turns
        written = await desk.watch(TurnAsk(id=message_id))
        await desk.stop(TurnOrder(id=message_id, by="olga"))
        go_on.set()
        outcome = await rig.outcome(message_id)
        after = await desk.list(TurnsAsk())
        with pytest.raises(Conflict, match="has ended already"):
            await desk.stop(TurnOrder(id=message_id))
        with pytest.raises(BadRequest, match="expected 1 to 1,000"):
            await desk.list(TurnsAsk(limit=0))

    assert (turn.id, turn.state, turn.doing, turn.name) == (message_id, "running", "tool", "look")
    assert (turn.tokens_in, turn.tokens_out, turn.cost_usd, turn.depth) == (30, 7, None, 0)
    assert turn.session.startswith("s_")
    assert written.text == ""
    assert (outcome, after.turns) == ("interrupted", ())
