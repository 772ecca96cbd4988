"""What the compatible wires share in reporting errors: the kind of an error, and its headers.

Each wire has its own table of kinds and its own JSON; what a caller can do about an error is the
same on all of them.
"""

import math
from collections.abc import Mapping

import msgspec

from hermes.errors import (
    HermesError,
    ProviderError,
    ProviderUnavailable,
    TooLarge,
    TryLater,
    Unauthenticated,
)
from hermes.server.v1.blame import Blame, blame_of

INTERNAL = "Something went wrong inside Hermes; see its log. Trying again may help."
# Clients respect Retry-After only up to this; above it they retry at once.
_LONGEST_RETRY_S = 60.0


class Kind(msgspec.Struct, frozen=True):
    """How a class of errors is reported; a `code` of None means the error's own code.

    For `final` errors a client should not retry by itself.
    """

    status: int
    type: str
    code: str | None = None
    final: bool = False


class Kinds(msgspec.Struct, frozen=True, kw_only=True):
    """The table of one wire: kinds by class, by what the service rejected, and the default."""

    by_class: Mapping[type[HermesError], Kind]
    by_blame: Mapping[Blame, Kind]
    unknown: Kind

    def of(self, error: HermesError) -> Kind:
        """Return the kind of an error."""
        if isinstance(error, ProviderError):
            told = self.by_blame.get(blame_of(error))
            if told is not None:
                return told
        for kind in type(error).__mro__:
            if kind in self.by_class:
                return self.by_class[kind]
        return self.unknown

    def words_of(self, error: HermesError) -> str:
        """Return an error's text, or a general one if the caller can do nothing about it."""
        return INTERNAL if self.of(error) is self.unknown else str(error)


def headers_for(error: HermesError, kind: Kind) -> dict[str, str]:
    """Return the headers by which clients decide whether and when to try again."""
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
    return headers
