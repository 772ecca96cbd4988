"""P6, G5: routing knows what each model holds, and asks none in vain."""

import pytest

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


@pytest.mark.req("P6")
def test_the_dated_name_that_a_service_answers_with_is_the_same_model():
    info = ProviderInfo(name="o", model="house-1", tools=True, vision=True, context_tokens=32_000)
    facts = ModelFacts({"o": ProviderSettings(context_tokens=32_000)})
    sizes = ContextSizes({"o": ScriptedProvider(info=info)}, facts)

    assert sizes.of(Candidate("o", "house-1", "")) == 32_000
    assert sizes.of(Candidate("o", "house-1-2026-01-31", "")) == 32_000
    sizes.learn(Candidate("o", "house-1", ""), 20_000)
    assert sizes.of(Candidate("o", "house-1", "")) == 12_000
