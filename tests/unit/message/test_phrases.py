"""Phrases of several words: what begins with one, is made of them or holds one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.message.phrases import Phrases, Words

words = st.lists(st.sampled_from("abc"), max_size=8).map(tuple)
phrases = st.sets(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple), max_size=6)


def _splits(text: Words, known: set[Words]) -> bool:
    return not text or any(text[:n] in known and _splits(text[n:], known) for n in range(1, 9))


@pytest.mark.req("A12")
@given(words, phrases)
def test_they_are_found_as_by_trying_everything(text: Words, known: set[Words]) -> None:
    found = Phrases(known)
    parts = {text[start:end] for start in range(len(text)) for end in range(start + 1, 9)}

    assert found.make_up(text) == (bool(text) and _splits(text, known))
    assert found.begin(text) == any(text[:size] in known for size in range(1, 9) if text)
    assert found.stand_in(text) == bool(parts & known)


def test_there_may_be_none() -> None:
    none = Phrases([()])

    assert not none
    assert not none.make_up(())
    assert not none.make_up(("a",))
