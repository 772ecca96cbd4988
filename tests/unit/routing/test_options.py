"""Options that a call cannot do without: who is dropped, who is refused, and in which words."""

import msgspec
import pytest

from hermes.ports.options import ModelRule, ServiceOptions
from hermes.routing.decide import decide, make_plan
from hermes.routing.plan import CallNeeds, DroppedProvider, ProviderOffer

SEEDED = ServiceOptions(frozenset({"seed", "pdf"}))


def having(one: ProviderOffer, options: ServiceOptions) -> ProviderOffer:
    info = msgspec.structs.replace(one.info, options=options)
    return msgspec.structs.replace(one, info=info)


@pytest.mark.req("M1", "P1")
def test_a_model_without_the_option_is_dropped_by_its_name(offer, policy):
    offers = [offer("openai"), having(offer("gemini"), SEEDED)]
    ask = CallNeeds(options=("seed", "pdf"))

    plan = make_plan(ask, offers, policy=policy())

    assert [one.provider for one in plan.candidates] == ["gemini"]
    assert plan.dropped == (DroppedProvider("openai", "has no seed, PDF documents"),)


@pytest.mark.req("M1", "P1")
def test_a_named_model_without_the_option_is_unfit(offer, policy):
    rule = ModelRule(("old-*",), lacks=frozenset({"seed"}))
    service = ServiceOptions(SEEDED.has, (rule,))
    offers = [having(offer("openai"), service)]

    def unfit(model: str) -> bool:
        return decide(CallNeeds(model=model, options=("seed",)), offers, policy=policy()).is_unfit

    assert unfit("openai:old-1")
    assert not unfit("openai:new-1")


@pytest.mark.req("M1", "P1")
def test_what_nobody_asks_for_drops_nobody(offer, policy):
    plan = make_plan(CallNeeds(), [offer("openai")], policy=policy())
    assert [one.provider for one in plan.candidates] == ["openai"]


@pytest.mark.req("P1")
@pytest.mark.parametrize(
    ("patterns", "name", "applies"),
    [
        (("o1*",), "o1-mini", True),
        (("o1*",), "gpt-4o", False),
        (("!o1*", "!o3*"), "gpt-4o", True),
        (("!o1*", "!o3*"), "o3", False),
    ],
)
def test_a_rule_is_about_some_models_or_about_all_others(patterns, name, applies):
    assert ModelRule(patterns).applies_to(name) is applies
