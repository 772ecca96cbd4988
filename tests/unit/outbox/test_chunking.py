"""Splitting a reply: nothing lost, nothing too long, nothing torn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.message.graphemes import cut_before
from hermes.outbox.chunks import split


@pytest.mark.req("A26")
@given(st.text(min_size=1, max_size=600), st.integers(min_value=20, max_value=200))
def test_no_chunk_is_too_long_or_blank(text: str, limit: int) -> None:
    chunks = split(text, limit=limit)

    assert [chunk for chunk in chunks if len(chunk) > limit or not chunk.strip()] == []


@pytest.mark.req("A26")
@given(st.text(alphabet="ab \n", min_size=1, max_size=400), st.integers(5, 50))
def test_only_white_space_at_the_cuts_is_lost(text: str, limit: int) -> None:
    chunks = split(text, limit=limit)

    assert "".join("".join(chunks).split()) == "".join(text.split())


@pytest.mark.req("A26")
def test_paragraphs_are_kept_whole_where_they_fit() -> None:
    text = "one one one\n\ntwo two two\n\nthree three"

    assert split(text, limit=26) == ("one one one\n\ntwo two two", "three three")


@pytest.mark.req("A26")
def test_long_lines_are_cut_between_words() -> None:
    assert split("alpha beta gamma delta", limit=11) == ("alpha beta", "gamma delta")


@pytest.mark.req("A26")
def test_a_code_fence_is_closed_and_opened_again() -> None:
    code = "\n".join(f"line {number:02}" for number in range(20))
    text = f"Look:\n```python\n{code}\n```\nDone."

    chunks = split(text, limit=100)

    assert all(chunk.count("```") % 2 == 0 for chunk in chunks)
    assert all(chunk.startswith("```python\n") for chunk in chunks[1:])
    lines = [line for chunk in chunks for line in chunk.splitlines() if line.startswith("line ")]
    assert lines == code.splitlines()


@pytest.mark.req("A26")
def test_a_fence_that_would_be_empty_moves_to_the_next_chunk() -> None:
    text = "word " * 18 + "\n```python\n" + "x = 1\n" * 20 + "```"

    first = split(text, limit=104)[0]

    assert "```" not in first


@pytest.mark.req("A26")
def test_indentation_inside_a_fence_survives_the_cut() -> None:
    text = "```\n" + "    deep line here\n" * 12 + "```"

    lines = [line for chunk in split(text, limit=80) for line in chunk.splitlines()]

    assert [line for line in lines if "deep" in line] == ["    deep line here"] * 12


@pytest.mark.req("A26")
@pytest.mark.parametrize(
    "character",
    ["e\u0301", "👩‍👩‍👧", "🇩🇪", "👍🏽", "각", "\r\n", "☀️"],
)
def test_a_character_is_never_torn(character: str) -> None:
    text = "x" + character * 3

    places = {cut_before(text, at) for at in range(1, len(text))}

    assert places <= {1 + len(character) * count for count in range(4)}


@pytest.mark.req("A26")
def test_a_blank_text_has_no_chunks() -> None:
    assert split(" \n ", limit=100) == ()
