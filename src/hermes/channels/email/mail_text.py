"""Decodes bytes of a mail to text, whatever they claim to be: charsets, encoded words, header
values. Pure.

Nothing here raises; unreadable parts are shown as well as possible.
"""

import binascii
import codecs
import encodings
import quopri
import re
from encodings.aliases import aliases
from pkgutil import iter_modules
from typing import Final

_WORD: Final = re.compile(r"=\?([^?\s]{1,40})\?([bBqQ])\?([^?\s]*)\?=")
# The space between two encoded words belongs to neither.
_BETWEEN: Final = re.compile(r"(\?=)[ \t]+(?==\?[^?\s]{1,40}\?[bBqQ]\?)")
_MAX_HEADER: Final = 4000
# Python's own inventions, and codecs that are too expensive.
_NO_CHARSETS: Final = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}
)
# Python caches every codec name that it was ever asked for: mails must not add arbitrary ones.
_KNOWN_CHARSETS: Final = frozenset(
    {*aliases, *aliases.values(), *(one.name for one in iter_modules(encodings.__path__))}
)
_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NOT_BASE64: Final = bytes(set(range(256)) - set(_BASE64))
# Of the widest character; shift sequences of a charset are not counted.
_MOST_BYTES: Final = 4


def decode_text(data: bytes, charset: str) -> str:
    """Return bytes as text in the claimed charset, or in one that fits."""
    claimed = charset.strip().strip('"').lower()
    if claimed in {"", "us-ascii", "ascii", "utf-8", "utf8", "unknown-8bit", "x-unknown"}:
        return _guess(data)
    name = encodings.normalize_encoding(claimed.partition("*")[0]).replace(".", "_")
    if name not in _KNOWN_CHARSETS:
        return _guess(data)
    try:
        codec = codecs.lookup(name)
        if codec.name.replace("-", "_") in _NO_CHARSETS:
            return _guess(data)
        return clean(data.decode(codec.name, "replace"))
    except (LookupError, ValueError, TypeError, AssertionError):
        return _guess(data)


def decode_beginning(data: bytes, charset: str, *, most: int) -> str:
    """Return at most so many characters of the decoded text; the rest is not decoded."""
    end = _MOST_BYTES * most
    for _ in range(_MOST_BYTES - 1):
        # Half a character would make the whole text look like another charset.
        if 0 < end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
    return decode_text(data[:end], charset)[:most]


def decode_transfer(data: bytes, encoding: str) -> bytes:
    """Return a body without its transfer encoding."""
    kind = encoding.strip().strip('"').lower()
    if kind == "base64":
        return decode_base64(data)
    if kind == "quoted-printable":
        return quopri.decodestring(data)
    return data


def decode_base64(data: bytes) -> bytes:
    """Decode base64, also with missing or stray characters."""
    letters = data.translate(None, _NOT_BASE64)
    # One character left over holds no whole byte.
    whole = letters[: len(letters) - 1] if len(letters) % 4 == 1 else letters
    try:
        return binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))
    except binascii.Error:
        return b""


def decode_header(value: bytes) -> str:
    """Return a header's value as text, on one line and of limited length."""
    text = _guess(value[:_MAX_HEADER])
    if "=?" in text:
        text = _WORD.sub(_word, _BETWEEN.sub(r"\1", text))
    return " ".join(clean(text).split())


def clean(text: str) -> str:
    """Return a text without lone surrogates and control characters."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(one for one in whole if one >= " " or one in "\n\t").replace("\x7f", "")


def _word(found: re.Match[str]) -> str:
    charset, kind, coded = found.groups()
    raw = coded.encode("utf-8", "replace")
    if kind in "bB":
        return decode_text(decode_base64(raw), charset)
    return decode_text(quopri.decodestring(raw, header=True), charset)


def _guess(data: bytes) -> str:
    try:
        return clean(data.decode("utf-8"))
    except UnicodeDecodeError:
        return clean(data.decode("cp1252", "replace"))
