"""Errors in OpenAI's shape, for chat completions, Responses and embeddings.

`{"error": {"message", "type", "param", "code"}}`, with the status and headers that OpenAI's clients
decide by. Errors that a caller can do nothing about (the database, a wrong setting) are reported
without their text, which belongs in the log.
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
    PreviousResponseNotFound,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    RateLimited,
    Refused,
    ResponseNotFound,
    ResponseNotStored,
    TooLarge,
    TryLater,
    Unauthenticated,
)
from hermes.http.json_body import json_response
from hermes.ports.channel import HttpResponse
from hermes.server.v1.blame import is_of_the_account
from hermes.server.v1.refusals import Kind, Kinds, headers_for

_REQUEST = "invalid_request_error"
_SERVER = "server_error"
_QUOTA = "insufficient_quota"
_RATE = Kind(429, "rate_limit_error", "rate_limit_exceeded")
_ABSENT = Kind(404, _REQUEST, "model_not_found")

_KINDS = Kinds(
    by_class={
        BadRequest: Kind(400, _REQUEST, "invalid_request"),
        Unauthenticated: Kind(401, _REQUEST, "invalid_api_key"),
        Forbidden: Kind(403, _REQUEST, "permission_denied"),
        NotFound: _ABSENT,
        ResponseNotFound: Kind(404, _REQUEST),
        Conflict: Kind(409, _REQUEST),
        TooLarge: Kind(413, _REQUEST, "request_too_large"),
        NoCredits: Kind(429, _QUOTA, _QUOTA, final=True),
        Refused: Kind(400, _REQUEST),
        OverBudget: Kind(429, _QUOTA, _QUOTA),
        RateLimited: _RATE,
        ModelsStopped: Kind(503, _SERVER, final=True),
        TryLater: Kind(503, _SERVER),
        # Another try would be paid for, too.
        ResponseNotStored: Kind(500, _SERVER, final=True),
        AnswerInvalid: Kind(502, _SERVER, final=True),
        ProviderRejected: Kind(502, _SERVER, final=True),
        ProviderTimeout: Kind(504, _SERVER),
        ProviderError: Kind(502, _SERVER),
    },
    by_blame={
        "request": Kind(400, _REQUEST, keeps_status=True),
        "length": Kind(400, _REQUEST, "context_length_exceeded"),
        "model": _ABSENT,
        "rate": _RATE,
        "later": Kind(503, _SERVER),
    },
    unknown=Kind(500, _SERVER, "internal_error"),
)


def openai_refusal(error: HermesError) -> HttpResponse:
    """Return the HTTP answer that reports `error` to one of OpenAI's clients."""
    kind = _KINDS.of(error)
    return json_response(openai_error(error), kind.status, headers=headers_for(error, kind))


def openai_error(error: HermesError) -> dict[str, object]:
    """Return the JSON object that reports `error`, in a body or inside a stream."""
    kind = _KINDS.of(error)
    code, param = service_names(error)
    if kind.code is not None and code != _QUOTA:
        code = kind.code  # clients decide by these, whatever each service calls them
    told = {
        "message": _KINDS.words_of(error),
        "type": kind.type,
        "param": param,
        "code": code or error.code,
    }
    return {"error": told}


def service_names(error: HermesError) -> tuple[str | None, str | None]:
    """Return the code and the field that the service named, if they concern the caller; Hermes
    itself names a field only for a response that is not there.
    """
    if isinstance(error, PreviousResponseNotFound):
        return None, error.param
    if not isinstance(error, ProviderError) or is_of_the_account(error):
        return None, None
    return error.service_code, error.param
