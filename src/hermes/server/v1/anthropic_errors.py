"""Errors in Anthropic's shape, with the status and headers that its clients decide by.

`{"type": "error", "error": {"type", "message"}, "request_id"?}`. What a caller cannot do anything
about (the database, a wrong setting) is told without its text: that belongs in the log.
"""

import math

import msgspec

from hermes.errors import (
    AnswerInvalid,
    BadRequest,
    Conflict,
    Forbidden,
    HermesError,
    ModelsStopped,
    NotFound,
    OverBudget,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
    Refused,
    TooLarge,
    TryLater,
    Unauthenticated,
)
from hermes.net.http_json import json_response
from hermes.ports.channel import HttpResponse
from hermes.server.v1.blame import Blame, blame_of

_REQUEST = "invalid_request_error"
_SERVER = "api_error"
# Anthropic's clients wait as long as Retry-After says only up to here, and try at once beyond it.
_LONGEST_RETRY_S = 60.0
_INTERNAL = "Something went wrong inside Hermes; its log tells what. Trying again may help."


class _Kind(msgspec.Struct, frozen=True):
    """How a class of errors is told; `final` ones are not worth a client's own retries."""

    status: int
    type: str
    final: bool = False


_KINDS: dict[type[HermesError], _Kind] = {
    BadRequest: _Kind(400, _REQUEST),
    Unauthenticated: _Kind(401, "authentication_error"),
    Forbidden: _Kind(403, "permission_error"),
    NotFound: _Kind(404, "not_found_error"),
    Conflict: _Kind(409, _REQUEST, final=True),
    TooLarge: _Kind(413, "request_too_large"),
    Refused: _Kind(400, _REQUEST),
    OverBudget: _Kind(429, "rate_limit_error"),
    RateLimited: _Kind(429, "rate_limit_error"),
    ModelsStopped: _Kind(503, _SERVER, final=True),
    TryLater: _Kind(529, "overloaded_error"),
    AnswerInvalid: _Kind(502, _SERVER, final=True),
    ProviderRejected: _Kind(502, _SERVER, final=True),
    ProviderTimeout: _Kind(504, "timeout_error"),
    ProviderError: _Kind(502, _SERVER),
}
# What every service would refuse is the caller's to change.
_FAULTY = _Kind(400, _REQUEST)
_LATER = _Kind(503, _SERVER)
_UPSTREAM: dict[Blame, _Kind] = {
    "request": _FAULTY,
    "length": _FAULTY,
    "model": _Kind(404, "not_found_error"),
    "rate": _Kind(429, "rate_limit_error"),
    "later": _LATER,
}
_UNKNOWN = _Kind(500, _SERVER)


def anthropic_refusal(error: HermesError, *, request_id: str | None = None) -> HttpResponse:
    """Return the answer that tells `error` to one of Anthropic's clients."""
    kind = _kind_of(error)
    headers: dict[str, str] = {}
    wait = error.retry_after if isinstance(error, TryLater | ProviderUnavailable) else None
    if wait is not None:
        headers["retry-after"] = str(max(1, math.ceil(wait)))
    if kind.final or (wait or 0) > _LONGEST_RETRY_S:
        headers["x-should-retry"] = "false"
    if isinstance(error, Unauthenticated):
        headers["www-authenticate"] = "Bearer"
    elif isinstance(error, TooLarge):
        headers["connection"] = "close"
    body = anthropic_error(error, request_id=request_id)
    return json_response(body, kind.status, headers=headers)


def anthropic_error(error: HermesError, *, request_id: str | None = None) -> dict[str, object]:
    """Return the JSON object that tells `error`, in a body or inside a stream."""
    kind = _kind_of(error)
    message = _INTERNAL if kind is _UNKNOWN else str(error)
    if isinstance(error, ProviderError) and blame_of(error) == "length":
        # The words by which Claude Code knows that it has to make its conversation shorter.
        message = f"prompt is too long: {message}"
    told: dict[str, object] = {
        "type": "error",
        "error": {"type": kind.type, "message": message},
    }
    return told if request_id is None else told | {"request_id": request_id}


def _kind_of(error: HermesError) -> _Kind:
    if isinstance(error, ProviderError):
        told = _UPSTREAM.get(blame_of(error))
        if told is not None:
            return told
    for kind in type(error).__mro__:
        if kind in _KINDS:
            return _KINDS[kind]
    return _UNKNOWN
