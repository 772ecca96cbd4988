"""What is known about models by name: price, context size and abilities, from `prices.toml`.

Pure data beside the policy, and the cost of a call computed from it. A model that is not in the
file still works; its price is unknown, which is not the same as free.
"""

import re
import tomllib
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import resources
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from hermes.config import ProviderSettings
from hermes.config.entries import PROVIDERS
from hermes.message.reply import Usage
from hermes.ports.provider import ProviderInfo

Ability = Literal["tools", "vision", "schema", "embeddings"]
PriceSource = Literal["configured", "service", "list", "this machine"]
_REMEMBERED = 1024
_PER_MILLION = 1_000_000
_COST_DIGITS = 9
_OPEN_WIRE = "openai"  # used by every other service too, so it does not identify the service
_HOMES = {"openai-responses": "openai"}  # wires that do not have the name of their own service
_DATE = re.compile(r"-20\d\d(?:-\d\d-\d\d|\d{4})$")


class KnownModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of the file: price and abilities of every model whose name matches.

    `checked` is false if public sources were missing or contradict each other.
    """

    match: tuple[str, ...]
    service: str
    context: int
    what: frozenset[Ability]
    price_in: float | None = None
    price_out: float | None = None
    price_cached: float | None = None
    price_cache_write: float | None = None
    max_output: int | None = None
    checked: bool = True


class FreeModels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names of models that a service does not charge for."""

    match: tuple[str, ...]
    service: str


class PriceList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file, with the day it was compiled."""

    date: date
    source: str
    licence: str
    free: tuple[FreeModels, ...]
    model: tuple[KnownModel, ...]


class Price(msgspec.Struct, frozen=True):
    """Dollars per million tokens read and written, and the source of the price.

    `cached` is for tokens read from the service's prompt cache and `cache_written` for tokens
    written to it; None means the same as for other tokens.
    """

    read: float
    written: float
    source: PriceSource
    cached: float | None = None
    cache_written: float | None = None


@lru_cache(maxsize=1)
def price_list() -> PriceList:
    """Return the file that Hermes ships."""
    text = (resources.files("hermes.routing") / "prices.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), PriceList)


@lru_cache(maxsize=1)
def _whole_names() -> dict[str, tuple[KnownModel, ...]]:
    found: dict[str, tuple[KnownModel, ...]] = {}
    for known in price_list().model:
        for name in known.match:
            found[name] = (*found.get(name, ()), known)
    return found


def _own_name(model: str) -> str:
    return model.rpartition("/")[2].lower()


@lru_cache(maxsize=_REMEMBERED)
def known_model(model: str) -> KnownModel | None:
    """Return what is known about a model by its name, or None."""
    name = _own_name(model)
    bare = name.partition(":")[0]
    for one in (name, bare, _DATE.sub("", bare)):
        if one in _whole_names():
            return _whole_names()[one][0]
    return next((one for one in price_list().model if _is_one_of(name, one.match)), None)


def most_output(model: str) -> int | None:
    """Return how many tokens a model can write in one answer, or None if unknown."""
    known = known_model(model)
    return None if known is None else known.max_output


def _is_one_of(name: str, match: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, one) for one in match)


def is_service(known: KnownModel, name: str, kind: str) -> bool:
    """Return whether a provider of this name and kind is the service of an entry."""
    return known.service == name or (known.service == kind and kind != _OPEN_WIRE)


def price_of(info: ProviderInfo, model: str, table: ProviderSettings | None) -> Price | None:
    """Return what a model costs at a provider, or None if unknown."""
    model = model or info.model
    own = None if table is None else _configured(model, table)
    if own is not None:
        return own
    if info.local:
        return _THIS_MACHINE
    service = service_of(info, table)
    return None if service is None else _listed(model, service)


@lru_cache(maxsize=1_024)
def undated(model: str) -> str:
    """Return a model's name without the date that some services add to it."""
    return _DATE.sub("", model)


def service_of(info: ProviderInfo, table: ProviderSettings | None) -> str | None:
    """Return the service that a provider calls; None if it is not a known one."""
    if table is None:
        return _service_at(info.name, "", None)
    return _service_at(info.name, table.kind, table.base_url)


def listed_models(service: str) -> tuple[str, ...]:
    """Return the full names of a service's models that can answer; none without rows."""
    rows = [one for one in price_list().model if one.service == service]
    answering = [one for one in rows if "embeddings" not in one.what]
    return tuple(name for one in answering for name in one.match if "*" not in name)


def is_listed(model: str, service: str) -> bool:
    """Return whether a service's rows name a model; a name pattern proves no model."""
    name = _own_name(model)
    bare = name.partition(":")[0]
    rows = [row for one in {name, bare, _DATE.sub("", bare)} for row in _whole_names().get(one, ())]
    return any(row.service == service for row in rows)


def usage_cost(price: Price | None, usage: Usage) -> Usage:
    """Return the usage with its cost by a price; without one its tokens count as unpriced."""
    if price is None:
        tokens = usage.tokens_in + usage.tokens_out
        return msgspec.structs.replace(usage, cost_usd=0.0, unpriced=tokens)
    cost = _cost_of_input(price, usage) + usage.tokens_out * price.written
    return msgspec.structs.replace(
        usage, cost_usd=round(cost / _PER_MILLION, _COST_DIGITS), unpriced=0
    )


def _cost_of_input(price: Price, usage: Usage) -> float:
    """Return the cost of the input, in millionths; no part is counted twice."""
    cached = min(usage.cached_in, usage.tokens_in)
    kept = min(usage.cache_written, usage.tokens_in - cached)
    cached_rate = price.read if price.cached is None else price.cached
    kept_rate = price.read if price.cache_written is None else price.cache_written
    fresh = usage.tokens_in - cached - kept
    return fresh * price.read + cached * cached_rate + kept * kept_rate


_THIS_MACHINE = Price(0.0, 0.0, "this machine")
_SERVICES = {
    urlsplit(str(entry["base_url"])).hostname: name
    for name, entry in PROVIDERS.items()
    if str(entry.get("base_url", "")).startswith("https://")
}


@lru_cache(maxsize=_REMEMBERED)
def _service_at(name: str, kind: str, base_url: str | None) -> str | None:
    """Return the service that a provider calls, by its address and not by its name."""
    if base_url is not None:
        return _SERVICES.get(urlsplit(base_url).hostname)
    service = name if name in PROVIDERS else _HOMES.get(kind, kind)
    return service if service in PROVIDERS else None


@lru_cache(maxsize=_REMEMBERED)
def _listed(model: str, service: str) -> Price | None:
    """Return a service's list price; another variant (`name:free`) has another price."""
    name = _own_name(model)
    if any(one.service == service and _is_one_of(name, one.match) for one in price_list().free):
        return Price(0.0, 0.0, "list")
    for one in (name, _DATE.sub("", name)):
        for known in _whole_names().get(one, ()):
            if known.service == service:
                return _price_in(known)
    return None


def _price_in(known: KnownModel) -> Price | None:
    if known.price_in is None or known.price_out is None:
        return None
    return Price(
        known.price_in, known.price_out, "list", known.price_cached, known.price_cache_write
    )


def _configured(model: str, table: ProviderSettings) -> Price | None:
    """Return the configured price of a provider's own model."""
    read, written = table.price_in_per_million, table.price_out_per_million
    if read is None or written is None or (table.model is not None and table.model != model):
        return None
    return Price(read, written, "configured")
