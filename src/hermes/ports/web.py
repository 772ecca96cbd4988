"""The web port: one document from an address that a person, a model or a page chose, or a service."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

WantsKind = Callable[[str], bool]


class WebDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What an address gave; `body` is None where it was not read, for its status or its kind.

    `url` is where it came from after every redirect, `kind` its media type in small letters and
    without parameters, empty if none was said; `cut` tells that the body goes on.
    """

    url: str
    status: int
    kind: str
    charset: str | None = None
    body: bytes | None = None
    cut: bool = False


class WebReader(Protocol):
    """Whoever can fetch from the web without being led into the machine's own networks."""

    async def fetch(self, url: str, wants: WantsKind) -> WebDocument:
        """Return the document, its body read if it is a 200 of a kind that `wants`; or `NetError`."""
        ...


class WebAsk(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a service: a GET, or a POST if there is a body.

    `is_trusted` says that the operator named the address; any other passes the guard.
    """

    url: str
    headers: Mapping[str, str]
    body: bytes | None = None
    timeout_s: float
    is_trusted: bool = False


class WebCaller(Protocol):
    """Calls web services for tools."""

    async def call(self, ask: WebAsk) -> WebDocument:
        """Return the answer, with its body only if its status is 200; or raise `NetError`."""
        ...
