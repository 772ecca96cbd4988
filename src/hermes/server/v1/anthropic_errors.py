"""Errors in Anthropic's shape, with the status and headers that its clients decide by.

`{"type": "error", "error": {"type", "message"}, "request_id"?}`. Errors that a caller can do
nothing about (the database, a wrong setting) are reported without their text, which belongs in the
log.
"""

from hermes.errors import (
    AnswerInvalid,
    BadRequest,
    Conflict,
    Forbidden,
    HermesError,
    ModelsStopped,
    NoCredits,
    NotFound,
    OverBudget,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    RateLimited,
    Refused,
    TooLarge,
    TryLater,
    Unauthenticated,
)
from hermes.http.json_body import json_response
from hermes.ports.channel import HttpResponse
from hermes.server.v1.blame import blame_of
from hermes.server.v1.refusals import Kind, Kinds, headers_for

_REQUEST = "invalid_request_error"
_SERVER = "api_error"
_RATE = Kind(429, "rate_limit_error")
_FAULTY = Kind(400, _REQUEST)

_KINDS = Kinds(
    by_class={
        BadRequest: _FAULTY,
        Unauthenticated: Kind(401, "authentication_error"),
        Forbidden: Kind(403, "permission_error"),
        NotFound: Kind(404, "not_found_error"),
        Conflict: Kind(409, _REQUEST, final=True),
        TooLarge: Kind(413, "request_too_large"),
        NoCredits: Kind(402, "billing_error"),
        Refused: _FAULTY,
        OverBudget: _RATE,
        RateLimited: _RATE,
        ModelsStopped: Kind(503, _SERVER, final=True),
        TryLater: Kind(529, "overloaded_error"),
        AnswerInvalid: Kind(502, _SERVER, final=True),
        ProviderRejected: Kind(502, _SERVER, final=True),
        ProviderTimeout: Kind(504, "timeout_error"),
        ProviderError: Kind(502, _SERVER),
    },
    by_blame={
        "request": Kind(400, _REQUEST, keeps_status=True),
        "length": _FAULTY,
        "model": Kind(404, "not_found_error"),
        "rate": _RATE,
        "later": Kind(503, _SERVER),
    },
    unknown=Kind(500, _SERVER),
)


def anthropic_refusal(error: HermesError, *, request_id: str | None = None) -> HttpResponse:
    """Return the HTTP answer that reports `error` to one of Anthropic's clients."""
    kind = _KINDS.of(error)
    body = anthropic_error(error, request_id=request_id)
    return json_response(body, kind.status, headers=headers_for(error, kind))


def anthropic_error(error: HermesError, *, request_id: str | None = None) -> dict[str, object]:
    """Return the JSON object that reports `error`, in a body or inside a stream."""
    message = _KINDS.words_of(error)
    if isinstance(error, ProviderError) and blame_of(error) == "length":
        # Claude Code recognises these words and then shortens its conversation.
        message = f"prompt is too long: {message}"
    told: dict[str, object] = {
        "type": "error",
        "error": {"type": _KINDS.of(error).type, "message": message},
    }
    return told if request_id is None else told | {"request_id": request_id}
