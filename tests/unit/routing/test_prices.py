"""The price list: dated, sourced, and never a guess."""

from datetime import date

import pytest

from hermes.config import ProviderSettings
from hermes.config.routing import MODELS
from hermes.ports.provider import ProviderInfo
from hermes.routing.prices import Price, known_model, price_list, price_of

HAIKU = MODELS["claude-haiku"]


def info(name: str, model: str, *, local: bool = False) -> ProviderInfo:
    return ProviderInfo(
        name=name, model=model, tools=True, vision=True, context_tokens=1000, local=local
    )


def table(**fields: object) -> ProviderSettings:
    return ProviderSettings.model_validate(fields)


@pytest.mark.req("A20")
def test_the_file_says_when_it_was_compiled_from_what_and_under_which_licence():
    prices = price_list()

    assert prices.date > date(2026, 1, 1)
    assert prices.licence == "MIT"
    assert "published by the services" in prices.source


@pytest.mark.req("A20")
def test_every_entry_is_reached_by_a_model_of_its_own():
    hidden = [one.match for one in price_list().model if known_model(_example(one.match)) != one]

    assert hidden == []


def _example(match: str) -> str:
    return match.replace("*", "")


@pytest.mark.req("A20", "A19")
def test_the_models_of_the_tiers_cost_what_the_budgets_are_made_for():
    anthropic = table(kind="anthropic")

    costs = {
        name: price_of(info("anthropic", model), model, anthropic) for name, model in MODELS.items()
    }

    assert costs == {
        "claude-haiku": Price(0.80, 4.00, "list"),
        "claude-sonnet": Price(3.00, 15.00, "list"),
    }


@pytest.mark.req("A20")
def test_a_configured_price_counts_before_the_list_for_the_providers_own_model():
    own = table(kind="anthropic", model=HAIKU, price_in_per_million=1, price_out_per_million=5)

    assert price_of(info("mine", HAIKU), HAIKU, own) == Price(1.0, 5.0, "configured")
    assert price_of(info("mine", HAIKU), "claude-sonnet-4-6", own) == Price(3.0, 15.0, "list")


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("name", "model", "fields"),
    [
        ("openai", "gpt-unheard-of", {}),
        ("mine", "gpt-4o-mini", {"base_url": "https://models.example.com/v1"}),
        ("openai", "gpt-4o-mini", {"base_url": "https://proxy.example.com/v1"}),
        ("openrouter", "llama-3.3-70b-versatile", {}),
    ],
)
def test_an_unknown_price_is_unknown_never_free(name, model, fields):
    assert price_of(info(name, model), model, table(model=model, **fields)) is None


@pytest.mark.req("A20")
def test_a_built_in_price_does_not_follow_to_another_model_or_address():
    built_in = {"price_in_per_million": 0.15, "price_out_per_million": 0.60}
    official = "https://api.openai.com/v1"
    other = table(model="gpt-4.1", base_url=official, **built_in)
    moved = table(model="gpt-4o-mini", base_url="http://127.0.0.1:1/v1", **built_in)

    assert price_of(info("openai", "gpt-4.1"), "gpt-4.1", other) == Price(2.0, 8.0, "list")
    assert price_of(info("openai", "gpt-4o-mini", local=True), "gpt-4o-mini", moved) == Price(
        0.0, 0.0, "this machine"
    )


@pytest.mark.req("P6")
def test_a_folder_before_a_models_name_is_ignored():
    known = known_model("models/gemini-2.5-flash")

    assert known is not None
    assert known == known_model("gemini-2.5-flash")
    assert known_model("my-own-model") is None
