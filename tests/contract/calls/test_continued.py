"""`routing.continue_on_failure`: what a caller sees when an answer breaks off in the middle."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from hermes.errors import AnswerTooLong, ProviderRejected, StreamTruncated
from hermes.message.parts import TextPart
from hermes.ports.provider import ModelEvent, ModelRequest, TextDelta, ToolCallDelta
from hermes.testing.model_script import ScriptedTurn
from hermes.testing.scripted_model import ScriptedProvider
from tests.contract.calls.rig import Story, model, open_calls

GOING_ON = {"ROUTING__CONTINUE_ON_FAILURE": "true"}
LONG = "Once upon a time there was a king"
CUT = ScriptedTurn(text=LONG, deltas=2, fault="truncate", after=1)
SHOWN = "Once upon a time "
BROKEN = ScriptedTurn(text="Once upon a time", deltas=2, fault="truncate", after=1)
REST = ScriptedTurn(text="n a time", deltas=2)
AGAIN = ScriptedTurn(text="Once upon a time", deltas=5)
OTHER = ScriptedTurn(text="In a faraway land", deltas=5)


def shown_in(story: Story) -> str:
    return "".join(event.text for event in story.events if isinstance(event, TextDelta))


@pytest.mark.req("P5")
@pytest.mark.parametrize("text", ["there was a king", LONG], ids=["continues", "starts over"])
async def test_a_model_that_takes_a_prefill_continues_the_answer(tmp_path: Path, text: str) -> None:
    turn = ScriptedTurn(text=text, deltas=5)
    one, two = model("one", [CUT]), model("two", [turn], prefill_models=("two-*",))
    async with open_calls(tmp_path, one, two, settings=GOING_ON) as rig:
        story = await rig.call("tell", "one", "two")

    assert shown_in(story) == LONG
    assert story.answer.end.parts == (TextPart(LONG),)
    asked = two.calls[0].request
    assert [message.role for message in asked.messages] == ["user", "assistant"]
    assert (asked.messages[1].text, asked.prefill) == (SHOWN.rstrip(), True)


@pytest.mark.req("A23", "P5")
@pytest.mark.parametrize(
    "turn",
    [
        ScriptedTurn(text=f"Sure, here it is again:\n\n{LONG}", deltas=9),
        ScriptedTurn(text=LONG.lower(), deltas=9),
        ScriptedTurn(text=f"```\n{LONG}\n```", deltas=9),
        ScriptedTurn(reasoning="there was a king"),
        ScriptedTurn(),
    ],
    ids=["preamble", "other case", "fence", "only thoughts", "nothing"],
)
async def test_a_prefilled_model_that_does_not_continue_leaves_it_to_the_next(
    tmp_path: Path, turn: ScriptedTurn
) -> None:
    one, two = model("one", [CUT]), model("two", [turn], prefill_models=("*",))
    three = model("three", [ScriptedTurn(text=LONG)])
    async with open_calls(tmp_path, one, two, three, settings=GOING_ON) as rig:
        story = await rig.call("tell", "one", "two", "three")

    assert shown_in(story) == LONG
    assert story.answer.end.parts == (TextPart(LONG),)
    assert story.answer.candidate.provider == "three"


@pytest.mark.req("A23", "P5")
@pytest.mark.parametrize(
    "turn",
    [ScriptedTurn(reasoning="there was a king"), ScriptedTurn()],
    ids=["thoughts", "nothing"],
)
async def test_an_answer_that_nobody_continues_is_not_whole(
    tmp_path: Path, turn: ScriptedTurn
) -> None:
    one, two = model("one", [CUT]), model("two", [turn], prefill_models=("*",))
    story = Story()
    async with open_calls(tmp_path, one, two, settings=GOING_ON) as rig:
        with pytest.raises(StreamTruncated, match="two wrote nothing"):
            await rig.call("tell", "one", "two", story=story)

    assert shown_in(story) == SHOWN


@pytest.mark.req("A23", "P5")
async def test_a_model_that_refuses_the_prefill_is_asked_to_repeat(tmp_path: Path) -> None:
    one = model("one", [CUT])
    two = RefusesPrefill([ScriptedTurn(text=LONG)], info=model("two", prefill_models=("*",)).info)
    async with open_calls(tmp_path, one, two, settings=GOING_ON) as rig:
        story = await rig.call("tell", "one", "two")

    assert shown_in(story) == LONG
    assert story.answer.end.parts == (TextPart(LONG),)
    asked = two.calls[0].request
    assert [message.role for message in asked.messages] == ["user", "assistant", "user"]


@pytest.mark.req("A23", "P5")
async def test_a_model_that_refuses_the_prefill_and_the_repeat_is_not_asked_again(
    tmp_path: Path,
) -> None:
    no = ScriptedTurn(fault="status", status=400)
    one, two = model("one", [CUT]), model("two", [no, no], prefill_models=("*",))
    async with open_calls(tmp_path, one, two, settings=GOING_ON) as rig:
        with pytest.raises(ProviderRejected):
            await rig.call("tell", "one", "two")

    assert [call.request.prefill for call in two.calls] == [True, False]


class RefusesPrefill(ScriptedProvider):
    """A service whose model thinks, so that it takes no prefill."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        if request.prefill:
            raise ProviderRejected("two: no prefill", everywhere=True, status=400)
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                yield event


@pytest.mark.req("P5")
async def test_a_model_that_starts_over_says_nothing_twice(tmp_path: Path) -> None:
    one, two = model("one", [BROKEN]), model("two", [AGAIN])
    async with open_calls(tmp_path, one, two, settings=GOING_ON) as rig:
        story = await rig.call("tell", "one", "two")

    assert shown_in(story) == "Once upon a time"
    assert story.answer.end.parts == (TextPart("Once upon a time"),)
    assert not story.answer.end.is_verbatim
    asked = two.calls[0].request.messages
    assert [message.role for message in asked] == ["user", "assistant", "user"]
    # Both models worked for it, and both are paid.
    assert [spent.model for spent in story.spent] == ["one:one-1", "two:two-1"]


@pytest.mark.req("A23", "P5")
@pytest.mark.parametrize("turn", [OTHER, REST], ids=["other words", "no word of the beginning"])
async def test_what_may_be_another_answer_ends_in_an_error(
    tmp_path: Path, turn: ScriptedTurn
) -> None:
    one, two = model("one", [BROKEN]), model("two", [turn])
    story = Story()
    async with open_calls(tmp_path, one, two, settings=GOING_ON) as rig:
        with pytest.raises(StreamTruncated, match="two began another answer"):
            await rig.call("tell", "one", "two", story=story)

    assert shown_in(story) == "Once upo"
    assert two.cancelled == 1


@pytest.mark.req("A23", "P5")
async def test_the_next_candidate_may_still_continue(tmp_path: Path) -> None:
    one, two, three = model("one", [BROKEN]), model("two", [OTHER]), model("three", [AGAIN])
    async with open_calls(tmp_path, one, two, three, settings=GOING_ON) as rig:
        story = await rig.call("tell", "one", "two", "three")

    assert shown_in(story) == "Once upon a time"
    assert story.answer.candidate.provider == "three"


@pytest.mark.req("A23", "P5")
async def test_an_answer_may_break_off_twice(tmp_path: Path) -> None:
    later = ScriptedTurn(text="Once upon a time", deltas=4, fault="truncate", after=3)
    one, two, three = model("one", [BROKEN]), model("two", [later]), model("three", [AGAIN])
    async with open_calls(tmp_path, one, two, three, settings=GOING_ON) as rig:
        story = await rig.call("tell", "one", "two", "three")

    assert shown_in(story) == "Once upon a time"
    assert three.calls[0].request.messages[1].text == "Once upon a "


class HalfACall(ScriptedProvider):
    """A model whose stream breaks inside the arguments of a tool call."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        yield TextDelta("I look.")
        yield ToolCallDelta(0, "c1", "wipe", '{"path":')
        raise StreamTruncated("one: the stream broke")


@pytest.mark.req("A23", "M5", "P5")
async def test_half_a_tool_call_is_not_continued_by_another_model(tmp_path: Path) -> None:
    one, two = HalfACall(info=model("one").info), model("two", prefill_models=("*",))
    story = Story()
    async with open_calls(tmp_path, one, two, settings=GOING_ON) as rig:
        with pytest.raises(StreamTruncated, match="one: the stream broke"):
            await rig.call("tell", "one", "two", story=story)

    assert story.kinds == ["CallStart", "TextDelta", "ToolCallDelta"]
    assert two.calls == []


@pytest.mark.req("A6", "P5")
async def test_an_answer_without_end_is_cut_and_nobody_continues_it(tmp_path: Path) -> None:
    endless = ScriptedTurn(text=LONG * 10, deltas=50)
    settings = {**GOING_ON, "TURNS__MAX_ANSWER_CHARS": "100", "ROUTING__BREAKER__FAILURES": "1"}
    one, two, story = model("one", [endless, ScriptedTurn(text="ok")]), model("two"), Story()
    async with open_calls(tmp_path, one, two, settings=settings) as rig:
        with pytest.raises(AnswerTooLong, match="one wrote more than 100 characters"):
            await rig.call("tell", "one", "two", story=story)
        # Its service has done nothing wrong: others are served there.
        after = await rig.call("tell", "one", "two")

    assert 80 < len(shown_in(story)) <= 100
    assert two.calls == []
    assert shown_in(after) == "ok"
    assert story.spent[0].usage.tokens_out > 0


@pytest.mark.req("A6", "P5")
async def test_thoughts_without_end_go_on_to_the_next_model(tmp_path: Path) -> None:
    endless = ScriptedTurn(reasoning=LONG * 10)
    one, two = model("one", [endless]), model("two", [ScriptedTurn(text="ok")])
    settings = {"TURNS__MAX_ANSWER_CHARS": "100"}
    async with open_calls(tmp_path, one, two, settings=settings) as rig:
        story = await rig.call("tell", "one", "two")

    assert shown_in(story) == "ok"
