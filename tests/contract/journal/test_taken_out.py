"""W9, W23: a page is told which messages `/undo`, `/retry` and `/branch` took out of a conversation."""

from pathlib import Path

import pytest

from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, open_rig


async def marks(rig: Rig) -> list[tuple[str, str]]:
    """Return what was said, and what was taken out of each."""
    page = await rig.core.gateway_api.conversation("rest", "ann", limit=50, user_id="ann")
    return [
        (one.record.event.text, one.taken_out)
        for one in page.messages
        if one.record.event is not None
    ]


async def talk(rig: Rig, *texts: str) -> None:
    for text in texts:
        await rig.answer(text)
        rig.clock.advance(60)


@pytest.mark.req("W9", "W23")
async def test_undo_takes_out_whole_exchanges(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await talk(rig, "one", "two", "three", "/undo 2", "four")

        assert await marks(rig) == [
            ("one", ""),
            ("two", "all"),
            ("three", "all"),
            ("/undo 2", ""),
            ("four", ""),
        ]


@pytest.mark.req("W9", "W23")
async def test_retry_takes_out_the_answer_and_then_its_own(tmp_path: Path) -> None:
    def script(_seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(text=f"answer {number}")

    async with open_rig(tmp_path, script=script) as rig:
        await talk(rig, "one", "/retry")
        assert await marks(rig) == [("one", "reply"), ("/retry", "")]

        await talk(rig, "/retry")
        assert await marks(rig) == [("one", "reply"), ("/retry", "all"), ("/retry", "")]

        await talk(rig, "/undo")
        assert [mark for _, mark in await marks(rig)] == ["all", "all", "all", ""]


@pytest.mark.req("W9", "W23")
async def test_a_retry_that_says_the_same_again_takes_out_the_answer_before_it(
    tmp_path: Path,
) -> None:
    def script(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text="the same")

    async with open_rig(tmp_path, script=script) as rig:
        await talk(rig, "zero", "one", "/retry")
        assert await marks(rig) == [("zero", ""), ("one", "reply"), ("/retry", "")]

        await talk(rig, "/retry", "two")
        now = [("zero", ""), ("one", "reply"), ("/retry", "all"), ("/retry", ""), ("two", "")]
        assert await marks(rig) == now

        await talk(rig, "/undo", "/undo")
        assert [mark for _, mark in await marks(rig)] == ["", *["all"] * 4, "", ""]


@pytest.mark.req("W9", "W23")
async def test_of_several_retries_only_the_last_is_left_also_if_it_says_what_was_said_before(
    tmp_path: Path,
) -> None:
    said = iter(("ok", "ok", "no", "ok"))

    def script(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text=next(said))

    async with open_rig(tmp_path, script=script) as rig:
        await talk(rig, "one", "/retry", "/retry", "/retry")
        assert [mark for _, mark in await marks(rig)] == ["reply", "all", "all", ""]


@pytest.mark.req("W9", "W23")
async def test_an_answer_is_whole_again_when_the_retry_that_said_the_same_is_left(
    tmp_path: Path,
) -> None:
    def script(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text="the same")

    async with open_rig(tmp_path, script=script) as rig:
        await talk(rig, "one", "/branch before", "/retry", "two", "/branch to before")
        assert [mark for _, mark in await marks(rig)] == ["", "", "all", "all", ""]


@pytest.mark.req("W9", "W23")
async def test_what_a_branch_brings_back_belongs_to_the_conversation_again(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        await talk(rig, "one", "two", "/branch both", "/undo", "three", "/branch to both")

        assert await marks(rig) == [
            ("one", ""),
            ("two", ""),
            ("/branch both", ""),
            ("/undo", ""),
            ("three", "all"),
            ("/branch to both", ""),
        ]


@pytest.mark.req("W9")
async def test_what_never_was_part_of_it_is_not_taken_out(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await talk(rig, "one", "/model auto", "/new", "two")
        assert {mark for _, mark in await marks(rig)} == {""}
