"""B11: what a message cost reads the same in its result, in `why`, in its steps and in the ledger."""

from pathlib import Path

import msgspec
import pytest

from hermes.control.why import explain
from hermes.message.reply import Usage
from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, in_order
from hermes.testing.scripted_model import SCRIPTED_INFO, ScriptedProvider
from tests.contract.journal.rig import Rig, open_rig

PRICED = {
    f"PROVIDERS__{name}__{key}": value
    for name in ("SCRIPTED", "SECOND")
    for key, value in {
        "BASE_URL": "http://127.0.0.1:9/v1",
        "PRICE_IN_PER_MILLION": "1000",
        "PRICE_OUT_PER_MILLION": "1000",
    }.items()
}


def second(*turns: ScriptedTurn) -> ScriptedProvider:
    """Return a provider that the first one's failures fall back to."""
    info = msgspec.structs.replace(SCRIPTED_INFO, name="second", model="second-1")
    return ScriptedProvider(in_order(turns), info=info)


def empty(_seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(tokens_in=40, tokens_out=2)


def late(_seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text="Hello", fault="cut")


async def ledger(rig: Rig, whose: str) -> float:
    rows = await rig.store.spend.report("person", first_day="2000-01-01", last_day="2999-12-31")
    return sum(row.cost_usd for row in rows if row.name == whose)


@pytest.mark.req("A20", "J8", "J21")
@pytest.mark.parametrize("script", [empty, late])
async def test_a_billed_try_that_a_fallback_replaced_is_the_platforms_in_every_view(
    tmp_path: Path, script: Script
) -> None:
    beside = {"second": second(ScriptedTurn(text="Hello", tokens_in=30, tokens_out=1))}
    async with open_rig(tmp_path, script=script, beside=beside, settings=PRICED) as rig:
        message_id = await rig.say("hello")
        assert await rig.outcome(message_id) == "answered"

        why = await explain(rig.store, message_id, now=rig.clock.now())
        story = await rig.timeline(message_id)
        result, row = story.result, story.interaction
        assert result is not None
        assert row is not None
        assert result.usage == Usage(30, 1, cost_usd=0.031)
        assert result.platform_usage.cost_usd > 0
        assert (why.usage, why.platform_usage) == (result.usage, result.platform_usage)
        assert await ledger(rig, why.person_id or "") == result.usage.cost_usd
        assert await ledger(rig, "platform") == result.platform_usage.cost_usd
        assert row["platform_cost_usd"] == result.platform_usage.cost_usd
        steps = [step for step in story.steps if step.kind == "model"]
        assert [(one.state, one.payer) for one in steps] == [
            ("failed", "platform"),
            ("done", "person"),
        ]
        assert steps[0].usage.cost_usd == result.platform_usage.cost_usd


@pytest.mark.req("J8", "J21")
async def test_what_the_platform_pays_counts_against_no_limit_of_the_person(tmp_path: Path) -> None:
    limits = {
        **PRICED,
        "BUDGETS__PERSON_MONTH_USD": "0.15",
        "BUDGETS__EXPECTED_OUTPUT_TOKENS": "1",
    }
    answer = ScriptedTurn(text="Hello", tokens_in=30, tokens_out=1)
    beside = {"second": second(answer, answer, answer)}
    async with open_rig(tmp_path, script=empty, beside=beside, settings=limits) as rig:
        # The empty answers cost 42 thousandths each, which would leave nothing for the third.
        for _ in range(3):
            message_id = await rig.say("hello")
            assert await rig.outcome(message_id) == "answered"


AT_THE_CAP = ScriptedTurn(tokens_in=40, tokens_out=60, reasoning_out=60, stops="length")


@pytest.mark.req("J8", "J11", "J21")
@pytest.mark.parametrize(
    "turn",
    [
        AT_THE_CAP,
        ScriptedTurn(tokens_in=40, tokens_out=60, stops="refusal"),
        ScriptedTurn(tokens_in=40, tokens_out=60, reasoning_out=58),
    ],
    ids=["length", "refusal", "thoughts"],
)
async def test_an_empty_answer_that_the_request_led_to_is_the_persons_and_takes_no_credit(
    tmp_path: Path, turn: ScriptedTurn
) -> None:
    async with open_rig(tmp_path, script=in_order([turn]), settings=PRICED) as rig:
        message_id = await rig.say("hello")
        assert await rig.outcome(message_id) == "failed"

        why = await explain(rig.store, message_id, now=rig.clock.now())
        story = await rig.timeline(message_id)
        result, row = story.result, story.interaction
        assert result is not None
        assert row is not None
        assert result.usage.cost_usd == pytest.approx(0.1)
        assert (why.usage, why.platform_usage) == (result.usage, Usage())
        assert await ledger(rig, why.person_id or "") == result.usage.cost_usd
        assert await ledger(rig, "platform") == 0
        assert row["platform_cost_usd"] == 0
        steps = [step for step in story.steps if step.kind == "model"]
        assert [(one.state, one.payer, one.usage) for one in steps] == [
            ("failed", "person", result.usage)
        ]
        assert story.ledger == ()


@pytest.mark.req("J21")
async def test_empty_answers_at_their_limit_use_up_the_limit_of_the_person(tmp_path: Path) -> None:
    limits = {
        **PRICED,
        "BUDGETS__PERSON_MONTH_USD": "0.25",
        "BUDGETS__EXPECTED_OUTPUT_TOKENS": "1",
    }
    answer = ScriptedTurn(text="Hello", tokens_in=1, tokens_out=1)
    beside = {"second": second(*[answer] * 9)}
    async with open_rig(
        tmp_path, script=in_order([AT_THE_CAP] * 9), beside=beside, settings=limits
    ) as rig:
        # Each message costs a tenth at the first model, which a fallback answers.
        for _ in range(2):
            assert await rig.outcome(await rig.say("hello")) == "answered"
        third = await rig.say("hello")

        assert await rig.outcome(third) == "failed"
        result = await rig.store.inbox.result(third)
        assert result is not None
        assert result.code == "over_budget"


ENDLESS = ScriptedTurn(reasoning="Hm, let me see. " * 20)
SHORT = {**PRICED, "TURNS__MAX_ANSWER_CHARS": "100"}


@pytest.mark.req("A20", "J8", "J21")
async def test_thoughts_without_end_are_the_persons_also_if_the_next_model_answers(
    tmp_path: Path,
) -> None:
    beside = {"second": second(ScriptedTurn(text="Hello", tokens_in=30, tokens_out=1))}
    async with open_rig(tmp_path, script=in_order([ENDLESS]), beside=beside, settings=SHORT) as rig:
        message_id = await rig.say("hello")
        assert await rig.outcome(message_id) == "answered"

        why = await explain(rig.store, message_id, now=rig.clock.now())
        story = await rig.timeline(message_id)
        result, row = story.result, story.interaction
        assert result is not None
        assert row is not None
        steps = [step for step in story.steps if step.kind == "model"]
        assert [(one.state, one.payer) for one in steps] == [
            ("failed", "person"),
            ("done", "person"),
        ]
        thoughts, answer = (step.usage for step in steps)
        assert thoughts.tokens_out > 0
        assert answer.cost_usd == pytest.approx(0.031)
        assert result.usage == thoughts.plus(answer)
        assert result.platform_usage == Usage()
        assert (why.usage, why.platform_usage) == (result.usage, Usage())
        assert await ledger(rig, why.person_id or "") == pytest.approx(result.usage.cost_usd)
        assert await ledger(rig, "platform") == 0
        assert row["platform_cost_usd"] == 0


@pytest.mark.req("A6", "J11", "J21")
async def test_thoughts_without_end_that_no_model_replaces_use_up_the_limit_of_the_person(
    tmp_path: Path,
) -> None:
    limits = {
        **SHORT,
        "BUDGETS__PERSON_MONTH_USD": "0.05",
        "BUDGETS__EXPECTED_OUTPUT_TOKENS": "1",
    }
    async with open_rig(tmp_path, script=in_order([ENDLESS] * 9), settings=limits) as rig:
        results = []
        for _ in range(3):
            message_id = await rig.say("hello")
            assert await rig.outcome(message_id) == "failed"
            results.append(await rig.store.inbox.result(message_id))

        assert results[-1] is not None
        assert results[-1].code == "over_budget"
        assert results[0] is not None
        assert results[0].text.startswith("My model did not come to an end.")
        assert results[0].usage.cost_usd > 0
        assert await ledger(rig, "platform") == 0


@pytest.mark.req("A20", "J12", "J21")
@pytest.mark.parametrize(
    ("turn", "written"),
    [
        (ScriptedTurn(fault="hang"), 0),
        (ScriptedTurn(text="four letters a token", deltas=2, fault="hang", after=1), 3),
    ],
)
async def test_a_stopped_answer_costs_what_was_read_and_written_and_not_what_was_held(
    tmp_path: Path, turn: ScriptedTurn, written: int
) -> None:
    def stalls(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return turn

    async with open_rig(tmp_path, script=stalls, settings=PRICED) as rig:
        message_id = await rig.say("hello")
        await rig.until(lambda: rig.model.calls != [])
        await rig.until(lambda: not written or rig.watch.text(message_id) != "")
        await rig.answer("/stop")
        assert await rig.outcome(message_id) == "interrupted"

        why = await explain(rig.store, message_id, now=rig.clock.now())
        person = await rig.store.people.find("rest", "ann")
        assert person is not None
        booked = await ledger(rig, person.id)

    assert why.usage.tokens_in > 0
    assert why.usage.tokens_out == written
    assert booked == pytest.approx(why.usage.cost_usd)
