"""Reasoning goes out to a client and comes back unchanged, whatever service it is from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.message.parts import ReasoningPart, TextPart
from hermes.server.v1.chat_thoughts import read_thoughts, thought_details, thought_text

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SEALED = st.builds(
    ReasoningPart,
    WORDS,
    st.sampled_from(["anthropic", "gemini", "openai-responses", "ollama"]),
    signature=st.none() | WORDS,
    sealed=WORDS,
    id=st.none() | WORDS,
)
SIGNED = st.builds(
    ReasoningPart, WORDS, st.just("anthropic"), signature=WORDS, id=st.none() | WORDS
)


@pytest.mark.req("M3")
@given(st.lists(SEALED | SIGNED, max_size=4))
def test_what_is_signed_or_sealed_comes_back_as_it_was(parts: list[ReasoningPart]) -> None:
    assert read_thoughts("", thought_details(tuple(parts))) == parts


@pytest.mark.req("M3")
def test_details_of_another_service_come_back_as_they_were() -> None:
    part = ReasoningPart("Hm.", "openai", sealed='[{"type":"reasoning.text","format":null}]')
    parts = (part, TextPart("Hi"))
    assert read_thoughts(thought_text(parts), thought_details(parts)) == [part]


@pytest.mark.req("M3")
def test_plain_thoughts_are_text_and_nothing_else() -> None:
    parts = (ReasoningPart("Let me ", "ollama"), TextPart("Hi"), ReasoningPart("think.", "ollama"))
    assert (thought_text(parts), thought_details(parts)) == ("Let me think.", [])
