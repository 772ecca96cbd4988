"""Reading an address that a stranger wrote, so that everybody behind reads the same.

The guard asks it first. A host is a canonical number or a plain name; whatever a resolver might
take for a number in another spelling (decimal, octal, hexadecimal, short, with a zone or a trailing
dot) is refused here, before anybody resolves anything.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from yarl import URL

from hermes.errors import AddressRefused
from hermes.net.refused_networks import Address

MAX_URL_CHARS: Final = 4096
_MAX_NAME_CHARS: Final = 253
# A tab or line end would be dropped by some readers, a backslash is a slash to others.
_AMBIGUOUS: Final = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


def read_url(text: str, base: URL | None = None) -> URL:
    """Return the web address that `text` is, taken from `base` if relative; else `AddressRefused`."""
    if len(text) > MAX_URL_CHARS:
        raise AddressRefused(
            f"the address has {len(text)} characters, at most {MAX_URL_CHARS} are read"
        )
    if _AMBIGUOUS.search(text):
        raise AddressRefused(
            "the address holds a control character or a backslash, which programs read differently:"
            " give a plain web address"
        )
    try:
        url = URL(text) if base is None else base.join(URL(text))
        # Decoded here, once: a name such as xn--a stands for no letters, and nobody could show it.
        _ = url.host
    except ValueError as error:
        raise AddressRefused(
            "the text is no address that can be read: give a whole web address"
        ) from error
    return url


def read_host(raw: str) -> Address | None:
    """Return the number that a host is, or None for a name; anything in between is refused."""
    if ":" in raw:
        return _ipv6(raw)
    name = raw.lower()
    labels = name.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(name)
    if len(name) > _MAX_NAME_CHARS or not all(_LABEL.fullmatch(label) for label in labels):
        raise AddressRefused(
            f"{raw[:80]!r} is no host name: expected letters, digits, '-' and single dots"
        )
    return None


def _ipv6(raw: str) -> IPv6Address:
    if "%" in raw:
        raise AddressRefused("an address with a zone leads into this machine's own networks")
    try:
        return IPv6Address(raw)
    except AddressValueError as error:
        raise AddressRefused(f"{raw[:80]!r} is no IPv6 address") from error


def _ipv4(name: str) -> IPv4Address:
    try:
        return IPv4Address(name)
    except AddressValueError as error:
        raise AddressRefused(
            f"{name[:80]!r} reads as a number in an unusual form: write it as four decimal numbers,"
            " such as 93.184.216.34, or use the host's name"
        ) from error
