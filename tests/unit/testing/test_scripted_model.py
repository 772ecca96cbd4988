"""The scripted model: turns in order, then directives; every call counted, every wait handed in."""

from contextlib import aclosing

import pytest

from hermes.errors import ProviderUnavailable
from hermes.message.chat import user_text
from hermes.message.parts import TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, ModelRequest, TextDelta
from hermes.testing.model_script import (
    ScriptedTurn,
    SeenConversation,
    ToolUse,
    answer_by_text,
    split,
)
from hermes.testing.scripted_model import ScriptedProvider


def asking(text: str) -> ModelRequest:
    return ModelRequest(model="m", messages=(user_text(text),))


@pytest.mark.req("P6")
async def test_turns_are_played_in_order_and_every_call_is_counted():
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    model = ScriptedProvider(
        [
            ScriptedTurn(text="Hello", deltas=2, delay_s=3, gap_s=0.5, tokens_in=10, tokens_out=4),
            ScriptedTurn(tools=(ToolUse("clock", '{"a":1}'),), tokens_in=0, tokens_out=0),
            ScriptedTurn(fault="status", status=429, retry_after=7),
        ],
        sleep=sleep,
    )

    first = [event async for event in model.stream(asking("a"))]
    second = [event async for event in model.stream(asking("b"))]
    with pytest.raises(ProviderUnavailable) as third:
        _ = [event async for event in model.stream(asking("c"))]
    fourth = [event async for event in model.stream(asking("d"))]

    assert first == [
        TextDelta("Hel"),
        TextDelta("lo"),
        CallEnd((TextPart("Hello"),), "end", Usage(10, 4), "scripted-1"),
    ]
    assert waits == [3, 0.5, 0.5]
    assert second[-1] == CallEnd(
        (ToolCallPart("call_2_0", "clock", '{"a":1}'),), "tool_calls", Usage(), "scripted-1"
    )
    assert third.value.retry_after == 7
    assert fourth[0] == TextDelta("#1 d")
    assert [(call.number, call.request.messages[0].text) for call in model.calls] == [
        (1, "a"),
        (2, "b"),
        (3, "c"),
        (4, "d"),
    ]
    assert (model.ended, model.cancelled) == (3, 0)


@pytest.mark.req("A9")
async def test_a_call_that_is_left_counts_as_cancelled():
    model = ScriptedProvider()

    async with aclosing(model.stream(asking("[[deltas:3]] abc"))) as events:
        await anext(events)

    assert (model.ended, model.cancelled) == (0, 1)


@pytest.mark.parametrize(
    ("text", "results", "expected"),
    [
        ("hi", (), ScriptedTurn(text="#2 hi")),
        ("[[fail:400]]", (), ScriptedTurn(text="#2 [[fail:400]]", fault="status", status=400)),
        ("[[slow:1.5]]", (), ScriptedTurn(text="#2 [[slow:1.5]]", delay_s=1.5)),
        ("[[hang:2]]", (), ScriptedTurn(text="#2 [[hang:2]]", fault="hang", after=2)),
        (
            '[[tool:add {"a":{"b":1}}]]',
            (),
            ScriptedTurn(tools=(ToolUse("add", '{"a":{"b":1}}'),)),
        ),
        ("[[tool:add]]", ("3",), ScriptedTurn(text="#2 [[tool:add]] -> 3")),
    ],
)
def test_directives_in_the_text_choose_the_answer(text, results, expected):
    assert answer_by_text(SeenConversation(2, text, results)) == expected


@pytest.mark.parametrize(
    ("text", "count", "pieces"),
    [("abcde", 2, ("abc", "de")), ("ab", 5, ("a", "b")), ("", 3, ()), ("abc", 1, ("abc",))],
)
def test_a_text_is_split_without_loss_or_empty_pieces(text, count, pieces):
    assert split(text, count) == pieces
