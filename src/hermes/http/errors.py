"""Turns an error of the one tree into its HTTP status and JSON body.

The body is always `{"error": {"code", "message", "refusal"?}}`; `refusal` is the id that `hermes
why` explains. Errors without an entry here are internal and are never shown.
"""

import math

from hermes.errors import (
    AgentUnavailable,
    BadRequest,
    Conflict,
    Forbidden,
    HermesError,
    NoCredits,
    NotFound,
    OverBudget,
    RateLimited,
    Refused,
    Skipped,
    TooLarge,
    TryLater,
    Unauthenticated,
)
from hermes.http.json_body import json_response
from hermes.ports.channel import HttpResponse

_STATUS: dict[type[HermesError], int] = {
    BadRequest: 400,
    Unauthenticated: 401,
    NoCredits: 402,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    AgentUnavailable: 409,
    Skipped: 403,
    TooLarge: 413,
    Refused: 400,
    OverBudget: 429,
    RateLimited: 429,
    TryLater: 503,
}


def status_of(error: HermesError) -> int | None:
    """Return the HTTP status of an error that a caller may see, otherwise None."""
    for kind in type(error).__mro__:
        if kind in _STATUS:
            return _STATUS[kind]
    return None


def error_response(error: HermesError, *, refusal: str | None = None) -> HttpResponse:
    """Return the answer for an error that a caller may see."""
    headers: dict[str, str] = {}
    if isinstance(error, Unauthenticated):
        headers["www-authenticate"] = "Bearer"
    elif isinstance(error, TryLater):
        headers["retry-after"] = str(max(1, math.ceil(error.retry_after)))
    elif isinstance(error, TooLarge):
        headers["connection"] = "close"
    status = status_of(error) or 500
    return plain_error(status, error.code, text=str(error), refusal=refusal, headers=headers)


def plain_error(
    status: int,
    code: str,
    *,
    text: str,
    refusal: str | None = None,
    headers: dict[str, str] | None = None,
) -> HttpResponse:
    """Return an error answer for a problem of HTTP itself, such as a wrong method."""
    error = {"code": code, "message": text}
    if refusal is not None:
        error["refusal"] = refusal
    return json_response({"error": error}, status, headers=headers)


def wrong_method(found: str, allowed: str) -> HttpResponse:
    """Return the answer to a method that is not accepted."""
    text = f"The method {found} is not possible here; use {allowed}."
    return plain_error(405, "method_not_allowed", text=text, headers={"allow": allowed})
