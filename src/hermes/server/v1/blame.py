"""What a caller can do about a model call that failed at its service; the same for every wire."""

import re
from typing import Literal

from hermes.errors import PromptTooLong, ProviderError, ProviderRejected, ProviderUnavailable

Blame = Literal["request", "length", "model", "rate", "later", "service"]

_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window)|too long|too many tokens|maximum context|exceeds the .{0,40}"
    r"(?:context|token)",
    re.IGNORECASE,
)


def blame_of(error: ProviderError) -> Blame:
    """Return what the service rejected: the request, its length, the model's name, or the
    moment.
    """
    if isinstance(error, PromptTooLong):
        return "length"
    if isinstance(error, ProviderRejected):
        if error.status in {400, 413, 422} and _TOO_LONG.search(str(error)):
            return "length"
        if error.everywhere or error.status in {400, 413, 422}:
            return "request"
        return "model" if error.status == 404 else "service"
    if isinstance(error, ProviderUnavailable):
        if error.status == 429:
            return "rate"
        return "service" if error.retry_after is None else "later"
    return "service"
