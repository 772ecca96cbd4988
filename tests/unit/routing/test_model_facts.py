"""Sizes and prices of models: the settings first, then the service's own list, then the shipped one."""

import msgspec
import pytest

from hermes.config import ProviderSettings
from hermes.ports.model_lists import ServedModel, ServiceList
from hermes.ports.provider import ProviderInfo
from hermes.routing.decide import make_plan
from hermes.routing.model_facts import ContextSize, ModelFacts
from hermes.routing.plan import CallNeeds
from hermes.routing.prices import Price

ADDRESS = "https://openrouter.ai/api/v1"
HERE = ProviderInfo(name="open", model="own-1", tools=True, vision=False, context_tokens=128_000)


def facts(listed: dict[str, ServedModel] | None = None, **fields: object) -> ModelFacts:
    table = ProviderSettings.model_validate({"base_url": ADDRESS, **fields})
    lists = {"open": ServiceList(at=1.0, address=ADDRESS, models=listed or {})}
    return ModelFacts({"open": table}, lists)


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("fields", "listed", "size"),
    [
        ({}, {}, ContextSize(128_000, "list")),
        ({}, {"gpt-4o": ServedModel(context=64_000)}, ContextSize(64_000, "service")),
        ({}, {"gpt-4o": ServedModel()}, ContextSize(128_000, "list")),
        (
            {"models": {"gpt-4o": {"context_tokens": 9}}},
            {"gpt-4o": ServedModel(context=64_000)},
            ContextSize(9, "configured"),
        ),
    ],
)
def test_the_nearest_source_says_how_large_a_context_is(fields, listed, size):
    assert facts(listed, **fields).context_size(HERE, "gpt-4o") == size


@pytest.mark.req("M1")
def test_a_size_set_for_the_provider_counts_for_its_own_model_and_on_this_machine_for_all():
    own = msgspec.structs.replace(HERE, context_tokens=4096)
    local = msgspec.structs.replace(own, local=True)
    known = facts(context_tokens=4096)

    assert known.context_of(own, "own-1") == 4096
    assert known.context_of(own, "gpt-4o") == 128_000
    assert known.context_of(local, "gpt-4o") == 4096
    assert known.context_of(own, "nobody-knows-it") == 4096


@pytest.mark.req("M1")
def test_prices_are_the_operators_then_the_services_then_the_lists():
    listed = {"a": ServedModel(price_in=1.0, price_out=2.0, price_cached=0.5)}
    own = {"models": {"a": {"price_in_per_million": 7, "price_out_per_million": 8}}}

    assert facts(listed, **own).price_of(HERE, "a") == Price(7.0, 8.0, "configured")
    assert facts(listed).price_of(HERE, "a") == Price(1.0, 2.0, "service", 0.5)
    assert facts().price_of(HERE, "a") is None


@pytest.mark.req("M1")
def test_a_list_of_another_address_says_nothing():
    known = facts({"a": ServedModel(context=5)})
    known.refresh({"open": ServiceList(at=1.0, address="https://elsewhere.example/v1", models={})})

    assert known.lists == {}


@pytest.mark.req("M1", "A19")
def test_every_configured_model_can_be_asked_for_by_its_name_alone(offer, policy):
    rules = policy("providers: {house: {base_url: 'http://127.0.0.1:1/v1', models: [m-2, m-3]}}")
    offers = [offer("openai"), offer("house", model="m-1")]

    asked = {
        name: [
            f"{one.provider}:{one.model}"
            for one in make_plan(CallNeeds(model=name), offers, policy=rules).candidates
        ]
        for name in ("m-1", "m-3", "house", "house:m-2")
    }

    assert asked == {
        "m-1": ["house:m-1"],
        "m-3": ["house:m-3"],
        "house": ["house:m-1"],
        "house:m-2": ["house:m-2"],
    }


@pytest.mark.req("M1", "A19")
def test_a_model_that_only_the_services_own_list_names_can_be_asked_for_too(offer, policy):
    rules = policy(OPENROUTER_API_KEY="k")
    listed = ServiceList(at=1.0, address=ADDRESS, models={"vendor/new-1": ServedModel()})
    rules.facts.refresh({"openrouter": listed})

    plan = make_plan(
        CallNeeds(model="vendor/new-1"), [offer("openai"), offer("openrouter")], policy=rules
    )

    assert [one.provider for one in plan.candidates] == ["openrouter"]
