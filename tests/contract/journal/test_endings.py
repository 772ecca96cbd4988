"""J10 to J14: every message ends once, and credit, transcript and outbox end with it."""

import asyncio
from pathlib import Path

import pytest

from hermes.message.session_key import graph_name
from hermes.ports.tool import ToolContext, ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, RunTool, open_rig

STEERING = {"BUSY__PLATFORMS__REST": "steer"}
CANCELLABLE = ToolTraits(cancellable=True)


async def ledger(rig: Rig, message_id: str) -> list[tuple[str, int]]:
    return [(line["kind"], line["amount"]) for line in (await rig.timeline(message_id)).ledger]


async def spoken(rig: Rig) -> list[tuple[str, str, bool]]:
    said = await rig.store.transcripts.history(rig.lane(), epoch=0, head=99)
    graph = rig.store.graphs.open(graph_name(rig.lane(), 0))
    return [
        (message.role, message.text, graph.is_sampled(index))
        for index, message in enumerate(said.messages)
    ]


@pytest.mark.req("J10", "A30")
async def test_j10_one_commit_writes_everything_about_the_end(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("hello")
        await rig.outcome(message_id)
        story = await rig.timeline(message_id)

        assert story.message is not None
        assert (story.message.state, story.message.outcome) == ("done", "answered")
        assert [delivery.state for delivery in story.deliveries] == ["sent"]
        assert await ledger(rig, message_id) == [("capture", -1)]
        assert story.interaction is not None
        assert story.interaction["llm_backend"] == "scripted:scripted-1"
        assert (await rig.kinds(message_id))[-1] == "ended"
        assert await spoken(rig) == [("user", "hello", False), ("assistant", "#1 hello", True)]


@pytest.mark.req("J10", "A6")
async def test_j10_a_failed_model_call_is_answered_kindly_and_not_charged(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("[[fail:503]]")

        assert await rig.outcome(message_id) == "failed"
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert "try again" in result.text
        assert await ledger(rig, message_id) == []
        assert await rig.store.people.balance(await _person(rig, message_id)) == 0


@pytest.mark.req("J10", "A7")
async def test_a7_tool_output_is_delivered_when_the_call_after_it_fails(tmp_path: Path) -> None:
    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.tool_results:
            return ScriptedTurn(fault="status", status=500)
        return ScriptedTurn(tools=(ToolUse("look"),))

    async with open_rig(tmp_path, script=script, tools=(RunTool("look"),)) as rig:
        message_id = await rig.say("look it up")

        assert await rig.outcome(message_id) == "answered"
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert result.text.endswith("look ran")
        assert await ledger(rig, message_id) == [("capture", -1)]


@pytest.mark.req("J10", "P5")
async def test_j10_a_stream_that_breaks_after_output_ends_as_an_honest_partial(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("[[deltas:10]] [[truncate:3]]")

        assert await rig.outcome(message_id) == "failed"
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert "cut off" in result.text
        assert await ledger(rig, message_id) == [("capture", -1)]


@pytest.mark.req("J10")
async def test_j10_a_defect_in_a_turn_ends_it_with_an_outcome(tmp_path: Path) -> None:
    def script(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        raise ZeroDivisionError

    async with open_rig(tmp_path, script=script) as rig:
        message_id = await rig.say("hello")

        assert await rig.outcome(message_id) == "failed"
        assert rig.store.inbox.waiting() == 0
        assert await ledger(rig, message_id) == []


@pytest.mark.req("J10", "W5")
async def test_j10_a_turn_that_is_cut_off_every_time_ends_in_the_end(tmp_path: Path) -> None:
    clock = ManualClock()
    limit = {"LANES__MAX_ATTEMPTS": "2"}
    async with open_rig(tmp_path, clock=clock, settings=limit) as rig:
        message_id = await rig.say("[[hang]]")
        await rig.until(lambda: len(rig.model.calls) == 1)
    async with open_rig(tmp_path, clock=clock, settings=limit) as rig:
        await rig.until(lambda: len(rig.model.calls) == 1)

    async with open_rig(tmp_path, clock=clock, settings=limit) as rig:
        assert await rig.outcome(message_id) == "failed"
        assert rig.model.calls == []
        assert await ledger(rig, message_id) == []


@pytest.mark.req("J11", "A5")
async def test_j11_a_hold_stands_until_the_commit_and_counts_against_the_balance(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock) as rig:
        message_id = await rig.say("[[hang]]")
        await rig.until(lambda: len(rig.model.calls) == 1)
        assert await ledger(rig, message_id) == [("hold", 1)]
        assert await rig.store.people.balance(await _person(rig, message_id)) == -1
    clock.advance(1000)

    async with open_rig(tmp_path, clock=clock) as rig:
        await rig.until(lambda: len(rig.model.calls) == 1)
        assert await ledger(rig, message_id) == [("hold", 1)]
        await rig.answer("/stop")
        assert await rig.outcome(message_id) == "interrupted"

        assert await ledger(rig, message_id) == []
        assert await rig.store.people.balance(await _person(rig, message_id)) == 0


@pytest.mark.req("J12", "W16")
async def test_j12_an_interrupt_keeps_the_partial_text_as_not_sampled(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("[[deltas:9]] [[hang:4]]")
        await rig.until(lambda: rig.watch.text(message_id) != "")
        await rig.answer("/stop")

        assert await rig.outcome(message_id) == "interrupted"
        role, text, sampled = (await spoken(rig))[-1]
        assert (role, sampled) == ("assistant", False)
        assert text
        assert await ledger(rig, message_id) == [("capture", -1)]


@pytest.mark.req("J12")
async def test_j12_finished_steps_are_kept_when_a_later_call_is_stopped(tmp_path: Path) -> None:
    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.tool_results:
            return ScriptedTurn(fault="hang")
        return ScriptedTurn(tools=(ToolUse("look"),))

    async with open_rig(tmp_path, script=script, tools=(RunTool("look"),)) as rig:
        message_id = await rig.say("look it up")
        await rig.until(lambda: len(rig.model.calls) == 2)
        await rig.answer("/stop")

        assert await rig.outcome(message_id) == "interrupted"
        assert [role for role, _, _ in await spoken(rig)] == ["user", "assistant", "tool"]


@pytest.mark.req("J12")
async def test_j12_a_tool_is_cancelled_only_if_it_says_that_it_can_be(tmp_path: Path) -> None:
    release = asyncio.Event()
    patient = RunTool("patient", lambda _: release.wait())
    eager = RunTool("eager", lambda _: asyncio.Event().wait(), traits=CANCELLABLE)
    async with open_rig(tmp_path, tools=(patient, eager)) as rig:
        cancelled = await rig.say("[[tool:eager]]", chat="ann")
        await rig.until(lambda: eager.runs == 1)
        await rig.answer("/stop", chat="ann")
        assert await rig.outcome(cancelled) == "interrupted"

        kept = await rig.say("[[tool:patient]]", chat="bob")
        await rig.until(lambda: patient.runs == 1)
        await rig.answer("/stop", chat="bob")
        record = await rig.store.inbox.get(kept)
        assert record is not None
        assert record.state == "running"
        release.set()
        assert await rig.outcome(kept) == "interrupted"
        assert ("tool", "done") in [
            (step.kind, step.state) for step in (await rig.timeline(kept)).steps
        ]


@pytest.mark.req("J12", "W16")
async def test_j12_a_new_message_interrupts_under_that_policy(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        first = await rig.say("[[hang]]", platform="push")
        await rig.until(lambda: len(rig.model.calls) == 1)

        answer = await rig.answer("second thought", platform="push")

        assert await rig.outcome(first) == "interrupted"
        assert answer == "#2 second thought"


@pytest.mark.req("J13")
async def test_j13_a_steered_message_joins_the_turn_and_is_not_charged(tmp_path: Path) -> None:
    release = asyncio.Event()
    tool = RunTool("look", lambda _: release.wait())
    async with open_rig(tmp_path, tools=(tool,), settings=STEERING) as rig:
        host = await rig.say("[[tool:look]] please")
        await rig.until(lambda: tool.runs == 1)
        joined = await rig.say("and hurry")
        release.set()

        assert await rig.outcome(host) == "answered"
        assert await rig.outcome(joined) == "merged"
        record = await rig.store.inbox.get(joined)
        assert record is not None
        assert record.merged_into == host
        assert rig.model.calls[-1].request.messages[-1].text == "and hurry"
        assert (await ledger(rig, host), await ledger(rig, joined)) == ([("capture", -1)], [])


@pytest.mark.req("J13")
async def test_j13_a_steered_message_becomes_new_again_if_the_host_did_not_use_it(
    tmp_path: Path,
) -> None:
    release = asyncio.Event()
    tool = RunTool("look", lambda _: release.wait())

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if number == 1:
            return ScriptedTurn(tools=(ToolUse("look"),))
        if number == 2:
            return ScriptedTurn(fault="status", status=500)
        return ScriptedTurn(text=f"to {seen.last_text}")

    async with open_rig(tmp_path, script=script, tools=(tool,), settings=STEERING) as rig:
        host = await rig.say("look")
        await rig.until(lambda: tool.runs == 1)
        joined = await rig.say("and hurry")
        release.set()

        assert await rig.outcome(host) == "answered"
        assert await rig.outcome(joined) == "answered"
        record = await rig.store.inbox.get(joined)
        assert record is not None
        assert record.merged_into is None
        assert await ledger(rig, joined) == [("capture", -1)]


@pytest.mark.req("J13")
async def test_j13_a_steered_message_stays_with_its_host_over_a_crash(tmp_path: Path) -> None:
    clock = ManualClock()
    release = asyncio.Event()
    tool = RunTool("look", lambda _: release.wait())

    def script(_seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(tools=(ToolUse("look"),)) if number == 1 else ScriptedTurn(fault="hang")

    async with open_rig(
        tmp_path, clock=clock, script=script, tools=(tool,), settings=STEERING
    ) as rig:
        host = await rig.say("look")
        await rig.until(lambda: tool.runs == 1)
        joined = await rig.say("and hurry")
        release.set()
        await rig.until(lambda: len(rig.model.calls) == 2)

    async with open_rig(tmp_path, clock=clock, tools=(tool,), settings=STEERING) as rig:
        assert await rig.outcome(host) == "answered"
        assert await rig.outcome(joined) == "merged"
        assert tool.runs == 1
        assert [role for role, _, _ in await spoken(rig)] == [
            "user",
            "assistant",
            "tool",
            "user",
            "assistant",
        ]


def delegate(text: str) -> RunTool:
    async def act(context: ToolContext) -> str:
        return await context.run_child(text, "main")

    return RunTool("delegate", act, traits=ToolTraits(idempotent=True))


@pytest.mark.req("J14", "G4")
async def test_j14_a_subagent_runs_on_a_lane_that_contains_the_parent_turn(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(delegate("small question"),)) as rig:
        host = await rig.say("[[tool:delegate]]")

        assert await rig.outcome(host) == "answered"
        child = (await rig.timeline(f"{host}.1")).message
        assert child is not None
        assert child.lane == f"{rig.lane()}/{host}.1"
        assert (child.outcome, await ledger(rig, child.id)) == ("answered", [])
        assert (await rig.timeline(child.id)).deliveries == ()


@pytest.mark.req("J14")
async def test_j14_subagents_are_nested_three_deep_at_most(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(delegate("[[tool:delegate]]"),)) as rig:
        host = await rig.say("[[tool:delegate]]")

        assert await rig.outcome(host) == "answered"
        result = await rig.store.inbox.result(host)
        assert result is not None
        assert "3 deep at most" in result.text


@pytest.mark.req("J14")
async def test_j14_an_interrupt_reaches_the_subagent(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(delegate("[[hang]]"),)) as rig:
        host = await rig.say("[[tool:delegate]]")
        await rig.until(lambda: len(rig.model.calls) == 2)
        await rig.answer("/stop")

        assert await rig.outcome(host) == "interrupted"
        child = (await rig.timeline(f"{host}.1")).message
        assert child is not None
        assert child.outcome == "interrupted"


@pytest.mark.req("J14", "J8")
async def test_j14_a_resumed_parent_finds_the_child_it_had_started(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, tools=(delegate("[[hang]]"),)) as rig:
        host = await rig.say("[[tool:delegate]]")
        await rig.until(lambda: len(rig.model.calls) == 2)

    def script(_seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(text=f"answer {number}")

    async with open_rig(tmp_path, clock=clock, script=script, tools=(delegate("[[hang]]"),)) as rig:
        assert await rig.outcome(host) == "answered"
        child = (await rig.timeline(f"{host}.1")).message
        assert child is not None
        assert (child.attempts, child.outcome) == (2, "answered")
        assert await rig.store.timeline(f"{host}.2") is None


async def _person(rig: Rig, message_id: str) -> str:
    record = await rig.store.inbox.get(message_id)
    assert record is not None
    return record.person_id


@pytest.mark.req("W20", "J11")
async def test_a_model_that_says_no_reply_is_kept_and_not_sent(tmp_path: Path) -> None:
    def script(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text="NO_REPLY")

    async with open_rig(tmp_path, script=script) as rig:
        message_id = await rig.say("thanks")

        assert await rig.outcome(message_id) == "answered"
        story = await rig.timeline(message_id)
        assert story.deliveries == ()
        assert await ledger(rig, message_id) == []
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert (result.text, result.reason) == (
            "",
            "the model chose to say nothing (NO_REPLY)",
        )
        assert await spoken(rig) == [("user", "thanks", False), ("assistant", "NO_REPLY", True)]
