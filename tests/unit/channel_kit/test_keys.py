"""A delivery's key in other forms: always the same for the same key, and within the platform's bound."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from hermes.channel_kit.keys import (
    key_as_number,
    key_as_uuid,
    packed_key,
    short_key,
    unpacked_key,
)
from hermes.message.ids import make_id

KEY = "d_01h2xcejqtf2nbrexx3vqjhp41.0"


def test_the_forms_of_a_key_never_change() -> None:
    """A message that was sent before an update must be found under the same key after it."""
    assert (key_as_uuid(KEY), short_key(KEY, 25), key_as_number(KEY)) == (
        "6ad01d86-42e8-50f2-9371-22590b6ca6a3",
        "m56w4txt3ciaumow55r4ixats",
        1121152170,
    )


def test_a_short_key_stays_as_it_is() -> None:
    assert short_key("k1", 25) == "k1"


@given(st.text(max_size=60), st.integers(8, 50))
def test_every_form_keeps_to_its_bound(key: str, most: int) -> None:
    assert len(short_key(key, most)) <= most
    assert 1 <= key_as_number(key) < 1 << 31
    assert UUID(key_as_uuid(key)).version == 5


def test_keys_that_differ_in_their_end_have_different_forms() -> None:
    keys = [f"d_01h2xcejqtf2nbrexx3vqjhp41.{number}" for number in range(2000)]

    assert len({short_key(key, 25) for key in keys}) == 2000
    assert len({key_as_uuid(key) for key in keys}) == 2000
    assert len({key_as_number(key) for key in keys}) == 2000


@given(st.from_regex(r"[.][0-9]{1,3}", fullmatch=True))
def test_a_packed_key_is_read_again(end: str) -> None:
    key = make_id("o") + end

    assert len(packed_key(key, 25)) <= 25
    assert unpacked_key(packed_key(key, 25)) == key


def test_a_key_that_cannot_be_packed_is_short_and_is_not_read_again() -> None:
    for key in (f"{make_id('o')}.0.fresh", "k" * 40):
        assert packed_key(key, 25) == short_key(key, 25)
        assert unpacked_key(packed_key(key, 25)) != key


@given(st.text(max_size=30))
def test_any_text_is_a_packed_key_or_none(text: str) -> None:
    key = unpacked_key(text)

    assert key is None or packed_key(key, len(text)) == text
