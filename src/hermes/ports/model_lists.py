"""What a model service says of its own models: their names, sizes and prices.

A provider that can ask its service is a `ModelLister`. What it returns came from outside and was
checked there: a value that cannot be true is missing, never guessed.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import msgspec


class ServedModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model as its service describes it; None is what the service does not say.

    Prices are dollars per million tokens.
    """

    context: int | None = None
    max_output: int | None = None
    price_in: float | None = None
    price_out: float | None = None
    price_cached: float | None = None
    price_cache_write: float | None = None


class ServiceList(msgspec.Struct, frozen=True, kw_only=True):
    """The models of one provider, by name, as its service listed them `at` that time.

    `address` is where it was asked: a list of another address says nothing about this one.
    """

    at: float
    address: str
    models: Mapping[str, ServedModel]


@runtime_checkable
class ModelLister(Protocol):
    """A provider whose service can list its models."""

    async def list_models(self) -> Mapping[str, ServedModel]:
        """Return the models by name; raises `ProviderError`."""
        ...
