"""Which kind of file bytes are, how large a picture, how long a sound, and names made safe."""

import struct

import pytest

from hermes.message.file_name import safe_name
from hermes.message.media_kind import file_kind
from hermes.message.picture_size import picture_size
from hermes.message.sound_length import sound_seconds

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 60_000, 60_000) + bytes(9)
GIF = b"GIF89a" + struct.pack("<HHBBB", 3, 2, 0, 0, 0)
VP8X = b"RIFF" + bytes(4) + b"WEBPVP8X" + bytes(8) + (999).to_bytes(3, "little") + bytes(3)
VP8L = (
    b"RIFF" + bytes(4) + b"WEBPVP8L" + bytes(4) + b"/" + (8_191 | 4_095 << 14).to_bytes(4, "little")
)
VP8 = b"RIFF" + bytes(4) + b"WEBPVP8 " + bytes(7) + b"\x9d\x01\x2a" + struct.pack("<HH", 16_383, 20)
WAV = (
    b"RIFF" + bytes(4) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8_000, 16_000, 2, 16)
    + b"data" + struct.pack("<I", 32_000) + bytes(32_000)
)  # fmt: skip
OPUS = (
    b"OggS" + bytes(24) + b"OpusHead" + bytes((1, 1)) + struct.pack("<H", 312) + bytes(80)
    + b"OggS" + bytes(2) + struct.pack("<Q", 48_000 * 7 + 312) + bytes(20)
)  # fmt: skip


def jpeg(*before: bytes, width: int = 640, height: int = 480) -> bytes:
    frame = b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + bytes(12)
    return b"\xff\xd8" + b"".join(before) + frame


def segment(data: bytes) -> bytes:
    return b"\xff\xe1" + struct.pack(">H", len(data) + 2) + data


@pytest.mark.req("W17")
@pytest.mark.parametrize(
    ("data", "mime", "end"),
    [
        (PNG, "image/png", "png"),
        (jpeg(), "image/jpeg", "jpg"),
        (GIF, "image/gif", "gif"),
        (VP8X, "image/webp", "webp"),
        (b"%PDF-1.7\n%\xe2\xe3", "application/pdf", "pdf"),
        (OPUS, "audio/ogg", "ogg"),
        (b"ID3\x04\x00", "audio/mpeg", "mp3"),
        (b"\xff\xfb\x90\x64" + bytes(100), "audio/mpeg", "mp3"),
        (b"\xff\xf1\x50\x80" + bytes(100), "audio/aac", "aac"),
        (WAV, "audio/wav", "wav"),
        (b"\x00\x00\x00\x18ftypisom", "video/mp4", "mp4"),
        (b"\x00\x00\x00\x18ftypM4A \x00", "audio/mp4", "m4a"),
        (b"\x00\x00\x00\x18ftypheic", "image/heic", "heic"),
        (b"\x1aE\xdf\xa3\x01B\x86webm", "video/webm", "webm"),
        (b"PK\x03\x04rest", "application/zip", "zip"),
        (b"\x1f\x8b\x08", "application/gzip", "gz"),
        (b"plain words, \xc3\xa4", "text/plain", "txt"),
        ("\ufeffwide".encode("utf-16-le"), "text/plain", "txt"),
        (b"", "text/plain", "txt"),
        (b'\n <svg onload="x()">', "text/xml", "svg"),
        (b'<?xml version="1.0"?><svg/>', "text/xml", "svg"),
        (b"<!DOCTYPE html><p>", "text/html", "html"),
        (b"SQLite format 3\x00", "application/vnd.sqlite3", "sqlite"),
        (b"\x00\x01\x02", "application/octet-stream", "bin"),
        (b"\xc3\x28 no text", "application/octet-stream", "bin"),
    ],
)
def test_a_kind_is_told_by_the_bytes(data: bytes, mime: str, end: str) -> None:
    assert file_kind(data) == (mime, end)


@pytest.mark.req("W17")
def test_text_that_is_cut_inside_of_a_letter_is_text() -> None:
    assert file_kind("ä".encode() * 4_095 + b"abc" + "ä".encode() * 100).mime == "text/plain"


@pytest.mark.req("W17")
@pytest.mark.parametrize(
    ("data", "mime", "size"),
    [
        (PNG, "image/png", (60_000, 60_000)),
        (PNG[:20], "image/png", None),
        (jpeg(), "image/jpeg", (640, 480)),
        # A smaller picture inside of a segment is not the picture.
        (jpeg(segment(jpeg(width=9, height=9)), width=50_000), "image/jpeg", (50_000, 480)),
        (jpeg(b"\x00garbage\xff\x00", b"\xff\xff"), "image/jpeg", (640, 480)),
        (b"\xff\xd8\xff\xe0\xff\xff", "image/jpeg", None),
        (GIF, "image/gif", (3, 2)),
        # One frame reaches far out of its screen.
        (GIF + b"!\xf9\x01x\x00," + struct.pack("<HHHHB", 1, 1, 60_000, 50_000, 0), "image/gif",
         (60_001, 50_001)),
        (VP8X, "image/webp", (1_000, 1)),
        (VP8L, "image/webp", (8_192, 4_096)),
        (VP8, "image/webp", (16_383, 20)),
        (b"RIFF" + bytes(4) + b"WEBPVP8 ", "image/webp", None),
        (b"%PDF-", "application/pdf", None),
    ],
)  # fmt: skip
def test_the_size_of_a_picture_is_read_from_its_headers(
    data: bytes, mime: str, size: tuple[int, int] | None
) -> None:
    assert picture_size(data, mime) == size


@pytest.mark.req("W17")
@pytest.mark.parametrize(
    ("data", "mime", "seconds"),
    [
        (WAV, "audio/wav", 2.0),
        (OPUS, "audio/ogg", 7.0),
        (b"OggS", "audio/ogg", None),
        (b"ID3", "audio/mpeg", None),
    ],
)
def test_the_length_of_a_sound_is_read_from_its_headers(
    data: bytes, mime: str, seconds: float | None
) -> None:
    assert sound_seconds(data, mime) == seconds


@pytest.mark.req("W17")
@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ann\\cat.png", "cat.png"),
        (".bashrc", "bashrc"),
        ("..", None),
        ("", None),
        (None, None),
        ("a\nb\x00\x1b[31mc.txt", "a b_31mc.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("a](http://x) <b>.md", "x_ _b_.md"),
        ("ä" * 300 + ".pdf", "ä" * 96 + ".pdf"),
        ("日本.txt", "日本.txt"),
    ],
)
def test_a_name_is_made_safe(name: str | None, safe: str | None) -> None:
    assert safe_name(name) == safe
