"""The routing plan: what is tried, in which order, and why the rest is not."""

import pytest

from hermes.errors import ProviderUnavailable
from hermes.ports.provider import ProviderInfo
from hermes.routing.plan import Candidate, Dropped, Offer, Plan, make_plan


def offer(name: str, *, available: bool = True, demo: bool = False, local: bool = False) -> Offer:
    info = ProviderInfo(
        name=name,
        model=f"{name}-1",
        tools=True,
        vision=False,
        context_tokens=1000,
        demonstration=demo,
        local=local,
    )
    return Offer(info, available=available)


DEMO = offer("demo", demo=True, local=True)


@pytest.mark.req("P7", "M1")
def test_a_configured_model_comes_before_the_demonstration_model() -> None:
    assert make_plan("auto", [DEMO, offer("cloud")]) == Plan(
        (Candidate("cloud", "cloud-1", "configured"),),
        (Dropped("demo", "a configured model comes first"),),
    )


@pytest.mark.req("P7")
def test_the_demonstration_model_is_the_last_resort() -> None:
    assert make_plan("auto", [offer("cloud", available=False), DEMO]) == Plan(
        (Candidate("demo", "demo-1", "last resort: the demonstration model"),),
        (Dropped("cloud", "not available"),),
    )


@pytest.mark.req("P1")
def test_offline_only_models_on_this_machine_are_tried() -> None:
    plan = make_plan("auto", [offer("cloud"), offer("own", local=True)], offline=True)

    assert [candidate.provider for candidate in plan.candidates] == ["own"]
    assert plan.dropped == (Dropped("cloud", "offline mode"),)


@pytest.mark.req("M1")
def test_an_explicit_model_is_the_only_candidate() -> None:
    offers = [offer("cloud"), DEMO]

    assert make_plan("demo", offers).candidates[0].model == "demo-1"
    assert make_plan("cloud:big", offers).candidates == (
        Candidate("cloud", "big", "explicit model cloud:big"),
    )


@pytest.mark.req("M2", "P1")
def test_no_model_at_all_is_a_clear_error() -> None:
    with pytest.raises(ProviderUnavailable, match="OPENAI_API_KEY"):
        make_plan("auto", [offer("cloud", available=False)])
    with pytest.raises(ProviderUnavailable, match="known: cloud"):
        make_plan("other:x", [offer("cloud")])
