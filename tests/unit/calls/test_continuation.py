"""Joining what one model has shown with what the next one writes, however it is cut into pieces."""

import itertools
from collections.abc import Iterator

import msgspec
import pytest

from hermes.calls.continuation import Continuation, RestOfAnswer, continuing, takes_prefill
from hermes.errors import StreamTruncated
from hermes.message.chat import ChatMessage, user_text
from hermes.message.continuations import WINDOW_CHARS
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import (
    CallEnd,
    ModelRequest,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallDelta,
)
from hermes.providers.anthropic.traits import PREFILL_MODELS
from hermes.testing.scripted_model import SCRIPTED_INFO

SHOWN = "Once upon a ti"
WHOLE = "Once upon a time"
CALL = ToolCallPart("c1", "red", "{}")
HM = ReasoningPart("Hm.", "scripted")


def end_of(*parts: Part, stop: StopReason = "end") -> CallEnd:
    return CallEnd(parts, stop, Usage(), "m")


def continued(
    *pieces: str, shown: str = SHOWN, prefill: bool = False, stop: StopReason = "end"
) -> str:
    """Return all that a caller has seen in the end, which must be what the answer says."""
    made = Continuation(shown, prefill=prefill, name="two")
    told = [piece for text in pieces for piece in made.pieces(TextDelta(text))]
    end = end_of(TextPart("".join(pieces)), stop=stop)
    told += made.close(end)
    said = [shown, *(piece.text for piece in told if isinstance(piece, TextDelta))]
    assert made.joined(end).parts == (TextPart("".join(said)),)
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


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    "said",
    [
        "Sure, here it is again:\n\nOnce upon a time there was a king.",
        "Sure! **Once upon a time**, there was a king.",
        "once upon a time there was a king.",
        "```\nOnce upon a time there was a king.\n```",
        "> Once upon a Tiger",
    ],
)
def test_a_prefilled_model_that_begins_again_is_never_put_behind_what_was_shown(said):
    for cut in cuts_of(said):
        with pytest.raises(StreamTruncated, match="two began another answer"):
            continued(*cut, prefill=True)


@pytest.mark.req("P5")
@pytest.mark.parametrize("said", ["Once upon", "once", "Of course:\nOnce upo"])
def test_a_prefilled_model_that_is_cut_off_while_it_begins_again_is_no_success(said):
    for cut in cuts_of(said):
        with pytest.raises(StreamTruncated, match="two began another answer"):
            continued(*cut, prefill=True, stop="length")


@pytest.mark.req("P5")
def test_an_answer_begins_again_behind_another_sentence_than_before():
    shown = "Sure! Here you are: there was once a king who had two sons, Ann and"

    with pytest.raises(StreamTruncated, match="two began another answer"):
        continued("My pleasure. " + shown[20:] + " Bob.", shown=shown, prefill=True)


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    "said",
    [
        "me. Once upon another time the king was old.",
        "me:\nOnce",
        "me. " + "The king was old. " * 20 + "So it was: once upon a time.",
    ],
)
def test_words_of_the_beginning_may_come_by_chance_or_late(said):
    assert continued(*said, prefill=True) == continued(said, prefill=True) == SHOWN + said


@pytest.mark.req("P5")
def test_a_prefilled_model_is_held_back_for_a_bounded_beginning():
    made = Continuation(SHOWN, prefill=True, name="two")

    told = [list(made.pieces(TextDelta("word "))) for _ in range(100)]

    assert told[0] == []
    assert told[-1] == [TextDelta("word ")]


@pytest.mark.req("P5")
@pytest.mark.parametrize("parts", [(), (HM,), (TextPart("\n"),), (HM, TextPart(" "))])
def test_a_prefilled_model_that_writes_nothing_does_not_end_the_answer(parts):
    made = Continuation(SHOWN, prefill=True, name="two")

    with pytest.raises(StreamTruncated, match="two wrote nothing"):
        made.joined(end_of(*parts))


@pytest.mark.req("M5", "P5")
def test_a_call_continues_a_prefilled_answer():
    made = Continuation(SHOWN, prefill=True, name="two")

    assert made.joined(end_of(CALL)).parts == (TextPart(SHOWN), CALL)


@pytest.mark.req("M7", "P5")
@pytest.mark.parametrize("prefill", [True, False])
def test_thoughts_come_once_it_is_clear_that_the_answer_continues(prefill):
    made = Continuation(SHOWN, prefill=prefill, name="two")

    early = [*made.pieces(ReasoningDelta("Hm.")), *made.pieces(TextDelta(SHOWN))]
    later = [*made.pieces(TextDelta("me")), *made.pieces(TextDelta("!", starts_part=True))]

    assert early == []
    assert later == [ReasoningDelta("Hm."), TextDelta("me"), TextDelta("!", starts_part=True)]


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
    made = Continuation(SHOWN, prefill=False, name="two")
    blanks = (made.pieces(TextDelta(" ")) for _ in range(10_000))

    with pytest.raises(StreamTruncated):
        list(itertools.chain.from_iterable(blanks))


@pytest.mark.req("M5", "P5")
def test_a_call_after_the_repeat_is_kept():
    made = Continuation("Once.", prefill=False, name="two")
    piece = ToolCallDelta(0, "c1", "red", "{}")

    shown = [*made.pieces(TextDelta("Once.")), *made.pieces(piece)]

    assert shown == [piece]
    assert made.joined(end_of(TextPart("Once."), CALL)).parts == (TextPart("Once."), CALL)


@pytest.mark.req("M5", "P5")
def test_a_call_before_the_end_of_the_repeat_is_never_shown():
    made = Continuation(SHOWN, prefill=False, name="two")

    assert list(made.pieces(TextDelta("Once"))) == []
    with pytest.raises(StreamTruncated, match="two began another answer"):
        list(made.pieces(ToolCallDelta(0, "c1", "red", "{}")))


@pytest.mark.req("M5", "P5")
def test_text_that_is_held_back_comes_before_a_call():
    made = Continuation(SHOWN, prefill=True, name="two")
    piece = ToolCallDelta(0, "c1", "red", "{}")

    assert list(made.pieces(TextDelta("me"))) == []
    assert list(made.pieces(piece)) == [TextDelta("me"), piece]


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

    assert takes_prefill(info, model, shown=SHOWN) is takes


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    ("shown", "takes"),
    [
        ("Once upon a ti", True),
        ("Once upon a ", False),
        ("**The** _", False),
        ("从前有一个国王他有两个儿子大的叫安小的叫鲍勃", False),
        ("从前有一个国王他有两个儿子大的叫安小的叫鲍勃他们住在山里", True),
    ],
)
def test_a_few_words_are_repeated_since_nobody_could_know_them_again(shown, takes):
    info = msgspec.structs.replace(SCRIPTED_INFO, prefill_models=("*",))

    assert takes_prefill(info, "m", shown=shown) is takes


@pytest.mark.req("P5")
def test_a_single_letter_that_may_be_no_news_is_held_back():
    made = Continuation(SHOWN, prefill=False, name="two")
    before = made.is_holding

    assert list(made.pieces(TextDelta("O"))) == []
    assert (before, made.is_holding) == (False, True)


@pytest.mark.req("P5", "A9")
@pytest.mark.parametrize(("missing", "is_held"), [(0, False), (1, True)])
def test_the_rest_of_an_answer_is_held_back_for_a_bounded_beginning(missing, is_held):
    rest = RestOfAnswer("Once upon a time")
    text = (" there was a king." * 100)[: WINDOW_CHARS - missing]

    told = rest.feed(text)

    assert told == ("" if is_held else text)
    assert told + rest.close() == text
