"""The headers that tell a caller how much of a key's request rate is left, as each wire names them.

Pure. Only a key with a rate of its own has any; what a model service allows Hermes is not the caller's.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec

from hermes.errors import HermesError, RateLimited
from hermes.ports.channel import HttpResponse

_MINUTE_S = 60


class KeyRate(msgspec.Struct, frozen=True):
    """How often a key may be used: `limit` requests a minute, of which `remaining` are left.

    After `reset_s` seconds without a request all of them are left again; `at` is now.
    """

    limit: int
    remaining: int
    reset_s: float
    at: float


def rate_behind(error: HermesError, *, at: float) -> KeyRate | None:
    """Return the rate that an error is about: nothing of it is left."""
    limit = error.per_minute if isinstance(error, RateLimited) else None
    return None if limit is None else KeyRate(limit, 0, _MINUTE_S, at)


RateHeaders = Callable[[KeyRate | None], Mapping[str, str]]


def openai_rate(rate: KeyRate | None) -> Mapping[str, str]:
    """Return the headers that OpenAI's clients look for."""
    if rate is None:
        return {}
    return {
        "x-ratelimit-limit-requests": str(rate.limit),
        "x-ratelimit-remaining-requests": str(rate.remaining),
        "x-ratelimit-reset-requests": _duration(rate.reset_s),
    }


def anthropic_rate(rate: KeyRate | None) -> Mapping[str, str]:
    """Return the headers that Anthropic's clients look for."""
    if rate is None:
        return {}
    # Rounded up: a client that waits until then is not refused.
    full = datetime.fromtimestamp(math.ceil(rate.at + rate.reset_s), UTC)
    return {
        "anthropic-ratelimit-requests-limit": str(rate.limit),
        "anthropic-ratelimit-requests-remaining": str(rate.remaining),
        "anthropic-ratelimit-requests-reset": full.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _duration(seconds: float) -> str:
    """Return a time as OpenAI writes it: `120ms`, `7.2s`, `1m12s`."""
    millis = math.ceil(seconds * 1000)
    if millis < 1000:
        return f"{millis}ms"
    minutes, left = divmod(millis, _MINUTE_S * 1000)
    return (f"{minutes}m" if minutes else "") + f"{left / 1000:g}s"


def with_headers(response: HttpResponse, headers: Mapping[str, str]) -> HttpResponse:
    """Return an answer with more headers."""
    if not headers:
        return response
    return msgspec.structs.replace(response, headers={**response.headers, **headers})
