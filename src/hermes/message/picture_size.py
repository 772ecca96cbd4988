"""Reads the pixel size of a picture from its headers without decoding it. Pure.

If a picture states it several times, the largest counts: that is what a decoder would need.
"""

from collections.abc import Callable
from typing import Final

Size = tuple[int, int]

_NO_LENGTH: Final = frozenset((0x01, *range(0xD0, 0xDA)))
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MOST_FRAMES: Final = 100_000


def picture_size(data: bytes, mime: str) -> Size | None:
    """Return width and height, or None if they cannot be read: such a picture is broken."""
    read = _READERS.get(mime)
    size = None if read is None else read(data)
    return None if size is None or not size[0] or not size[1] else size


def _png(data: bytes) -> Size | None:
    if data[12:16] != b"IHDR" or len(data) < 24:
        return None
    return _big(data[16:20]), _big(data[20:24])


def _jpeg(data: bytes) -> Size | None:
    """Walk the segments up to the frame's; the content of segments is skipped."""
    at, end = 2, len(data)
    while at + 4 <= end:
        mark = data[at + 1]
        # Bytes between segments are skipped, as decoders do.
        if data[at] != 0xFF or mark in (0x00, 0xFF):
            at += 1
        elif mark in _NO_LENGTH:
            at += 2
        elif mark in _FRAMES:
            return (
                (_big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7]))
                if at + 9 <= end
                else None
            )
        else:
            at += 2 + max(2, _big(data[at + 2 : at + 4]))
    return None


def _gif(data: bytes) -> Size | None:
    """Return the screen size, or more if one of the frames exceeds it."""
    if len(data) < 13:
        return None
    width, height = _small(data[6:8]), _small(data[8:10])
    at = 13 + _palette(data[10])
    for _ in range(_MOST_FRAMES):
        mark = data[at : at + 1]
        if mark == b"!":
            at = _behind_blocks(data, at + 2)
        elif mark == b"," and at + 10 <= len(data):
            left, top, wide, high = (_small(data[at + n : at + n + 2]) for n in (1, 3, 5, 7))
            width, height = max(width, left + wide), max(height, top + high)
            at = _behind_blocks(data, at + 11 + _palette(data[at + 9]))
        else:
            break
    return width, height


def _palette(flags: int) -> int:
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _behind_blocks(data: bytes, at: int) -> int:
    while at < len(data) and data[at]:
        at += data[at] + 1
    return at + 1


def _webp(data: bytes) -> Size | None:
    """Return the canvas size, or that of the single frame without a canvas."""
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        return _small(data[24:27]) + 1, _small(data[27:30]) + 1
    if kind == b"VP8L" and len(data) >= 25:
        bits = _small(data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a" and len(data) >= 30:
        return _small(data[26:28]) & 0x3FFF, _small(data[28:30]) & 0x3FFF
    return None


def _big(piece: bytes) -> int:
    return int.from_bytes(piece, "big")


def _small(piece: bytes) -> int:
    return int.from_bytes(piece, "little")


_READERS: Final[dict[str, Callable[[bytes], Size | None]]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
