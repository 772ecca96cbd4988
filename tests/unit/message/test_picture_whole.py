"""A picture that was cut off on its way is told from one that is whole, wherever it was cut."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.message.picture_kind import PICTURE_KINDS
from hermes.message.picture_whole import is_whole

pytestmark = pytest.mark.req("W17")


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


HEAD = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
PNG = HEAD + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
# A small picture inside of the first segment has an end of its own, which is not that of the large one.
THUMBNAIL = b"\xff\xe1" + struct.pack(">H", 8) + b"\xff\xda\x00\x00\xff\xd9"
FRAME = b"\xff\xc0" + struct.pack(">HBHH", 17, 8, 1, 1) + bytes(10)
SCAN = b"\xff\xda" + struct.pack(">H", 8) + bytes(6) + b"\x12\xff\x00\x34\xff\xd0\x56"
JPEG = b"\xff\xd8" + THUMBNAIL + FRAME + SCAN + b"\xff\xd9"
GIF = (
    b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + bytes(6)
    + b"!\xf9\x04\x00\x00\x00\x00\x00"
    + b"," + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02;;\x00" + b";"
)  # fmt: skip
WEBP = b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8L" + struct.pack("<I", 10) + b"/" + bytes(9)
WHOLE = {"image/png": PNG, "image/jpeg": JPEG, "image/gif": GIF, "image/webp": WEBP}


@pytest.mark.parametrize("mime", PICTURE_KINDS)
def test_whole_it_is_taken_and_cut_anywhere_it_is_not(mime: str) -> None:
    picture = WHOLE[mime]

    assert is_whole(picture, mime)
    # Some cameras write more behind the end, which nobody reads.
    assert is_whole(picture + b"more", mime)
    assert [n for n in range(len(picture)) if is_whole(picture[:n], mime)] == []


def test_a_picture_without_points_is_none() -> None:
    assert not is_whole(HEAD + chunk(b"IEND", b""), "image/png")


@given(st.binary(max_size=200), st.sampled_from(PICTURE_KINDS))
def test_whatever_follows_a_good_beginning_is_judged(data: bytes, mime: str) -> None:
    assert is_whole(WHOLE[mime][:20] + data, mime) in {True, False}
    assert is_whole(data, mime) in {True, False}
