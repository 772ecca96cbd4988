"""J9: a new message while an approval is open denies it, or its sender is told what it waits for."""

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from hermes.control.why import explain
from hermes.ports.tool import ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, RunTool, equals, has, open_rig, some
from tests.contract.journal.test_delegate import subagent

ROOT = Path(__file__).resolve().parents[3]
ASKING = ToolTraits(needs_approval=True)
QUEUE = {"BUSY__PLATFORMS__PUSH": "queue"}


async def park(rig: Rig, *, platform: str = "rest") -> tuple[str, str]:
    """Have a turn wait for an approval; return its message and the approval."""
    message_id = await rig.say("[[tool:pay]] please", platform=platform)
    assert await rig.outcome(message_id) == "parked"
    approval = await rig.store.approvals.waiting(rig.lane(platform=platform))
    assert approval is not None
    return message_id, approval.id


async def lines(rig: Rig, message_id: str) -> list[str]:
    report = await explain(rig.store, message_id, now=rig.clock.now())
    return [line.what for line in report.lines]


async def marked(rig: Rig) -> list[bool]:
    """Return which conversations are listed as waiting for an approval."""
    rows = await rig.core.gateway_api.conversations("rest", limit=9)
    return [row["is_waiting"] for row in rows]


async def text_of(rig: Rig, message_id: str) -> str:
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    return result.text


@pytest.mark.req("J9")
async def test_j9_a_message_of_the_web_chat_denies_what_waits_and_is_answered(
    tmp_path: Path,
) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        parked, approval = await park(rig)

        following = await rig.say("never mind", denies=True)

        assert await rig.outcome(following) == "answered"
        assert await rig.outcome(parked) == "interrupted"
        assert "I did not run pay" in await text_of(rig, parked)
        assert tool.runs == 0
        assert f"denied approval {approval}" in await lines(rig, following)
        row = await rig.store.approvals.get(approval)
        assert row is not None
        assert (row.state, row.decided_by) == ("denied", following)
        # The model knows of both: what was asked before, and that it was not done.
        seen = rig.model.calls[-1].request.messages
        assert any("I did not run pay" in message.text for message in seen)


@pytest.mark.req("J9")
async def test_j9_the_list_of_conversations_marks_what_waits_until_it_is_decided(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, tools=(RunTool("pay", traits=ASKING),)) as rig:
        await rig.answer("hello", chat="other")
        await park(rig)
        assert sorted(await marked(rig)) == [False, True]

        await rig.answer("/approve")
        assert await marked(rig) == [False, False]


@pytest.mark.req("J9")
async def test_j9_the_denial_is_on_disk_with_the_message_that_denies(tmp_path: Path) -> None:
    clock, tool = ManualClock(), RunTool("pay", traits=ASKING)
    opening = partial(open_rig, tmp_path, clock=clock, tools=(tool,))
    async with opening() as rig:
        parked, approval = await park(rig)

    # given a gateway whose lanes do not run: only what `accept` itself writes becomes true
    async with opening(start=False) as rig:
        following = await rig.say("never mind", denies=True)
        row = await rig.store.approvals.get(approval)
        assert row is not None
        assert (row.state, row.decided_by) == ("denied", following)

    async with opening() as rig:
        assert await rig.outcome(parked) == "interrupted"
        assert await rig.outcome(following) == "answered"
        assert tool.runs == 0


@pytest.mark.req("J9")
def test_j9_a_kill_at_any_point_never_runs_what_a_new_message_denied(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "tests.contract.journal.denial_kills", str(tmp_path)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    told = re.search(r"(\d+) kills, (\d+) denied", done.stdout)
    assert told is not None
    kills, denied = map(int, told.groups())
    assert kills > 10
    assert kills > denied > 5


@pytest.mark.req("J9")
async def test_j9_under_the_interrupt_policy_the_chat_is_told_what_was_not_run(
    tmp_path: Path,
) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        parked, approval = await park(rig, platform="push")
        following = await rig.say("never mind", platform="push")
        assert await rig.outcome(following) == "answered"
        await rig.until(lambda: len(rig.push.texts("ann")) == 3)

        asked, told, _ = rig.push.texts("ann")
        assert "I wait for you until" in asked
        assert approval in asked
        assert told == await text_of(rig, parked)
        assert told.startswith("I did not run pay")


@pytest.mark.req("J9")
async def test_j9_under_queue_the_person_is_told_which_approval_their_message_waits_for(
    tmp_path: Path,
) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,), settings=QUEUE) as rig:
        _, approval = await park(rig, platform="push")

        waiting = [await rig.say(text, platform="push") for text in ("two", "three")]
        for one in waiting:
            await rig.until(has(partial(lines, rig, one), f"waited for approval {approval}"))
        assert (await explain(rig.store, waiting[0], now=rig.clock.now())).waiting_for is not None
        await rig.answer("/approve", platform="push")
        assert await rig.outcome(waiting[0]) == "answered"
        await rig.until(lambda: any("two" in text for text in rig.push.texts("ann")[2:]))

        told = [text for text in rig.push.texts("ann") if text.startswith("Your message waits")]
        assert len(told) == 1
        assert f"/approve {approval}" in told[0]
        assert "may I run pay?" in told[0]
        assert tool.runs == 1


@pytest.mark.req("J9")
async def test_j9_a_message_that_waited_before_the_question_is_told_of_it_too(
    tmp_path: Path,
) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,), settings=QUEUE) as rig:
        parked = await rig.say("[[slow:0.2]] [[tool:pay]] please", platform="push")
        await rig.until(lambda: bool(rig.model.calls))
        waiting = await rig.say("two", platform="push", denies=True)
        assert await rig.outcome(parked) == "parked"
        approval = await rig.store.approvals.waiting(rig.lane(platform="push"))
        assert approval is not None

        await rig.until(has(lambda: lines(rig, waiting), f"waited for approval {approval.id}"))
        # It was written before the person could know of the question: it is no answer to it.
        await rig.until(equals(lambda: rig.store.inbox.state(waiting), "new"))


@pytest.mark.req("J9")
async def test_j9_what_a_command_does_leaves_the_approval_open(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        parked, approval = await park(rig)
        await rig.answer("/status")
        waiting = await rig.say("/queue and then this", denies=True)
        await rig.until(has(lambda: lines(rig, waiting), f"waited for approval {approval}"))

        assert await rig.answer("/approve") == "Approved."
        assert await rig.outcome(parked) == "answered"
        assert await rig.outcome(waiting) == "answered"
        assert tool.runs == 1


@pytest.mark.req("J9")
async def test_j9_after_a_restart_nobody_is_told_twice_and_the_question_is_still_there(
    tmp_path: Path,
) -> None:
    clock, tool = ManualClock(), RunTool("pay", traits=ASKING)
    opening = partial(open_rig, tmp_path, clock=clock, tools=(tool,), settings=QUEUE)
    async with opening() as rig:
        parked, approval = await park(rig, platform="push")
        waiting = await rig.say("two", platform="push")
        await rig.until(has(lambda: lines(rig, waiting), f"waited for approval {approval}"))
        await rig.until(lambda: len(rig.push.texts("ann")) == 2)

    async with opening() as rig:
        async for progress in rig.core.gateway_api.watch(parked):
            assert progress.result is not None
            assert progress.result.approval == approval
            assert progress.result.waits is not None
            assert progress.result.waits.tool == "pay"
            assert "May I run pay" in progress.text
            break
        await rig.answer("/approve", platform="push")
        assert await rig.outcome(waiting) == "answered"
        await rig.until(lambda: any("two" in text for text in rig.push.texts("ann")))

        assert not any(text.startswith("Your message waits") for text in rig.push.texts("ann"))
        assert (await lines(rig, waiting)).count(f"waited for approval {approval}") == 1


@pytest.mark.req("J9")
async def test_j9_a_second_message_after_a_restart_is_not_told_of_the_same_approval(
    tmp_path: Path,
) -> None:
    clock, tool = ManualClock(), RunTool("pay", traits=ASKING)
    opening = partial(open_rig, tmp_path, clock=clock, tools=(tool,), settings=QUEUE)
    async with opening() as rig:
        _, approval = await park(rig, platform="push")
        first = await rig.say("two", platform="push")
        await rig.until(has(lambda: lines(rig, first), f"waited for approval {approval}"))
        await rig.until(lambda: len(rig.push.texts("ann")) == 2)

    async with opening() as rig:
        second = await rig.say("three", platform="push")
        await rig.until(has(lambda: lines(rig, second), f"waited for approval {approval}"))
        await rig.answer("/approve", platform="push")
        assert await rig.outcome(second) == "merged"
        await rig.until(lambda: any("three" in text for text in rig.push.texts("ann")))

        assert not any(text.startswith("Your message waits") for text in rig.push.texts("ann"))


@pytest.mark.req("J9")
async def test_j9_in_groups_the_question_says_that_an_admin_decides(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        parked = await rig.say_in_thread("[[tool:pay]] please", user="ann")
        async for progress in rig.core.gateway_api.watch(parked):
            if progress.kind == "parked":
                assert "I wait for an admin until" in progress.text


@pytest.mark.req("J9", "J14")
async def test_j9_a_new_message_denies_what_a_subagent_waits_for_and_the_turn_goes_on(
    tmp_path: Path,
) -> None:
    danger = RunTool("danger", traits=ASKING)
    asks = subagent(ScriptedTurn(tools=(ToolUse("danger"),)), ScriptedTurn(text="gave up"))

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(text="fine") if "never" in seen.last_text else asks(seen, number)

    async with open_rig(tmp_path, own_tools=True, tools=(danger,), script=script) as rig:
        first = await rig.say("please look into it")
        await rig.until(some(lambda: rig.store.approvals.waiting_around(rig.lane())))
        async for progress in rig.core.gateway_api.watch(first):
            if progress.kind == "status":
                assert "May I run danger" in progress.text
                break
        assert await marked(rig) == [True]

        following = await rig.say("never mind", denies=True)

        assert await rig.outcome(first) == "answered"
        assert await rig.outcome(following) == "answered"
        assert danger.runs == 0
        assert any(line.startswith("denied approval a_") for line in await lines(rig, following))


@pytest.mark.req("J9")
async def test_j9_in_a_thread_a_message_of_another_person_waits_and_denies_nothing(
    tmp_path: Path,
) -> None:
    tool = RunTool("pay", traits=ASKING)
    admins = {"APPROVALS__ADMINS": '["push:boss"]'}
    async with open_rig(tmp_path, tools=(tool,), settings=admins) as rig:
        say = partial(rig.say, platform="push", chat="room", chat_type="group", thread="7")
        parked = await say("[[tool:pay]] please", user="ann")
        assert await rig.outcome(parked) == "parked"
        (asked,) = await rig.store.approvals.open(rig.clock.now(), limit=9)

        other = await say("hi bot", user="stranger")

        async for progress in rig.core.gateway_api.watch(other):
            if progress.kind == "status":
                assert "waits for an admin's answer: may I run pay?" in progress.text
                break
        row = await rig.store.approvals.get(asked.row.id)
        assert row is not None
        assert row.state == "waiting"
        # Nor does it end the turn once the tool may run.
        decision = await say(f"/approve {asked.row.id}", user="boss")
        assert await rig.outcome(decision) == "answered"
        assert await rig.outcome(parked) == "answered"
        assert await rig.outcome(other) == "answered"
        assert tool.runs == 1


@pytest.mark.req("J9")
async def test_j9_in_a_thread_a_message_of_the_person_who_asked_denies(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        say = partial(rig.say, platform="push", chat="room", chat_type="group", thread="7")
        parked = await say("[[tool:pay]] please", user="ann")
        assert await rig.outcome(parked) == "parked"

        following = await say("never mind", user="ann")

        assert await rig.outcome(following) == "answered"
        assert await rig.outcome(parked) == "interrupted"
        assert tool.runs == 0


@pytest.mark.req("J9")
async def test_j9_a_question_hides_nothing_of_the_arguments(tmp_path: Path) -> None:
    arguments = '{"to": "ann' + " " * 600 + '\u202e", "amount": 7000' + "}"
    call = ToolUse("pay", arguments)
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(
        tmp_path, tools=(tool,), script=lambda *_: ScriptedTurn(tools=(call,))
    ) as rig:
        parked = await rig.say("please")
        assert await rig.outcome(parked) == "parked"
        async for progress in rig.core.gateway_api.watch(parked):
            if progress.kind == "parked":
                assert r'pay with {"to":"ann \u202e","amount":7000' in progress.text
                break


@pytest.mark.req("J9", "W9")
@pytest.mark.parametrize("restarts", [False, True])
async def test_j9_a_denied_tool_is_not_among_those_that_ran(tmp_path: Path, restarts: bool) -> None:
    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        rounds = len(seen.tool_results)
        tool = ("pay", "look", "sign")[rounds : rounds + 1]
        return ScriptedTurn(tools=tuple(map(ToolUse, tool))) if tool else ScriptedTurn(text="ended")

    tools = (RunTool("pay", traits=ASKING), RunTool("look"), RunTool("sign", traits=ASKING))
    opening = partial(open_rig, tmp_path, clock=ManualClock(), script=script, tools=tools)
    async with opening() as rig:
        message_id = await rig.say("pay, look and sign")
        assert await rig.outcome(message_id) == "parked"
        await rig.answer("/deny")
        await rig.until(lambda: tools[1].runs == 1)
        assert await rig.outcome(message_id) == "parked"
        if not restarts:
            await rig.answer("/approve")
            assert await rig.outcome(message_id) == "answered"
            await ran(rig, message_id)
            return
    async with opening() as rig:
        await rig.answer("/approve")
        assert await rig.outcome(message_id) == "answered"
        await ran(rig, message_id)


async def ran(rig: Rig, message_id: str) -> None:
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    assert [use.name for use in result.tool_calls] == ["look", "sign"]
