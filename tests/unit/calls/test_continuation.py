"""Joining what one model has shown with what the next one writes, however it is cut into pieces."""

import itertools
from collections.abc import Iterator

import msgspec
import pytest

from hermes.calls.continuation import Continuation, continuing, takes_prefill
from hermes.errors import StreamTruncated
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import Part, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, ModelRequest, TextDelta, ToolCallDelta
from hermes.providers.anthropic.traits import PREFILL_MODELS
from hermes.testing.scripted_model import SCRIPTED_INFO

SHOWN = "Once upon a ti"
WHOLE = "Once upon a time"
CALL = ToolCallPart("c1", "red", "{}")


def end_of(*parts: Part) -> CallEnd:
    return CallEnd(parts, "end", Usage(), "m")


def continued(*pieces: str, shown: str = SHOWN, prefill: bool = False) -> str:
    """Return all that a caller has seen in the end, which must be what the answer says."""
    made = Continuation(shown, prefill=prefill, name="two")
    said = [shown]
    for piece in pieces:
        said += [p.text for p in made.pieces(TextDelta(piece)) if isinstance(p, TextDelta)]
    said.append(made.close())
    assert made.joined(end_of(TextPart("".join(pieces)))).parts == (TextPart("".join(said)),)
    return "".join(said)


def cuts_of(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the text in two and in three pieces, cut everywhere, and in letters."""
    for first, second in itertools.combinations_with_replacement(range(len(text) + 1), 2):
        yield text[:first], text[first:second], text[second:]
    yield tuple(text)


@pytest.mark.req("P5")
@pytest.mark.parametrize("prefill", [True, False])
def test_a_model_that_starts_over_says_nothing_twice(prefill):
    assert {continued(*cut, prefill=prefill) for cut in cuts_of(WHOLE)} == {WHOLE}


@pytest.mark.req("P5")
def test_a_model_that_continues_is_shown_whole():
    assert {continued(*cut, prefill=True) for cut in cuts_of("me")} == {WHOLE}
    # It begins as the shown text did, and is another one after all.
    assert {continued(*cut, prefill=True) for cut in cuts_of("Once upon")} == {SHOWN + "Once upon"}


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    "said",
    [
        "me",
        "There once was a time",
        "once upon a time",
        "Once upon at time",
        "Onceupon a time",
        "Once upon",
        "Sure: Once upon a time",
        "",
    ],
)
def test_text_that_is_no_repeat_is_never_put_behind_what_was_shown(said):
    with pytest.raises(StreamTruncated, match="two began another answer"):
        continued(said)


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    ("shown", "said", "whole"),
    [
        ("Once upon", "\n\nOnce  upon\na time", "Once upon\na time"),
        ("\nOnce\n", "Once upon", "\nOnce\nupon"),
        ("Once ", "Once", "Once "),
        ("Once ", "Once  upon", "Once upon"),
        ("Once", "Once", "Once"),
        (" \n", "Once", " \nOnce"),
    ],
)
def test_other_white_space_is_no_other_text(shown, said, whole):
    assert {continued(*cut, shown=shown) for cut in cuts_of(said)} == {whole}


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    ("shown", "said", "whole"),
    [
        ("Once ", " upon", "Once upon"),
        ("Once ", "upon", "Once upon"),
        ("if a:\n", "\n    b", "if a:\n    b"),
        ("Once\n\n", "\nUpon", "Once\n\nUpon"),
    ],
)
def test_white_space_that_a_prefill_cannot_end_with_is_not_doubled(shown, said, whole):
    assert {continued(*cut, shown=shown, prefill=True) for cut in cuts_of(said)} == {whole}


@pytest.mark.req("P5")
def test_what_is_held_back_is_bounded():
    with pytest.raises(StreamTruncated):
        continued(*itertools.repeat(" ", 10_000))


@pytest.mark.req("M5", "P5")
def test_a_call_after_the_repeat_is_kept():
    made = Continuation("Once.", prefill=False, name="two")
    piece = ToolCallDelta(0, "c1", "red", "{}")

    shown = [*made.pieces(TextDelta("Once.")), *made.pieces(piece)]

    assert shown == [piece]
    assert made.joined(end_of(TextPart("Once."), CALL)).parts == (TextPart("Once."), CALL)


@pytest.mark.req("P5")
def test_an_answer_that_came_whole_is_joined_too():
    made = Continuation(SHOWN, prefill=False, name="two")

    assert made.joined(end_of(TextPart("Once"), TextPart(" upon a time"), CALL)).parts == (
        TextPart(WHOLE),
        CALL,
    )


@pytest.mark.req("P5")
def test_a_prefill_is_the_last_message_and_a_repeat_is_asked_for():
    request = ModelRequest(model="", messages=(user_text("tell"),), reasoning="high")
    said = ChatMessage("assistant", (TextPart("Once"),))

    prefilled = continuing(request, "Once ", prefill=True)
    asked = continuing(request, "Once", prefill=False)

    assert prefilled == msgspec.structs.replace(
        request, messages=(*request.messages, said), prefill=True, reasoning=None
    )
    assert (asked.messages[:2], asked.messages[2].role) == ((*request.messages, said), "user")
    assert "word for word" in asked.messages[2].text
    assert continuing(request, "\n", prefill=False) is request


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("claude-3-5-haiku-20241022", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-opus-4-1-20250805", True),
        ("claude-opus-4-1", True),
        ("claude-sonnet-4-5-20250929", True),
        ("claude-haiku-4-5", True),
        ("claude-opus-4-6", False),
        ("claude-sonnet-4-6-20260201", False),
        ("claude-opus-5", False),
        ("claude-sonnet-latest", False),
        ("glm-4.7", False),
    ],
)
def test_which_claude_continues_its_last_turn(model, takes):
    info = msgspec.structs.replace(SCRIPTED_INFO, prefill_models=PREFILL_MODELS)

    assert takes_prefill(info, model) is takes
