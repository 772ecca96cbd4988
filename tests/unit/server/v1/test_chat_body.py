"""Hostile and broken bodies: each is one short `BadRequest`."""

import msgspec
import pytest

from hermes.errors import BadRequest
from hermes.server.v1.wire_body import WireBody, checked_object


class Small(msgspec.Struct):
    name: str
    size: int | None = None


BODY = WireBody(Small, "small request")


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"name=x", "not valid JSON"),
        (b'{"name":"x"} and more', "not valid JSON"),
        (b'{"name":"\\ud800"}', "lone surrogates are not allowed"),
        (b'{"name":"\xff"}', "not UTF-8"),
        (b"[]", "This is not a small request: Expected `object`, got `array`."),
        (b"{}", "missing required field `name`"),
        (b'{"name":3}', r"Expected `str`, got `int` - at `\$.name`"),
        (b'{"name":"x","size":"3"}', r"at `\$.size`"),
        (b'{"name":"x","deep":' + b"[" * 90_000 + b"]" * 90_000 + b"}", "nested too deeply"),
    ],
)
def test_a_broken_body_says_what_is_wrong(body: bytes, said: str) -> None:
    with pytest.raises(BadRequest, match=said) as caught:
        BODY.decode(body)
    assert len(str(caught.value)) < 200


@pytest.mark.req("M1", "W35")
def test_an_error_quotes_little_of_the_input() -> None:
    class Kinds(msgspec.Struct, tag_field="kind", tag="one"):
        pass

    with pytest.raises(BadRequest) as caught:
        WireBody(Kinds, "kind").decode(b'{"kind":"' + b"k" * 5_000 + b'"}')
    assert str(caught.value).count("k") < 90
    assert str(caught.value).endswith("- at `$.kind`.")


@pytest.mark.req("M1")
def test_unknown_names_are_fit_for_a_header_and_few() -> None:
    odd = "".join(f',"f{n}":{n}' for n in range(50))
    body = '{"name":"x","a b\\r\\nc: é":1,"' + "l" * 100 + '":2,"empty":null' + odd + "}"
    found, unknown = BODY.decode(body.encode())
    assert found == Small("x")
    assert unknown[:3] == ("a?b??c???", "l" * 80, "f0")
    assert len(unknown) == 32


@pytest.mark.req("M1", "M6")
@pytest.mark.parametrize(
    "raw", [b"[]", b'"x"', b"null", b'{"x":"\xff"}', b'{"x":1e999}', b'{"x":' * 90_000]
)
def test_only_an_object_that_others_can_read_is_one(raw: bytes) -> None:
    with pytest.raises(BadRequest):
        checked_object(msgspec.Raw(raw), "schema")
    assert checked_object(msgspec.Raw(b'{"x":[1]}'), "schema") == msgspec.Raw(b'{"x":[1]}')
