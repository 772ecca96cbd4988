"""What a caller can do about a model call that failed at its service; the same for every wire."""

import re
from typing import Literal

from hermes.errors import PromptTooLong, ProviderError, ProviderRejected, ProviderUnavailable

Blame = Literal["request", "length", "model", "rate", "later", "service"]

# Statuses with which a service refuses the request itself.
OF_THE_REQUEST = frozenset({400, 413, 422})
# Statuses that concern the operator's account at the service: its codes would mislead a caller.
_OF_THE_ACCOUNT = frozenset({401, 402, 403})
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
        if error.status in OF_THE_REQUEST and _TOO_LONG.search(str(error)):
            return "length"
        if error.everywhere or error.status in OF_THE_REQUEST:
            return "request"
        return "model" if error.status == 404 else "service"
    if isinstance(error, ProviderUnavailable):
        if error.status == 429:
            return "rate"
        return "service" if error.retry_after is None else "later"
    return "service"


def is_of_the_account(error: ProviderError) -> bool:
    """Return whether the error concerns the operator's account at the service, not the caller."""
    return error.status in _OF_THE_ACCOUNT
