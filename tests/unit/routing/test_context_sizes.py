"""P6, G5: routing knows what each model holds, and asks none in vain."""

import pytest

from hermes.config import ProviderSettings
from hermes.ports.provider import ProviderInfo
from hermes.routing.decide import decide, make_plan
from hermes.routing.fitness import prompt_room
from hermes.routing.plan import CallNeeds
from hermes.routing.prices import context_size, price_list


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


def make_info(size: int) -> ProviderInfo:
    return ProviderInfo(name="o", model="m", tools=True, vision=True, context_tokens=size)


@pytest.mark.req("P6")
def test_the_configured_size_counts_before_what_is_known_of_the_model():
    listed = next(one for one in price_list().model if one.context != 128_000)
    name = next(name for name in listed.match if "*" not in name)

    assert context_size(make_info(128_000), name, ProviderSettings()) == listed.context
    assert context_size(make_info(32_000), name, ProviderSettings(context_tokens=32_000)) == 32_000
    assert context_size(make_info(128_000), "of-the-house", ProviderSettings()) == 128_000
    assert context_size(make_info(64_000), name, None) == 64_000
