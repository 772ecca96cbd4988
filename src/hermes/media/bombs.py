"""Detects files that expand to far more than their size; pure, and nothing is kept unpacked.

Only the directories of archives are read. Nested archives are examined within a small allowance of
bytes; what cannot be examined within it is refused, too.
"""

import re
import zlib
from typing import Final, NamedTuple

from hermes.errors import BadRequest
from hermes.message.media_kind import GZIP, ZIP, FileKind

MOST_UNPACKED: Final = 1_000_000_000
MOST_RATIO: Final = 200
# A small file may be all zeros: the unpacked size is what counts.
_HARMLESS: Final = 20_000_000
_MOST_ENTRIES: Final = 20_000
_MOST_LIST_BYTES: Final = 4_000_000
_MOST_LOOKED_AT: Final = 30_000_000
_MOST_INSIDE: Final = 3
_END: Final = b"PK\x05\x06"
_END_64: Final = b"PK\x06\x06"
_END_64_AT: Final = b"PK\x06\x07"
_ENTRY: Final = b"PK\x01\x02"
_LOCAL: Final = b"PK\x03\x04"
_UNSAID: Final = 0xFFFFFFFF
_ARCHIVE: Final = re.compile(
    rb"\.(zip|jar|apk|docx|xlsx|pptx|odt|ods|odp|epub|gz|tgz)$", re.IGNORECASE
)
_STORED, _DEFLATED = 0, 8


class _Entry(NamedTuple):
    """A file in an archive as its directory lists it."""

    name: bytes
    method: int
    packed: int
    unpacked: int
    at: int


class _Allowance:
    """How much of one file, nested archives included, may still be unpacked, found and listed."""

    def __init__(self, size: int) -> None:
        self.entries = _MOST_ENTRIES
        self.looked_at = _MOST_LOOKED_AT
        self.unpacked = 0
        self._most = max(_HARMLESS, min(MOST_UNPACKED, size * MOST_RATIO))

    def count(self, unpacked: int) -> None:
        self.entries -= 1
        self.unpacked += unpacked
        if self.unpacked > self._most:
            raise BadRequest(
                "it unpacks to far more than it is, as archives do that are meant to harm"
            )
        if self.entries < 0:
            raise BadRequest("it is an archive of too many files")


def check_bomb(data: bytes, kind: FileKind) -> None:
    """Raise a `BadRequest` with a text for people if a file is, or may hide, a bomb."""
    if kind == ZIP:
        _look_into(data, _Allowance(len(data)), depth=0)
    elif kind == GZIP:
        _Allowance(len(data)).count(_gzip_size(data))


def _gzip_size(data: bytes) -> int:
    """Return the unpacked size that a gzip file states in its last four bytes."""
    return int.from_bytes(data[-4:], "little") if len(data) >= 18 else 0


def _look_into(data: bytes, allowance: _Allowance, *, depth: int) -> None:
    for entry in _entries(data):
        allowance.count(entry.unpacked)
        if not _ARCHIVE.search(entry.name):
            continue
        if depth == _MOST_INSIDE:
            raise BadRequest("it is an archive with archives inside of archives")
        inner = _unpacked(data, entry, allowance)
        if inner[:4] in (_LOCAL, _END):
            _look_into(inner, allowance, depth=depth + 1)
        elif inner[:2] == b"\x1f\x8b":
            allowance.count(_gzip_size(inner))


def _entries(data: bytes) -> list[_Entry]:
    """Return the directory of an archive; a truncated archive lists nothing."""
    start, size, shift = _list_place(data)
    if size > _MOST_LIST_BYTES:
        raise BadRequest("it is an archive of too many files")
    found, at, end = [], start, start + size
    while at + 46 <= end and data[at : at + 4] == _ENTRY:
        name, extra, comment = (_number(data, at + place, 2) for place in (28, 30, 32))
        entry = _entry(data, at, name=name, extra=extra)
        found.append(entry._replace(at=entry.at + shift))
        at += 46 + name + extra + comment
    if not found and size:
        raise BadRequest("it is an archive whose list of contents cannot be read")
    return found


def _list_place(data: bytes) -> tuple[int, int, int]:
    """Return the offset and length of the directory, and the number of bytes before the archive."""
    end = data.rfind(_END, max(0, len(data) - 65_557))
    if end < 0 or len(data) < end + 22:
        raise BadRequest("it is an archive whose list of contents cannot be read")
    size, start = _number(data, end + 12, 4), _number(data, end + 16, 4)
    whole = end
    if data[end - 20 : end - 16] == _END_64_AT and _UNSAID in (size, start):
        whole = data.rfind(_END_64, 0, end)
        if whole < 0 or len(data) < whole + 56:
            raise BadRequest("it is an archive whose list of contents cannot be read")
        size, start = _number(data, whole + 40, 8), _number(data, whole + 48, 8)
    # Bytes may precede an archive: the directory is found from its end, as unpackers do.
    found = max(0, whole - size)
    if found != start and data[start : start + 4] == _ENTRY:
        raise BadRequest("it is an archive with two lists of contents")
    return found, min(size, whole), found - start


def _entry(data: bytes, at: int, *, name: int, extra: int) -> _Entry:
    packed, unpacked = _number(data, at + 20, 4), _number(data, at + 24, 4)
    place = _number(data, at + 42, 4)
    if _UNSAID in (packed, unpacked):
        packed, unpacked = _long_sizes(
            data[at + 46 + name : at + 46 + name + extra], packed, unpacked
        )
    title = data[at + 46 : at + 46 + name]
    return _Entry(title, _number(data, at + 10, 2), packed, unpacked, place)


def _long_sizes(extra: bytes, packed: int, unpacked: int) -> tuple[int, int]:
    """Return the 64-bit sizes from the extra field."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = _number(extra, at, 2), _number(extra, at + 2, 2)
        if kind == 1:
            place = at + 4
            if unpacked == _UNSAID:
                unpacked, place = _number(extra, place, 8), place + 8
            if packed == _UNSAID:
                packed = _number(extra, place, 8)
            break
        at += 4 + size
    return packed, unpacked


def _unpacked(data: bytes, entry: _Entry, allowance: _Allowance) -> bytes:
    """Return a nested archive; raises if it does not fit in the allowance."""
    at = entry.at
    if data[at : at + 4] != _LOCAL:
        raise BadRequest("it is an archive whose contents cannot be found")
    start = at + 30 + _number(data, at + 26, 2) + _number(data, at + 28, 2)
    packed = data[start : start + entry.packed]
    if entry.method == _STORED:
        inner = packed
    elif entry.method == _DEFLATED:
        inner = _inflated(packed, allowance.looked_at + 1)
    else:
        raise BadRequest("it is an archive with an archive inside that cannot be looked into")
    allowance.looked_at -= len(inner)
    if allowance.looked_at < 0:
        raise BadRequest("it is an archive with more archives inside than can be looked through")
    return inner


def _inflated(packed: bytes, most: int) -> bytes:
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most)
    except zlib.error as error:
        raise BadRequest("it is an archive with a broken archive inside") from error


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
