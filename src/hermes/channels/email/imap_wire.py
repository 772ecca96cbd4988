"""IMAP's notation: parses answers into values, and encodes names and texts for commands. Pure."""

import base64
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final, Union

import msgspec

from hermes.errors import AnswerLost

# An atom or a string, or a list of them.
Value = Union[bytes, list["Value"]]  # noqa: UP007 - recursive

LITERAL: Final = re.compile(rb"\{(\d{1,12})\}$")
_TOKEN: Final = re.compile(rb'[ ]+|\(|\)|"((?:[^"\\]++|\\.)*+)"|((?:BODY(?:\.PEEK)?\[[^\]]*\](?:<\d+>)?)|[^ ()"]+)', re.I)  # fmt: skip
_CODE: Final = re.compile(rb"\[([A-Z0-9-]+)(?: ([^\]]*))?\]", re.I)
_DATE: Final = re.compile(
    rb" ?(\d{1,2})-([A-Za-z]{3})-(\d{4}) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)"
)
MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DEEPEST: Final = 20


class Literal(bytes):
    """Bytes that were sent verbatim, with their length before them."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended, or an unsolicited message of the server: OK, NO, BAD, BYE, PREAUTH."""

    word: str
    code: str = ""
    argument: str = ""
    text: str = ""


def read_status(rest: bytes) -> Status:
    """Return the status that follows a tag."""
    word, _, text = rest.partition(b" ")
    found = _CODE.match(text)
    return Status(
        word=word.decode("ascii", "replace").upper(),
        code="" if found is None else found[1].decode("ascii").upper(),
        argument="" if found is None else (found[2] or b"").decode("ascii", "replace"),
        text=_readable(text[found.end() :] if found else text),
    )


def read_values(pieces: list[bytes]) -> list[Value]:
    """Return an answer's values; literals are separate pieces."""
    top: list[Value] = []
    open_lists: list[list[Value]] = [top]
    for piece in pieces:
        if isinstance(piece, Literal):
            open_lists[-1].append(bytes(piece))
        else:
            _read_piece(piece, open_lists)
    if len(open_lists) != 1:
        raise AnswerLost("the IMAP server sent an unfinished list")
    return top


def _read_piece(piece: bytes, open_lists: list[list[Value]]) -> None:
    at = 0
    while at < len(piece):
        token = _TOKEN.match(piece, at)
        if token is None:
            raise AnswerLost("the IMAP server sent an answer that cannot be read")
        at = token.end()
        word = token[0]
        if word == b"(":
            if len(open_lists) > _DEEPEST:
                raise AnswerLost("the IMAP server sent lists that are nested too deeply")
            inner: list[Value] = []
            open_lists[-1].append(inner)
            open_lists.append(inner)
        elif word == b")":
            if len(open_lists) == 1:
                raise AnswerLost("the IMAP server sent an answer that cannot be read")
            open_lists.pop()
        elif token[1] is not None:
            open_lists[-1].append(re.sub(rb"\\(.)", rb"\1", token[1]))
        elif token[2] is not None:
            open_lists[-1].append(token[2])


def pairs(values: Value) -> dict[bytes, Value]:
    """Return the items of a FETCH answer by name."""
    if not isinstance(values, list):
        return {}
    names, items = values[::2], values[1::2]
    return {
        name.upper(): item
        for name, item in zip(names, items, strict=False)
        if isinstance(name, bytes)
    }


def number(value: Value | None) -> int | None:
    """Return a number; None if it is not one."""
    is_number = isinstance(value, bytes) and value.isdigit() and len(value) <= 20
    return int(value) if is_number and isinstance(value, bytes) else None


def read_date(value: Value | None) -> float | None:
    """Return an INTERNALDATE in seconds since 1970."""
    found = _DATE.fullmatch(value) if isinstance(value, bytes) else None
    if found is None:
        return None
    month = found[2].decode().capitalize()
    try:
        shift = timedelta(hours=int(found[8]), minutes=int(found[9]))
        zone = timezone(shift if found[7] == b"+" else -shift)
        return datetime(
            int(found[3]), MONTHS.index(month) + 1, int(found[1]),
            int(found[4]), int(found[5]), min(int(found[6]), 59), tzinfo=zone,
        ).timestamp()  # fmt: skip
    except (ValueError, OverflowError):
        return None


def search_day(at: float) -> str:
    """Return the day before an instant in SEARCH format: servers use their own time zone."""
    day = datetime.fromtimestamp(max(at - 86400, 0), UTC)
    return f"{day.day}-{MONTHS[day.month - 1]}-{day.year}"


def quoted(text: str) -> bytes | None:
    """Return a text in quotes; None if it must be sent as a literal."""
    if not all(32 <= ord(one) < 127 for one in text):
        return None
    return b'"' + text.replace("\\", "\\\\").replace('"', '\\"').encode("ascii") + b'"'


def folder_name(name: str) -> str:
    """Return a folder's name in IMAP's own UTF-7."""
    made: list[str] = []
    strange: list[str] = []

    def end() -> None:
        if strange:
            coded = base64.b64encode("".join(strange).encode("utf-16-be")).decode("ascii")
            made.append("&" + coded.rstrip("=").replace("/", ",") + "-")
            strange.clear()

    for one in name:
        if 32 <= ord(one) < 127:
            end()
            made.append("&-" if one == "&" else one)
        else:
            strange.append(one)
    end()
    return "".join(made)


def _readable(text: bytes) -> str:
    words = " ".join(text.decode("utf-8", "replace").split())
    return "".join(one for one in words if one.isprintable())[:200]
