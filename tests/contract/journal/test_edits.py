"""J5, W9, G1: a message that replaces an earlier one is another version of the conversation."""

from pathlib import Path

import pytest

from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, RunTool, open_rig
from tests.contract.journal.test_rewinding import assert_whole, counted, graph_of, texts
from tests.contract.journal.test_taken_out import marks


async def said(rig: Rig, text: str, *, replaces: str = "") -> str:
    message_id = await rig.say(text, replaces=replaces)
    await rig.outcome(message_id)
    rig.clock.advance(60)
    return message_id


def numbered(_seen: SeenConversation, number: int) -> ScriptedTurn:
    return ScriptedTurn(text=f"answer {number}")


@pytest.mark.req("J5", "G1", "W9")
async def test_an_edit_takes_the_place_of_its_message_and_of_all_that_followed(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, script=counted, tools=(RunTool("look"),)) as rig:
        await said(rig, "one")
        two = await said(rig, "two [[tool:look]]")
        await said(rig, "three")

        edited = await said(rig, "two, changed", replaces=two)

        result = await rig.store.inbox.result(edited)
        assert result is not None
        assert result.text == "answer 5"
        shown = [m.text for m in rig.model.calls[-1].request.messages]
        assert shown == ["one", "answer 1", "two, changed"]
        assert await texts(rig) == ["one", "answer 1", "two, changed", "answer 5"]
        assert await marks(rig) == [
            ("one", ""),
            ("two [[tool:look]]", "all"),
            ("three", "all"),
            ("two, changed", ""),
        ]
        # Nothing is lost: the version before has it, and the page is told what replaced what.
        graph = graph_of(rig)
        edit = graph.versions()[-1].edit
        assert (edit.kind, edit.start, edit.removed, edit.added) == ("replace", 2, 6, 2)
        assert graph.at(2).to_list()[-1]["parts"][0]["text"] == "answer 4"
        page = await rig.core.gateway_api.conversation("rest", "ann", limit=9, user_id="ann")
        replaced = [one.record.event.replaces for one in page.messages if one.record.event]
        assert replaced == ["", "", "", two]
        assert [line["kind"] for line in (await rig.timeline(edited)).ledger] == ["capture"]
        assert_whole(rig)


@pytest.mark.req("J5", "W9")
async def test_asking_the_same_again_makes_another_answer_and_can_be_done_twice(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, script=numbered) as rig:
        one = await said(rig, "one")
        again = await said(rig, "one", replaces=one)
        await said(rig, "one", replaces=again)
        assert await texts(rig) == ["one", "answer 3"]
        assert [mark for _, mark in await marks(rig)] == ["all", "all", ""]
        assert_whole(rig)


@pytest.mark.req("J5")
async def test_what_is_no_longer_there_or_somebody_elses_cannot_be_replaced(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, script=numbered) as rig:
        one = await said(rig, "one")
        await rig.answer("/undo")
        late = await rig.say("one, changed", replaces=one)
        assert await rig.outcome(late) == "refused"
        theirs = await rig.say("hello", chat="bob")
        await rig.outcome(theirs)
        assert await rig.outcome(await rig.say("mine", replaces=theirs)) == "refused"
        assert await texts(rig) == []
        assert await texts(rig, "bob") == ["hello", "answer 2"]


@pytest.mark.req("J5", "G3")
async def test_an_edit_that_fails_leaves_the_earlier_version_to_go_back_to(tmp_path: Path) -> None:
    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.last_text == "broken":
            return ScriptedTurn(fault="status", status=400)
        return ScriptedTurn(text=f"answer {number}")

    async with open_rig(tmp_path, script=script) as rig:
        one = await said(rig, "one")
        await said(rig, "broken", replaces=one)
        mended = await said(rig, "mended", replaces=one)
        # "one" is out with the failed edit: what can be replaced now is that edit.
        assert (await rig.store.inbox.get(mended)).outcome == "refused"  # type: ignore[union-attr]
        assert_whole(rig)
