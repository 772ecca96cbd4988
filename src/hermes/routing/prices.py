"""What is known of models by their names: price, context and abilities, from `prices.toml`.

Pure data beside the policy. A model that is not in the file works all the same; its price is
unknown, which is never the same as free.
"""

import re
import tomllib
from datetime import date
from fnmatch import translate
from functools import lru_cache
from importlib import resources
from typing import Literal

import msgspec

from hermes.config import ProviderSettings
from hermes.config.entries import PROVIDERS
from hermes.ports.provider import ProviderInfo

Ability = Literal["tools", "vision", "schema", "embeddings"]
PriceSource = Literal["configured", "list", "this machine"]
_REMEMBERED = 1024
_OPEN_WIRE = "openai"  # spoken by every other service too, so it tells nothing of whose price it is


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the file: what every model whose name matches costs and can do."""

    match: str
    service: str
    context: int
    what: frozenset[Ability]
    price_in: float | None = None
    price_out: float | None = None


class PriceList(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file, with the day it was compiled."""

    date: date
    source: str
    licence: str
    model: tuple[Known, ...]


class Price(msgspec.Struct, frozen=True):
    """Dollars per million tokens read and written, and where that is from."""

    read: float
    written: float
    source: PriceSource


@lru_cache(maxsize=1)
def price_list() -> PriceList:
    """Return the file that Hermes ships."""
    text = (resources.files("hermes.routing") / "prices.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), PriceList)


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[re.Pattern[str], Known], ...]:
    return tuple((re.compile(translate(one.match)), one) for one in price_list().model)


@lru_cache(maxsize=_REMEMBERED)
def known_model(model: str) -> Known | None:
    """Return what is known of a model by its name, or None."""
    name = model.rpartition("/")[2].lower()
    return next((known for pattern, known in _patterns() if pattern.match(name)), None)


def is_service(known: Known, name: str, kind: str) -> bool:
    """Tell whether a provider of this name and kind is the service that an entry speaks of."""
    return known.service == name or (known.service == kind and kind != _OPEN_WIRE)


def price_of(info: ProviderInfo, model: str, table: ProviderSettings | None) -> Price | None:
    """Return what a model costs at a provider, or None when that is not known."""
    model = model or info.model
    own = None if table is None else _configured(info.name, model, table=table)
    if own is not None and (own.read or own.written or not info.local):
        return own
    if info.local:
        return Price(0.0, 0.0, "this machine")
    known = known_model(model)
    if known is None or known.price_in is None or not _is_priced_by(known, info.name, table=table):
        return None
    return Price(known.price_in, known.price_out or 0.0, "list")


def _is_priced_by(known: Known, name: str, *, table: ProviderSettings | None) -> bool:
    """Tell whether a provider is the service whose price is known, at the service's own address."""
    if table is None:
        return is_service(known, name, "")
    return is_service(known, name, table.kind) and not _is_moved(name, table)


def _is_moved(name: str, table: ProviderSettings) -> bool:
    """Tell whether a built-in provider was given another address, where its prices mean nothing."""
    built_in = PROVIDERS.get(name, {}).get("base_url")
    return table.base_url is not None and built_in not in {None, table.base_url}


def _configured(name: str, model: str, *, table: ProviderSettings) -> Price | None:
    """Return the price that is set for a provider's own model.

    A built-in price is that of the built-in model at the built-in address.
    """
    read, written = table.price_in_per_million, table.price_out_per_million
    if read is None or written is None or (table.model is not None and table.model != model):
        return None
    built_in = PROVIDERS.get(name, {})
    is_default = (read, written) == (
        built_in.get("price_in_per_million"),
        built_in.get("price_out_per_million"),
    )
    if is_default and (built_in.get("model", model) != model or _is_moved(name, table)):
        return None
    return Price(read, written, "configured")
