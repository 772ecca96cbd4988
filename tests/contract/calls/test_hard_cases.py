"""Cases where money, places or promises once slipped through; each went wrong here before."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from hermes.calls import counter as counters
from hermes.calls.counter import LedgerCounter
from hermes.errors import (
    AnswerInvalid,
    CounterDown,
    ModelsStopped,
    OverBudget,
    PromptTooLong,
    StoreError,
    StreamTruncated,
)
from hermes.ports.keys import CallerKey
from hermes.ports.provider import ModelEvent, ModelRequest, OutputSchema, TextDelta
from hermes.ports.spend import KillSwitch, Meter, MeterClaim
from hermes.ports.tool import ToolTraits
from hermes.server.v1.callers import ApiCaller
from hermes.testing.model_script import ScriptedTurn, ToolUse, in_order
from hermes.testing.scripted_model import SCRIPTED_INFO, ScriptedProvider
from tests.contract.calls.rig import Story, ask, model, open_calls, until_called
from tests.contract.journal.rig import RunTool, has, open_rig

NUMBER = OutputSchema(
    name="n", schema=msgspec.Raw(b'{"type":"object","required":["n"],"additionalProperties":true}')
)
KEY = CallerKey(id="k", label="", user="ann", person_id="p1", hint="", created_at=0.0)
TODAY = Meter("platform", "", "usd", "2026-01-31")
TOTAL = Meter("key", "k", "usd", "")


@pytest.mark.req("M6", "P5")
async def test_an_answer_by_schema_is_never_continued_by_another_model(tmp_path: Path) -> None:
    one = model("one", [ScriptedTurn(text="not json at all")], schema=True)
    two = model("two", [ScriptedTurn(text=", really")], schema=True)
    going_on = {"ROUTING__CONTINUE_ON_FAILURE": "true"}
    story = Story()
    async with open_calls(tmp_path, one, two, settings=going_on) as rig:
        with pytest.raises(AnswerInvalid):
            await rig.call(ask("hello", schema=NUMBER), "one", "two", story=story)

    assert two.calls == []


@pytest.mark.req("A22")
async def test_the_kill_switch_stops_a_call_that_was_waiting_for_its_place(tmp_path: Path) -> None:
    one = model("one", in_order([ScriptedTurn(text="a", fault="hang", after=0)]))
    async with open_calls(tmp_path, one, settings={"TURNS__MAX_CONCURRENT_CALLS": "1"}) as rig:
        first = asyncio.create_task(rig.call("hello", "one"))
        await until_called(one)
        second = asyncio.create_task(rig.call("hello", "one"))
        await asyncio.sleep(0)
        await rig.store.spend.set_kill_switch(KillSwitch(is_on=True))
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

        with pytest.raises(ModelsStopped):
            await second
        assert len(one.calls) == 1


@pytest.mark.req("J7", "J21")
async def test_a_try_that_failed_is_not_billed_again_when_the_turn_goes_on(tmp_path: Path) -> None:
    tool = RunTool("wipe", traits=ToolTraits(needs_approval=True))
    script = in_order(
        [
            ScriptedTurn(fault="status", status=429, retry_after=0.01),
            ScriptedTurn(tools=(ToolUse("wipe", "{}"),)),
        ]
    )
    async with open_rig(tmp_path, script=script, tools=(tool,)) as rig:
        message = await rig.say("please wipe it")
        assert await rig.outcome(message) == "parked"
        await rig.answer("/approve")
        await rig.until(has(lambda: rig.kinds(message), "ended"))

        rows = await rig.store.spend.report("person", first_day="0", last_day="~")
        assert [row.calls for row in rows] == [2]
        assert "platform" not in [row.name for row in rows]
        states = [
            step.state for step in (await rig.timeline(message)).steps if step.kind == "model"
        ]
        assert states == ["failed", "done", "done"]


@pytest.mark.req("A22")
async def test_a_keys_person_has_the_tokens_of_their_tier(tmp_path: Path) -> None:
    tiers = {"BUDGETS__BY_TIER": "true", "BUDGETS__PERSON_DAY_TOKENS__FREE": "1"}
    async with open_calls(tmp_path, model("one"), settings=tiers) as rig:
        with pytest.raises(OverBudget):
            await rig.call("hello", "one", payer=ApiCaller(user="ann", key=KEY).payer())


async def nothing(_: Meter) -> float:
    return 0.0


class SlowCounter:
    """Counters over a network: every word of theirs takes a turn of the loop."""

    def __init__(self) -> None:
        self.inner = LedgerCounter(nothing)
        self.is_adding = asyncio.Event()

    async def take(self, claims: Sequence[MeterClaim]) -> MeterClaim | None:
        await asyncio.sleep(0)
        return await self.inner.take(claims)

    async def add(self, changes: Mapping[Meter, float]) -> None:
        self.is_adding.set()
        await asyncio.sleep(0)
        await self.inner.add(changes)

    async def read(self, meters: Sequence[Meter]) -> tuple[float, ...]:
        return await self.inner.read(meters)


@pytest.mark.req("J21")
async def test_a_call_that_is_cancelled_while_it_settles_is_on_its_receipt(tmp_path: Path) -> None:
    slow, story = SlowCounter(), Story()
    capped = {"BUDGETS__PLATFORM_DAY_USD": "10000"}
    async with open_calls(tmp_path, model("one"), counter=slow, settings=capped) as rig:
        task = asyncio.create_task(rig.call("hello", "one", story=story))
        await slow.is_adding.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert len(story.spent) == 1


@pytest.mark.req("A22", "J21")
async def test_counters_that_cannot_read_the_ledger_are_down(tmp_path: Path) -> None:
    async def total(_: Meter) -> float:
        raise StoreError("the disk is gone")

    with pytest.raises(CounterDown):
        await LedgerCounter(total).take((MeterClaim(TODAY, 1.0, 2.0),))
    open_cap = {"BUDGETS__PLATFORM_DAY_USD": "10000"}
    async with open_calls(
        tmp_path, model("one"), counter=LedgerCounter(total), settings=open_cap
    ) as rig:
        await rig.call("hello", "one")


@pytest.mark.req("J21")
async def test_many_meters_never_cost_one_that_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "_MOST_METERS", 2)
    counter = LedgerCounter(nothing)
    old = Meter("person", "ann", "usd", "2025-12")
    for meter in (old, TODAY, TOTAL):
        assert await counter.take((MeterClaim(meter, 5.0, 10.0),)) is None
    await counter.take((MeterClaim(TODAY, 1.0, 10.0), MeterClaim(TOTAL, 1.0, 10.0)))
    await counter.add({TODAY: -3.0})

    assert await counter.read((TODAY, TOTAL)) == (3.0, 6.0)


class SaysNothing(ScriptedProvider):
    """Sends an empty piece, and then nothing."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        yield TextDelta("")
        raise StreamTruncated("gone")


@pytest.mark.req("A23")
async def test_an_empty_piece_is_no_output(tmp_path: Path) -> None:
    info = msgspec.structs.replace(SCRIPTED_INFO, name="one", model="one-1")
    async with open_calls(tmp_path, SaysNothing(info=info), model("two")) as rig:
        story = await rig.call("hello", "one", "two")

    assert story.answer.candidate.provider == "two"


class TooSmall(ScriptedProvider):
    """A model that says that every prompt is too long."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        if request.messages:
            raise PromptTooLong("the prompt is too long", status=400)
        yield TextDelta("")


@pytest.mark.req("M1")
@pytest.mark.parametrize("cut_history", [True, False])
async def test_only_a_request_that_is_cut_to_fit_teaches_the_size_of_a_model(
    tmp_path: Path, cut_history: bool
) -> None:
    wanted = ask("hello " * 2_000, cut_history=cut_history)
    async with open_calls(tmp_path, TooSmall(info=model("one").info)) as rig:
        with capture_logs() as logs, pytest.raises(PromptTooLong):
            await rig.call(wanted, "one")

    learnt = [log["model"] for log in logs if log["event"] == "context_learnt"]
    assert learnt == (["one:one-1"] if cut_history else [])
