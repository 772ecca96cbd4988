"""Bodies of `multipart/form-data` become their parts, or a reason that says what is wrong."""

import pytest

from hermes.errors import BadRequest
from hermes.http.multipart import FormPart, decode_multipart

TYPE = {"content-type": "multipart/form-data; boundary=xyz"}


def body(*parts: bytes, end: bytes = b"--xyz--\r\n") -> bytes:
    return b"".join(b"--xyz\r\n" + part + b"\r\n" for part in parts) + end


def field(name: str, data: bytes, more: str = "") -> bytes:
    return f'Content-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + data


def test_parts_come_as_they_were_sent() -> None:
    odd = b"a\r\n\r\n--xy\r\n\x00\xff"
    raw = body(field("message", b"{}"), field("file", odd, '; filename="a \\"b\\" %22c%22 ä.png"'))
    assert decode_multipart(raw, TYPE, most_parts=2) == (
        FormPart("message", b"{}"),
        FormPart("file", odd, 'a "b" "c" ä.png'),
    )


def test_a_quoted_boundary_and_text_before_the_first_part_are_fine() -> None:
    quoted = {"content-type": 'multipart/form-data; charset=utf-8; boundary="xyz"'}
    raw = b"hello\r\n" + body(field("a", b""))
    assert decode_multipart(raw, quoted, most_parts=1) == (FormPart("a", b""),)


@pytest.mark.parametrize(
    ("raw", "content_type", "reason"),
    [
        (body(field("a", b"1")), "multipart/form-data", "no valid boundary"),
        (body(field("a", b"1")), "multipart/form-data; boundary=", "no valid boundary"),
        (body(field("a", b"1")), f"multipart/form-data; boundary={'x' * 71}", "no valid boundary"),
        (body(field("a", b"1")), "multipart/form-data; boundary=other", "its own boundary"),
        (body(field("a", b"1"), end=b""), TYPE["content-type"], "was cut off"),
        (body(b"no headers"), TYPE["content-type"], "no valid headers"),
        (body(b"X-Y: z\r\n\r\n1"), TYPE["content-type"], "has no name"),
        (body(field("", b"1")), TYPE["content-type"], "has no name"),
        (body(field("a", b"1", "; x=" + "y" * 5000)), TYPE["content-type"], "no valid headers"),
        (body(b"\xff: 1\r\n\r\n1"), TYPE["content-type"], "not UTF-8"),
        (b"--xyzzy\r\n\r\n\r\n--xyz--", TYPE["content-type"], "also inside a part"),
        (body(*[field("a", b"1")] * 4), TYPE["content-type"], "more than 3 parts"),
        (b"", TYPE["content-type"], "its own boundary"),
    ],
)
def test_a_broken_body_is_refused_with_the_reason(
    raw: bytes, content_type: str, reason: str
) -> None:
    with pytest.raises(BadRequest, match=reason):
        decode_multipart(raw, {"content-type": content_type}, most_parts=3)


def test_very_many_marks_cost_no_more_than_the_allowed_parts() -> None:
    with pytest.raises(BadRequest, match="more than 3 parts"):
        decode_multipart(body(*[field("a", b"1")] * 100_000), TYPE, most_parts=3)
