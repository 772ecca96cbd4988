"""G4, G6, J24: the graph says what calls saw also when people are erased and turns are cut off."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.ports.provider import ToolSpec
from hermes.ports.tool import ToolTraits
from hermes.testing import scripted_model
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse, answer_by_text
from tests.contract.journal.rig import Rig, RunTool, open_rig
from tests.contract.journal.test_graph import graph_of, seen_by
from tests.stores.opening import tables

LANE = "agent:main:rest:thread:room:7"
SAFE = ToolTraits(idempotent=True)


async def told(rig: Rig, text: str, user: str) -> str:
    message_id = await rig.say_in_thread(text, user=user)
    await rig.outcome(message_id)
    return message_id


async def erase(rig: Rig, message_id: str) -> None:
    record = await rig.store.inbox.get(message_id)
    assert record is not None
    await rig.store.people.erase(record.person_id, at=rig.clock.now())


async def readable(rig: Rig) -> list[str]:
    said = await rig.store.transcripts.history(LANE, epoch=0, head=99)
    return [message.text for message in said.messages]


@pytest.mark.req("J24", "G6")
async def test_nobodys_words_live_on_under_anothers_key(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        anns = await told(rig, "anns word", "ann")
        cids = await told(rig, "cids secret", "cid")
        await erase(rig, anns)
        # What Bob's turn sees is no run of messages any more; it must not be copied for him.
        await told(rig, "bob here", "bob")
        await erase(rig, cids)
        await told(rig, "bob again", "bob")

        shown = [message.text for message in rig.model.calls[-1].request.messages]
        assert not any("cids secret" in text for text in (*await readable(rig), *shown))


@pytest.mark.req("J24")
async def test_words_of_somebody_erased_during_a_turn_are_not_written_after_it(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        anns = await told(rig, "anns word", "ann")
        cids = await told(rig, "cids secret", "cid")
        await erase(rig, anns)
        message_id = await rig.say_in_thread("[[slow:0.05]] bob here", user="bob")
        await rig.until(lambda: len(rig.model.calls) == 3)
        await erase(rig, cids)
        await rig.outcome(message_id)

        assert not any("cids secret" in text for text in await readable(rig))


def never_ending() -> RunTool:
    never = asyncio.Event()
    return RunTool("look", lambda _: never.wait(), traits=SAFE)


@pytest.mark.req("G6", "J7", "J24")
async def test_a_call_whose_context_was_erased_since_is_no_sample(tmp_path: Path) -> None:
    slow = never_ending()
    async with open_rig(tmp_path, tools=(slow,)) as rig:
        anns = await told(rig, "anns word", "ann")
        message_id = await rig.say_in_thread("[[tool:look]]", user="bob")
        await rig.until(lambda: slow.runs == 1)
        await rig.crash()
    async with open_rig(tmp_path, clock=rig.clock, start=False) as rig:
        await erase(rig, anns)
    tools = (RunTool("look", traits=SAFE),)
    async with open_rig(tmp_path, tools=tools, clock=rig.clock) as rig:
        assert await rig.outcome(message_id) == "answered"

        graph = graph_of(rig, LANE)
        first, second = [call for call in graph.calls() if call.id.startswith(message_id)]
        assert not first.sampled
        assert second.sampled
        assert graph.at(second).to_list() == seen_by(rig.model.calls[-1].request)


@pytest.mark.req("G6", "J7")
async def test_a_call_with_tools_that_changed_since_is_no_sample(tmp_path: Path) -> None:
    slow = never_ending()
    async with open_rig(tmp_path, tools=(slow,)) as rig:
        message_id = await rig.say("[[tool:look]]")
        await rig.until(lambda: slow.runs == 1)
        await rig.crash()
    changed = RunTool("look", traits=SAFE)
    changed.spec = ToolSpec("look", "Another description.", msgspec.Raw(b'{"type":"object"}'))
    async with open_rig(tmp_path, tools=(changed,), clock=rig.clock) as rig:
        assert await rig.outcome(message_id) == "answered"

        assert [call.sampled for call in graph_of(rig).calls()] == [False, True]


@pytest.mark.req("G4", "J7")
async def test_a_resumed_call_has_the_time_of_its_answer(tmp_path: Path) -> None:
    slow = never_ending()

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if number == 1:
            rig.clock.advance(7)
        return answer_by_text(seen, number)

    async with open_rig(tmp_path, tools=(slow,), script=script) as rig:
        began = rig.clock.now()
        message_id = await rig.say("[[tool:look]]")
        await rig.until(lambda: slow.runs == 1)
        await rig.crash()
    tools = (RunTool("look", traits=SAFE),)
    async with open_rig(tmp_path, tools=tools, clock=rig.clock) as rig:
        assert await rig.outcome(message_id) == "answered"

        assert graph_of(rig).calls()[0].at == began + 7


@pytest.mark.req("G4", "J12", "J14")
async def test_the_chat_of_a_subagent_that_was_stopped_is_linked(tmp_path: Path) -> None:
    tool = RunTool(
        "delegate",
        lambda context: context.run_child("[[deltas:9]] [[hang:4]]", ""),
        traits=ToolTraits(cancellable=True),
    )
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        message_id = await rig.say("[[tool:delegate]]")
        await rig.until(lambda: len(rig.model.calls) == 2)
        await rig.until(lambda: rig.watch.text(message_id) == "")
        await rig.answer("/stop")
        assert await rig.outcome(message_id) == "interrupted"

        (link,) = graph_of(rig).links()
        assert link.child is not None
        assert link.child.startswith(f"{rig.lane()}/{message_id}")


@pytest.mark.req("G6")
async def test_messages_that_a_model_had_no_room_for_are_not_in_its_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_out = [0]
    real = scripted_model.ScriptedProvider._end

    def end(self: scripted_model.ScriptedProvider, *told: Any) -> Any:
        return msgspec.structs.replace(real(self, *told), left_out=left_out[0])

    monkeypatch.setattr(scripted_model.ScriptedProvider, "_end", end)

    def script(_seen: SeenConversation, number: int) -> ScriptedTurn:
        if number == 3:
            return ScriptedTurn(tools=(ToolUse("look"),))
        # The two of the history and the question: only the call and its result are shown.
        left_out[0] = 3 if number == 4 else 0
        return ScriptedTurn(text=f"ok {number}")

    async with open_rig(tmp_path, tools=(RunTool("look"),), script=script) as rig:
        anns = await told(rig, "anns word", "ann")
        await told(rig, "bobs word", "bob")
        await erase(rig, anns)
        await told(rig, "look", "bob")

        graph = graph_of(rig, LANE)
        sent = seen_by(rig.model.calls[-1].request)
        system = [message for message in sent if message["role"] == "system"]
        assert graph.at(graph.calls()[-1]).to_list() == [*system, *sent[len(system) + 3 :]]


@pytest.mark.req("G7")
async def test_a_damaged_conversation_does_not_hide_the_others(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("hi")
        await rig.answer("ho", chat="bob")
        await rig.crash()
    with tables(tmp_path) as damaged:
        damaged.execute("DELETE FROM chunks WHERE graph = 1")

    async with open_rig(tmp_path, clock=rig.clock) as rig:
        sessions = await rig.store.transcripts.sessions(platform=None, limit=5)
        assert len(sessions) == 2
        await rig.answer("/new")
        assert await rig.answer("afresh") == "#1 afresh"
