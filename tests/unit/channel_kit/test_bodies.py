"""Bodies that platforms send: read in their shape, and refused by one kind of error for all else."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channel_kit.bodies import decode, decode_any, decode_form
from hermes.errors import BadRequest, TooLarge


class Shape(msgspec.Struct, frozen=True):
    """A number with a name."""

    name: str
    n: int = 0


def test_a_body_is_read_in_its_shape() -> None:
    assert decode(b'{"name": "a", "more": 1}', Shape, platform="example") == Shape("a")


@pytest.mark.parametrize("raw", [b"", b"{}", b'{"name": 1}', b"\xff", b"[" * 100_000, b"{} {}"])
def test_any_other_body_is_refused_by_name(raw: bytes) -> None:
    with pytest.raises(BadRequest, match="example sent"):
        decode(raw, Shape, platform="example")


def test_a_body_of_any_shape_is_bounded() -> None:
    assert decode_any(b"[[1]]", most_bytes=10, most_depth=2) == [[1]]
    with pytest.raises(TooLarge):
        decode_any(b" " * 11, most_bytes=10, most_depth=2)


@pytest.mark.parametrize("raw", [b"[[[1]]]", b"[1", b"", b"\xff"])
def test_a_body_of_any_shape_is_not_too_deep(raw: bytes) -> None:
    with pytest.raises(BadRequest):
        decode_any(raw, most_bytes=10, most_depth=2)


def test_a_form_keeps_empty_fields_and_the_last_of_two() -> None:
    assert decode_form(b"a=1&b=&a=%C3%A4+2", platform="example") == {"a": "ä 2", "b": ""}


@given(st.binary(max_size=200))
def test_any_bytes_are_a_form_or_refused(body: bytes) -> None:
    try:
        found = decode_form(body, platform="example")
    except BadRequest:
        return
    assert all(isinstance(name, str) for name in found)


def test_a_form_of_too_many_fields_is_refused() -> None:
    with pytest.raises(BadRequest):
        decode_form(b"&".join([b"a=1"] * 101), platform="example")
