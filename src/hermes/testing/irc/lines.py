"""IRC lines as the stand-in parses and writes them: strictly, and independent of the channel's
code.
"""

import re
from collections.abc import Mapping

import msgspec

LINE_BYTES = 512
TAG_BYTES = 4096
_ACTION = "\x01ACTION "
_COMMAND = re.compile(r"[A-Za-z]+|[0-9]{3}")
_CODES = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|[\x02\x0f\x11\x16\x1d\x1e\x1f]")
_ESCAPES = (("\\", "\\\\"), (";", "\\:"), (" ", "\\s"), ("\r", "\\r"), ("\n", "\\n"))


class BrokenLine(Exception):
    """A line that breaks a rule of the protocol; `code` is its numeric, if there is one."""

    def __init__(self, rule: str, code: str = "") -> None:
        super().__init__(rule)
        self.code = code


class ClientLine(msgspec.Struct, frozen=True):
    """A line of a client."""

    command: str
    params: tuple[str, ...]
    label: str = ""


def read(raw: bytes) -> ClientLine:
    """Parse a client's line with CR LF at its end; raise for every rule that it breaks."""
    if not raw.endswith(b"\r\n"):
        raise BrokenLine("a line ends with CR LF")
    body = raw[:-2]
    if any(byte in body for byte in (b"\r", b"\n", b"\0")):
        raise BrokenLine("CR, LF or NUL inside of a line")
    tags = b""
    if body.startswith(b"@"):
        tags, _, body = body[1:].partition(b" ")
        if len(tags) > TAG_BYTES - 2:
            raise BrokenLine("tags of more than 4094 bytes", "417")
    if len(body) + 2 > LINE_BYTES:
        raise BrokenLine(f"a line of {len(body) + 2} bytes", "417")
    try:
        text, told = body.decode(), tags.decode()
    except UnicodeDecodeError:
        raise BrokenLine("a line that is not UTF-8") from None
    return _parsed(text, told)


def _parsed(text: str, told: str) -> ClientLine:
    middle, has_last, last = f" {text}".partition(" :")
    command, *params = middle[1:].split(" ")
    if not _COMMAND.fullmatch(command):
        raise BrokenLine(f"no command: {text[:40]!r}")
    if any(not param for param in params) and params != [""]:
        raise BrokenLine("an empty parameter that is not the last")
    params = [param for param in params if param]
    names = dict(one.partition("=")[::2] for one in told.split(";") if one)
    return ClientLine(
        command.upper(), (*params, last) if has_last else tuple(params), names.get("label", "")
    )


def write(prefix: str, *words: str, tags: Mapping[str, str] | None = None) -> bytes:
    """Return a server's line; the last word may have spaces."""
    *others, last = words
    shown = (
        f":{last}" if " " in last or not last or last.startswith(":") or len(words) > 2 else last
    )
    told = ";".join(
        f"{name}={_escaped(value)}" if value else name for name, value in (tags or {}).items()
    )
    line = " ".join([f":{prefix}", *others, shown])
    return f"{f'@{told} ' if told else ''}{line}\r\n".encode()


def _escaped(value: str) -> str:
    for char, code in _ESCAPES:
        value = value.replace(char, code)
    return value


def as_read(text: str) -> str:
    """Return the readable text of a message."""
    if text.startswith(_ACTION):
        text = "* hermes " + text.removeprefix(_ACTION).rstrip("\x01")
    return _CODES.sub("", text)
