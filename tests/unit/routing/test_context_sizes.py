"""P6, G5: routing knows what each model holds, and asks none in vain."""

import pytest
from structlog.testing import capture_logs

from hermes.calls.context_sizes import ContextSizes
from hermes.config import ProviderSettings
from hermes.ports.provider import ProviderInfo
from hermes.routing.decide import decide, make_plan
from hermes.routing.fitness import prompt_room
from hermes.routing.model_facts import ModelFacts
from hermes.routing.plan import CallNeeds, Candidate
from hermes.testing.scripted_model import ScriptedProvider


@pytest.mark.req("P6", "G5")
def test_a_model_that_cannot_hold_the_message_is_dropped_with_both_numbers(offer, policy):
    offers = [offer("small"), offer("other")]
    room = prompt_room(1000)

    decision = decide(CallNeeds(tokens=room + 1), offers, policy=policy())

    assert decision.plan.candidates == ()
    assert {one.reason for one in decision.plan.dropped} == {
        f"takes about {room} tokens, and the message needs about {room + 1}"
    }
    assert decision.most_tokens == room


@pytest.mark.req("P6", "G5")
def test_a_message_that_fits_is_planned_as_any_other(offer, policy):
    room = prompt_room(1000)

    assert make_plan(CallNeeds(tokens=room), [offer("small")], policy=policy()) == make_plan(
        CallNeeds(), [offer("small")], policy=policy()
    )


ANN, BOB = "p_ann", "p_bob"


def sizes_of(model: str, *, context: int) -> ContextSizes:
    info = ProviderInfo(name="o", model=model, tools=True, vision=True, context_tokens=context)
    facts = ModelFacts({"o": ProviderSettings(context_tokens=context)})
    return ContextSizes({"o": ScriptedProvider(info=info)}, facts)


@pytest.mark.req("P6")
@pytest.mark.parametrize("refused", ["house-1", "house-1-2026-01-31"])
def test_the_dated_name_that_a_service_answers_with_is_the_same_model(refused: str) -> None:
    sizes = sizes_of("house-1", context=32_000)
    names = (Candidate("o", "house-1", ""), Candidate("o", "house-1-2026-01-31", ""))

    assert [sizes.of(one, ANN) for one in names] == [32_000, 32_000]
    sizes.learn(Candidate("o", refused, ""), 20_000, person_id=ANN)
    assert [sizes.of(one, ANN) for one in names] == [12_000, 12_000]


@pytest.mark.req("P6", "G5")
def test_refusals_of_calls_that_were_made_side_by_side_teach_one_size() -> None:
    sizes, candidate = sizes_of("house-1", context=32_000), Candidate("o", "house-1", "")

    with capture_logs() as logs:
        for _ in range(8):
            sizes.learn(candidate, 20_000, person_id=ANN)

    assert sizes.of(candidate, ANN) == 12_000
    assert logs == [
        {
            "event": "context_learnt",
            "log_level": "warning",
            "model": "o:house-1",
            "refused": 20_000,
            "believed": 32_000,
            "now": 12_000,
        }
    ]


@pytest.mark.req("P6", "G5")
def test_a_smaller_prompt_that_is_refused_later_teaches_a_smaller_size() -> None:
    sizes, candidate = sizes_of("house-1", context=32_000), Candidate("o", "house-1", "")

    sizes.learn(candidate, 20_000, person_id=ANN)
    sizes.learn(candidate, 10_000, person_id=ANN)

    assert sizes.of(candidate, ANN) == 6_000


@pytest.mark.req("P6")
def test_what_one_persons_prompt_teaches_makes_no_model_small_for_others() -> None:
    sizes, candidate = sizes_of("house-1", context=32_000), Candidate("o", "house-1", "")

    sizes.learn(candidate, 20_000, person_id=ANN)

    assert (sizes.of(candidate, ANN), sizes.of(candidate, BOB)) == (12_000, 32_000)
