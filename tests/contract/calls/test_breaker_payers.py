"""The breaker of a model: failures of one person leave it to the others, failures of two do not."""

from pathlib import Path

import pytest

from hermes.calls.circuits import after_failure, concerns_all
from hermes.config import BreakerSettings
from hermes.errors import (
    ProviderCooling,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.ports.circuits import CLOSED, Circuit
from hermes.routing.plan import CallNeeds
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation
from tests.contract.calls.rig import CallRig, model, open_calls, payer_for

DOWN = ScriptedTurn(fault="status", status=500)
BUSY = ScriptedTurn(fault="status", status=429, retry_after=30.0)
CUT = ScriptedTurn(text="a few words", deltas=3, fault="cut")
FINE = ScriptedTurn(text="here it is")
RULES = {"ROUTING__BREAKER__FAILURES": "3", "ROUTING__BREAKER__OPEN_S": "10"}


def fails_for(word: str, turn: ScriptedTurn) -> Script:
    """Return a service that a word in a request makes fail, and nothing else does."""

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        return turn if word in seen.last_text else FINE

    return script


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def fail(rig: CallRig, person: str, text: str = "boom") -> None:
    with pytest.raises(ProviderError):
        await rig.call(text, "one", payer=payer_for(person))


@pytest.mark.req("M1", "P5")
@pytest.mark.parametrize("turn", [DOWN, BUSY, CUT], ids=["500", "429", "cut"])
async def test_requests_of_one_person_do_not_take_a_model_from_the_others(
    tmp_path: Path, clock: ManualClock, turn: ScriptedTurn
) -> None:
    one = model("one", fails_for("boom", turn))
    async with open_calls(tmp_path, one, clock=clock, settings=RULES) as rig:
        for _ in range(3):
            await fail(rig, "eve")
        made = len(one.calls)
        with pytest.raises(ProviderCooling):
            await rig.call("boom", "one", payer=payer_for("eve"))
        others = await rig.call("hello", "one", payer=payer_for("ann"))
        plan = await rig.layer.planner.plan(CallNeeds(model="one"))

        assert len(one.calls) == made + 1
        assert others.answer.candidate.provider == "one"
        assert [each.reason for each in plan.dropped] == []
        assert list((await rig.layer.planner.offers())[0].cooling) == []
        (left,) = rig.layer.deployments.resting()
        assert left.people == 1
        assert left.words.startswith("not called for one person until ")


@pytest.mark.req("M1", "P5")
async def test_failures_of_two_people_in_a_row_open_it_for_all(
    tmp_path: Path, clock: ManualClock
) -> None:
    one = model("one", lambda *_: DOWN)
    async with open_calls(tmp_path, one, clock=clock, settings=RULES) as rig:
        for person in ("ann", "ben", "ann"):
            await fail(rig, person)
        with pytest.raises(ProviderCooling):
            await rig.call("hello", "one", payer=payer_for("cleo"))

    assert len(one.calls) == 3


@pytest.mark.req("M1", "P5")
async def test_a_second_person_who_is_rate_limited_rests_the_model_for_all(
    tmp_path: Path, clock: ManualClock
) -> None:
    one = model("one", lambda *_: BUSY)
    async with open_calls(tmp_path, one, clock=clock, settings=RULES) as rig:
        for person in ("ann", "ben"):
            await fail(rig, person)
        with pytest.raises(ProviderCooling) as refused:
            await rig.call("hello", "one", payer=payer_for("cleo"))

    assert (refused.value.retry_after, len(one.calls)) == (30.0, 2)


@pytest.mark.req("M1", "P5")
async def test_an_answer_to_anybody_ends_the_count_for_all_and_not_the_persons_own(
    tmp_path: Path, clock: ManualClock
) -> None:
    one = model("one", fails_for("boom", DOWN))
    async with open_calls(tmp_path, one, clock=clock, settings=RULES) as rig:
        for _ in range(3):
            await fail(rig, "eve")
        await rig.call("hello", "one", payer=payer_for("ann"))
        await fail(rig, "ben")
        after = await rig.call("hello", "one", payer=payer_for("ann"))
        with pytest.raises(ProviderCooling):
            await rig.call("hello", "one", payer=payer_for("eve"))
        clock.advance(10.1)
        tried = await rig.call("hello", "one", payer=payer_for("eve"))

        assert after.answer.candidate.provider == "one"
        assert tried.answer.candidate.provider == "one"
        assert rig.layer.deployments.resting() == []


@pytest.mark.req("M1", "P5")
async def test_without_a_connection_one_person_is_enough(
    tmp_path: Path, clock: ManualClock
) -> None:
    async with open_calls(tmp_path, model("one"), clock=clock, settings=RULES) as rig:
        deployments = rig.layer.deployments
        (candidate,) = (await rig.layer.planner.plan(CallNeeds(model="one"))).candidates
        for _ in range(3):
            entry = deployments.enter(candidate, payer="ann")
            deployments.failed(entry, ProviderUnavailable("refused", is_unreached=True))
        with pytest.raises(ProviderCooling):
            deployments.enter(candidate, payer="ben")


@pytest.mark.req("M1")
def test_what_concerns_all_is_no_connection_or_a_wrong_key() -> None:
    assert concerns_all(ProviderUnavailable("no connection", is_unreached=True))
    assert concerns_all(ProviderRejected("wrong key", status=401))
    of_the_request = [
        ProviderUnavailable("500", status=500),
        ProviderUnavailable("429", status=429),
        ProviderUnavailable("lost", was_sent=True),
        ProviderTimeout("silent"),
        StreamTruncated("cut"),
    ]
    assert not any(concerns_all(error) for error in of_the_request)


@pytest.mark.req("M1")
def test_a_circuit_knows_whether_one_payer_made_all_failures() -> None:
    rules = BreakerSettings(failures=2)
    error = ProviderUnavailable("500", status=500)

    def failed(circuit: Circuit = CLOSED, *, payer: str) -> Circuit:
        return after_failure(circuit, 5.0, error=error, trial=False, rules=rules, payer=payer)

    alone = failed(failed(failed(payer="eve"), payer="eve"), payer="eve")
    assert (alone.failures, alone.causes, alone.open_until) == (3, (("eve", 3),), None)
    both = failed(alone, payer="ann")
    assert (both.failures, both.causes, both.open_until) == (4, (("", 4),), 5.0 + rules.open_s)


@pytest.mark.req("M1", "P5")
async def test_the_many_failures_of_one_person_and_one_of_another_do_not_open_it_for_all(
    tmp_path: Path, clock: ManualClock
) -> None:
    one = model("one", fails_for("boom", DOWN))
    rules = {**RULES, "ROUTING__BREAKER__FAILURES": "5"}
    async with open_calls(tmp_path, one, clock=clock, settings=rules) as rig:
        for _ in range(5):
            await fail(rig, "eve")
        await fail(rig, "ben")
        clock.advance(10.1)
        await fail(rig, "eve")
        others = await rig.call("hello", "one", payer=payer_for("ann"))
        for person in ("liz", "liz", "ben", "liz", "ben"):
            await fail(rig, person)
        with pytest.raises(ProviderCooling):
            await rig.call("hello", "one", payer=payer_for("ann"))

    assert others.answer.candidate.provider == "one"
