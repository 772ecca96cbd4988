"""G1, G4, G6, G7: what turns leave in the message graph is what was said and what models saw."""

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.graph import MessageGraph
from hermes.graph.exports import Report, Row, export_rows, verify_row
from hermes.message.chat import ChatMessage
from hermes.message.session_key import graph_name
from hermes.ports.provider import ModelRequest
from hermes.ports.tool import ToolTraits
from hermes.testing.model_script import ScriptedTurn, SeenConversation, answer_by_text
from hermes.testing.scripted_model import SCRIPTED_INFO, ScriptedProvider
from tests.contract.journal.rig import Rig, RunTool, open_rig

STEERING = {"TURNS__BUSY": "steer"}


def graph_of(rig: Rig, lane: str | None = None, epoch: int = 0) -> MessageGraph:
    return rig.store.graphs.open(graph_name(lane or rig.lane(), epoch))


def seen_by(request: ModelRequest) -> list[dict[str, Any]]:
    """Return what a request showed a model, as the graph writes messages down."""
    system = [
        {"role": "system", "parts": [{"type": "text", "text": block}]} for block in request.system
    ]
    return [*system, *(plain(message) for message in request.messages)]


def plain(message: ChatMessage) -> dict[str, Any]:
    parts = []
    for part in message.parts:
        fields = {name: getattr(part, name) for name in part.__struct_fields__}
        kept = {name: value for name, value in fields.items() if value not in (None, False)}
        parts.append({"type": part.__struct_config__.tag, **kept})
    return {"role": message.role, "parts": parts}


def assert_recorded(rig: Rig, graph: MessageGraph) -> None:
    """Every call of the model is in the graph with exactly what it was given; nothing is broken."""
    report = graph.verify()
    assert report.problems == ()
    calls = graph.calls()
    assert [graph.at(call).to_list() for call in calls] == [
        seen_by(made.request) for made in rig.model.calls
    ]


@pytest.mark.req("G6", "G7", "J10")
async def test_a_turn_records_exactly_what_its_calls_saw_and_wrote(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(RunTool("look"),)) as rig:
        await rig.answer("what can you do")
        await rig.answer("[[tool:look]]")
        await rig.answer("and now?")
        graph = graph_of(rig)

        assert_recorded(rig, graph)
        roles = [message["role"] for message in graph]
        assert roles == [*roles[-2:], "user", "assistant", "tool", "assistant", *roles[-2:]]
        sampled = [index for index, _ in enumerate(roles) if graph.is_sampled(index)]
        assert sampled == [i for i, role in enumerate(roles) if role == "assistant"]
        assert [version.edit.added for version in graph.versions()] == [2, 4, 2]
        first, asked, told, last = graph.calls()
        assert {call.model for call in graph.calls()} == {"scripted:scripted-1"}
        assert asked.tools == told.tools == first.tools == last.tools is not None
        (tool,) = graph.tools_of(asked) or []
        assert tool["function"]["name"] == "look"
        assert all(call.usage["tokens_in"] > 0 for call in graph.calls())


@pytest.mark.req("G4", "J14")
async def test_a_tool_keeps_what_is_known_of_it_and_the_chat_of_its_subagent(
    tmp_path: Path,
) -> None:
    tool = RunTool("delegate", lambda context: context.run_child("dig", ""))

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.last_text == "dig":
            return ScriptedTurn(text="dug")
        return answer_by_text(seen, number)

    async with open_rig(tmp_path, tools=(tool,), script=script) as rig:
        await rig.answer("[[tool:delegate]]")
        graph = graph_of(rig)
        asked = graph.calls()[0]

        (link,) = graph.links()
        assert link.call == asked.id
        answer = graph.answer_of(asked)
        assert answer is not None
        assert link.tool_call_id == answer["parts"][-1]["id"]
        assert link.metadata["tool"] == "delegate"
        assert link.child is not None
        child = rig.store.graphs.open(link.child)
        assert [message["parts"][0]["text"] for message in child] == ["dig", "dug"]
        assert child.verify().ok
        assert len(child.calls()) == 1


@pytest.mark.req("G6", "J7", "J8")
async def test_what_is_recorded_is_the_same_when_the_turn_was_resumed(tmp_path: Path) -> None:
    never = asyncio.Event()
    slow = RunTool("look", lambda _: never.wait(), traits=ToolTraits(idempotent=True))
    async with open_rig(tmp_path, tools=(slow,)) as rig:
        await rig.answer("before")
        message_id = await rig.say("[[tool:look]]")
        await rig.until(lambda: slow.runs == 1)
        await rig.crash()
        earlier = list(rig.model.calls)

    async with open_rig(tmp_path, tools=(RunTool("look"),), clock=rig.clock) as rig:
        assert await rig.outcome(message_id) == "answered"
        rig.model.calls[:0] = earlier

        graph = graph_of(rig)
        assert_recorded(rig, graph)
        assert all(call.sampled for call in graph.calls())
        assert [link.metadata["state"] for link in graph.links()] == ["unknown"]


@pytest.mark.req("G6", "J12")
async def test_a_partial_answer_is_kept_and_is_nobodys_sample(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("[[deltas:9]] [[hang:4]]")
        await rig.until(lambda: rig.watch.text(message_id) != "")
        await rig.answer("/stop")
        assert await rig.outcome(message_id) == "interrupted"
        graph = graph_of(rig)

        assert [message["role"] for message in graph] == ["user", "assistant"]
        assert graph.calls() == []
        assert not graph.is_sampled(1)
        assert graph.verify().ok


@pytest.mark.req("G6", "J22")
async def test_a_remembered_answer_is_a_call_that_sampled_nothing(tmp_path: Path) -> None:
    agent = {"AGENTS__MAIN__CACHE": "true"}
    async with open_rig(tmp_path, settings=agent) as rig:
        await rig.answer("what is the time")
        await rig.answer("/new")
        await rig.answer("what is the time")
        graph = graph_of(rig, epoch=1)

        (call,) = graph.calls()
        (first,) = graph_of(rig).calls()
        assert len(rig.model.calls) == 1
        assert not call.sampled
        assert call.metadata["cached_from"]
        assert not graph.is_sampled(1)
        assert first.sampled


@pytest.mark.req("G7", "W21")
async def test_a_long_conversation_is_cut_seldom_and_recorded_as_it_was_sent(
    tmp_path: Path,
) -> None:
    small = ScriptedProvider(info=msgspec.structs.replace(SCRIPTED_INFO, context_tokens=2_000))
    async with open_rig(tmp_path, model=small, settings={"COMPACTION__ENABLED": "false"}) as rig:
        for number in range(12):
            await rig.answer(f"message {number} {'word ' * 80}")
        graph = graph_of(rig)

        assert_recorded(rig, graph)
        assert len(graph) == 24
        firsts = [made.request.messages[0].text for made in rig.model.calls]
        # Each time the context is full, half of it is left.
        assert 1 < len(set(firsts)) < len(firsts) // 2
        assert [call.start for call in graph.calls()] == sorted(
            call.start for call in graph.calls()
        )
        assert graph.calls()[-1].start > 0


@pytest.mark.req("G7", "J5")
async def test_each_conversation_of_a_session_is_a_graph_of_its_own(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("one")
        await rig.answer("/new")
        await rig.answer("two")

        names = [(entry.epoch, entry.is_current) for entry in rig.store.graphs.graphs(rig.lane())]
        assert sorted(names) == [(0, False), (1, True)]
        assert [m["parts"][0]["text"] for m in graph_of(rig, epoch=1)] == ["two", "#1 two"]


@pytest.mark.req("J24", "G7")
async def test_verify_says_erased_and_others_stay_readable(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=STEERING) as rig:
        first = await rig.say_in_thread("anns secret", user="ann")
        await rig.outcome(first)
        await rig.outcome(await rig.say_in_thread("bobs word", user="bob"))
        record = await rig.store.inbox.get(first)
        assert record is not None
        await rig.store.people.erase(record.person_id, at=rig.clock.now())

        graph = graph_of(rig, "agent:main:rest:thread:room:7")
        problems = graph.verify().problems
        assert {problem.trouble for problem in problems} == {"erased"}
        # Bob's turn goes on without what is gone, and says so: it is no run of messages any more.
        await rig.outcome(await rig.say_in_thread("and now", user="bob"))
        shown = [message.text for message in rig.model.calls[-1].request.messages]
        assert "anns secret" not in shown
        assert "bobs word" in shown
        again = graph_of(rig, "agent:main:rest:thread:room:7")
        assert {problem.trouble for problem in again.verify().problems} == {"erased"}
        assert again.at(again.calls()[-1]).to_list() == seen_by(rig.model.calls[-1].request)


@pytest.mark.req("G6")
async def test_training_data_of_real_turns_is_certified(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(RunTool("look"),)) as rig:
        await rig.answer("what can you do")
        await rig.answer("[[tool:look]]")
        (entry,) = rig.store.graphs.graphs()
        person_id = entry.people[0]
        assert not entry.may_train

        assert await rig.store.people.set_consent(person_id, may_train=True, at=1.0)

        (entry,) = rig.store.graphs.graphs()
        assert entry.may_train
        assert not await rig.store.people.set_consent("p_nobody", may_train=True, at=1.0)
        report = Report()
        rows: list[Row] = list(
            export_rows(
                [graph_of(rig)],
                "openai",
                may_train=lambda _: True,
                salt=os.urandom(16),
                report=report,
            )
        )
        assert (report.rows, report.trained) == (1, 3)
        assert [row for row in rows if verify_row(row)] == []
        roles = [message["role"] for message in rows[0]["messages"]]
        assert roles[-6:] == ["user", "assistant", "user", "assistant", "tool", "assistant"]


@pytest.mark.req("G7", "A15")
async def test_a_conversation_is_shown_when_its_messages_were_purged(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings={"SESSIONS__RESET__MODE": "none"}) as rig:
        for number in range(3):
            await rig.answer(f"message {number}")
        before = await rig.store.transcripts.conversation(rig.lane(), limit=10)

        rig.clock.advance(9 * 86_400)
        assert await rig.store.purge(rig.clock.now(), limit=100) == 3

        after = await rig.store.transcripts.conversation(rig.lane(), limit=10)
        told = [(one.record.event, one.result) for one in after.messages]
        assert [event.text for event, _ in told if event] == [f"message {n}" for n in range(3)]
        assert [result.text for _, result in told if result] == [
            one.result.text for one in before.messages if one.result
        ]
        assert_recorded(rig, graph_of(rig))
        assert await rig.answer("still there?") == "#4 still there?"


@pytest.mark.req("G6")
async def test_a_conversation_of_two_people_needs_the_consent_of_both(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        for user in ("ann", "bob"):
            await rig.outcome(await rig.say_in_thread("hello", user=user))
        (entry,) = rig.store.graphs.graphs()
        first, second = entry.people

        await rig.store.people.set_consent(first, may_train=True, at=1.0)
        (one_agreed,) = rig.store.graphs.graphs()
        await rig.store.people.set_consent(second, may_train=True, at=2.0)
        (both_agreed,) = rig.store.graphs.graphs()
        await rig.store.people.set_consent(first, may_train=False, at=3.0)
        (one_left,) = rig.store.graphs.graphs()

        found = [one.may_train for one in (entry, one_agreed, both_agreed, one_left)]
        assert found == [False, False, True, False]
