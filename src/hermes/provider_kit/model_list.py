"""A service's own list of its models: asks for it, and reads it without trusting a value in it.

Services agree on a list of objects with a name and differ in what else they say, and how they call it:
the names are data here. A value that cannot be true is left out, and so is a model without a usable
name; the rest of the list counts.
"""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from hermes.errors import NetError, ProviderUnavailable
from hermes.net.client import HttpClient
from hermes.ports.model_lists import ServedModel
from hermes.provider_kit.service_failure import MAX_ERROR_BYTES
from hermes.provider_kit.stream import ModelEndpoint, wire_words

LIST_S = 20.0
_MAX_LIST_BYTES = 16_777_216
_MOST_MODELS = 10_000
_LONGEST_NAME = 200
_CONTEXTS = range(256, 100_000_001)
_OUTPUTS = range(1, 10_000_001)
_DEAREST = 100_000.0
_PER_MILLION = 1_000_000
# Where the list is, what a model is called, and its sizes; the first that is there counts.
_LISTS = ("data", "models")
_NAMES = ("id", "name", "model")
_CONTEXT = (
    "context_length",
    "context_window",
    "max_context_length",
    "max_model_len",
    "max_input_tokens",
    "inputTokenLimit",
)
_OUTPUT = ("max_completion_tokens", "max_output_tokens", "max_tokens", "outputTokenLimit")
# Prices per token (OpenRouter), or per million of them (Together).
_BY_TOKEN = ("prompt", "completion", "input_cache_read", "input_cache_write")
_BY_MILLION = ("input", "output", "cached_input", "")
# Any: JSON of a service.
_Json = Mapping[str, Any]


async def ask_for_list(client: HttpClient, endpoint: ModelEndpoint) -> Mapping[str, ServedModel]:
    """Return the models that a service lists at an address; raises `ProviderError`."""
    name = endpoint.provider
    try:
        async with client.request(
            f"provider.{name}.models",
            "GET",
            endpoint.url,
            headers=endpoint.headers,
            timeout_s=LIST_S,
            trusted=True,
        ) as response:
            is_list = response.status == 200
            body = await response.read(_MAX_LIST_BYTES if is_list else MAX_ERROR_BYTES)
            if not is_list:
                raise endpoint.failure(
                    name,
                    response.status,
                    headers=response.headers,
                    body=body,
                    secret=endpoint.secret,
                    absent="the service has no list of models at this address",
                )
    except NetError as error:
        raise ProviderUnavailable(wire_words(name, error)) from error
    return read_list(body, name)


def read_list(body: bytes, provider: str) -> Mapping[str, ServedModel]:
    """Return the models in a list by name; raises `ProviderUnavailable` if it is not one."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = None
    if isinstance(found, dict):
        found = next((found[key] for key in _LISTS if isinstance(found.get(key), list)), None)
    if not isinstance(found, list):
        raise ProviderUnavailable(
            f"{provider}: the service's list of models is not a list; check"
            f" providers.{provider}.base_url"
        )
    models: dict[str, ServedModel] = {}
    for row in found[:_MOST_MODELS]:
        name = _name_of(row) if isinstance(row, dict) else None
        if name is not None:
            models[name] = _model_of(row)
    return models


def _name_of(row: _Json) -> str | None:
    name = next((row[key] for key in _NAMES if isinstance(row.get(key), str)), "")
    name = name.removeprefix("models/")
    is_usable = name.isprintable() and not any(letter.isspace() for letter in name)
    return name if name and is_usable and len(name) <= _LONGEST_NAME else None


def _model_of(row: _Json) -> ServedModel:
    top, prices = row.get("top_provider"), row.get("pricing")
    places: tuple[_Json, ...] = (row, top) if isinstance(top, dict) else (row,)
    price_in, price_out, cached, written = _prices(prices if isinstance(prices, dict) else {})
    return ServedModel(
        context=_size(places, _CONTEXT, _CONTEXTS),
        max_output=_size(places, _OUTPUT, _OUTPUTS),
        # One price alone says nothing about a call.
        price_in=price_in if price_out is not None else None,
        price_out=price_out if price_in is not None else None,
        price_cached=cached,
        price_cache_write=written,
    )


def _size(places: tuple[_Json, ...], names: tuple[str, ...], allowed: range) -> int | None:
    for place in places:
        for name in names:
            value = place.get(name)
            if type(value) is int and value in allowed:
                return value
    return None


def _prices(prices: _Json) -> tuple[float | None, ...]:
    is_by_token = _BY_TOKEN[0] in prices
    names, factor = (_BY_TOKEN, _PER_MILLION) if is_by_token else (_BY_MILLION, 1)
    return tuple(_price(prices.get(name), factor) for name in names)


def _price(value: object, factor: int) -> float | None:
    """Return a price per million tokens; a negative one is a service's word for "it depends"."""
    try:
        price = float(value) * factor if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return round(price, 6) if 0 <= price <= _DEAREST and not isinstance(value, bool) else None
