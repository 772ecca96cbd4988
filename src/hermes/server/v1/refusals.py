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
from hermes.server.v1.blame import OF_THE_REQUEST, Blame, blame_of

INTERNAL = "Something went wrong inside Hermes; see its log. Trying again may help."
# Clients respect Retry-After only up to this; above it they retry at once.
_LONGEST_RETRY_S = 60.0


class Kind(msgspec.Struct, frozen=True):
    """How a class of errors is reported; a `code` of None means the error's own code.

    For `final` errors a client should not retry by itself. With `keeps_status` the status is that
    of the service, if it is one that a caller can do something about.
    """

    status: int
    type: str
    code: str | None = None
    final: bool = False
    keeps_status: bool = False


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
                return _with_status(told, error)
        for kind in type(error).__mro__:
            if kind in self.by_class:
                return self.by_class[kind]
        return self.unknown

    def words_of(self, error: HermesError) -> str:
        """Return an error's text, or a general one if the caller can do nothing about it."""
        return INTERNAL if self.of(error) is self.unknown else str(error)


def _with_status(kind: Kind, error: ProviderError) -> Kind:
    if not kind.keeps_status or error.status not in OF_THE_REQUEST:
        return kind
    return msgspec.structs.replace(kind, status=error.status)


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
