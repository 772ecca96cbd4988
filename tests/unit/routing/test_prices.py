"""The price list: dated, sourced, and never a guess; whose price it is, and of which names."""

from datetime import date

import pytest

from hermes.config import ProviderSettings
from hermes.config.entries import MODELS, PROVIDERS
from hermes.ports.provider import ProviderInfo
from hermes.routing.prices import Price, known_model, price_list, price_of

HAIKU = MODELS["claude-haiku"]
MINI = Price(0.15, 0.60, "list", 0.075)
GPT_4O = Price(2.50, 10.0, "list", 1.25)
SONNET = Price(3.00, 15.00, "list", 0.30, 3.75)
FREE = Price(0.0, 0.0, "this machine")


def info(name: str, model: str, *, local: bool = False) -> ProviderInfo:
    return ProviderInfo(
        name=name, model=model, tools=True, vision=True, context_tokens=1000, local=local
    )


def table(**fields: object) -> ProviderSettings:
    return ProviderSettings.model_validate(fields)


def built_in(name: str, **changed: object) -> ProviderSettings:
    """The settings of a built-in provider, with what an operator changed."""
    return table(**{**PROVIDERS[name], **changed})


@pytest.mark.req("A20", "A19")
def test_the_models_of_the_tiers_cost_what_the_budgets_are_made_for():
    anthropic = built_in("anthropic")

    costs = {
        name: price_of(info("anthropic", model), model, anthropic) for name, model in MODELS.items()
    }

    assert costs == {
        "claude-haiku": Price(0.80, 4.00, "list", 0.08, 1.00),
        "claude-sonnet": SONNET,
    }


@pytest.mark.req("A20")
def test_a_configured_price_counts_before_the_list_for_the_providers_own_model():
    own = table(kind="anthropic", model=HAIKU, price_in_per_million=1, price_out_per_million=5)

    assert price_of(info("mine", HAIKU), HAIKU, own) == Price(1.0, 5.0, "configured")
    assert price_of(info("mine", HAIKU), "", own) == Price(1.0, 5.0, "configured")
    assert price_of(info("mine", HAIKU), "claude-sonnet-4-6", own) == SONNET


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("name", "model", "fields"),
    [
        ("openai", "gpt-unheard-of", {}),
        ("mine", "gpt-4o-mini", {"base_url": "https://models.example.com/v1"}),
        ("openai", "gpt-4o-mini", {"base_url": "https://proxy.example.com/v1"}),
        ("azure", "gpt-4o", {"base_url": "https://me.openai.azure.com/openai/v1"}),
        ("openai", "gpt-4o", {"base_url": "https://me.openai.azure.com/openai/v1"}),
        ("openai", "gpt-4o", {"base_url": "https://api.openai.com.example.com/v1"}),
        ("mine", HAIKU, {"kind": "anthropic", "base_url": "https://api.minimax.io/anthropic"}),
        ("openrouter", "gpt-4o-mini", {}),
        ("openrouter", "openai/gpt-4o-mini", {"base_url": "https://openrouter.ai/api/v1"}),
        ("openrouter", "openai/gpt-oss-120b", {}),
        ("openai", "gpt-4o:extended", {}),
        ("openai", "ft:gpt-4o-mini-2024-07-18:me::1", {}),
        ("openai", "gpt-4o-audio-preview", {}),
        ("openai", "o4-mini-deep-research", {}),
        ("gemini", "gemini-2.5-flash-image", {"kind": "gemini"}),
        ("anthropic", "claude-unheard-of", {"kind": "anthropic"}),
        ("shouting", "gpt-4o", {"kind": "shout"}),
        ("ollama", "gpt-oss:120b", {"kind": "ollama", "base_url": "https://box.example.com"}),
    ],
)
def test_an_unknown_price_is_unknown_never_free(name, model, fields):
    assert price_of(info(name, model), model, table(model=model, **fields)) is None


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-4o", GPT_4O),
        ("gpt-4o-2024-08-06", GPT_4O),
        ("openai/gpt-4o-2024-11-20", GPT_4O),
        ("gpt-4o-2024-05-13", Price(5.0, 15.0, "list")),
        ("gpt-4o-mini-2024-07-18", MINI),
        ("gpt-5-2025-08-07", Price(1.25, 10.0, "list", 0.125)),
    ],
)
def test_a_dated_model_costs_as_the_model_unless_the_list_names_the_date(model, price):
    assert price_of(info("openai", model), model, built_in("openai", model=model)) == price


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("openai", {}),
        ("work", {"base_url": "https://api.openai.com/v1/"}),
        ("work", {"kind": "openai-responses"}),
        ("work", {}),
    ],
)
def test_a_service_is_known_by_its_address_whatever_the_provider_is_named(name, fields):
    assert price_of(info(name, "gpt-4o"), "gpt-4o", table(**fields)) == GPT_4O


@pytest.mark.req("A20")
def test_a_provider_without_settings_is_the_service_of_its_name():
    assert price_of(info("openai", "gpt-4o"), "gpt-4o", None) == GPT_4O
    assert price_of(info("work", "gpt-4o"), "gpt-4o", None) is None


@pytest.mark.req("A20")
def test_a_free_variant_costs_nothing_where_the_service_says_so_and_is_unknown_elsewhere():
    model = "openai/gpt-oss-120b:free"

    assert price_of(info("openrouter", model), model, built_in("openrouter")) == Price(
        0.0, 0.0, "list"
    )
    assert price_of(info("groq", model), model, built_in("groq")) is None


@pytest.mark.req("A20")
def test_a_price_set_for_a_server_counts_also_when_it_is_nothing_or_that_of_the_list():
    server = {"base_url": "https://models.example.com/v1", "model": "gpt-4o-mini"}
    nothing = table(**server, price_in_per_million=0, price_out_per_million=0)
    listed = built_in("openai", **server, price_in_per_million=0.15, price_out_per_million=0.60)
    mini = info("openai", "gpt-4o-mini")

    assert price_of(mini, "", nothing) == Price(0.0, 0.0, "configured")
    assert price_of(mini, "", listed) == Price(0.15, 0.60, "configured")


@pytest.mark.req("A20")
@pytest.mark.parametrize("half", ["price_in_per_million", "price_out_per_million"])
def test_half_a_price_is_none(half):
    own = table(base_url="https://models.example.com/v1", model="m", **{half: 1})

    assert price_of(info("mine", "m"), "m", own) is None


@pytest.mark.req("A20")
def test_no_provider_has_a_price_of_its_own_and_the_list_knows_the_ones_it_is_made_for():
    paid = ("anthropic", "gemini", "openai", "groq", "mistral", "deepseek", "xai")

    built_in_prices = [name for name, entry in PROVIDERS.items() if "price" in " ".join(entry)]
    unknown = [
        name
        for name in paid
        if price_of(info(name, str(PROVIDERS[name]["model"])), "", built_in(name)) is None
    ]

    assert (built_in_prices, unknown) == ([], [])


@pytest.mark.req("A20")
def test_a_list_price_does_not_follow_to_another_model_or_address():
    other = built_in("openai", model="gpt-4.1")
    elsewhere = built_in("openai", base_url="https://proxy.example.com/v1")
    unheard = built_in("openai", model="gpt-unheard-of")

    mini = info("openai", "gpt-4o-mini")
    assert price_of(mini, "", built_in("openai")) == MINI
    assert price_of(info("openai", "gpt-4.1"), "gpt-4.1", other) == Price(2.0, 8.0, "list", 0.50)
    assert price_of(mini, "", elsewhere) is None
    assert price_of(info("openai", "gpt-unheard-of"), "", unheard) is None


@pytest.mark.req("A20")
def test_a_model_on_this_machine_is_free_unless_a_price_is_set():
    moved = built_in("openai", base_url="http://127.0.0.1:1/v1")
    paid = table(model="m", price_in_per_million=0.1, price_out_per_million=0.2)

    assert price_of(info("openai", "gpt-4o-mini", local=True), "", moved) == FREE
    assert price_of(info("ollama", "llama3.2", local=True), "", built_in("ollama")) == FREE
    assert price_of(info("mine", "m", local=True), "", paid) == Price(0.1, 0.2, "configured")


@pytest.mark.req("P6")
@pytest.mark.parametrize(
    "model",
    ["models/gpt-4o", "openai/gpt-4o:extended", "GPT-4o", "gpt-4o-2024-08-06", "gpt-4o-20240806"],
)
def test_folder_case_variant_and_date_do_not_hide_what_a_model_can_do(model):
    known = known_model("gpt-4o")

    assert known is not None
    assert known_model(model) == known


@pytest.mark.req("P6")
def test_a_family_counts_after_every_whole_name():
    dated, unheard = known_model("claude-haiku-4-5-20251001"), known_model("claude-unheard-of")

    assert dated is not None
    assert unheard is not None
    assert (dated.match, unheard.match) == (("claude-haiku-4-5",), ("claude-*",))
    assert known_model("my-own-model") is None


@pytest.mark.req("A20")
def test_the_file_says_when_it_was_compiled_from_what_and_under_which_licence():
    prices = price_list()

    assert prices.date > date(2026, 1, 1)
    assert prices.licence == "MIT"
    assert "published by the services" in prices.source


@pytest.mark.req("A20")
def test_every_name_of_the_file_reaches_its_entry():
    rows = [(name, one) for one in price_list().model for name in one.match]

    found = {(name, one.service): known_model(name.replace("*", "")) for name, one in rows}

    assert len(found) == len(rows)
    assert [name for name, one in rows if found[name, one.service] != one] == []


@pytest.mark.req("A20", "P6")
def test_the_numbers_of_the_file_fit_each_other():
    rows = price_list().model
    priced = [one for one in rows if one.price_in is not None]

    assert [one.match for one in priced if one.price_out is None or "*" in "".join(one.match)] == []
    assert [
        one.match for one in rows if one.price_in is None and one.price_cached is not None
    ] == []
    assert [one.match for one in priced if (one.price_cached or 0) >= (one.price_in or 0)] == []
    assert [
        one.match for one in rows if one.price_in is None and one.price_cache_write is not None
    ] == []
    assert [
        one.match
        for one in priced
        if one.service == "anthropic"
        and one.price_cache_write != pytest.approx(1.25 * (one.price_in or 0))
    ] == []
    assert [one.match for one in rows if (one.max_output or 0) > one.context] == []
    assert {one.service for one in rows} <= set(PROVIDERS)


@pytest.mark.req("A20")
def test_an_entry_that_could_not_be_checked_says_so():
    unsure = {name for one in price_list().model if not one.checked for name in one.match}

    assert unsure == {"gemini-embedding*", "gemini-*", "grok-4", "grok-4-0709"}
