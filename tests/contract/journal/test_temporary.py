"""W9, W21: a temporary conversation uses nothing of others, and leaves nothing to them."""

from functools import partial
from pathlib import Path

import pytest

from hermes.errors import Conflict
from hermes.ports.memory import EXTRACT
from hermes.ports.search import SearchAsk
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.test_delegate import subagent
from tests.contract.journal.test_memory import know, words

LEARNING = {"MEMORY__EXTRACT": "true", "TOOLS__GATE__MODE": "off"}


async def say(rig: Rig, text: str, *, chat: str, is_temporary: bool = False) -> str:
    message_id = await rig.say(text, chat=chat, user="ann", is_temporary=is_temporary)
    assert await rig.outcome(message_id) == "answered"
    return message_id


def tools_given(rig: Rig) -> set[str]:
    return {tool.name for tool in rig.model.calls[-1].request.tools}


async def learning_jobs(rig: Rig) -> list[str]:
    due = await rig.store.jobs.due(rig.clock.now() + 1e9, limit=99, kinds=[EXTRACT])
    return [job.lane for job in due]


@pytest.mark.req("W21")
async def test_nothing_of_other_conversations_enters_a_temporary_one(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True, search=True, settings=LEARNING) as rig:
        await say(rig, "I told you about the red kite", chat="first")
        await know(rig, "diet", "vegan")
        await know(rig, "hobby_of_ann", "kites, as often as possible")

        await say(rig, "what of kites?", chat="second")
        assert "red kite" in words(rig)
        assert "vegan" in words(rig)
        assert {"memory", "session_search"} <= tools_given(rig)

        await say(rig, "what of kites?", chat="third", is_temporary=True)
        assert "red kite" not in words(rig)
        assert "vegan" not in words(rig)
        assert "often" not in words(rig)
        assert not {"memory", "session_search"} & tools_given(rig)


@pytest.mark.req("W21", "W25")
async def test_a_temporary_conversation_leaves_nothing_to_others(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True, search=True, settings=LEARNING) as rig:
        await say(rig, "my needle is green", chat="first", is_temporary=True)
        await say(rig, "my needle is blue", chat="second")

        assert "green" not in words(rig)
        assert await learning_jobs(rig) == [rig.lane("second")]
        person = await rig.store.people.find("rest", "ann")
        assert person is not None
        job = await rig.store.dreams.begin(person.id, at=rig.clock.now())
        lately = await rig.store.dreams.lately_said(job, limit=9)
        assert [one.text for one in lately.said] == ["my needle is blue"]
        assert rig.core.search is not None
        found = await rig.core.search.find(SearchAsk(text="needle", limit=9))
        assert {one.session for one in found.found} == {rig.lane("second")}


@pytest.mark.req("W21")
async def test_it_stays_temporary_over_a_restart_a_new_and_every_later_message(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    opening = partial(open_rig, tmp_path, clock=clock, own_tools=True, settings=LEARNING)
    async with opening() as rig:
        await say(rig, "before", chat="first")
        await say(rig, "one", chat="second", is_temporary=True)

    async with opening() as rig:
        await say(rig, "two", chat="second")
        await rig.answer("/new", chat="second", user="ann")
        await say(rig, "three", chat="second")

        assert "before" not in words(rig)
        assert await learning_jobs(rig) == [rig.lane("first")]
        page = await rig.core.gateway_api.conversation("rest", "second", limit=9, user_id="ann")
        assert (page.is_temporary, page.contributions) == (True, ())
        rows = await rig.core.gateway_api.conversations("rest", limit=9)
        assert {row["chat_id"]: row["is_temporary"] for row in rows} == {
            "first": False,
            "second": True,
        }


@pytest.mark.req("W21")
async def test_a_conversation_that_has_begun_with_memory_cannot_become_temporary(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        await say(rig, "one", chat="first")
        with pytest.raises(Conflict, match="begun with memory"):
            await rig.say("two", chat="first", user="ann", is_temporary=True)


@pytest.mark.req("W21", "J14")
async def test_a_subagent_of_a_temporary_conversation_has_no_memory_either(
    tmp_path: Path,
) -> None:
    script = subagent(ScriptedTurn(text="found"))
    async with open_rig(tmp_path, own_tools=True, script=script, settings=LEARNING) as rig:
        await say(rig, "please look into it", chat="first", is_temporary=True)

        given = [{tool.name for tool in call.request.tools} for call in rig.model.calls]
        assert len(given) == 3
        assert not any({"memory", "session_search"} & names for names in given)


@pytest.mark.req("W9", "W21")
async def test_the_page_is_told_what_a_conversation_began_with(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await say(rig, "I told you about the red kite", chat="first")
        await know(rig, "diet", "vegan")
        await say(rig, "hello", chat="second")

        page = await rig.core.gateway_api.conversation("rest", "second", limit=9, user_id="ann")
        (known, earlier) = page.contributions
        assert (known.kind, known.lines) == ("known", ("diet: vegan",))
        assert earlier.kind == "earlier"
        assert [line.partition(": ")[2] for line in earlier.lines] == [
            "I told you about the red kite"
        ]
        stranger = await rig.core.gateway_api.conversation("rest", "second", limit=9, user_id="bob")
        assert stranger.contributions == ()
