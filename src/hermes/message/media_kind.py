"""Detects the kind of a file from its bytes, never from its name. Pure.

Unknown bytes are plain bytes. HTML and SVG are files and never pictures, because a viewer could run
what they contain.
"""

from typing import Final, NamedTuple

from hermes.message.picture_kind import picture_kind

TEXT_HEAD: Final = 8_192
"""How many bytes are read to distinguish text from other bytes."""


class FileKind(NamedTuple):
    """A type, and the usual endings of its file names."""

    mime: str
    extension: str


BYTES: Final = FileKind("application/octet-stream", "bin")
ZIP: Final = FileKind("application/zip", "zip")
GZIP: Final = FileKind("application/gzip", "gz")
_TEXT: Final = FileKind("text/plain", "txt")
_PICTURES: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_BEGINNINGS: Final = (
    (b"%PDF-", FileKind("application/pdf", "pdf")),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),
    (b"PK\x07\x08", ZIP),
    (b"\x1f\x8b", GZIP),
    (b"ID3", FileKind("audio/mpeg", "mp3")),
    (b"fLaC", FileKind("audio/flac", "flac")),
    (b"#!AMR", FileKind("audio/amr", "amr")),
    (b"BZh", FileKind("application/x-bzip2", "bz2")),
    (b"\xfd7zXZ\x00", FileKind("application/x-xz", "xz")),
    (b"7z\xbc\xaf\x27\x1c", FileKind("application/x-7z-compressed", "7z")),
    (b"Rar!\x1a\x07", FileKind("application/vnd.rar", "rar")),
    (b"\x28\xb5\x2f\xfd", FileKind("application/zstd", "zst")),
    (b"II*\x00", FileKind("image/tiff", "tiff")),
    (b"MM\x00*", FileKind("image/tiff", "tiff")),
    (b"SQLite format 3\x00", FileKind("application/vnd.sqlite3", "sqlite")),
)
# The brand of a file in boxes comes after its first length field.
_BRANDS: Final = {
    b"M4A ": FileKind("audio/mp4", "m4a"),
    b"M4B ": FileKind("audio/mp4", "m4a"),
    b"qt  ": FileKind("video/quicktime", "mov"),
    b"avif": FileKind("image/avif", "avif"),
    b"heic": FileKind("image/heic", "heic"),
    b"heix": FileKind("image/heic", "heic"),
    b"mif1": FileKind("image/heic", "heic"),
}
_MARKUP: Final = (
    (b"<!doctype html", FileKind("text/html", "html")),
    (b"<html", FileKind("text/html", "html")),
    (b"<svg", FileKind("text/xml", "svg")),
    (b"<?xml", FileKind("text/xml", "xml")),
)
_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_CONTROLS: Final = frozenset(range(32)) - frozenset(b"\t\n\r\f\b\x1b")


def file_kind(data: bytes) -> FileKind:
    """Return the kind of a file by its bytes; the first few thousand are enough."""
    picture = picture_kind(data)
    if picture is not None:
        return FileKind(picture, _PICTURES[picture])
    for beginning, kind in _BEGINNINGS:
        if data.startswith(beginning):
            return kind
    return _container(data) or _sound(data) or _text(data[:TEXT_HEAD]) or BYTES


def _container(data: bytes) -> FileKind | None:
    if data[4:8] == b"ftyp":
        return _BRANDS.get(bytes(data[8:12]), FileKind("video/mp4", "mp4"))
    if data[:4] == b"\x1aE\xdf\xa3":
        is_web = b"webm" in data[:64]
        return FileKind("video/webm", "webm") if is_web else FileKind("video/x-matroska", "mkv")
    if data[:4] == b"RIFF" and data[8:12] == b"AVI ":
        return FileKind("video/x-msvideo", "avi")
    return None


def _sound(data: bytes) -> FileKind | None:
    if data[:4] == b"OggS":
        is_video = b"theora" in data[:256]
        return FileKind("video/ogg", "ogv") if is_video else FileKind("audio/ogg", "ogg")
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return FileKind("audio/wav", "wav")
    # An MP3 frame begins with eleven set bits, and states that it is layer III.
    if len(data) > 3 and data[0] == 0xFF and data[1] & 0xE6 == 0xE2:
        has_rate = data[2] & 0xF0 not in (0x00, 0xF0)
        return FileKind("audio/mpeg", "mp3") if has_rate else None
    if len(data) > 3 and data[0] == 0xFF and data[1] & 0xF6 == 0xF0:
        return FileKind("audio/aac", "aac")
    return None


def _text(head: bytes) -> FileKind | None:
    if not head:
        return _TEXT
    if head.startswith(_MARKS[1:]):
        return _TEXT if len(head) > 2 and b"\x00\x00\x00" not in head else None
    bare = head.removeprefix(_MARKS[0])
    if not _CONTROLS.isdisjoint(bare):
        return None
    try:
        bare.decode()
    except UnicodeDecodeError as error:
        # The last letter may have been cut in two.
        if error.start < len(bare) - 3 or len(head) < TEXT_HEAD:
            return None
    begun = bare.lstrip()[:4096].lower()
    if begun.startswith(b"<?xml") and b"<svg" in begun:
        return FileKind("text/xml", "svg")
    return next((kind for mark, kind in _MARKUP if begun.startswith(mark)), _TEXT)
