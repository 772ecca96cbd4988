"""Pictures that are given by value are checked as attachments are."""

import base64
import struct

import pytest

from hermes.errors import BadRequest, TooLarge
from hermes.media.check import FileLimits, check_by_value

pytestmark = pytest.mark.req("W17", "A8")
LIMITS = FileLimits(max_bytes=10_000, max_pixels=1_000_000)


def png(width: int, height: int, *, more: int = 0) -> bytes:
    head = struct.pack(">I4sII", 13, b"IHDR", width, height)
    return b"\x89PNG\r\n\x1a\n" + head + bytes(9 + more)


def by_value(data: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def test_a_picture_of_too_many_pixels_is_refused_whatever_it_is_called() -> None:
    for mime in ("image/png", "image/jpeg"):
        with pytest.raises(BadRequest, match="50000 x 50000 pixels, which is too many"):
            check_by_value([by_value(png(8, 8)), by_value(png(50_000, 50_000), mime)], LIMITS)


def test_a_picture_of_too_many_bytes_is_refused() -> None:
    with pytest.raises(TooLarge, match="at most 10000 are accepted"):
        check_by_value([by_value(png(8, 8, more=20_000))], LIMITS)


def test_what_is_fine_or_no_picture_at_all_is_left_alone() -> None:
    check_by_value(
        [
            by_value(png(1000, 1000)),
            by_value(b"hi"),
            "data:image/png;base64,%%%",
            "data:text/html,x",
            "https://example.com/a.png",
        ],
        LIMITS,
    )
