"""Parses the MIME parts of a mail: limited in depth, number and size. Pure.

Python's own parser recurses as deep as a mail says, so the tree is walked here; Python parses the
parameters of headers. Attached mails are not entered.
"""

import re
from collections.abc import Iterator
from email.message import Message
from typing import Any, Final

import msgspec

from hermes.channels.email import mail_text
from hermes.errors import TooLarge

MAX_HEADER_BYTES: Final = 262_144
MAX_HEADERS: Final = 1000
MAX_DEPTH: Final = 8
MAX_PARTS: Final = 200
# How often a large mail may be searched completely for boundaries; a small one at every depth.
_MAX_SEARCHES: Final = 4
_SMALL: Final = 1_000_000
_MAX_LINES: Final = 10_000
_MAX_VALUE: Final = 2000
_BLANK: Final = re.compile(rb"\r?\n\r?\n")
_FIELD: Final = re.compile(rb"([!-9;-~]{1,200}+)[ \t]*+:(.*)", re.S)
_NAME_UNSAFE: Final = re.compile(r'[/\\\x00-\x1f\x7f"<>|:*?]')


class Headers:
    """The headers of a mail or a part, in order; names in lower case."""

    def __init__(self, fields: tuple[tuple[str, bytes], ...]) -> None:
        self.fields = fields

    def all(self, name: str) -> tuple[bytes, ...]:
        """Return every value under a name."""
        return tuple(value for known, value in self.fields if known == name)

    def first(self, name: str) -> bytes:
        """Return the first value under a name, or nothing."""
        return next((value for known, value in self.fields if known == name), b"")

    def has(self, name: str) -> bool:
        """Return whether the name is there."""
        return any(known == name for known, _ in self.fields)

    def text(self, name: str) -> str:
        """Return the first value as decoded text."""
        return mail_text.decode_header(self.first(name))


class MailPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part with content; `data` is without its transfer encoding."""

    mime: str
    data: bytes
    charset: str = ""
    name: str = ""
    is_attached: bool = False
    # Whether it is one of several alternatives.
    is_alternative: bool = False


def split_head(raw: bytes) -> tuple[Headers, bytes]:
    """Return the headers and the body; raise `TooLarge` if the headers do not end."""
    start = 0
    if raw.startswith((b"\r\n", b"\n")):
        return Headers(()), raw[2 if raw.startswith(b"\r\n") else 1 :]
    blank = _BLANK.search(raw, start, MAX_HEADER_BYTES + 4)
    if blank is None and len(raw) > MAX_HEADER_BYTES:
        raise TooLarge(f"the headers have more than {MAX_HEADER_BYTES} bytes")
    head, body = (raw, b"") if blank is None else (raw[: blank.start()], raw[blank.end() :])
    return Headers(_fields(head)), body


def leaves_of(raw: bytes) -> tuple[MailPart, ...]:
    """Return the parts of a mail in order; raise `TooLarge` for too many."""
    found: list[MailPart] = []
    seen = 0
    to_search = _MAX_SEARCHES * len(raw) + _SMALL
    # What is still to be read, last first: the bytes, the depth, and whether it is an alternative.
    waiting = [(raw, 0, False)]
    while waiting:
        part, depth, is_alternative = waiting.pop()
        seen += 1
        if seen > MAX_PARTS:
            raise TooLarge(f"the mail has more than {MAX_PARTS} parts")
        if depth > MAX_DEPTH:
            raise TooLarge(f"the mail's parts are nested more than {MAX_DEPTH} deep")
        headers, body = split_head(part)
        mime, params = _content_type(headers)
        inner = None
        if mime.startswith("multipart/"):
            to_search -= len(body)
            if to_search < 0:
                raise TooLarge("the mail is too large for the depth of its nested parts")
            inner = _split(body, params.get("boundary", ""))
        if inner is None:
            found.append(_leaf(headers, body, mime=mime, params=params, alternative=is_alternative))
        else:
            is_choice = mime == "multipart/alternative" or is_alternative
            waiting += [(one, depth + 1, is_choice) for one in reversed(inner)]
    return tuple(found)


def parameters(value: bytes, header: str) -> dict[str, str]:
    """Return the parameters of a header, by name in lower case."""
    probe = Message()
    # Some programs write the name as bare UTF-8, or a line end where none is allowed.
    probe[header] = mail_text.decode_header(value[:_MAX_VALUE])
    try:
        pairs = probe.get_params(failobj=[], header=header)
    except (ValueError, LookupError, TypeError, AttributeError):
        return {}
    read: dict[str, str] = {}
    given: Any  # with a charset it is a tuple of three, which the annotations omit
    for name, given in pairs[1:]:
        known, text = name.lower(), mail_text.clean(_parameter(given)).strip()
        # Programs may write a name twice; the one with a charset is the correct one.
        read[known] = text if isinstance(given, tuple) else read.get(known, text)
    return read


def _parameter(given: Any) -> str:
    if not isinstance(given, tuple):
        return str(given)
    charset, _language, text = given
    return mail_text.decode_text((text or "").encode("latin-1", "replace"), charset or "")


def _fields(head: bytes) -> tuple[tuple[str, bytes], ...]:
    fields: list[tuple[str, bytes]] = []
    unfolded: list[list[bytes]] = []
    for line in head.split(b"\n"):
        bare = line.rstrip(b"\r")
        if bare[:1] in (b" ", b"\t") and unfolded:
            unfolded[-1].append(bare)
        elif bare:
            unfolded.append([bare])
    for lines in unfolded:
        field = _FIELD.fullmatch(b" ".join(lines))
        if field is not None:
            fields.append((field[1].decode("ascii").lower(), field[2].strip()))
        if len(fields) > MAX_HEADERS:
            raise TooLarge(f"the mail has more than {MAX_HEADERS} headers")
    return tuple(fields)


def _content_type(headers: Headers) -> tuple[str, dict[str, str]]:
    value = headers.first("content-type")
    mime = mail_text.decode_header(value[:_MAX_VALUE]).partition(";")[0].strip().lower()
    if mime.count("/") != 1 or " " in mime or len(mime) > 100 or not mime.isascii():
        return "text/plain", {}
    return mime, parameters(value, "content-type")


def _split(body: bytes, boundary: str) -> list[bytes] | None:
    """Return the pieces between the boundaries; None if there are none, so that it is one text."""
    if not boundary or len(boundary) > 200:
        return None
    parts: list[bytes] = []
    begin = -1
    for line, end, is_last in _boundaries(body, b"--" + boundary.encode("utf-8", "replace")):
        if begin >= 0:
            # The line end before a boundary belongs to it.
            is_long = body[max(0, line - 2) : line] == b"\r\n"
            parts.append(body[begin : line - (2 if is_long else 1)])
        begin = end + 1
        if is_last:
            return parts
        if len(parts) > MAX_PARTS:
            raise TooLarge(f"the mail has more than {MAX_PARTS} parts")
    if begin < 0:
        return None
    return [*parts, body[begin:]]


def _boundaries(body: bytes, mark: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield where each boundary's line begins and ends, and whether it is the closing one.

    A regular expression would block every other thread while it searches a large body.
    """
    begin = 0 if body.startswith(mark) else _line_with(mark, body, 0)
    seen = 0
    while begin >= 0:
        seen += 1
        if seen > _MAX_LINES:
            raise TooLarge(f"more than {_MAX_LINES} lines of the mail look like a boundary")
        found = body.find(b"\n", begin)
        end = len(body) if found < 0 else found
        line = body[begin + len(mark) : end]
        rest = (line if found < 0 else line.removesuffix(b"\r")).rstrip(b" \t")
        if rest in {b"", b"--"}:
            yield begin, end, rest == b"--"
        begin = _line_with(mark, body, end)


def _line_with(mark: bytes, body: bytes, at: int) -> int:
    """Return where the next line that starts with the mark begins; -1 if there is none."""
    found = body.find(b"\n" + mark, at)
    return found + 1 if found >= 0 else -1


def _leaf(
    headers: Headers, body: bytes, *, mime: str, params: dict[str, str], alternative: bool
) -> MailPart:
    shown = headers.first("content-disposition")
    kind = mail_text.decode_header(shown[:_MAX_VALUE]).partition(";")[0].strip().lower()
    name = parameters(shown, "content-disposition").get("filename") or params.get("name", "")
    encoding = mail_text.decode_header(headers.first("content-transfer-encoding")[:100])
    return MailPart(
        # A multipart without parts is a plain text.
        mime="text/plain" if mime.startswith("multipart/") else mime,
        data=mail_text.decode_transfer(body, encoding),
        charset=params.get("charset", "")[:100],
        name=safe_name(name),
        is_attached=kind == "attachment" or bool(name),
        is_alternative=alternative,
    )


def safe_name(name: str) -> str:
    """Return a file's name without a path and of limited length."""
    last = re.split(r"[/\\]", name)[-1]
    kept = _NAME_UNSAFE.sub("", mail_text.decode_header(last.encode("utf-8", "replace"))).strip(
        ". "
    )
    return kept[-150:]
