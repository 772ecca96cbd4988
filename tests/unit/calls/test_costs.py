"""From what a service counted to the dollars that budgets count, with nothing set but a key."""

from pathlib import Path

import msgspec
import pytest

from hermes.calls.costs import Cost, Costs
from hermes.config import load
from hermes.config.entries import MODELS
from hermes.message.reply import Usage
from hermes.ports.provider import ProviderInfo
from hermes.providers.anthropic.assembly import AnthropicAssembly
from hermes.providers.anthropic.settings import AnthropicSettings
from hermes.routing.model_facts import ModelFacts

HAIKU, SONNET = MODELS["claude-haiku"], MODELS["claude-sonnet"]
MILLION = 1_000_000


def costs(home: Path, **variables: str) -> Costs:
    settings = load({"ANTHROPIC_API_KEY": "not-a-real-key", **variables}, home).settings
    return Costs(ModelFacts(settings.providers), settings=settings.budgets)


def anthropic(model: str) -> ProviderInfo:
    return ProviderInfo(
        name="anthropic", model=model, tools=True, vision=True, context_tokens=200_000
    )


def answered(model: str, **counts: int) -> Usage:
    """Return the usage of an answer for which the service told these counts."""
    made = AnthropicAssembly(
        AnthropicSettings(name="anthropic", model=model), sent_chars=1, make_id=lambda _: "made"
    )
    for event in (
        {"type": "message_start", "message": {"model": model, "usage": counts}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ):
        made.feed(msgspec.json.encode(event))
    return made.end().usage


@pytest.mark.req("A20", "A19")
@pytest.mark.parametrize(
    ("model", "counts", "dollars"),
    [
        (HAIKU, {"input_tokens": MILLION, "output_tokens": 0}, 0.80),
        (HAIKU, {"input_tokens": 0, "output_tokens": MILLION}, 4.00),
        (HAIKU, {"input_tokens": 0, "cache_read_input_tokens": MILLION}, 0.08),
        (HAIKU, {"input_tokens": 0, "cache_creation_input_tokens": MILLION}, 1.00),
        (SONNET, {"input_tokens": MILLION, "output_tokens": 0}, 3.00),
        (SONNET, {"input_tokens": 0, "output_tokens": MILLION}, 15.00),
        (SONNET, {"input_tokens": 0, "cache_read_input_tokens": MILLION}, 0.30),
        (SONNET, {"input_tokens": 0, "cache_creation_input_tokens": MILLION}, 3.75),
    ],
)
def test_the_models_of_the_tiers_cost_what_the_budgets_are_made_for(
    tmp_path: Path, model: str, counts: dict[str, int], dollars: float
):
    used = answered(model, **counts)

    cost = costs(tmp_path).of(anthropic(HAIKU), model, used)

    assert used.cost_usd == 0.0
    assert cost == Cost(msgspec.structs.replace(used, cost_usd=dollars))
    assert cost.counted_usd == dollars


@pytest.mark.req("A20")
def test_a_price_of_ones_own_counts_for_all_that_was_read_and_written(tmp_path: Path):
    own = {
        "HERMES_PROVIDERS__ANTHROPIC__PRICE_IN_PER_MILLION": "2",
        "HERMES_PROVIDERS__ANTHROPIC__PRICE_OUT_PER_MILLION": "6",
    }
    used = Usage(3 * MILLION, MILLION, cached_in=MILLION, cache_written=MILLION)

    cost = costs(tmp_path, **own).of(anthropic(HAIKU), HAIKU, used)

    assert cost == Cost(msgspec.structs.replace(used, cost_usd=12.0))
