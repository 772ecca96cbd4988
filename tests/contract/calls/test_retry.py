"""One retry with jitter where nothing was shown: for whom, how often, and what it costs."""

from pathlib import Path

import pytest

from hermes.app.make_models import retry_wait
from hermes.errors import ProviderError, ProviderRejected, ProviderTimeout, StreamTruncated
from hermes.message.parts import text_of
from hermes.testing.model_script import ScriptedTurn
from tests.contract.calls.rig import Story, model, open_calls

RETRY = {"ROUTING__RETRY_S": "0.01"}
FINE = ScriptedTurn(text="here it is")


@pytest.mark.req("A23", "P5")
@pytest.mark.parametrize(
    ("turn", "billed"),
    [
        (ScriptedTurn(fault="status", status=500), 1),
        (ScriptedTurn(fault="status", status=503), 1),
        (ScriptedTurn(fault="cut"), 2),
        (ScriptedTurn(fault="truncate"), 2),
    ],
    ids=["500", "503", "cut", "truncated"],
)
async def test_a_lone_candidate_that_fails_before_any_output_is_tried_once_more(
    tmp_path: Path, turn: ScriptedTurn, billed: int
) -> None:
    one = model("one", [turn, FINE])
    async with open_calls(tmp_path, one, settings=RETRY) as rig:
        story = await rig.call("hello", "one")

    assert story.kinds == ["CallStart", "CallFailure", "CallStart", "TextDelta", "FullAnswer"]
    assert text_of(story.answer.end.parts) == "here it is"
    # Each try is on the bill for itself: one that the service refused costs nothing.
    assert [spent.model for spent in story.spent] == ["one:one-1"] * billed


@pytest.mark.req("A23", "P5")
async def test_there_is_one_retry_and_no_more(tmp_path: Path) -> None:
    one = model("one", [ScriptedTurn(fault="status", status=500)] * 3)
    story = Story()
    async with open_calls(tmp_path, one, settings=RETRY) as rig:
        with pytest.raises(ProviderError, match="500"):
            await rig.call("hello", "one", story=story)

    assert len(one.calls) == 2
    assert story.kinds == ["CallStart", "CallFailure", "CallStart"]


@pytest.mark.req("A23", "P5")
async def test_what_was_shown_is_never_retried(tmp_path: Path) -> None:
    half = ScriptedTurn(text="half an answer", deltas=2, fault="truncate", after=1)
    one = model("one", [half, FINE])
    async with open_calls(tmp_path, one, settings=RETRY) as rig:
        with pytest.raises(StreamTruncated):
            await rig.call("hello", "one")

    assert len(one.calls) == 1


@pytest.mark.req("A23", "P5")
async def test_a_whole_answer_is_retried_after_a_cut_too_since_nobody_saw_it(
    tmp_path: Path,
) -> None:
    half = ScriptedTurn(text="half an answer", deltas=2, fault="cut", after=1)
    one = model("one", [half, FINE])
    async with open_calls(tmp_path, one, settings=RETRY) as rig:
        story = await rig.call("hello", "one", whole=True)

    assert text_of(story.answer.end.parts) == "here it is"
    assert len(story.spent) == 2


@pytest.mark.req("A23", "P5")
@pytest.mark.parametrize(
    ("turn", "error"),
    [
        (ScriptedTurn(fault="status", status=400), ProviderRejected),
        (ScriptedTurn(fault="hang"), ProviderTimeout),
    ],
    ids=["refused", "silent"],
)
async def test_a_refusal_and_a_long_silence_are_not_retried(
    tmp_path: Path, turn: ScriptedTurn, error: type[ProviderError]
) -> None:
    one = model("one", [turn, FINE])
    quick = {**RETRY, "TURNS__OUTPUT_TIMEOUT_S": "0.05"}
    async with open_calls(tmp_path, one, settings=quick) as rig:
        with pytest.raises(error):
            await rig.call("hello", "one")

    assert len(one.calls) == 1


@pytest.mark.req("A23", "P5")
async def test_an_account_without_money_is_not_asked_again(tmp_path: Path) -> None:
    one = model("one", [ScriptedTurn(fault="status", status=402), FINE])
    async with open_calls(tmp_path, one, settings=RETRY) as rig:
        with pytest.raises(ProviderError):
            await rig.call("hello", "one")

    assert len(one.calls) == 1


@pytest.mark.req("P5")
async def test_the_next_candidate_comes_before_a_retry(tmp_path: Path) -> None:
    one = model("one", [ScriptedTurn(fault="status", status=500), FINE])
    async with open_calls(tmp_path, one, model("two"), settings=RETRY) as rig:
        story = await rig.call("hello", "one", "two")

    assert story.answer.candidate.provider == "two"
    assert len(one.calls) == 1


@pytest.mark.req("A23")
def test_the_wait_has_jitter_and_the_setting_turns_it_off() -> None:
    drawn = iter((0.0, 0.5, 1.0))
    wait = retry_wait(2.0, lambda: next(drawn))

    assert wait is not None
    assert [wait(), wait(), wait()] == [1.0, 2.0, 3.0]
    assert retry_wait(0.0, lambda: 0.5) is None
