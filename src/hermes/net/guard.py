"""Which addresses may be fetched when a person, a model or a page chose them (SSRF guard, W34).

The decision is made on the numeric address that is about to be connected to: literal addresses
before the call, names inside the resolver, so a name that changes its answer between the check
and the connection gains nothing. It knows nothing of requests; the client asks it at every hop.
"""

import ipaddress
import socket

from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from hermes.errors import AddressRefused

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Public numbers that clouds answer with instance secrets, besides the link-local ones.
_METADATA = frozenset({ipaddress.ip_address("168.63.129.16")})
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SIX_TO_FOUR = ipaddress.ip_network("2002::/16")


def _embedded(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address leads to, or the address itself."""
    if not isinstance(address, ipaddress.IPv6Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR and address.sixtofour is not None:
        return address.sixtofour
    return address


def _is_public(address: Address) -> bool:
    closed = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or not address.is_global
    )
    return not closed and address not in _METADATA


class Guard:
    """Refuses addresses inside this machine, its networks and its cloud; `exempt` are let through.

    `exempt` are networks (`10.1.0.0/16`) that the operator opens by configuration.
    """

    def __init__(self, exempt: tuple[str, ...] = ()) -> None:
        self._exempt: tuple[Network, ...] = tuple(ipaddress.ip_network(net) for net in exempt)

    def allows(self, text: str) -> bool:
        """Tell whether a numeric address may be connected to."""
        address = _embedded(ipaddress.ip_address(text.partition("%")[0]))
        return _is_public(address) or any(address in net for net in self._exempt)

    def check_url(self, url: URL) -> None:
        """Raise `AddressRefused` unless `url` is http(s) and not a refused literal address."""
        if url.scheme not in {"http", "https"}:
            raise AddressRefused(
                f"only http and https addresses are fetched, not {url.scheme or 'a bare path'}:"
                " give a whole web address"
            )
        host = url.host
        if not host:
            raise AddressRefused("the address names no host: give a whole web address")
        try:
            allowed = self.allows(host)
        except ValueError:
            return  # a name: the resolver decides on what it resolves to
        if not allowed:
            raise _refused(host)

    def check_resolved(self, host: str, found: list[ResolveResult]) -> list[ResolveResult]:
        """Return `found` if every address may be connected to, otherwise raise."""
        if not found or not all(self.allows(result["host"]) for result in found):
            raise _refused(host)
        return found


def _refused(host: str) -> AddressRefused:
    return AddressRefused(
        f"{host} is an address inside this machine or its networks, which a message may not"
        " reach: use a public address, or let the operator exempt the network"
    )


class GuardedResolver(AbstractResolver):
    """Resolves names with `inner` and hands the connector only what the guard allows."""

    def __init__(self, guard: Guard, inner: AbstractResolver) -> None:
        self._guard = guard
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of `host`; raise `AddressRefused` if one is not allowed."""
        found = await self._inner.resolve(host, port, family)
        return self._guard.check_resolved(host, found)

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._inner.close()
