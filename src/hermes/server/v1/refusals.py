"""What the compatible wires share in telling errors: which kind one is, and the headers it has.

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

INTERNAL = "Something went wrong inside Hermes; its log tells what. Trying again may help."
# Clients wait as long as Retry-After says only up to here, and try again at once beyond it.
_LONGEST_RETRY_S = 60.0


class Kind(msgspec.Struct, frozen=True):
    """How a class of errors is told; a `code` of None is the error's own.

    `final` ones are not worth a client's own retries.
    """

    status: int
    type: str
    code: str | None = None
    final: bool = False


class Kinds(msgspec.Struct, frozen=True, kw_only=True):
    """The table of one wire: by class, by what a service did not like, and for everything else."""

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
        """Return an error's text; what a caller can do nothing about belongs in the log."""
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
