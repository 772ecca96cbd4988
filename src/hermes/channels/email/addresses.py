"""Mail addresses: read from headers, made comparable, and refused where they are none. Pure."""

import re
from email.utils import getaddresses
from typing import Final

import idna
import msgspec

from hermes.errors import BadRequest

_MAX: Final = 254
# The local part as servers use it: no quotes, no spaces, nothing that means something in a header.
_LOCAL: Final = re.compile(r"[^\s\x00-\x20\x7f\"(),:;<>@\[\]\\]{1,64}")
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")


class MailAddress(msgspec.Struct, frozen=True, kw_only=True):
    """One address; the domain in lower case and in ASCII, so that equal ones are equal."""

    local: str
    domain: str

    @property
    def text(self) -> str:
        """The address as it stands in a message."""
        return f"{self.local}@{self.domain}"


def read_address(text: str) -> MailAddress:
    """Return an address; raises `BadRequest` for what is none."""
    local, at, domain = text.strip().rpartition("@")
    if not at or len(text) > _MAX or _LOCAL.fullmatch(local) is None or not _is_text(local):
        raise BadRequest("that is no mail address")
    return MailAddress(local=local, domain=read_domain(domain))


def read_domain(text: str) -> str:
    """Return a domain in lower case and ASCII; raises `BadRequest` for what is none."""
    try:
        # Not Python's own codec: its older rules read straße.de as strasse.de, which is somebody else's.
        domain = text.lower() if text.isascii() else idna.encode(text, uts46=True).decode("ascii")
    except UnicodeError:
        raise BadRequest("the domain of the address is none") from None
    labels = domain.removesuffix(".").split(".")
    if len(domain) > _MAX or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadRequest("the domain of the address is none")
    return ".".join(labels)


def addresses_in(header: str) -> list[tuple[str, str]]:
    """Return the names and addresses that a header holds."""
    return [(name, address) for name, address in getaddresses([header]) if address]


def _is_text(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text) and text.isprintable()
