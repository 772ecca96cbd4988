"""W26, W21: a session is told where it is, frozen with its first turn; groups too, programs not."""

from pathlib import Path

import pytest

from hermes.ports.clock import ManualClock
from hermes.ports.provider import ModelRequest
from tests.contract.journal.rig import Rig, open_rig

HOME = {"PLATFORMS__PUSH__ENABLED": "true", "PLATFORMS__PUSH__HOME_CHANNEL": "lobby"}
MORE = {**HOME, "PLATFORMS__SLACK__ENABLED": "true"}
OFF = {**HOME, "SESSIONS__CONTEXT": "false"}


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
