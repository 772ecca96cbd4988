"""Errors in OpenAI's shape: chat completions, Responses and embeddings answer with these.

`{"error": {"message", "type", "param", "code"}}`, with the status and headers that OpenAI's clients
decide by. What a caller cannot do anything about (the database, a wrong setting) is told without
its text: that belongs in the log.
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
    StreamTruncated,
    TooLarge,
    TryLater,
    Unauthenticated,
)
from hermes.net.http_json import json_response
from hermes.ports.channel import HttpResponse
from hermes.server.v1.blame import Blame, blame_of

_REQUEST = "invalid_request_error"
_SERVER = "server_error"
_QUOTA = "insufficient_quota"
# OpenAI's clients wait as long as Retry-After says only up to here, and try again at once beyond it.
_LONGEST_RETRY_S = 60.0
_INTERNAL = "Something went wrong inside Hermes; its log tells what. Trying again may help."


class _Kind(msgspec.Struct, frozen=True):
    """How a class of errors is told; a `code` of None is the error's own.

    `final` ones are not worth a client's own retries.
    """

    status: int
    type: str
    code: str | None = None
    final: bool = False


_KINDS: dict[type[HermesError], _Kind] = {
    BadRequest: _Kind(400, _REQUEST, "invalid_request"),
    Unauthenticated: _Kind(401, _REQUEST, "invalid_api_key"),
    Forbidden: _Kind(403, _REQUEST, "permission_denied"),
    NotFound: _Kind(404, _REQUEST, "model_not_found"),
    Conflict: _Kind(409, _REQUEST),
    TooLarge: _Kind(413, _REQUEST, "request_too_large"),
    Refused: _Kind(400, _REQUEST),
    OverBudget: _Kind(429, _QUOTA, _QUOTA),
    RateLimited: _Kind(429, "rate_limit_error", "rate_limit_exceeded"),
    ModelsStopped: _Kind(503, _SERVER, final=True),
    TryLater: _Kind(503, _SERVER),
    AnswerInvalid: _Kind(502, _SERVER, final=True),
    ProviderRejected: _Kind(502, _SERVER, final=True),
    ProviderTimeout: _Kind(504, _SERVER),
    ProviderUnavailable: _Kind(502, _SERVER),
    StreamTruncated: _Kind(502, _SERVER),
    ProviderError: _Kind(502, _SERVER),
}
# What every service would refuse is the caller's to change.
_FAULTY = _Kind(400, _REQUEST)
_TOO_LONG = _Kind(400, _REQUEST, "context_length_exceeded")
_ABSENT = _Kind(404, _REQUEST, "model_not_found")
_BUSY = _Kind(429, "rate_limit_error", "rate_limit_exceeded")
_LATER = _Kind(503, _SERVER)
_UPSTREAM: dict[Blame, _Kind] = {
    "request": _FAULTY,
    "length": _TOO_LONG,
    "model": _ABSENT,
    "rate": _BUSY,
    "later": _LATER,
}
_UNKNOWN = _Kind(500, _SERVER, "internal_error")


def openai_refusal(error: HermesError) -> HttpResponse:
    """Return the answer that tells `error` to one of OpenAI's clients."""
    headers: dict[str, str] = {}
    wait = error.retry_after if isinstance(error, TryLater | ProviderUnavailable) else None
    if wait is not None:
        headers["retry-after"] = str(max(1, math.ceil(wait)))
    if _kind_of(error).final or (wait or 0) > _LONGEST_RETRY_S:
        headers["x-should-retry"] = "false"
    if isinstance(error, Unauthenticated):
        headers["www-authenticate"] = "Bearer"
    elif isinstance(error, TooLarge):
        headers["connection"] = "close"
    return json_response(openai_error(error), _kind_of(error).status, headers=headers)


def openai_error(error: HermesError) -> dict[str, object]:
    """Return the JSON object that tells `error`, in a body or inside a stream."""
    kind = _kind_of(error)
    told = {
        "message": _INTERNAL if kind is _UNKNOWN else str(error),
        "type": kind.type,
        "param": None,
        "code": kind.code or error.code,
    }
    return {"error": told}


def _kind_of(error: HermesError) -> _Kind:
    if isinstance(error, ProviderError):
        told = _UPSTREAM.get(blame_of(error))
        if told is not None:
            return told
    for kind in type(error).__mro__:
        if kind in _KINDS:
            return _KINDS[kind]
    return _UNKNOWN
