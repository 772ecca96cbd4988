"""What a call costs: by the price of its model, or by an assumption if the price is unknown.

An unknown price never counts as free: the cost stays unknown, and budgets count the assumption.
"""

import msgspec

from hermes.calls.token_estimate import input_tokens
from hermes.config import BudgetSettings
from hermes.message.reply import Usage
from hermes.ports.provider import ModelRequest, ProviderInfo
from hermes.routing.model_facts import ModelFacts
from hermes.routing.prices import usage_cost

_PER_MILLION = 1_000_000
# Few models write more in one answer. A caller who allows a billion must not hold a whole budget.
_MOST_OUTPUT = 131_072


class Cost(msgspec.Struct, frozen=True):
    """A usage with its cost, and what budgets count for the part whose price is unknown."""

    usage: Usage
    assumed_usd: float = 0.0

    @property
    def counted_usd(self) -> float:
        """The dollars that budgets count."""
        return self.usage.cost_usd + self.assumed_usd

    @property
    def tokens(self) -> int:
        """The tokens that budgets count."""
        return self.usage.tokens_in + self.usage.tokens_out


class Costs:
    """Prices calls by what is known of their models."""

    def __init__(self, facts: ModelFacts, *, settings: BudgetSettings) -> None:
        self._facts = facts
        self._settings = settings

    def of(
        self, info: ProviderInfo, model: str, usage: Usage, *, said_model: str | None = None
    ) -> Cost:
        """Return what a usage costs; `said_model` is the model that the service named."""
        price = self._facts.price_of(info, model)
        if price is None and said_model:
            price = self._facts.price_of(info, said_model)
        priced = usage_cost(price, usage)
        return Cost(priced, self._assumed(priced) if priced.unpriced else 0.0)

    def ahead(self, info: ProviderInfo, request: ModelRequest) -> Cost:
        """Return the expected maximum cost of a call, before it is made."""
        limit = request.max_output_tokens
        written = self._settings.expected_output_tokens if limit is None else limit
        usage = Usage(input_tokens(request), min(written, _MOST_OUTPUT))
        return self.of(info, request.model, usage)

    def _assumed(self, usage: Usage) -> float:
        settings = self._settings
        read = usage.tokens_in * settings.assumed_price_in_per_million
        written = usage.tokens_out * settings.assumed_price_out_per_million
        return (read + written) / _PER_MILLION
