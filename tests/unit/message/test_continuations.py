"""A long answer in several calls becomes one text again: without the words that a call repeats."""

import pytest

from hermes.message.chat import ChatMessage, as_read, has_note
from hermes.message.continuations import GO_ON, answer_text, is_go_on, last_answer, rest_of
from hermes.message.parts import NotePart, TextPart, ToolCallPart

BEFORE = "The first point is cost, and the second point is the time that"


def said(text: str) -> ChatMessage:
    return ChatMessage("assistant", (TextPart(text),))


@pytest.mark.parametrize(
    ("before", "more", "rest"),
    [
        (BEFORE, "point is the time that it takes.", " it takes."),
        (BEFORE, '"the time that it takes.', " it takes."),
        (BEFORE, "... the time that it takes.", " it takes."),
        (BEFORE, " it takes.", " it takes."),
        (BEFORE, "it takes.", " it takes."),
        ("A whole sentence here.", "Another one.", " Another one."),
        ("A list of things:\n", "- one", "- one"),
        ("A line that ends here \n", "that ends here \nand more", "and more"),
        ("The cut is inside of a wor", "inside of a word.", "d."),
        ("これは長い答えの途中", "です。", "です。"),
        ("x = compute(alpha, be", "compute(alpha, beta)", "ta)"),
        ("Ends in 3.", "14 and more", "14 and more"),
    ],
)
def test_the_words_that_a_continuation_repeats_are_left_out(
    before: str, more: str, rest: str
) -> None:
    assert rest_of(before, more) == rest


def test_calls_that_continue_one_another_are_one_answer() -> None:
    asked = ChatMessage("user", (TextPart("Tell me all."),))
    messages = [
        asked,
        said(BEFORE),
        GO_ON,
        said("the time that it takes, and"),
        GO_ON,
        said("more."),
    ]

    assert last_answer(messages) == (messages[1], messages[3], messages[5])
    assert answer_text(messages) == f"{BEFORE} it takes, and more."
    assert answer_text(messages[:3]) == BEFORE


def test_an_answer_before_a_tool_call_is_another_one() -> None:
    call = ChatMessage("assistant", (TextPart("Let me look."), ToolCallPart("c1", "look", "{}")))
    messages = [call, GO_ON, said("Found it.")]

    assert answer_text(messages) == "Found it."
    assert answer_text([]) == ""


def test_a_model_reads_the_note_as_text_and_people_never_see_it() -> None:
    assert is_go_on(GO_ON)
    assert not is_go_on(ChatMessage("user", (TextPart("continue"),)))
    assert not is_go_on(ChatMessage("user", (NotePart("[That file could not be read.]"),)))
    assert has_note(GO_ON)
    assert GO_ON.text == ""
    assert as_read(GO_ON).text.startswith("[Your answer reached its length limit")
