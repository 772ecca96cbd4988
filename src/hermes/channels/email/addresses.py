"""Mail addresses: parses them from headers, normalises them, and rejects invalid ones. Pure."""

import re
from email.utils import getaddresses
from typing import Final

import idna
import msgspec

from hermes.errors import BadRequest

_MAX: Final = 254
# The local part as servers use it: no quotes, no spaces, no characters with a meaning in a header.
_LOCAL: Final = re.compile(r"[^\s\x00-\x20\x7f\"(),:;<>@\[\]\\]{1,64}")
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")


class MailAddress(msgspec.Struct, frozen=True, kw_only=True):
    """One address; the domain is in lower case and ASCII, so that equal addresses compare equal."""

    local: str
    domain: str

    @property
    def text(self) -> str:
        """The address as written in a message."""
        return f"{self.local}@{self.domain}"


def read_address(text: str) -> MailAddress:
    """Return an address; raise `BadRequest` if it is not valid."""
    local, at, domain = text.strip().rpartition("@")
    if not at or len(text) > _MAX or _LOCAL.fullmatch(local) is None or not _is_text(local):
        raise BadRequest("that is not a mail address")
    return MailAddress(local=local, domain=read_domain(domain))


def read_domain(text: str) -> str:
    """Return a domain in lower case and ASCII; raise `BadRequest` if it is not valid."""
    try:
        # Not Python's own codec: its older rules read straße.de as strasse.de, which is another
        # domain.
        domain = text.lower() if text.isascii() else idna.encode(text, uts46=True).decode("ascii")
    except UnicodeError:
        raise BadRequest("the domain of the address is not valid") from None
    labels = domain.removesuffix(".").split(".")
    if len(domain) > _MAX or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadRequest("the domain of the address is not valid")
    return ".".join(labels)


def addresses_in(header: str) -> list[tuple[str, str]]:
    """Return the names and addresses that a header holds."""
    return [(name, address) for name, address in getaddresses([header]) if address]


def _is_text(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text) and text.isprintable()
