"""The IPv4 addresses inside IPv6 addresses: where a connection would really lead.

Pure; the guard judges every address that comes out. Transition mechanisms carry an IPv4 address in
an IPv6 one, and a translator or tunnel on the way may deliver the packets there.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Final

from hermes.net.refused_networks import Address

_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")
_TRANSLATED: Final = IPv6Network("::ffff:0:0:0/96")
_NAT64_LOCAL: Final = IPv6Network("64:ff9b:1::/48")
_THIS_MACHINE: Final = 8  # of no use as a destination: what a wrong position reads as
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})
_LOW: Final = 0xFFFF_FFFF


def destinations(address: Address) -> tuple[Address, ...]:
    """Return every address that `address` may lead to; each of them has to be allowed."""
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
    """Yield what RFC 6052 reads for prefixes of 96 and 48 bits; the length is the network's own."""
    whole = (number & _LOW, ((number >> 64) & 0xFFFF) << 16 | (number >> 40) & 0xFFFF)
    for found in whole:
        if found >> (32 - _THIS_MACHINE):
            yield IPv4Address(found)
