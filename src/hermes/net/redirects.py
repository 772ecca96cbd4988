"""Where an untrusted call continues after a redirect, and which headers it keeps.

Pure: it reads the answer's status and `Location` and returns the next request, which the guard has
checked. The client sends it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from yarl import URL

from hermes.errors import AddressRefused
from hermes.net.guard import Guard
from hermes.net.untrusted_url import read_url

MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_KEEP_METHOD: Final = frozenset({307, 308})
# The only headers of a caller that another host receives. A list of secret headers would miss some.
_CARRIED: Final = frozenset({"accept", "accept-encoding", "accept-language", "user-agent"})


class Hop(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a chain."""

    method: str
    url: URL
    headers: Mapping[str, str]
    body: bytes | None


def next_hop(hop: Hop, status: int, *, location: str | None, guard: Guard) -> Hop | None:
    """Return the request that follows an answer, or None if the answer is final.

    Raises `AddressRefused` for a target that the guard refuses, and if a body would go to another
    host.
    """
    if status not in _REDIRECTS or location is None:
        return None
    url = _secure(hop.url, read_url(location, hop.url))
    guard.check_url(url)
    method, body, headers = hop.method, hop.body, hop.headers
    if status not in _KEEP_METHOD and method != "HEAD":
        method, body = "GET", None
    if _origin(url) != _origin(hop.url):
        if body is not None:
            raise AddressRefused(
                f"{hop.url.host} redirects the request body to another host, {url.host}; it was "
                "not forwarded"
            )
        headers = {name: value for name, value in headers.items() if name.lower() in _CARRIED}
    return Hop(method=method, url=url, headers=headers, body=body)


def _origin(url: URL) -> tuple[str, str | None, int | None]:
    return url.scheme, url.raw_host, url.port


def _secure(before: URL, url: URL) -> URL:
    """Return `url` with https if the chain was on https: it never continues unencrypted."""
    if before.scheme != "https" or url.scheme != "http":
        return url
    if not url.is_default_port():
        raise AddressRefused(
            f"{before.host} redirects from https to http on port {url.port} of {url.host}, which "
            "is not encrypted; it was not followed"
        )
    return url.with_port(None).with_scheme("https")
