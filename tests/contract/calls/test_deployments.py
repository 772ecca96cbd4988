"""Several deployments of one model: shared out by weight, left alone after failures, tried again."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path

import msgspec
import pytest

from hermes.calls.circuits import MemoryCircuits
from hermes.calls.deployments import DeployedProvider, Deployment
from hermes.errors import ProviderCooling, ProviderError, ProviderUnavailable
from hermes.ports.circuits import CLOSED, Circuit, CircuitStates
from hermes.ports.model_lists import ServedModel
from hermes.routing.plan import CallNeeds
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn
from hermes.testing.scripted_model import ScriptedProvider
from tests.contract.calls.rig import Story, model, open_calls, payer_for

DOWN = ScriptedTurn(fault="status", status=500)
BUSY = ScriptedTurn(fault="status", status=429, retry_after=30.0)
WRONG_KEY = ScriptedTurn(fault="status", status=401)
FINE = ScriptedTurn(text="here it is")
BREAKER = {"ROUTING__BREAKER__FAILURES": "2", "ROUTING__BREAKER__OPEN_S": "10"}


def steady(name: str, turn: ScriptedTurn) -> ScriptedProvider:
    return model(name, lambda *_: turn)


def group(**members: tuple[int, ScriptedProvider]) -> DeployedProvider:
    return DeployedProvider(
        [Deployment(name, weight, one) for name, (weight, one) in members.items()]
    )


@pytest.mark.req("M1")
async def test_calls_are_shared_out_by_weight(tmp_path: Path) -> None:
    east, west, spare = model("one"), model("one"), model("one")
    one = group(east=(3, east), west=(1, west), spare=(0, spare))
    draws = cycle([0.05, 0.3, 0.6, 0.9])
    async with open_calls(tmp_path, one, draw=lambda: next(draws)) as rig:
        for _ in range(8):
            await rig.call("hello", "one")

    assert [len(each.calls) for each in (east, west, spare)] == [6, 2, 0]


@pytest.mark.req("M1", "P5")
@pytest.mark.parametrize("turn", [DOWN, BUSY, WRONG_KEY], ids=["500", "429", "401"])
async def test_another_deployment_is_asked_before_the_next_candidate(
    tmp_path: Path, turn: ScriptedTurn
) -> None:
    bad, good = steady("one", turn), model("one")
    one, two = group(bad=(1, bad), good=(1, good)), model("two")
    async with open_calls(tmp_path, one, two, draw=lambda: 0.0) as rig:
        story = await rig.call("hello", "one", "two", wait_s=60.0)

    assert story.kinds == ["CallStart", "CallFailure", "CallStart", "TextDelta", "FullAnswer"]
    assert (len(bad.calls), len(good.calls), len(two.calls)) == (1, 1, 0)


@pytest.mark.req("A6", "M1", "P5")
async def test_thoughts_without_end_are_not_thought_again_at_another_deployment(
    tmp_path: Path,
) -> None:
    endless = ScriptedTurn(reasoning="Hm, let me see. " * 20)
    east, west, two = steady("one", endless), steady("one", endless), model("two")
    one = group(east=(1, east), west=(1, west))
    settings = {"TURNS__MAX_ANSWER_CHARS": "100"}
    async with open_calls(tmp_path, one, two, draw=lambda: 0.0, settings=settings) as rig:
        story = await rig.call("hello", "one", "two")

    assert (len(east.calls), len(west.calls), len(two.calls)) == (1, 0, 1)
    assert story.answer.candidate.provider == "two"
    spent = [(entry.model, entry.account.person_id) for entry in story.spent]
    assert spent == [("one:one-1", "ann"), ("two:two-1", "ann")]


@pytest.mark.req("M1")
async def test_a_deployment_that_is_rate_limited_is_left_alone_for_as_long_as_it_says(
    tmp_path: Path,
) -> None:
    clock, busy, good = ManualClock(), model("one", [BUSY]), model("one")
    async with open_calls(
        tmp_path, group(busy=(1, busy), good=(1, good)), clock=clock, draw=lambda: 0.0
    ) as rig:
        for _ in range(3):
            await rig.call("hello", "one")
        during = (len(busy.calls), len(good.calls))
        clock.advance(30.1)
        await rig.call("hello", "one")

    assert during == (1, 3)
    assert (len(busy.calls), len(good.calls)) == (2, 3)


@pytest.mark.req("M1", "P5")
async def test_a_dead_service_is_not_tried_first_by_every_request(tmp_path: Path) -> None:
    clock, dead, two = ManualClock(), steady("one", DOWN), model("two")
    async with open_calls(tmp_path, dead, two, clock=clock, settings=BREAKER) as rig:
        for person in ("ann", "ben") * 3:
            plan = await rig.layer.planner.plan(CallNeeds(model="auto"))
            names = [one.provider for one in plan.candidates]
            await rig.call("hello", *names, payer=payer_for(person))
        plan = await rig.layer.planner.plan(CallNeeds(model="auto"))
        dropped = {one.provider: one.reason for one in plan.dropped}

    assert len(dead.calls) == 2
    assert [one.provider for one in plan.candidates] == ["two"]
    assert dropped["one"] == "is not called until 22:13:30 UTC: the service answered 500"


@pytest.mark.req("M1", "P5")
async def test_one_trial_call_passes_and_its_answer_closes_the_circuit(tmp_path: Path) -> None:
    clock = ManualClock()
    slow = ScriptedTurn(text="back again", delay_s=3600)
    one, two = model("one", [DOWN, DOWN, slow]), model("two")
    async with open_calls(tmp_path, one, two, clock=clock, settings=BREAKER) as rig:
        for _ in range(2):
            await rig.call("hello", "one", "two")
        clock.advance(10.1)
        trial = asyncio.create_task(rig.call("hello", "one", "two"))
        while len(one.calls) < 3:  # noqa: ASYNC110  the trial runs in a task of its own
            await asyncio.sleep(0)
        beside = await rig.call("hello", "one", "two")
        trial.cancel()
        await asyncio.gather(trial, return_exceptions=True)
        after = await rig.call("hello", "one", "two")

    assert beside.answer.candidate.provider == "two"
    # A trial that somebody broke off says nothing: the next call is the trial.
    assert after.answer.candidate.provider == "one"
    assert rig.layer.deployments.states() == []


@pytest.mark.req("M1", "P5")
async def test_the_first_output_of_a_trial_call_lets_the_others_in(tmp_path: Path) -> None:
    clock = ManualClock()
    begun = ScriptedTurn(text="a long answer", deltas=2, fault="hang", after=1)
    one = model("one", [DOWN, DOWN, begun, FINE])
    async with open_calls(tmp_path, one, clock=clock, settings=BREAKER) as rig:
        for _ in range(2):
            with pytest.raises(ProviderUnavailable):
                await rig.call("hello", "one")
        clock.advance(10.1)
        story = Story()
        trial = asyncio.create_task(rig.call("hello", "one", story=story))
        while len(story.events) < 2:  # noqa: ASYNC110  the trial runs in a task of its own
            await asyncio.sleep(0)
        beside = await rig.call("hello", "one")
        trial.cancel()
        await asyncio.gather(trial, return_exceptions=True)

    assert beside.answer.candidate.provider == "one"


@pytest.mark.req("M1", "P5")
async def test_beside_a_silent_trial_call_a_caller_is_told_to_come_back_soon(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    one = model("one", [DOWN, DOWN, ScriptedTurn(fault="hang")])
    async with open_calls(tmp_path, one, clock=clock, settings=BREAKER) as rig:
        for _ in range(2):
            with pytest.raises(ProviderUnavailable):
                await rig.call("hello", "one")
        clock.advance(10.1)
        trial = asyncio.create_task(rig.call("hello", "one"))
        while len(one.calls) < 3:  # noqa: ASYNC110  the trial runs in a task of its own
            await asyncio.sleep(0)
        with pytest.raises(ProviderCooling) as refused:
            await rig.call("hello", "one")
        trial.cancel()
        await asyncio.gather(trial, return_exceptions=True)

    assert refused.value.retry_after == 10.0


@pytest.mark.req("M1", "P5")
async def test_a_trial_that_fails_doubles_the_time(tmp_path: Path) -> None:
    clock, dead, two = ManualClock(), steady("one", DOWN), model("two")
    async with open_calls(tmp_path, dead, two, clock=clock, settings=BREAKER) as rig:
        tries = []
        for _ in range(8):
            await rig.call("hello", "one", "two")
            tries.append(len(dead.calls))
            clock.advance(10.1)

    # Two failures open it for 10 s; then 20, then 40.
    assert tries == [1, 2, 3, 3, 4, 4, 4, 4]


@pytest.mark.req("M1", "P5")
async def test_a_lone_service_is_waited_for_or_says_until_when(tmp_path: Path) -> None:
    clock, story = ManualClock(), Story()
    one = model("one", [msgspec.structs.replace(BUSY, retry_after=0.02), FINE, BUSY])
    async with open_calls(tmp_path, one, clock=clock) as rig:
        with pytest.raises(ProviderUnavailable, match="429"):
            await rig.call("hello", "one")
        waited = await rig.call("hello", "one", wait_s=1.0)
        with pytest.raises(ProviderUnavailable, match="429"):
            await rig.call("hello", "one", wait_s=1.0)
        plan = await rig.layer.planner.plan(CallNeeds(model="one"))
        with pytest.raises(ProviderCooling, match="until 22:13:50 UTC") as refused:
            await rig.call("hello", "one", wait_s=1.0, story=story)

    assert waited.kinds == ["CallStart", "TextDelta", "FullAnswer"]
    assert [one.provider for one in plan.candidates] == ["one"]
    assert (refused.value.retry_after, refused.value.status) == (30.0, 429)
    # Nothing was sent, so there is no step and nothing on the bill.
    assert (story.events, story.spent, len(one.calls)) == ([], (), 3)


@pytest.mark.req("M1")
async def test_a_request_that_is_refused_says_nothing_about_its_service(tmp_path: Path) -> None:
    one = steady("one", ScriptedTurn(fault="status", status=400))
    async with open_calls(tmp_path, one, settings=BREAKER) as rig:
        for _ in range(4):
            with pytest.raises(ProviderError, match="400"):
                await rig.call("hello", "one")

    assert len(one.calls) == 4
    assert rig.layer.deployments.states() == []


@pytest.mark.req("M1")
async def test_another_model_of_the_same_service_has_its_own_circuit(tmp_path: Path) -> None:
    one = steady("one", BUSY)
    async with open_calls(tmp_path, one) as rig:
        for person in ("ann", "ben"):
            with pytest.raises(ProviderUnavailable):
                await rig.call("hello", "one", payer=payer_for(person))
        named = await rig.layer.planner.plan(CallNeeds(model="one:other"))
        offers = await rig.layer.planner.offers()

    assert [each.model for each in named.candidates] == ["other"]
    assert list(offers[0].cooling) == ["one-1"]


@pytest.mark.req("M1")
async def test_many_dead_deployments_do_not_hold_a_call_for_long(tmp_path: Path) -> None:
    dead = {f"d{number}": (1, steady("one", DOWN)) for number in range(9)}
    async with open_calls(tmp_path, group(**dead), model("two")) as rig:
        story = await rig.call("hello", "one", "two")

    tried = Counter(type(event).__name__ for event in story.events)
    assert (tried["CallFailure"], story.answer.candidate.provider) == (5, "two")


@pytest.mark.req("M1")
async def test_a_service_whose_limit_is_used_up_rests_after_its_last_answer(
    tmp_path: Path,
) -> None:
    clock, good = ManualClock(), model("one")
    last = steady("one", ScriptedTurn(text="the last", rest_s=7.0))
    async with open_calls(
        tmp_path, group(last=(1, last), good=(1, good)), clock=clock, draw=lambda: 0.0
    ) as rig:
        for _ in range(2):
            await rig.call("hello", "one")
        clock.advance(7.1)
        await rig.call("hello", "one")

    assert (len(last.calls), len(good.calls)) == (2, 1)


@pytest.mark.req("P6")
async def test_every_configured_model_is_among_those_to_choose_from(tmp_path: Path) -> None:
    more = {"PROVIDERS__ONE__MODELS": "one-2,one-3"}
    async with open_calls(tmp_path, model("one"), model("two"), settings=more) as rig:
        names = await rig.layer.planner.names()

    assert names == ["one:one-1", "one:one-2", "one:one-3", "two:two-1"]


@pytest.fixture(params=[MemoryCircuits], ids=["memory"])
def states(request: pytest.FixtureRequest) -> CircuitStates:
    """Every implementation of the port."""
    made: CircuitStates = request.param()
    return made


@pytest.mark.req("M1")
def test_of_two_that_change_a_circuit_one_wins(states: CircuitStates) -> None:
    opened, trial = Circuit(open_until=5.0), Circuit(open_until=5.0, trial_until=9.0)

    assert states.get("one:a") == CLOSED
    assert states.swap("one:a", old=CLOSED, new=opened)
    assert states.swap("one:a", old=opened, new=trial)
    assert not states.swap("one:a", old=opened, new=trial)
    assert dict(states.changed()) == {"one:a": trial}
    assert states.swap("one:a", old=trial, new=CLOSED)
    assert dict(states.changed()) == {}


@pytest.mark.req("M1")
def test_circuits_of_made_up_names_are_limited(states: CircuitStates) -> None:
    for number in range(5000):
        states.swap(f"one:{number}", old=CLOSED, new=Circuit(failures=1))

    assert len(states.changed()) <= 4096
    assert states.get("one:4999") == Circuit(failures=1)


class ListingProvider(ScriptedProvider):
    """A scripted model whose service lists its models, or says why not."""

    def __init__(self, found: Mapping[str, ServedModel] | ProviderError) -> None:
        super().__init__(info=model("one").info)
        self._found = found

    async def list_models(self) -> Mapping[str, ServedModel]:
        if isinstance(self._found, ProviderError):
            raise self._found
        return self._found


@pytest.mark.req("M1", "P6")
async def test_the_first_deployment_that_answers_lists_the_models() -> None:
    listed = {"one-1": ServedModel(context=4096)}
    down, fine = ListingProvider(ProviderUnavailable("500")), ListingProvider(listed)
    other = ListingProvider({})

    one = group(plain=(1, model("one")), down=(1, down), fine=(1, fine), other=(1, other))

    assert await one.list_models() == listed


@pytest.mark.req("M1", "P6")
async def test_if_no_deployment_lists_the_models_each_says_why() -> None:
    east = ListingProvider(ProviderUnavailable("the service answered 500"))
    west = ListingProvider(ProviderUnavailable("wrong key", status=401))

    with pytest.raises(ProviderError) as refused:
        await group(east=(1, east), west=(1, west)).list_models()

    assert str(refused.value) == "east: the service answered 500; west: wrong key"


@pytest.mark.req("M1")
async def test_the_retry_of_a_call_counts_once_against_its_service(tmp_path: Path) -> None:
    down = steady("one", DOWN)
    settings = {**BREAKER, "ROUTING__RETRY_S": "0.01"}
    async with open_calls(tmp_path, down, settings=settings) as rig:
        for _ in range(2):
            with pytest.raises(ProviderUnavailable):
                await rig.call("hello", "one")

    assert len(down.calls) == 4
