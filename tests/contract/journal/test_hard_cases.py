"""Cases where gateways lose, double or get stuck: each once went wrong here, or nearly."""

import asyncio
from pathlib import Path

import pytest

from hermes import failpoints
from hermes.message.parts import ToolResultPart, tool_calls_of
from hermes.ports.tool import ToolContext, ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import RunTool, open_rig, some

STEERING = {"BUSY__PLATFORMS__REST": "steer"}
ASKING = ToolTraits(needs_approval=True)


@pytest.mark.req("J10", "J1")
async def test_a_sender_who_leaves_during_the_accept_is_answered_all_the_same(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        is_being_written = asyncio.Event()
        failpoints.arm("store.accept.before", lambda _point: is_being_written.set())
        try:
            leaving = asyncio.create_task(rig.say("hello", name="one"))
            await is_being_written.wait()
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
        finally:
            failpoints.disarm()

        await rig.until(lambda: len(rig.model.calls) == 1)
        again = await rig.say("hello", name="one")
        assert await rig.outcome(again) == "answered"


@pytest.mark.req("J13")
async def test_a_host_that_breaks_gives_its_steered_messages_back(tmp_path: Path) -> None:
    release = asyncio.Event()
    tool = RunTool("look", lambda _: release.wait())

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if number == 2:
            raise ZeroDivisionError
        return (
            ScriptedTurn(tools=(ToolUse("look"),))
            if number == 1
            else ScriptedTurn(text=seen.last_text)
        )

    async with open_rig(tmp_path, script=script, tools=(tool,), settings=STEERING) as rig:
        host = await rig.say("look")
        await rig.until(lambda: tool.runs == 1)
        joined = await rig.say("and hurry")
        release.set()

        assert await rig.outcome(host) == "failed"
        assert await rig.outcome(joined) == "answered"
        assert rig.store.inbox.waiting() == 0


@pytest.mark.req("J10", "J24")
async def test_a_person_erased_in_the_middle_of_a_turn_ends_it(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("[[slow:0.05]] hello")
        await rig.until(lambda: len(rig.model.calls) == 1)
        record = await rig.store.inbox.get(message_id)
        assert record is not None
        await rig.store.people.erase(record.person_id, at=rig.clock.now())

        assert await rig.outcome(message_id) == "refused"
        assert await rig.store.people.balance(record.person_id) == 0
        assert (await rig.store.turns.view(rig.lane())).message is None


@pytest.mark.req("J10")
async def test_numbers_that_no_database_takes_fail_the_turn_and_not_the_lane(
    tmp_path: Path,
) -> None:
    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(text=seen.last_text, tokens_out=2**63 if number == 1 else 1)

    async with open_rig(tmp_path, script=script) as rig:
        first = await rig.say("hello")

        assert await rig.outcome(first) == "failed"
        assert await rig.answer("again") == "again"


@pytest.mark.req("J10", "A3")
async def test_a_message_for_an_agent_that_was_removed_ends_with_a_reason(tmp_path: Path) -> None:
    clock = ManualClock()
    guide = {"AGENTS__GUIDE__NAME": "Guide"}
    async with open_rig(tmp_path, clock=clock, start=False, settings=guide) as rig:
        message_id = await rig.say("hello", agent="guide")

    async with open_rig(tmp_path, clock=clock) as rig:
        assert await rig.outcome(message_id) == "failed"
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert result.reason == "agent 'guide' was removed"


@pytest.mark.req("J6")
async def test_a_stop_that_comes_too_late_does_not_hit_the_next_turn(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        first = await rig.say("first")
        second = await rig.say("[[slow:0.02]] second")
        rig.core.lanes.interrupt(rig.lane(), "m_stop", message_id=first)

        assert await rig.outcome(second) == "answered"


@pytest.mark.req("J12", "M3")
async def test_a_stopped_turn_leaves_a_result_for_every_tool_call(tmp_path: Path) -> None:
    release = asyncio.Event()
    slow = RunTool("slow", lambda _: release.wait())
    async with open_rig(tmp_path, tools=(slow, RunTool("other"))) as rig:
        message_id = await rig.say("[[tool:slow]] [[tool:other]]")
        await rig.until(lambda: slow.runs == 1)
        await rig.answer("/stop")
        release.set()
        await rig.outcome(message_id)

        await rig.answer("next")
        sent = rig.model.calls[-1].request.messages
        calls = [call.id for message in sent for call in tool_calls_of(message.parts)]
        results = [
            part.call_id
            for message in sent
            for part in message.parts
            if isinstance(part, ToolResultPart)
        ]
        assert calls == results
        assert len(calls) == 2


@pytest.mark.req("J9")
async def test_one_approval_lets_one_call_through(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if len(seen.tool_results) < 2:
            return ScriptedTurn(tools=(ToolUse("pay", '{"usd":100}'),))
        return ScriptedTurn(text="paid")

    async with open_rig(tmp_path, script=script, tools=(tool,)) as rig:
        message_id = await rig.say("pay twice")
        await rig.outcome(message_id)
        await rig.answer("/approve")
        await rig.until(lambda: tool.runs == 1)
        await rig.until(some(lambda: rig.store.approvals.waiting(rig.lane())))
        assert tool.runs == 1

        await rig.answer("/approve")
        assert await rig.outcome(message_id) == "answered"
        assert tool.runs == 2


@pytest.mark.req("J9")
async def test_an_overdue_approval_cannot_be_given(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        message_id = await rig.say("[[tool:pay]]")
        await rig.outcome(message_id)
        rig.clock.advance(3601)

        assert "overdue" in await rig.answer("/approve")
        assert tool.runs == 0


@pytest.mark.req("J3", "J6")
async def test_a_command_that_waited_an_hour_does_nothing(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock) as rig:
        await rig.answer("hello")
    async with open_rig(tmp_path, clock=clock, start=False) as rig:
        new = await rig.say("/new")
    clock.advance(3601)

    async with open_rig(tmp_path, clock=clock) as rig:
        assert await rig.outcome(new) == "expired"
        assert await rig.answer("again") == "#2 again"
        # Commands are no interactions, however they end.
        assert new not in [
            row.message_id for row in await rig.store.interactions.page(None, limit=10)
        ]


@pytest.mark.req("J4")
async def test_commands_and_subagents_need_no_free_place(tmp_path: Path) -> None:
    async def act(context: ToolContext) -> str:
        return await context.run_child("small question", "main")

    tool = RunTool("delegate", act)
    async with open_rig(tmp_path, tools=(tool,), settings={"LANES__MAX_RUNNING": "1"}) as rig:
        assert (await rig.answer("[[tool:delegate]]")).endswith("#1 small question")
        stuck = await rig.say("[[hang]]")
        waiting = await rig.say("hello", chat="bob")
        await rig.until(lambda: len(rig.model.calls) == 4)
        assert await rig.answer("/stop") == "Stopped."

        assert await rig.outcome(stuck) == "interrupted"
        assert await rig.outcome(waiting) == "answered"


@pytest.mark.req("J18", "A28")
async def test_replies_of_a_platform_that_is_gone_die_of_age_and_block_nobody(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    limit = {"OUTBOX__MAX_WAITING": "1"}
    async with open_rig(tmp_path, clock=clock, sending=False, settings=limit) as rig:
        message_id = await rig.say("hello", platform="push")
        await rig.outcome(message_id)
        assert await rig.answer("over here") == "#1 over here"
        clock.advance(3700)
        await rig.core.maintenance.upkeep.round()

        dead = (await rig.timeline(message_id)).deliveries[0]
        assert (dead.state.value, dead.failure) == ("dead", "too_old")


@pytest.mark.req("J13", "J24")
async def test_what_another_person_wanted_to_steer_in_goes_with_their_key(tmp_path: Path) -> None:
    release = asyncio.Event()
    tool = RunTool("look", lambda _: release.wait())
    async with open_rig(tmp_path, tools=(tool,), settings=STEERING) as rig:
        await rig.say_in_thread("[[tool:look]]", user="ann")
        await rig.until(lambda: tool.runs == 1)
        bobs = await rig.say_in_thread("bobs word", user="bob")
        release.set()
        assert await rig.outcome(bobs) == "answered"
        record = await rig.store.inbox.get(bobs)
        assert record is not None

        await rig.store.people.erase(record.person_id, at=rig.clock.now())

        lane = "agent:main:rest:thread:room:7"
        history = (await rig.store.transcripts.history(lane, epoch=0, head=99)).messages
        assert "bobs word" not in [entry.text for entry in history if entry.role == "user"]
