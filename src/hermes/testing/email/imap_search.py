"""SEARCH as the stand-in understands it: the criteria that are used, and no others."""

from datetime import UTC, datetime

from hermes.testing.email.imap_tokens import Token, day_number
from hermes.testing.email.state import Kept, parsed


class Unreadable(Exception):
    """A criterion that is not known."""


def matches(mail: Kept, criteria: list[Token]) -> bool:
    """Tell whether a mail fits all criteria."""
    if not criteria:
        raise Unreadable("no criteria")
    waiting = list(criteria)
    fits = True
    while waiting:
        name = waiting.pop(0)
        word = name.upper() if isinstance(name, bytes) else b""
        if word == b"UNSEEN":
            fits = fits and "\\Seen" not in mail.flags
        elif word == b"UNDELETED":
            fits = fits and "\\Deleted" not in mail.flags
        elif word == b"SINCE":
            fits = _is_since(mail, waiting) and fits
        elif word == b"HEADER":
            fits = _has_header(mail, waiting) and fits
        elif word != b"ALL":
            raise Unreadable(f"unknown criterion {word[:20]!r}")
    return fits


def _is_since(mail: Kept, waiting: list[Token]) -> bool:
    given = waiting.pop(0) if waiting else b""
    day = day_number(given) if isinstance(given, bytes) else None
    if day is None:
        raise Unreadable("SINCE takes a day such as 1-Jan-2026")
    return datetime.fromtimestamp(mail.at, UTC).toordinal() >= day


def _has_header(mail: Kept, waiting: list[Token]) -> bool:
    if len(waiting) < 2:
        raise Unreadable("HEADER takes a name and a text")
    name, text = waiting.pop(0), waiting.pop(0)
    if not isinstance(name, bytes) or not isinstance(text, bytes):
        raise Unreadable("HEADER takes a name and a text")
    values = parsed(mail.raw).get_all(name.decode("ascii"), [])
    return any(text.decode("utf-8", "replace").lower() in str(value).lower() for value in values)
