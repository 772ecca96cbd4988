"""Parses an address that a stranger wrote, so that every later reader agrees.

The guard calls it first. A host is a canonical number or a plain name; whatever a resolver might
read as a number in another spelling (decimal, octal, hexadecimal, short, with a zone or a trailing
dot) is refused here, before any name is resolved.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from yarl import URL

from hermes.errors import AddressRefused
from hermes.net.refused_networks import Address

MAX_URL_CHARS: Final = 4096
_MAX_NAME_CHARS: Final = 253
# Some readers drop a tab or line end, and others read a backslash as a slash.
_AMBIGUOUS: Final = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


def read_url(text: str, base: URL | None = None) -> URL:
    """Return `text` as a web address, relative to `base` if given; raises `AddressRefused`."""
    if len(text) > MAX_URL_CHARS:
        raise AddressRefused(
            f"the address has {len(text)} characters, at most {MAX_URL_CHARS} are read"
        )
    if _AMBIGUOUS.search(text):
        raise AddressRefused(
            "the address contains a control character or a backslash, which programs read "
            "differently: give a plain web address"
        )
    try:
        url = URL(text) if base is None else base.join(URL(text))
        # Decoded here, once: a name such as xn--a decodes to no letters and cannot be shown.
        _ = url.host
    except ValueError as error:
        raise AddressRefused(
            "the text is not a readable address: give a whole web address"
        ) from error
    return url


def read_host(raw: str) -> Address | None:
    """Return the number of a numeric host, or None for a name; anything in between is refused."""
    if ":" in raw:
        return _ipv6(raw)
    name = raw.lower()
    labels = name.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(name)
    if len(name) > _MAX_NAME_CHARS or not all(_LABEL.fullmatch(label) for label in labels):
        raise AddressRefused(
            f"{raw[:80]!r} is not a host name: expected letters, digits, '-' and single dots"
        )
    return None


def _ipv6(raw: str) -> IPv6Address:
    if "%" in raw:
        raise AddressRefused("an address with a zone leads into this machine's own networks")
    try:
        return IPv6Address(raw)
    except AddressValueError as error:
        raise AddressRefused(f"{raw[:80]!r} is not an IPv6 address") from error


def _ipv4(name: str) -> IPv4Address:
    try:
        return IPv4Address(name)
    except AddressValueError as error:
        raise AddressRefused(
            f"{name[:80]!r} reads as a number in an unusual form: write it as four decimal numbers,"
            " such as 93.184.216.34, or use the host's name"
        ) from error
