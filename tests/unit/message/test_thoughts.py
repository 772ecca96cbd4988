"""Thoughts between tags: hidden however they are cut, and not where somebody speaks of the tag."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes.message.parts import ImagePart, Media, ReasoningPart, TextPart
from hermes.message.thoughts import ThoughtFilter, spoken, thoughts_in, without_thoughts

HIDDEN = [
    ("<think>let me see</think>Hello.", "Hello."),
    ("<think>\nlet me see\n</think>\n\nHello.", "Hello."),
    ("  \n<thinking>hm</thinking> Hello.", "  \nHello."),
    ("Hello.\n<think>and now?</think>\nBye.", "Hello.\nBye."),
    ("<think>a</think><think>b</think>c", "c"),
    ("<think>never closed", ""),
    ("<think>about `</b>` and <i></think>x", "x"),
]
SPOKEN_OF = [
    "The tag <think> opens a thought, </think> closes it.",
    "Use `<think>` for it.",
    "```\n<think>\nx\n</think>\n```\nThat is how.",
    "~~~xml\n<think>a</think>\n~~~",
    "1 < 2 and <thinker> is no tag.",
    "Look:\n<think> is never closed here",
    "a <",
    "<thin",
    "</think> alone",
]


@pytest.mark.req("W19")
@pytest.mark.parametrize(("text", "shown"), HIDDEN)
def test_a_thought_is_hidden(text: str, shown: str) -> None:
    assert without_thoughts(text) == shown


@pytest.mark.req("W19")
@pytest.mark.parametrize("text", SPOKEN_OF)
def test_who_speaks_of_the_tag_is_not_cut(text: str) -> None:
    assert without_thoughts(text) == text


@pytest.mark.req("W19")
@given(
    text=st.one_of(
        st.sampled_from([*(text for text, _ in HIDDEN), *SPOKEN_OF]),
        st.lists(
            st.sampled_from(["<think>", "</think>", "<", "\n", "```", "say ", "`", "<th", "ink>"])
        ).map("".join),
    ),
    cuts=st.lists(st.integers(min_value=0, max_value=60), max_size=8),
)
@example(text="<think>a</think>b", cuts=list(range(18)))
@example(text="<think>a</think>\n\nb", cuts=[16, 17])
def test_how_the_text_is_cut_into_pieces_changes_nothing(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in pairwise(places)]
    thoughts = ThoughtFilter()

    shown = "".join(thoughts.feed(piece) for piece in pieces) + thoughts.end()

    assert shown == without_thoughts(text)


@pytest.mark.req("W19")
def test_nothing_is_held_back_that_cannot_become_a_tag() -> None:
    thoughts = ThoughtFilter()

    assert [thoughts.feed(piece) for piece in ("He", "llo <", "b> ", "\n<th", "e end")] == [
        "He",
        "llo <",
        "b> ",
        "\n",
        "<the end",
    ]


@pytest.mark.req("W19")
def test_attachments_stay_where_a_thought_is_taken_out() -> None:
    picture = ImagePart(Media("image/png"))
    parts = (TextPart("<think>x</think>Look"), picture)

    assert spoken(parts) == (TextPart("Look"), picture)
    plain = (TextPart("Look"),)
    assert spoken(plain) is plain


@pytest.mark.req("W9")
def test_thoughts_that_can_be_read_are_shown_apart_from_the_text() -> None:
    sealed = ReasoningPart("", "anthropic", sealed="x")
    thoughts = (ReasoningPart("One.", "anthropic"), sealed, ReasoningPart("Two.", "anthropic"))
    assert thoughts_in((thoughts[0], TextPart("Hello."), *thoughts[1:])) == "One.\n\nTwo."
    assert thoughts_in((TextPart("Hello."),)) == ""
