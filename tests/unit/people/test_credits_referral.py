"""Referral codes: stable, hard to guess or to misread; and how they are read back."""

import hashlib

import pytest

from hermes.errors import BadRequest
from hermes.message.referral_code import LENGTH, LETTERS, code_from, read_code, spoken


def digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), key=b"key", digest_size=20).digest()


@pytest.mark.req("A5")
def test_codes_are_stable_distinct_and_made_of_every_letter() -> None:
    codes = [code_from(digest(f"p_{number}")) for number in range(20_000)]

    assert codes == [code_from(digest(f"p_{number}")) for number in range(20_000)]
    assert len(set(codes)) == 20_000
    assert {len(code) for code in codes} == {LENGTH}
    assert all({code[place] for code in codes} == set(LETTERS) for place in range(LENGTH))


@pytest.mark.req("A5")
def test_no_two_characters_look_alike_and_no_vowel_makes_a_word() -> None:
    look_alikes = ("0O", "1IL", "2Z", "5S", "8B", "UV")

    assert [set(group) & set(LETTERS) for group in look_alikes] == [set()] * len(look_alikes)
    assert not set("AEIOU") & set(LETTERS)
    assert len(LETTERS) ** LENGTH > 2**43


@pytest.mark.req("A5")
@pytest.mark.parametrize("text", ["K7QM4-XWP3H", " k7qm4xwp3h ", "K7QM4 XWP3H", "k-7qm4-xwp3h"])
def test_a_code_is_read_however_it_is_written(text: str) -> None:
    assert read_code(text) == "K7QM4XWP3H"
    assert spoken(read_code(text)) == "K7QM4-XWP3H"


@pytest.mark.req("A5")
@pytest.mark.parametrize("text", ["", "K7QM4-XWP3", "K7QM4-XWP3HH", "K7QM4-XWP30", "ÄÖÜ34-679CD"])
def test_what_can_be_no_code_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadRequest, match="such as K7QM4-XWP3H"):
        read_code(text)
