"""IRC lines: tags, prefix, command and parameters, from bytes and to bytes. Pure.

Incoming lines are parsed leniently and never fail; outgoing lines are checked, so that no text of a
reply can end a line and begin a command.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

# A line with its CR LF, as the server forwards it; tags are counted separately.
LINE_BYTES: Final = 512
MOST_TAG_BYTES: Final = 8191
MOST_LINE_BYTES: Final = MOST_TAG_BYTES + 4096
_MOST_PARAMS: Final = 15
_UNSAFE: Final = re.compile(r"[\r\n\x00]")
_TAG_ESCAPES: Final = {":": ";", "s": " ", "\\": "\\", "r": "\r", "n": "\n"}
_NO_TAGS: Final[Mapping[str, str]] = {}
_ASCII: Final = {char: char + 32 for char in range(ord("A"), ord("Z") + 1)}
_STRICT: Final = _ASCII | {ord("["): ord("{"), ord("]"): ord("}"), ord("\\"): ord("|")}
_RFC1459: Final = _STRICT | {ord("~"): ord("^")}
_FOLDS: Final = {"ascii": _ASCII, "rfc1459": _RFC1459, "strict-rfc1459": _STRICT}


class IrcLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line; `prefix` is its sender, as the server says."""

    command: str
    params: tuple[str, ...] = ()
    prefix: str = ""
    tags: Mapping[str, str] = _NO_TAGS

    @property
    def nick(self) -> str:
        """The sender, without user and host."""
        return self.prefix.partition("!")[0].partition("@")[0]

    @property
    def last(self) -> str:
        """The last parameter, which is the text of most lines."""
        return self.params[-1] if self.params else ""

    def at(self, number: int) -> str:
        """Return a parameter, or an empty text if there is none."""
        return self.params[number] if number < len(self.params) else ""


def decode(raw: bytes) -> str:
    """Return the text of a line: UTF-8, or the encoding of old clients."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def read_line(raw: bytes) -> IrcLine | None:
    """Return a parsed line; None if it is not one."""
    text = decode(raw[:MOST_LINE_BYTES].rstrip(b"\r\n")).replace("\x00", "")
    tags, prefix = _NO_TAGS, ""
    if text.startswith("@"):
        told, _, text = text[1:].partition(" ")
        tags = _read_tags(told)
    text = text.lstrip(" ")
    if text.startswith(":"):
        prefix, _, text = text[1:].partition(" ")
    command, _, rest = text.lstrip(" ").partition(" ")
    if not command.isascii() or not command.isalnum():
        return None
    return IrcLine(command=command.upper(), params=_read_params(rest), prefix=prefix, tags=tags)


def _read_params(rest: str) -> tuple[str, ...]:
    params: list[str] = []
    while len(params) < _MOST_PARAMS and (rest := rest.lstrip(" ")):
        if rest.startswith(":") or len(params) == _MOST_PARAMS - 1:
            params.append(rest.removeprefix(":"))
            break
        word, _, rest = rest.partition(" ")
        params.append(word)
    return tuple(params)


def _read_tags(told: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in told.split(";"):
        name, _, value = one.partition("=")
        if name:
            found[name] = _unescaped(value)
    return found


def _unescaped(value: str) -> str:
    if "\\" not in value:
        return value
    made, escaped = [], False
    for char in value:
        if escaped:
            made.append(_TAG_ESCAPES.get(char, char))
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            made.append(char)
    return "".join(made)


def write_line(command: str, *params: str, label: str = "") -> bytes:
    """Return a line for the server; the last parameter may have spaces and be empty.

    Line ends are removed from every parameter, so that a text stays a text.
    """
    words = [_UNSAFE.sub("", param) for param in params]
    if any(not word or word.startswith(":") or " " in word for word in words[:-1]):
        raise ValueError(f"{command}: only the last parameter may be empty or have spaces")
    tags = f"@label={label} " if label else ""
    said = [command, *words[:-1], *(f":{word}" for word in words[-1:])]
    return f"{tags}{' '.join(said)}\r\n".encode("utf-8", "replace")


def fold(name: str, mapping: str = "rfc1459") -> str:
    """Return the name of a nick or a channel in the form in which the server compares it."""
    return name.translate(_FOLDS.get(mapping, _RFC1459))


def read_support(params: tuple[str, ...]) -> dict[str, str]:
    """Return the settings in a line of RPL_ISUPPORT, without the nick before them and the text
    after them.
    """
    found: dict[str, str] = {}
    for token in params[1:-1]:
        name, _, value = token.partition("=")
        found[name.upper()] = value
    return found
