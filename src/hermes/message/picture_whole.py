"""Checks by its structure whether a picture is complete, without decoding it. Pure.

A truncated picture has a valid beginning, but no service accepts it.
"""

from collections.abc import Callable
from typing import Final

_MOST_PIECES: Final = 100_000
_SCAN: Final = 0xDA
_NO_LENGTH: Final = frozenset((0x01, *range(0xD0, 0xDA)))


def is_whole(data: bytes, mime: str) -> bool:
    """Return whether a picture of a known kind is complete; other kinds are not checked."""
    judge = _JUDGES.get(mime)
    return judge is None or judge(data)


def _png(data: bytes) -> bool:
    """Walk the chunks up to the last; there must be pixel data among them."""
    at, has_points = 8, False
    for _ in range(_MOST_PIECES):
        behind = at + 12 + int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if behind > len(data) or len(kind) < 4:
            return False
        if kind == b"IEND":
            return has_points
        has_points = has_points or kind == b"IDAT"
        at = behind
    return False


def _jpeg(data: bytes) -> bool:
    """Walk the segments up to the pixel data; the end marker cannot occur inside it."""
    at = 2
    while at + 4 <= len(data):
        mark = data[at + 1]
        if data[at] != 0xFF or mark in (0x00, 0xFF):
            at += 1
        elif mark == _SCAN:
            return data.find(b"\xff\xd9", at + 4) > 0
        elif mark in _NO_LENGTH:
            at += 2
        else:
            at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    return False


def _gif(data: bytes) -> bool:
    """Walk the blocks up to the trailer."""
    at = 13 + _palette(data[10:11])
    for _ in range(_MOST_PIECES):
        mark = data[at : at + 1]
        if mark == b"!":
            at = _behind_blocks(data, at + 2)
        elif mark == b",":
            at = _behind_blocks(data, at + 11 + _palette(data[at + 9 : at + 10]))
        else:
            return mark == b";"
    return False


def _palette(flags: bytes) -> int:
    packed = flags[0] if flags else 0
    return 3 * 2 ** ((packed & 7) + 1) if packed & 0x80 else 0


def _behind_blocks(data: bytes, at: int) -> int:
    while at < len(data) and data[at]:
        at += data[at] + 1
    return at + 1


def _webp(data: bytes) -> bool:
    return len(data) >= 8 + int.from_bytes(data[4:8], "little") > 20


_JUDGES: Final[dict[str, Callable[[bytes], bool]]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
