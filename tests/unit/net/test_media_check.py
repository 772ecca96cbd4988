"""Pictures that are given by value are checked as attachments are."""

import base64
import struct

import pytest

from hermes.errors import BadRequest, TooLarge
from hermes.media.check import FileLimits, check_by_value, check_files_by_value
from hermes.message.parts import Media

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


@pytest.mark.parametrize(
    ("mime", "data"),
    [
        ("application/pdf", b"\n%PDF-1.7 page"),
        ("audio/wav", b"RIFF\x00\x00\x00\x00WAVEfmt "),
        ("audio/mpeg", b"ID3\x04"),
        ("audio/mpeg", b"\xff\xfb\x90\x00"),
    ],
)
def test_documents_and_sounds_are_what_they_claim_to_be(mime: str, data: bytes) -> None:
    check_files_by_value([Media(mime, url=by_value(data, mime))], LIMITS)
    with pytest.raises(BadRequest, match=f"type {mime} .* is a file of another type"):
        check_files_by_value([Media(mime, url=by_value(b"<html>", mime))], LIMITS)
    with pytest.raises(TooLarge, match="more than the 10000 bytes"):
        check_files_by_value([Media(mime, url=by_value(data + bytes(20_000), mime))], LIMITS)
    with pytest.raises(BadRequest, match="is not base64"):
        check_files_by_value([Media(mime, url=f"data:{mime};base64,%%%")], LIMITS)


def test_a_document_at_an_address_is_left_to_the_service() -> None:
    check_files_by_value([Media("application/pdf", url="https://a.test/a.pdf")], LIMITS)
