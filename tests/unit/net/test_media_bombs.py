"""Archives that unpack to far more than they are."""

import gzip
import io
import struct
import zipfile
import zlib

import pytest

from hermes.errors import BadRequest
from hermes.media.bombs import check_bomb
from hermes.message.media_kind import file_kind


def archive(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as made:
        for name, data in files:
            made.writestr(name, data)
    return held.getvalue()


def nested(depth: int, leaf: bytes, *, copies: int = 1) -> bytes:
    data = archive(("leaf.bin", leaf))
    for _ in range(depth):
        data = archive(*((f"{number}.zip", data) for number in range(copies)))
    return data


def claiming(size: int) -> bytes:
    """Return an archive whose list says that its one file has so many bytes."""
    data = bytearray(archive(("a.txt", b"words")))
    entry = data.rfind(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = struct.pack("<I", size)
    return bytes(data)


def in_long_form(data: bytes) -> bytes:
    """Return an archive whose end says where its list is in 64 bits, as those of large archives do."""
    end = data.rfind(b"PK\x05\x06")
    size, start = struct.unpack("<II", data[end + 12 : end + 20])
    long_end = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, start)
    found_at = struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
    short = data[end : end + 12] + b"\xff" * 8 + data[end + 20 :]
    return data[:end] + long_end + found_at + short


def misplaced() -> bytes:
    """Return an archive whose list says a wrong place of the archive inside."""
    data = bytearray(archive(("in.zip", archive(("leaf.txt", b"words")))))
    entry = data.rfind(b"PK\x01\x02")
    data[entry + 42 : entry + 46] = struct.pack("<I", 7)
    return bytes(data)


def check(data: bytes) -> None:
    check_bomb(data, file_kind(data))


@pytest.mark.req("W17")
@pytest.mark.parametrize(
    "data",
    [
        archive(("a.txt", b"words" * 100), ("b/c.txt", b"")),
        archive(("book.docx", archive(("word/document.xml", b"<w/>" * 1_000)))),
        archive(("zeros.bin", bytes(15_000_000))),
        b"PK\x05\x06" + bytes(18),
        b"before it" * 9 + archive(("a.txt", b"words")),
        nested(2, b"deep"),
        archive(("first.txt", b"words" * 99), ("in.zip", archive(("leaf.txt", b"words")))),
        in_long_form(archive(("a.txt", b"words"))),
        gzip.compress(b"words" * 1_000, mtime=0),
    ],
)
def test_an_honest_archive_is_no_bomb(data: bytes) -> None:
    check_bomb(data, file_kind(b"PK\x03\x04" if data.startswith(b"before") else data))


@pytest.mark.req("W17")
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (archive(("zeros.bin", bytes(60_000_000))), "far more"),
        (archive(*((f"{n}.bin", bytes(3_000_000)) for n in range(10))), "far more"),
        (claiming(4_000_000_000), "far more"),
        (archive(("in.zip", archive(("zeros.bin", bytes(60_000_000))))), "far more"),
        (nested(5, b"deep"), "archives inside of archives"),
        (nested(3, bytes(5_000_000), copies=4), "far more"),
        (archive(*((str(n), b"") for n in range(20_001)), method=zipfile.ZIP_STORED), "too many"),
        (archive(("in.gz", gzip.compress(bytes(60_000_000), mtime=0))), "far more"),
        (gzip.compress(bytes(60_000_000), mtime=0), "far more"),
        (misplaced(), "contents cannot be found"),
        (b"PK\x03\x04 and nothing that ends it", "cannot be read"),
        (b"PK\x03\x04" + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, 4, 0, 0), "cannot"),
    ],
)
def test_a_bomb_is_refused(data: bytes, why: str) -> None:
    assert len(data) < 5_000_000
    with pytest.raises(BadRequest, match=why):
        check(data)


@pytest.mark.req("W17")
def test_sizes_too_large_for_their_place_are_read_beside_it() -> None:
    name = b"a.bin"
    extra = struct.pack("<HHQ", 1, 8, 2**40)
    packed = zlib.compress(b"x")
    local = struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", 20, 0, 8, 0, 0, 0, 9, 9, 5, 0) + name
    listed = struct.pack(
        "<4sHHHHHHIIIHHHHHII",
        b"PK\x01\x02",
        45,
        45,
        0,
        8,
        0,
        0,
        0,
        9,
        0xFFFFFFFF,
        5,
        12,
        0,
        0,
        0,
        0,
        0,
    )
    listed += name + extra
    start = len(local + packed)
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(listed), start, 0)

    with pytest.raises(BadRequest, match="far more"):
        check(local + packed + listed + end)


@pytest.mark.req("W17")
def test_two_lists_in_one_archive_are_refused() -> None:
    honest, other = archive(("a.txt", b"words")), archive(("b.txt", b"other words"))
    data = bytearray(honest + other)
    end = data.rfind(b"PK\x05\x06")
    data[end + 16 : end + 20] = struct.pack("<I", bytes(honest).rfind(b"PK\x01\x02"))

    with pytest.raises(BadRequest, match="two lists"):
        check(bytes(data))
