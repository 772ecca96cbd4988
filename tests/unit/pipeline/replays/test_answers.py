"""How much two answers differ, and the answer that a turn gave, read from its steps."""

import msgspec
import pytest

from hermes.message.chat import ChatMessage
from hermes.message.parts import TextPart, ToolCallPart, ToolResultPart
from hermes.message.reply import Usage
from hermes.pipeline.replays.answers import (
    AnswerSide,
    MadeCall,
    diff_lines,
    difference,
    given_side,
)
from hermes.ports.steps import Step, StepFacts

LONG = " ".join(f"word{number}" for number in range(5_000))


def side(text: str, *tools: str) -> AnswerSide:
    return AnswerSide(model="m", text=text, tools=tuple(MadeCall(one, "{}") for one in tools))


@pytest.mark.req("A32")
@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (side("the same words"), side("the  same\nwords"), 0.0),
        (side("one two three four"), side("one two three five"), 0.25),
        (side("nothing in common"), side("else was said"), 1.0),
        (side("same", "look"), side("same", "look"), 0.0),
        (side("same", "look"), side("same", "send"), 0.5),
        (side("same"), side("same", "look"), 0.3333),
        (side(""), side(""), 0.0),
        (side(LONG), side(f"{LONG} more"), 0.0001),
    ],
)
def test_a_difference_is_a_share_of_words_and_calls(
    before: AnswerSide, after: AnswerSide, change: float
) -> None:
    assert difference(before, after) == pytest.approx(change, abs=0.0001)


@pytest.mark.req("A32")
def test_a_diff_shows_the_lines_that_differ() -> None:
    assert diff_lines("a\nb\nc", "a\nx\nc") == (
        "--- before",
        "+++ after",
        "@@ -1,3 +1,3 @@",
        " a",
        "-b",
        "+x",
        " c",
    )


def step(ordinal: int, kind: str, message: ChatMessage | None, **more: object) -> Step:
    body = None if message is None else msgspec.json.encode(message)
    made = {"ordinal": ordinal, "kind": kind, "state": "done", "body": None, **more}
    return msgspec.structs.replace(msgspec.convert(made, Step), body=body)


@pytest.mark.req("A32")
def test_the_answer_of_a_turn_is_read_from_its_steps() -> None:
    asked = ChatMessage("assistant", (ToolCallPart("c1", "look", '{"a": 1}'),))
    result = ChatMessage("tool", (ToolResultPart("c1", "look", "found"),))
    answer = ChatMessage("assistant", (TextPart("Found."),))
    usage = {"tokens_in": 10, "tokens_out": 2, "cost_usd": 0.5}
    steps = (
        step(0, "prepared", None),
        step(1, "model", None, state="failed", name="a:1", usage=usage, at=0.0, ended_at=1.0),
        step(2, "model", asked, name="b:1", usage=usage, at=1.0, ended_at=2.0),
        step(3, "tool", result, name="look", at=2.0, ended_at=2.5),
        step(4, "model", answer, name="b:1", usage=usage, at=3.0, ended_at=4.0),
    )

    assert given_side(steps) == AnswerSide(
        model="b:1",
        text="Found.",
        tools=(MadeCall("look", '{"a": 1}'),),
        calls=2,
        ms=3500.0,
        tokens_in=30,
        tokens_out=6,
        cost_usd=1.5,
    )
    assert (StepFacts().call_id, Usage().unpriced) == ("", 0)
