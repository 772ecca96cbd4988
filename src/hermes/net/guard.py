"""Which addresses may be fetched if a person, a model or a page chose them (SSRF guard, W34).

The decision is made on the numeric address of the connection: literal addresses before the call,
names inside the resolver, and once more where the socket is made, so a name that changes its answer
between the check and the connection gains nothing. It knows nothing about requests; the client asks
it at every hop.
"""

import errno
import ipaddress
import socket
from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Final

from yarl import URL

from hermes.errors import AddressRefused
from hermes.net.refused_networks import (
    CLOSED_PORTS,
    FIRST_FREE_PORT,
    REFUSED,
    WEB_PORTS,
    Address,
    Network,
    RefusedNetwork,
)
from hermes.net.untrusted_url import read_host

if TYPE_CHECKING:
    from aiohttp import AddrInfoType
    from aiohttp.abc import ResolveResult

_ANY_PORT = 9


_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")
_TRANSLATED: Final = IPv6Network("::ffff:0:0:0/96")
_NAT64_LOCAL: Final = IPv6Network("64:ff9b:1::/48")
_THIS_MACHINE: Final = 8  # useless as a destination: the result of a wrong position
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})
_LOW: Final = 0xFFFF_FFFF


def destinations(address: Address) -> tuple[Address, ...]:
    """Return every address that `address` may lead to; all of them must be allowed."""
    if isinstance(address, IPv4Address):
        return (address,)
    if address in _MAPPED or address in _NAT64:
        return (IPv4Address(int(address) & _LOW),)
    return (address, *_inside(address))


def _inside(address: IPv6Address) -> Iterator[IPv4Address]:
    number = int(address)
    if address in _COMPATIBLE or address in _TRANSLATED or (number >> 32) & _LOW in _ISATAP:
        yield IPv4Address(number & _LOW)
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if address in _NAT64_LOCAL:
        yield from _translated(number)


def _translated(number: int) -> Iterator[IPv4Address]:
    """Yield the RFC 6052 addresses for prefixes of 96 and 48 bits."""
    whole = (number & _LOW, ((number >> 64) & 0xFFFF) << 16 | (number >> 40) & 0xFFFF)
    for found in whole:
        if found >> (32 - _THIS_MACHINE):
            yield IPv4Address(found)


def is_own(address: Address) -> bool:
    """Return whether packets to `address` would stay here; sends nothing."""
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # For a datagram socket this only chooses the source, which equals the target if that is
            # ours.
            probe.connect((str(address), _ANY_PORT))
            return str(probe.getsockname()[0]) == str(address)
    except OSError:
        return False  # no route there, so it is not this machine


class Guard:
    """Refuses addresses of this machine, its networks and its cloud; `exempt` ones are allowed.

    `exempt` and `refuse` are networks (`10.1.0.0/16`) that the operator's configuration opens and
    closes; `ports` are allowed in addition to those of the web.
    """

    def __init__(
        self,
        exempt: Sequence[str] = (),
        *,
        refuse: Sequence[str] = (),
        ports: Sequence[int] = (),
        table: Sequence[RefusedNetwork] = REFUSED,
        owns: Callable[[Address], bool] = is_own,
    ) -> None:
        self._exempt: tuple[Network, ...] = tuple(ipaddress.ip_network(net) for net in exempt)
        self._closed: tuple[Network, ...] = tuple(ipaddress.ip_network(net) for net in refuse)
        self._table = tuple(table)
        self._ports = frozenset(ports)
        self._owns = owns

    def allows(self, text: str) -> bool:
        """Return whether a numeric address may be connected to."""
        return self.reason(text) is None

    def reason(self, text: str) -> str | None:
        """Return what a refused numeric address is, or None if it is allowed."""
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return "not a numeric address"
        if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
            return "an address with a zone"
        reasons = (self._judge(destination) for destination in destinations(address))
        return next((why for why in reasons if why is not None), None)

    def check_url(self, url: URL) -> None:
        """Raise `AddressRefused` unless `url` is a plain web address without a refused number."""
        if url.scheme not in {"http", "https"}:
            raise AddressRefused(
                f"only http and https addresses are fetched, not {url.scheme[:20] or 'a bare path'}:"
                " give a whole web address"
            )
        if url.raw_user is not None or url.raw_password is not None:
            raise AddressRefused(
                "an address with a user name or password is not fetched: leave out what comes "
                "before the @"
            )
        host = url.raw_host
        if not host:
            raise AddressRefused("the address names no host: give a whole web address")
        number = read_host(host)
        self._check_port(host, url.port)
        why = None if number is None else self.reason(str(number))
        if why is not None:
            raise _refused(host, why)

    def check_resolved(self, host: str, found: "list[ResolveResult]") -> "list[ResolveResult]":
        """Return `found` if every address is allowed, otherwise raise."""
        if not found:
            raise AddressRefused(f"{host} has no address: check its name")
        for result in found:
            why = self.reason(result["host"])
            if why is not None:
                raise _refused(host, why)
        return found

    def make_socket(self, address: "AddrInfoType") -> socket.socket:
        """Return the socket for a connection to `address`: the last check before the packets."""
        family, kind, protocol, _, target = address
        if family not in {socket.AF_INET, socket.AF_INET6} or not self.allows(str(target[0])):
            # An OSError, which callers that try several addresses expect.
            raise PermissionError(errno.EACCES, "the address may not be connected to")
        return socket.socket(family, kind, protocol)

    def _judge(self, address: Address) -> str | None:
        if any(address in net for net in self._closed):
            return "closed by net.refuse"
        for row in self._table:
            if address in row.network:
                return None if self._opens(row, address) else row.what
        if self._owns(address) and not self._is_exempt(address):
            return "an address of this machine"
        return None

    def _opens(self, row: RefusedNetwork, address: Address) -> bool:
        return row.network in self._exempt if row.exact else self._is_exempt(address)

    def _is_exempt(self, address: Address) -> bool:
        return any(address in net for net in self._exempt)

    def _check_port(self, host: str, port: int | None) -> None:
        free = port is not None and port >= FIRST_FREE_PORT and port not in CLOSED_PORTS
        if not free and port not in WEB_PORTS and port not in self._ports:
            raise AddressRefused(
                f"port {port} of {host} is not a web port: leave the port out, or let the"
                " operator add it to net.ports"
            )


def _refused(host: str, why: str) -> AddressRefused:
    return AddressRefused(
        f"{host} leads to an address that may not be fetched ({why}): use a public address, or "
        "let the"
        " operator open the network with net.exempt"
    )
