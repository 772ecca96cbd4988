"""Schemas and tools where a model has no way of its own: asked for otherwise, and always checked."""

from pathlib import Path

import msgspec
import pytest

from hermes.errors import AnswerInvalid
from hermes.message.parts import TextPart, ToolCallPart, text_of
from hermes.ports.provider import OutputSchema, ToolSpec
from hermes.testing.model_script import ScriptedTurn, ToolUse
from tests.contract.calls.rig import Story, ask, model, open_calls

AGE = OutputSchema(
    name="age",
    schema=msgspec.Raw(
        b'{"type":"object","properties":{"age":{"type":"integer","minimum":0}},'
        b'"required":["age"],"additionalProperties":false}'
    ),
)
GOOD, BAD = '{"age":7}', '{"age":-7}'
LOOK = ToolSpec("look", "looks", msgspec.Raw(b'{"type":"object"}'))


@pytest.mark.req("M6")
@pytest.mark.parametrize(
    ("abilities", "turn"),
    [
        ({"schema": True}, ScriptedTurn(text=GOOD)),
        ({"schema": False, "tools": True}, ScriptedTurn(tools=(ToolUse("age", GOOD),))),
        ({"schema": False, "tools": False}, ScriptedTurn(text=f"Sure:\n```json\n{GOOD}\n```")),
    ],
    ids=["native", "forced tool", "words"],
)
async def test_an_answer_by_schema_is_text_that_fits_whatever_the_way(
    tmp_path: Path, abilities: dict[str, bool], turn: ScriptedTurn
) -> None:
    one = model("one", [turn], **abilities)
    async with open_calls(tmp_path, one) as rig:
        story = await rig.call(ask("how old?", schema=AGE), "one", whole=True)

    assert story.answer.end.parts == (TextPart(GOOD),)
    assert story.answer.end.stop_reason == "end"
    asked = one.calls[0].request
    told = asked.schema is not None or asked.tools or "minimum" in asked.system[-1]
    assert told


@pytest.mark.req("M6")
async def test_one_repair_round_mends_an_answer_that_does_not_fit(tmp_path: Path) -> None:
    one = model("one", [ScriptedTurn(text=BAD), ScriptedTurn(text=GOOD)], schema=True)
    async with open_calls(tmp_path, one) as rig:
        story = await rig.call(ask("how old?", schema=AGE), "one", whole=True)

    assert text_of(story.answer.end.parts) == GOOD
    assert story.kinds == ["CallStart", "CallFailure", "CallStart", "FullAnswer"]
    assert len(story.spent) == 2
    told = one.calls[1].request.messages
    assert told[-2].text == BAD
    assert "minimum" in told[-1].text or "-7" in told[-1].text


@pytest.mark.req("M6")
async def test_an_answer_that_still_does_not_fit_is_an_error(tmp_path: Path) -> None:
    one = model("one", [ScriptedTurn(text=BAD)] * 2, schema=True)
    async with open_calls(tmp_path, one) as rig:
        with pytest.raises(AnswerInvalid, match="schema"):
            await rig.call(ask("how old?", schema=AGE), "one", whole=True)

    assert len(one.calls) == 2


@pytest.mark.req("M6")
async def test_a_streamed_answer_that_does_not_fit_ends_in_an_error(tmp_path: Path) -> None:
    one = model("one", [ScriptedTurn(text=BAD, deltas=3)], schema=True)
    story = Story()
    async with open_calls(tmp_path, one) as rig:
        with pytest.raises(AnswerInvalid):
            await rig.call(ask("how old?", schema=AGE), "one", story=story)

    assert story.kinds == ["CallStart", "TextDelta", "TextDelta", "TextDelta"]


@pytest.mark.req("M6")
async def test_what_was_not_asked_natively_is_shown_only_when_it_is_known_to_fit(
    tmp_path: Path,
) -> None:
    turns = [ScriptedTurn(text="I think 7", deltas=3), ScriptedTurn(text=GOOD, deltas=3)]
    one = model("one", turns, schema=False, tools=False)
    async with open_calls(tmp_path, one) as rig:
        story = await rig.call(ask("how old?", schema=AGE), "one")

    assert story.kinds == ["CallStart", "CallFailure", "CallStart", "FullAnswer"]


@pytest.mark.req("M5")
async def test_a_model_without_tools_is_told_of_them_in_words(tmp_path: Path) -> None:
    said = '{"tool_calls":[{"name":"look","arguments":{"at":"sky"}}]}'
    one = model("one", [ScriptedTurn(text=said, deltas=4)], tools=False)
    async with open_calls(tmp_path, one) as rig:
        story = await rig.call(ask("look up", tools=(LOOK,)), "one")

    (call,) = story.answer.end.parts
    assert isinstance(call, ToolCallPart)
    assert (call.name, msgspec.json.decode(call.arguments)) == ("look", {"at": "sky"})
    assert story.answer.end.stop_reason == "tool_calls"
    assert story.kinds == ["CallStart", "FullAnswer"]
    assert one.calls[0].request.tools == ()
    assert "look" in one.calls[0].request.system[-1]
