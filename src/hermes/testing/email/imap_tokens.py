"""IMAP's notation as the stand-in parses it: commands into tokens, and dates as it writes them."""

import re
from datetime import UTC, datetime
from typing import Union

# An atom or a string, or a list of them.
Token = Union[bytes, list["Token"]]  # noqa: UP007 - recursive

_WORD = re.compile(
    rb'"((?:[^"\\\r\n]|\\["\\])*)"|(BODY\.PEEK\[[^\]]*\](?:<[^>]*>)?|[^ ()"{%]+)', re.I
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class BrokenCommand(Exception):
    """A line that is not a command."""


def read_tokens(pieces: list[bytes]) -> list[Token]:
    """Return the tokens of a command; a piece that begins with NUL is a literal."""
    top: list[Token] = []
    open_lists = [top]
    for piece in pieces:
        if piece.startswith(b"\0"):
            open_lists[-1].append(piece[1:])
        else:
            _read(piece, open_lists)
    if len(open_lists) != 1:
        raise BrokenCommand("a list is not closed")
    return top


def _read(piece: bytes, open_lists: list[list[Token]]) -> None:
    at = 0
    while at < len(piece):
        if piece[at : at + 1] == b" ":
            at += 1
        elif piece[at : at + 1] == b"(":
            inner: list[Token] = []
            open_lists[-1].append(inner)
            open_lists.append(inner)
            at += 1
        elif piece[at : at + 1] == b")":
            if len(open_lists) == 1:
                raise BrokenCommand("a list is closed that was not opened")
            open_lists.pop()
            at += 1
        else:
            found = _WORD.match(piece, at)
            if found is None:
                raise BrokenCommand(f"{piece[at : at + 20]!r} is neither an atom nor a string")
            quoted = found[1]
            open_lists[-1].append(found[2] if quoted is None else re.sub(rb"\\(.)", rb"\1", quoted))
            at = found.end()


def internal_date(at: float) -> bytes:
    """Return an instant as INTERNALDATE."""
    day = datetime.fromtimestamp(at, UTC)
    return f"{day.day:2d}-{_MONTHS[day.month - 1]}-{day.year} {day:%H:%M:%S} +0000".encode()


def day_number(text: bytes) -> int | None:
    """Return the day that a SEARCH names, counted."""
    found = re.fullmatch(rb"(\d{1,2})-([A-Z][a-z]{2})-(\d{4})", text)
    if found is None or found[2].decode() not in _MONTHS:
        return None
    month = _MONTHS.index(found[2].decode()) + 1
    return datetime(int(found[3]), month, int(found[1]), tzinfo=UTC).toordinal()
