"""A caller who takes one tool call at a time gets the first one, whatever the service sends."""

from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import (
    CallEnd,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolSpec,
)
from hermes.testing.scripted_model import ScriptedProvider
from tests.contract.calls.rig import ask, model, open_calls

RED, BLUE = (ToolSpec(name, "", msgspec.Raw(b"{}")) for name in ("red", "blue"))
FIRST, SECOND = ToolCallPart("c1", "red", '{"a":1}'), ToolCallPart("c2", "blue", "{}")


class TwoCalls(ScriptedProvider):
    """A model that calls two tools at once, in pieces that come by turns."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        yield TextDelta("I look.")
        yield ToolCallDelta(0, "c1", "red", '{"a"')
        yield ToolCallDelta(1, "c2", "blue", "{}")
        yield ToolCallDelta(0, arguments=":1}")
        parts = (TextPart("I look."), FIRST, SECOND)
        yield CallEnd(parts, "tool_calls", Usage(10, 20), "one-1")


@pytest.mark.req("M5")
@pytest.mark.parametrize("whole", [True, False])
async def test_the_first_call_is_kept_and_the_usage_is_that_of_all(
    tmp_path: Path, whole: bool
) -> None:
    wanted = ask("look", tools=(RED, BLUE), parallel_tools=False)
    async with open_calls(tmp_path, TwoCalls(info=model("one").info)) as rig:
        with capture_logs() as logs:
            story = await rig.call(wanted, "one", whole=whole)

    answer = story.answer
    assert answer.end.parts == (TextPart("I look."), FIRST)
    assert (answer.end.stop_reason, answer.dropped_calls) == ("tool_calls", 1)
    assert not answer.end.is_verbatim
    assert [spent.usage.tokens_out for spent in story.spent] == [20]
    assert [log["dropped"] for log in logs if log["event"] == "tool_calls_dropped"] == [1]


@pytest.mark.req("M5", "M7")
async def test_no_piece_of_a_later_call_is_shown(tmp_path: Path) -> None:
    wanted = ask("look", tools=(RED, BLUE), parallel_tools=False)
    async with open_calls(tmp_path, TwoCalls(info=model("one").info)) as rig:
        story = await rig.call(wanted, "one")

    assert story.events[1:-1] == [
        TextDelta("I look."),
        ToolCallDelta(0, "c1", "red", '{"a"'),
        ToolCallDelta(0, arguments=":1}"),
    ]


@pytest.mark.req("M5")
async def test_without_the_wish_every_call_passes(tmp_path: Path) -> None:
    async with open_calls(tmp_path, TwoCalls(info=model("one").info)) as rig:
        story = await rig.call(ask("look", tools=(RED, BLUE)), "one")

    assert story.answer.end.parts == (TextPart("I look."), FIRST, SECOND)
    assert story.answer.dropped_calls == 0


HM, SO, WELL = (ReasoningPart(text, "scripted") for text in ("Hm.", "So.", "Well."))
SAID = TextPart("Done.")


class Thinker(ScriptedProvider):
    """A model whose stream is made of whole parts."""

    parts: tuple[Part, ...] = ()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        for index, part in enumerate(self.parts):
            if isinstance(part, ReasoningPart):
                yield ReasoningDelta(part.text)
            elif isinstance(part, ToolCallPart):
                yield ToolCallDelta(index, part.id, part.name, part.arguments)
            elif isinstance(part, TextPart):
                yield TextDelta(part.text)
        yield CallEnd(self.parts, "tool_calls", Usage(10, 20), "one-1")


@pytest.mark.req("M5", "M7")
@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ((HM, FIRST, SO, SECOND), (HM, FIRST)),
        ((HM, FIRST, SECOND, SO), (HM, FIRST)),
        ((FIRST, SO, SECOND, WELL, SAID), (FIRST, WELL, SAID)),
        ((FIRST, SO, SAID, SECOND), (FIRST, SO, SAID)),
        ((HM, FIRST, SO), (HM, FIRST, SO)),
    ],
)
async def test_the_thought_of_a_dropped_call_goes_with_it(
    tmp_path: Path, told: tuple[Part, ...], kept: tuple[Part, ...]
) -> None:
    one = Thinker(info=model("one").info)
    one.parts = told
    wanted = ask("look", tools=(RED, BLUE), parallel_tools=False)
    async with open_calls(tmp_path, one) as rig:
        story = await rig.call(wanted, "one")

    assert story.answer.end.parts == kept
    assert [words_of(event) for event in story.events[1:-1]] == [words_of(part) for part in kept]


def words_of(said: object) -> str:
    if isinstance(said, ToolCallPart | ToolCallDelta):
        return said.name
    assert isinstance(said, ReasoningPart | ReasoningDelta | TextPart | TextDelta)
    return said.text


@pytest.mark.req("G6")
async def test_an_answer_that_is_kept_whole_is_a_sample(tmp_path: Path) -> None:
    async with open_calls(tmp_path, model("one")) as rig:
        story = await rig.call("hello", "one")

    assert story.answer.end.is_verbatim
