"""Spending limits: hold, settle, release, and what happens when nobody can count."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from hermes.errors import (
    CounterDown,
    ModelsStopped,
    OverBudget,
    Overloaded,
    ProviderUnavailable,
)
from hermes.ports.keys import CallerKey
from hermes.ports.provider import ModelRequest
from hermes.ports.spend import KillSwitch, Meter, MeterClaim
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn
from tests.contract.calls.rig import ask, model, open_calls, payer_for, until_called

DAY_S = 86_400.0
# ManualClock begins at 2023-11-14T22:13:20Z.
TODAY, MONTH = "2023-11-14", "2023-11"
KEY = CallerKey(id="k_1", label="", user="ann", person_id="ann", hint="", created_at=0.0)
TEN = ScriptedTurn(text="ten", tokens_in=6, tokens_out=4)


def ten_each(*_: object) -> ScriptedTurn:
    return TEN


class NoCounter:
    """Counters that cannot be reached."""

    async def take(self, claims: Sequence[MeterClaim]) -> MeterClaim | None:
        raise CounterDown("no connection")

    async def add(self, changes: Mapping[Meter, float]) -> None:
        raise CounterDown("no connection")

    async def read(self, meters: Sequence[Meter]) -> tuple[float, ...]:
        raise CounterDown("no connection")


def small(text: str = "hi") -> ModelRequest:
    return ask(text, max_output_tokens=4)


@pytest.mark.req("A20", "A22", "J21")
async def test_the_platforms_day_has_a_cap_and_the_next_day_opens_it(tmp_path: Path) -> None:
    capped = {"BUDGETS__PLATFORM_DAY_USD": "25"}
    async with open_calls(tmp_path, model("one", ten_each), settings=capped) as rig:
        for person in ("ann", "bob"):
            story = await rig.call(small(), "one", payer=payer_for(person))
            assert story.answer.end.usage.cost_usd == 10.0
            await rig.store.spend.add(story.spent)

        with pytest.raises(OverBudget) as caught:
            await rig.call(ask("hi", max_output_tokens=10), "one", payer=payer_for("cyn"))
        assert "platform" in caught.value.limit
        assert 0 < caught.value.retry_after <= DAY_S

        rig.clock.advance(caught.value.retry_after)
        await rig.call(small(), "one", payer=payer_for("cyn"))


@pytest.mark.req("J21", "A22")
async def test_a_restart_does_not_reset_a_cap(tmp_path: Path) -> None:
    capped = {"BUDGETS__PLATFORM_DAY_USD": "12"}
    clock = ManualClock()
    async with open_calls(tmp_path, model("one", ten_each), settings=capped, clock=clock) as rig:
        story = await rig.call(small(), "one")
        await rig.store.spend.add(story.spent)

    async with open_calls(tmp_path, model("one", ten_each), settings=capped, clock=clock) as rig:
        with pytest.raises(OverBudget):
            await rig.call(small(), "one")


@pytest.mark.req("A22")
async def test_a_persons_tokens_of_the_day_follow_their_tier(tmp_path: Path) -> None:
    tiers = {"BUDGETS__BY_TIER": "true", "BUDGETS__PERSON_DAY_TOKENS__FREE": "15"}
    one = model("one", ten_each)
    async with open_calls(tmp_path, one, settings=tiers) as rig:
        free, pro = payer_for("ann", tier="free"), payer_for("bob", tier="pro")
        await rig.call(small(), "one", payer=free)
        with pytest.raises(OverBudget):
            await rig.call(ask("hi", max_output_tokens=6), "one", payer=free)
        for _ in range(3):
            await rig.call(small(), "one", payer=pro)
        await rig.call(small(), "one", payer=payer_for("cyn", tier="free"))

    assert len(one.calls) == 5


@pytest.mark.req("A20", "A22")
@pytest.mark.parametrize(
    ("settings", "key", "agent_day_usd"),
    [
        ({"BUDGETS__PERSON_MONTH_USD": "12"}, None, None),
        ({}, None, 12.0),
        ({}, {"budget_usd": 12.0}, None),
        ({}, {"budget_usd": 12.0, "budget_period": "month"}, None),
        ({}, {"budget_tokens": 12, "budget_period": "day"}, None),
    ],
    ids=["person and month", "agent and day", "key", "key and month", "key's tokens"],
)
async def test_every_limit_refuses_what_it_has_no_room_for(
    tmp_path: Path,
    settings: dict[str, str],
    key: dict[str, object] | None,
    agent_day_usd: float | None,
) -> None:
    own = None
    if key is not None:
        own = msgspec.structs.replace(KEY, **key)
    payer = payer_for("ann", key=own, agent_day_usd=agent_day_usd)
    async with open_calls(tmp_path, model("one", ten_each), settings=settings) as rig:
        await rig.call(small(), "one", payer=payer)
        with pytest.raises(OverBudget) as caught:
            await rig.call(small(), "one", payer=payer)

    assert caught.value.limit.startswith(("person ann", "agent main", "key k_1"))


@pytest.mark.req("A20", "A22")
async def test_a_persons_month_is_one_limit_for_all_its_days(tmp_path: Path) -> None:
    capped = {"BUDGETS__PERSON_MONTH_USD": "12"}
    async with open_calls(tmp_path, model("one", ten_each), settings=capped) as rig:
        story = await rig.call(small(), "one", payer=payer_for("ann"))
        await rig.store.spend.add(story.spent)

        rig.clock.advance(DAY_S)
        with pytest.raises(OverBudget) as caught:
            await rig.call(small(), "one", payer=payer_for("ann"))
        rig.clock.advance(caught.value.retry_after)
        await rig.call(small(), "one", payer=payer_for("ann"))

    assert caught.value.limit == "person ann: $12.00 this month"
    assert datetime.fromtimestamp(rig.clock.now(), UTC) == datetime(2023, 12, 1, tzinfo=UTC)


@pytest.mark.req("A22", "J21")
async def test_what_is_held_counts_and_what_a_failure_held_is_given_back(tmp_path: Path) -> None:
    capped = {"BUDGETS__PLATFORM_DAY_USD": "10"}
    slow = model("one", [ScriptedTurn(fault="status", status=503, delay_s=0.3)])
    async with open_calls(tmp_path, slow, model("two", ten_each), settings=capped) as rig:
        running = asyncio.create_task(rig.call(ask("hi", max_output_tokens=8), "one"))
        await until_called(slow)
        with pytest.raises(OverBudget):
            await rig.call(small(), "two")

        with pytest.raises(ProviderUnavailable):
            await running
        await rig.call(small(), "two")


@pytest.mark.req("J21")
async def test_a_call_counts_on_the_day_of_its_hold(tmp_path: Path) -> None:
    clock = ManualClock()

    def at_midnight(*_: object) -> ScriptedTurn:
        clock.advance(DAY_S)
        return TEN

    async with open_calls(tmp_path, model("one", at_midnight), clock=clock) as rig:
        story = await rig.call(small(), "one")
        await rig.store.spend.add(story.spent)

        assert await rig.store.spend.total(Meter("platform", "", "usd", TODAY)) == 10.0
        assert await rig.store.spend.total(Meter("platform", "", "usd", "2023-11-15")) == 0.0
        assert await rig.store.spend.total(Meter("person", "ann", "tokens", MONTH)) == 10.0


@pytest.mark.req("A22")
async def test_without_counters_the_cap_of_an_agent_fails_closed(tmp_path: Path) -> None:
    capped = {"BUDGETS__PLATFORM_DAY_USD": "100"}
    one, ann = model("one", ten_each), payer_for("ann")
    cook = msgspec.structs.replace(ann.account, agent="cook")
    by_cook = msgspec.structs.replace(ann, account=cook, agent_day_usd=100.0)
    async with open_calls(tmp_path, one, settings=capped, counter=NoCounter()) as rig:
        with pytest.raises(Overloaded, match="budget of this agent cannot be checked"):
            await rig.call(small(), "one", payer=by_cook)
        await rig.call(small(), "one", payer=ann)

    assert len(one.calls) == 1


@pytest.mark.req("A22")
async def test_without_counters_the_platforms_cap_fails_open_and_a_persons_closed(
    tmp_path: Path,
) -> None:
    caps = {"BUDGETS__PLATFORM_DAY_USD": "1", "BUDGETS__BY_TIER": "true"}
    one = model("one", ten_each)
    async with open_calls(tmp_path, one, settings=caps, counter=NoCounter()) as rig:
        await rig.call(small(), "one", payer=payer_for("ann", tier="no-limit"))
        with pytest.raises(Overloaded, match="cannot be checked"):
            await rig.call(small(), "one", payer=payer_for("ann", tier="free"))

    assert len(one.calls) == 1


@pytest.mark.req("A22", "J21")
async def test_the_kill_switch_stops_every_call_until_it_is_released(tmp_path: Path) -> None:
    clock = ManualClock()
    one = model("one")
    async with open_calls(tmp_path, one, clock=clock, counter=NoCounter()) as rig:
        switch = KillSwitch(is_on=True, at=clock.now(), by="test", reason="a bad bill")
        await rig.store.spend.set_kill_switch(switch)
        with pytest.raises(ModelsStopped, match="a bad bill"):
            await rig.call("hello", "one")
    clock.advance(40 * DAY_S)

    async with open_calls(tmp_path, one, clock=clock) as rig:
        with pytest.raises(ModelsStopped):
            await rig.call("hello", "one")
        assert one.calls == []

        await rig.store.spend.set_kill_switch(KillSwitch(is_on=False))
        await rig.call("hello", "one")


@pytest.mark.req("A20")
async def test_an_unknown_price_is_not_free(tmp_path: Path) -> None:
    unknown = {
        "PROVIDERS__NEW__BASE_URL": "http://models.example.com/v1",
        "PROVIDERS__NEW__API_KEY": "not-a-real-key",
        "PROVIDERS__NEW__MODEL": "new-1",
        "BUDGETS__PLATFORM_DAY_USD": "15",
        "BUDGETS__ASSUMED_PRICE_IN_PER_MILLION": "1000000",
        "BUDGETS__ASSUMED_PRICE_OUT_PER_MILLION": "1000000",
    }
    async with open_calls(tmp_path, model("new", ten_each), settings=unknown) as rig:
        story = await rig.call(small(), "new")
        usage = story.answer.end.usage
        assert (usage.cost_usd, usage.unpriced) == (0.0, 10)
        assert story.spent[0].assumed_usd == 10.0
        with pytest.raises(OverBudget):
            await rig.call(ask("hi", max_output_tokens=8), "new")


@pytest.mark.req("A20")
async def test_the_output_cap_of_a_model_goes_before_that_of_its_provider(tmp_path: Path) -> None:
    caps = {
        "ROUTING__MODELS__BIG": "one:one-1",
        "ROUTING__OUTPUT_CAPS__BIG": "7",
        "PROVIDERS__ONE__MAX_OUTPUT_TOKENS": "99",
        "PROVIDERS__TWO__MAX_OUTPUT_TOKENS": "55",
    }
    one, two = model("one"), model("two")
    async with open_calls(tmp_path, one, two, settings=caps) as rig:
        await rig.call("hello", "one")
        await rig.call("hello", "two")
        await rig.call(ask("hello", max_output_tokens=3), "one")

    requests = [call.request for call in (*one.calls, *two.calls)]
    asked = [(request.max_output_tokens, request.is_capped) for request in requests]
    assert asked == [(7, True), (3, False), (55, True)]


@pytest.mark.req("A20", "G5")
async def test_a_cap_is_lowered_to_the_context_and_a_callers_own_limit_is_not(
    tmp_path: Path,
) -> None:
    one = model("one")
    context = one.info.context_tokens
    caps = {"PROVIDERS__ONE__MAX_OUTPUT_TOKENS": str(context)}
    async with open_calls(tmp_path, one, settings=caps) as rig:
        await rig.call("hello", "one")
        await rig.call(ask("hello", max_output_tokens=context), "one")

    capped, own = (call.request.max_output_tokens for call in one.calls)
    assert capped is not None
    assert context // 2 < capped < context
    assert own == context
