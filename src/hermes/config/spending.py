"""The settings of spending: how much model calls may take, and when an answer is given again.

Part of config. The open table of tiers has built-in entries, which an operator adds to or changes
one by one.
"""

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import Field

from hermes.config.section import Count, Delay, Named, Price, Seconds, Section, Whole

DAY_TOKENS: Mapping[str, int] = MappingProxyType(
    {"free": 50_000, "starter": 200_000, "pro": 1_000_000}
)


class BudgetSettings(Section):
    """How much model calls may take; what is not set is not limited. Days follow time_zone."""

    platform_day_usd: Price | None = Field(
        default=None, description="What all model calls of one day together may cost, in dollars."
    )
    by_tier: bool = Field(
        default=False,
        description="Whether each person is limited to the daily tokens of their tier "
        "(person_day_tokens).",
    )
    person_day_tokens: Named[Whole] = Field(
        default_factory=lambda: DAY_TOKENS,
        description="The tokens that a person of a tier may use per day; a tier that is not "
        "listed has no limit. Built in are free, starter and pro.",
    )
    person_month_usd: Price | None = Field(
        default=None, description="What the calls of one person may cost per month, in dollars."
    )
    assumed_price_in_per_million: Price = Field(
        default=3.0,
        description="Dollars per million input tokens that budgets count for a model whose price "
        "is unknown.",
    )
    assumed_price_out_per_million: Price = Field(
        default=15.0,
        description="Dollars per million output tokens that budgets count for a model whose "
        "price is unknown.",
    )
    expected_output_tokens: Count = Field(
        default=1024,
        description="How many tokens a call without a limit is expected to write at most; held "
        "before the call, settled after it.",
    )


class CacheSettings(Section):
    """Giving an answer again to the same question of the same person."""

    v1: bool = Field(
        default=False,
        description="Whether calls of /v1 may get cached answers unless they say otherwise.",
    )
    max_age_s: Seconds = Field(default=3600, description="How long an answer stays cached.")
    max_answers: Count = Field(default=10_000, description="How many answers are cached.")


class CallSettings(Section):
    """The endpoints under /v1."""

    max_body_bytes: Count = Field(
        default=33_554_432, description="A request body larger than this is refused."
    )
    max_embedding_tokens: Count = Field(
        default=300_000,
        description="A request for embeddings of more tokens than this, counted as four characters"
        " each, is refused.",
    )
    wait_s: Delay = Field(
        default=5,
        description="If a model service asks to retry within this time, Hermes waits; otherwise "
        "it tries the next candidate.",
    )
    ledger_lag_s: Delay = Field(
        default=0.1, description="The usage of calls is written to the ledger within this time."
    )
