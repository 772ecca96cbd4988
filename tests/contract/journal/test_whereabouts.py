"""W26, W21: a session is told where it is, frozen with its first turn; groups too, programs not."""

from pathlib import Path

import pytest

from hermes.message.source import ChatType
from hermes.ports.provider import ModelRequest
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, open_rig

HOME = {"PLATFORMS__PUSH__ENABLED": "true", "PLATFORMS__PUSH__HOME_CHANNEL": "lobby"}
MORE = {**HOME, "PLATFORMS__SLACK__ENABLED": "true"}
OFF = {**HOME, "SESSIONS__CONTEXT": "false"}


WITHOUT = {**HOME, "SESSIONS__RESET__MODE": "none", "TIME_ZONE": "Europe/Berlin"}
NEWS = "What is around this conversation has changed; this is data, and no instruction:"
# 2026-11-16, 23:30 in Berlin: a Monday.
LATE = 1_794_868_200.0


def said(rig: Rig) -> list[str]:
    """Return the lines of the last message that the model was given."""
    return last(rig).messages[-1].text.splitlines()


def last(rig: Rig) -> ModelRequest:
    return rig.model.calls[-1].request


def places(rig: Rig) -> list[str]:
    return [block for block in last(rig).system if block.startswith("Where this conversation")]


@pytest.mark.req("W26", "W21")
async def test_w26_the_block_stays_the_same_over_turns_restarts_and_new_platforms(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, settings=HOME, clock=clock) as rig:
        await rig.answer("hello", platform="push", user_name="Ann")
        (first,) = places(rig)
        assert "- with: Ann (id ann)" in first
        assert "- home channels: push (lobby)" in first
    async with open_rig(tmp_path, settings=MORE, clock=clock) as rig:
        await rig.answer("again", platform="push", user_name="Anna")
        assert places(rig) == [first]
        assert NEWS in last(rig).messages[-1].text
        await rig.answer("/new", platform="push")
        await rig.answer("afresh", platform="push", user_name="Anna")
        (second,) = places(rig)
        assert "- connected platforms: push, slack" in second
        assert "- with: Anna" in second


@pytest.mark.req("W26", "W21")
async def test_w26_groups_and_threads_have_one_too_and_it_stays(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=HOME) as rig:
        await rig.answer("hello", chat="room", user="ann", chat_type="group", platform="push")
        (first,) = places(rig)
        assert "- chat: a group (id room)" in first
        await rig.answer("more", chat="room", user="ann", chat_type="group", platform="push")
        assert places(rig) == [first]
        assert last(rig).messages[0].text == "hello"


@pytest.mark.req("W26")
async def test_w26_programs_and_whoever_switched_it_off_get_none(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with open_rig(tmp_path / "a", settings=HOME) as rig:
        await rig.answer("hello")
        assert places(rig) == []
    async with open_rig(tmp_path / "b", settings=OFF) as rig:
        await rig.answer("hello", platform="push")
        assert places(rig) == []


@pytest.mark.req("W21", "W26")
@pytest.mark.parametrize("chat_type", ["dm", "group"])
async def test_w21_a_platform_that_comes_or_goes_is_told_once_behind_the_next_message(
    tmp_path: Path, chat_type: ChatType
) -> None:
    clock = ManualClock()

    async def say(rig: Rig, text: str) -> None:
        await rig.answer(text, platform="push", chat="room", user="ann", chat_type=chat_type)

    async with open_rig(tmp_path, settings=HOME, clock=clock) as rig:
        await say(rig, "hello")
        assert said(rig) == ["hello"]
        first = last(rig)
    async with open_rig(tmp_path, settings=MORE, clock=clock) as rig:
        await say(rig, "again")
        assert said(rig) == ["again", "", NEWS, "- connected platforms: push, slack"]
        await say(rig, "more")
        assert said(rig) == ["more"]
    async with open_rig(tmp_path, settings=HOME, clock=clock) as rig:
        await say(rig, "and now")
        assert said(rig) == ["and now", "", NEWS, "- connected platforms: push"]
        await say(rig, "well")
        assert said(rig) == ["well"]
        assert last(rig).system == first.system
        assert last(rig).messages[0] == first.messages[0]


@pytest.mark.req("W21")
async def test_w21_another_day_is_told_behind_the_message_that_it_comes_with(
    tmp_path: Path,
) -> None:
    clock = ManualClock(LATE)
    async with open_rig(tmp_path, settings=WITHOUT, clock=clock) as rig:
        await rig.answer("hello", platform="push")
        first = last(rig)
        assert "- date: Monday, 2026-11-16 (Europe/Berlin)" in first.system[1]
        clock.advance(1_200)
        await rig.answer("still", platform="push")
        assert said(rig) == ["still"]
        clock.advance(1_200)
        await rig.answer("later", platform="push")
        assert said(rig) == ["later", "", NEWS, "- date: Tuesday, 2026-11-17 (Europe/Berlin)"]
        await rig.answer("yes", platform="push", user_name="Ann")
        assert last(rig).system == first.system


@pytest.mark.req("W21", "A10")
async def test_w21_news_of_the_place_hide_nothing_from_who_joins_but_facts_do(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, settings=HOME, clock=clock) as rig:
        await rig.answer("hello", platform="push")
    async with open_rig(tmp_path, settings=MORE, clock=clock) as rig:
        await rig.answer("again", platform="push")
        assert NEWS in said(rig)
        await rig.answer("me too", platform="push", user="bob")
        assert [m.text.splitlines()[0] for m in last(rig).messages if m.role == "user"] == [
            "hello",
            "again",
            "me too",
        ]


@pytest.mark.req("W21", "W26")
async def test_w21_programs_are_told_nothing_new_either(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, settings=HOME, clock=clock) as rig:
        await rig.answer("hello")
    async with open_rig(tmp_path, settings=MORE, clock=clock) as rig:
        await rig.answer("again")
        assert said(rig) == ["again"]
