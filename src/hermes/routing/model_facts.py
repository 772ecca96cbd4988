"""What is known about a model at a provider: its context size, output limit and price.

The nearest source counts: the settings of this model, then what the service itself listed at the
last `hermes models refresh`, then the price list that Hermes ships. Whoever needs a size or a price
asks here; `ModelFacts.refresh` is the only thing that changes while a gateway runs.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from hermes.config import ProviderSettings, ServedModelSettings
from hermes.ports.model_lists import ServedModel, ServiceList
from hermes.ports.provider import ProviderInfo
from hermes.routing.prices import Price, known_model, price_of

DEFAULT_CONTEXT = int(ProviderSettings.model_fields["context_tokens"].default)
FactSource = Literal["configured", "service", "list", "provider"]
_NOTHING: Mapping[str, ServiceList] = MappingProxyType({})


class ContextSize(msgspec.Struct, frozen=True):
    """How many tokens a model can take, and who says so."""

    tokens: int
    source: FactSource


class ModelFacts:
    """Sizes and prices of models, by the settings, the services' own lists and the price list."""

    def __init__(
        self,
        tables: Mapping[str, ProviderSettings],
        lists: Mapping[str, ServiceList] = _NOTHING,
    ) -> None:
        self._tables = tables
        self.lists: Mapping[str, ServiceList] = _NOTHING
        self.refresh(lists)

    def refresh(self, lists: Mapping[str, ServiceList]) -> None:
        """Use these lists from now on; one of another address than the provider's is left out."""
        self.lists = MappingProxyType(
            {name: one for name, one in lists.items() if one.address == self.address_of(name)}
        )

    def address_of(self, provider: str) -> str:
        """Return the address that a provider's list is asked at; empty if none is set."""
        table = self._tables.get(provider)
        return "" if table is None else str(table.base_url or "")

    def models_of(self, info: ProviderInfo) -> tuple[str, ...]:
        """Return the models that a provider is configured for, its own first."""
        table = self._tables.get(info.name)
        if table is None or not table.models:
            return (info.model,)
        return tuple(dict.fromkeys((info.model, *table.models)))

    def listed_by(self, provider: str) -> Mapping[str, ServedModel]:
        """Return the models that a provider's service listed itself, by name."""
        found = self.lists.get(provider)
        return {} if found is None else found.models

    def serves(self, info: ProviderInfo, model: str) -> bool:
        """Return whether a provider is configured for a model of this name."""
        table = self._tables.get(info.name)
        return model == info.model or (table is not None and model in table.models)

    def context_of(self, info: ProviderInfo, model: str) -> int:
        """Return the context size of a model at a provider, in tokens."""
        return self.context_size(info, model).tokens

    def context_size(self, info: ProviderInfo, model: str) -> ContextSize:
        """Return the context size of a model at a provider, and who says so."""
        model = model or info.model
        own = self._configured(info.name, model)
        if own is not None and own.context_tokens is not None:
            return ContextSize(own.context_tokens, "configured")
        # A size that is set counts for the provider's own model; on this machine for every one,
        # because the server there is started with it.
        if self._is_size_set(info) and (model == info.model or info.local):
            is_known = info.name in self._tables
            return ContextSize(info.context_tokens, "configured" if is_known else "provider")
        served = self.listed_by(info.name).get(model)
        if served is not None and served.context is not None:
            return ContextSize(served.context, "service")
        known = known_model(model)
        if known is not None:
            return ContextSize(known.context, "list")
        return ContextSize(info.context_tokens, "provider")

    def output_limit_of(self, info: ProviderInfo, model: str) -> int | None:
        """Return how many tokens a model can write in one answer, or None if nobody says so."""
        model = model or info.model
        own = self._configured(info.name, model)
        if own is not None and own.max_output_tokens is not None:
            return own.max_output_tokens
        served = self.listed_by(info.name).get(model)
        if served is not None and served.max_output is not None:
            return served.max_output
        known = None if info.local else known_model(model)
        return None if known is None else known.max_output

    def price_of(self, info: ProviderInfo, model: str) -> Price | None:
        """Return what a model costs at a provider, or None if unknown."""
        model = model or info.model
        own = self._configured(info.name, model)
        if own is not None:
            read, written = own.price_in_per_million, own.price_out_per_million
            if read is not None and written is not None:
                return Price(read, written, "configured")
        price = price_of(info, model, self._tables.get(info.name))
        if price is not None and price.source != "list":
            return price
        served = self.listed_by(info.name).get(model)
        return _service_price(served) or price

    def _configured(self, provider: str, model: str) -> ServedModelSettings | None:
        table = self._tables.get(provider)
        return None if table is None else table.models.get(model)

    def _is_size_set(self, info: ProviderInfo) -> bool:
        table = self._tables.get(info.name)
        return table is None or table.context_tokens != DEFAULT_CONTEXT


def _service_price(served: ServedModel | None) -> Price | None:
    if served is None or served.price_in is None or served.price_out is None:
        return None
    return Price(
        served.price_in,
        served.price_out,
        "service",
        served.price_cached,
        served.price_cache_write,
    )
