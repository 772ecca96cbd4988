"""J7 to J9: what a turn did is written before and after, and a crash goes on from there."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from hermes.calls.deployments import DeployedProvider, Deployment
from hermes.control.why import explain
from hermes.ports.tool import ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from hermes.testing.scripted_model import ScriptedProvider
from tests.contract.journal.rig import Rig, RunTool, equals, open_rig

IDEMPOTENT = ToolTraits(idempotent=True)
ASKING = ToolTraits(needs_approval=True)


def one_deployment(name: str, model: ScriptedProvider) -> DeployedProvider:
    return DeployedProvider([Deployment(name, 1, model)])


async def steps(rig: Rig, message_id: str) -> list[tuple[str, str]]:
    return [(step.kind, step.state) for step in (await rig.timeline(message_id)).steps]


@pytest.mark.req("J7")
async def test_j7_resuming_uses_what_was_prepared_and_not_what_is_configured_now(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    first = {"AGENTS__MAIN__SYSTEM_PROMPT": "The first prompt."}
    second = {"AGENTS__MAIN__SYSTEM_PROMPT": "The second prompt."}
    async with open_rig(tmp_path, clock=clock, settings=first) as rig:
        await rig.answer("hello")
        message_id = await rig.say("[[hang]] again")
        await rig.until(lambda: len(rig.model.calls) == 2)
        frozen = rig.model.calls[-1].request

    async with open_rig(tmp_path, clock=clock, script=_plain, settings=second) as rig:
        await rig.outcome(message_id)
        assert rig.model.calls[0].request == frozen
        await rig.answer("later")
        assert rig.model.calls[1].request.system == ("The second prompt.",)


@pytest.mark.req("J8", "A8")
async def test_j8_a_model_call_that_was_cut_off_is_repeated_at_the_platforms_cost(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock) as rig:
        message_id = await rig.say("[[hang]] hello")
        await rig.until(lambda: len(rig.model.calls) == 1)

    async with open_rig(tmp_path, clock=clock, script=_plain) as rig:
        assert await rig.outcome(message_id) == "answered"
        story = await rig.timeline(message_id)

        assert await steps(rig, message_id) == [
            ("prepared", "done"),
            ("model", "lost"),
            ("model", "done"),
        ]
        assert [step.payer for step in story.steps] == ["person", "platform", "person"]
        assert story.interaction is not None
        assert story.interaction["platform_tokens"] > 0
        assert [(line["kind"], line["amount"]) for line in story.ledger] == [("capture", -1)]
        assert "resumed" in await rig.kinds(message_id)


@pytest.mark.req("J8")
async def test_why_names_the_deployment_of_a_call_that_a_crash_lost(tmp_path: Path) -> None:
    clock = ManualClock()
    east, west = ScriptedProvider(), ScriptedProvider(_plain)
    async with open_rig(
        tmp_path, clock=clock, beside={"scripted": one_deployment("east", east)}
    ) as rig:
        message_id = await rig.say("[[hang]] hello")
        await rig.until(lambda: len(east.calls) == 1)

    async with open_rig(
        tmp_path, clock=clock, beside={"scripted": one_deployment("west", west)}
    ) as rig:
        assert await rig.outcome(message_id) == "answered"
        why = await explain(rig.store, message_id, now=clock.now())

    calls = [line.data for line in why.lines if line.data.get("deployment")]
    assert [(one["state"], one["deployment"]) for one in calls] == [
        ("lost", "east"),
        ("done", "west"),
    ]
    assert why.deployment == "west"


@pytest.mark.req("J8")
async def test_j8_a_tool_that_is_not_idempotent_is_never_run_twice(tmp_path: Path) -> None:
    clock = ManualClock()
    hanging = RunTool("pay", lambda _: asyncio.Event().wait())
    async with open_rig(tmp_path, clock=clock, tools=(hanging,)) as rig:
        message_id = await rig.say("[[tool:pay]] once")
        await rig.until(lambda: hanging.runs == 1)

    after = RunTool("pay")
    async with open_rig(tmp_path, clock=clock, tools=(after,)) as rig:
        assert await rig.outcome(message_id) == "answered"

        assert after.runs == 0
        assert ("tool", "unknown") in await steps(rig, message_id)
        told = rig.model.calls[0].request.messages[-1]
        assert told.role == "tool"
        assert "outcome unknown" in msgspec.json.encode(told).decode()


@pytest.mark.req("J8")
async def test_j8_an_idempotent_tool_is_run_again(tmp_path: Path) -> None:
    clock = ManualClock()
    hanging = RunTool("look", lambda _: asyncio.Event().wait(), traits=IDEMPOTENT)
    async with open_rig(tmp_path, clock=clock, tools=(hanging,)) as rig:
        message_id = await rig.say("[[tool:look]] again")
        await rig.until(lambda: hanging.runs == 1)

    after = RunTool("look", traits=IDEMPOTENT)
    async with open_rig(tmp_path, clock=clock, tools=(after,)) as rig:
        assert await rig.outcome(message_id) == "answered"

        assert after.runs == 1
        assert [state for kind, state in await steps(rig, message_id) if kind == "tool"] == [
            "lost",
            "done",
        ]


@pytest.mark.req("J8")
async def test_j8_what_ended_before_the_crash_is_not_done_again(tmp_path: Path) -> None:
    clock = ManualClock()
    tool = RunTool("look")
    slow = RunTool("wait", lambda _: asyncio.Event().wait(), traits=IDEMPOTENT)
    async with open_rig(tmp_path, clock=clock, tools=(tool, slow)) as rig:
        message_id = await rig.say("[[tool:look]] [[tool:wait]] both")
        await rig.until(lambda: slow.runs == 1)

    again = RunTool("look"), RunTool("wait", traits=IDEMPOTENT)
    async with open_rig(tmp_path, clock=clock, tools=again) as rig:
        assert await rig.outcome(message_id) == "answered"

        assert (tool.runs, again[0].runs, again[1].runs) == (1, 0, 1)
        assert len(rig.model.calls) == 1
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert [use.name for use in result.tool_calls] == ["look", "wait"]


@pytest.mark.req("J9")
async def test_j9_an_approval_parks_the_turn_over_a_restart_and_any_time(tmp_path: Path) -> None:
    clock = ManualClock()
    tool = RunTool("pay", traits=ASKING)
    settings = {"APPROVALS__EXPIRE_AFTER_S": "99999"}
    async with open_rig(tmp_path, clock=clock, tools=(tool,), settings=settings) as rig:
        message_id = await rig.say('[[tool:pay {"to":"bob"}]] please')
        assert await rig.outcome(message_id) == "parked"
        view = await rig.store.turns.view(rig.lane())
        assert view.waiting_on is not None
        assert [line["kind"] for line in (await rig.timeline(message_id)).ledger] == ["hold"]
    clock.advance(7200)

    async with open_rig(tmp_path, clock=clock, tools=(tool,), settings=settings) as rig:
        assert await rig.answer("/approve") == "Approved."
        assert await rig.outcome(message_id) == "answered"

        assert tool.runs == 1
        ledger = (await rig.timeline(message_id)).ledger
        assert [(line["kind"], line["amount"]) for line in ledger] == [("capture", -1)]


@pytest.mark.req("J9")
async def test_j9_a_denied_tool_is_not_run_and_the_model_is_told(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        message_id = await rig.say("[[tool:pay]] please")
        await rig.outcome(message_id)

        assert await rig.answer("/deny") == "Denied."
        assert await rig.outcome(message_id) == "answered"
        assert tool.runs == 0
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert "was not run" in result.text


@pytest.mark.req("J9")
async def test_j9_an_approval_expires(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        message_id = await rig.say("[[tool:pay]] please")
        await rig.outcome(message_id)

        rig.clock.advance(3601)
        await rig.core.maintenance.upkeep.round()

        assert await rig.outcome(message_id) == "answered"
        assert tool.runs == 0


@pytest.mark.req("J9")
async def test_j9_a_new_message_under_the_interrupt_policy_denies(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        message_id = await rig.say("[[tool:pay]] please", platform="push")
        await rig.outcome(message_id)

        answer = await rig.answer("never mind", platform="push")

        assert await rig.outcome(message_id) == "interrupted"
        assert tool.runs == 0
        assert answer.endswith("never mind")


@pytest.mark.req("J9")
async def test_j9_in_groups_only_admins_approve(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    admins = {"APPROVALS__ADMINS": '["rest:boss"]'}
    async with open_rig(tmp_path, tools=(tool,), settings=admins) as rig:
        message_id = await rig.say(
            "[[tool:pay]] please", user="ann", chat="room", chat_type="group"
        )
        await rig.outcome(message_id)
        lane = "agent:main:rest:group:room:ann"
        approval = await rig.store.approvals.waiting(lane)
        assert approval is not None

        by_ann = await rig.answer(
            f"/approve {approval.id}", user="ann", chat="room", chat_type="group"
        )
        by_boss = await rig.answer(
            f"/approve {approval.id}", user="boss", chat="room", chat_type="group"
        )

        assert "only admins" in by_ann
        assert by_boss == "Approved."
        assert await rig.outcome(message_id) == "answered"
        assert tool.runs == 1


@pytest.mark.req("J9")
async def test_j9_nobody_else_decides_what_waits_in_a_direct_chat(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    admins = {"APPROVALS__ADMINS": '["rest:boss"]'}
    async with open_rig(tmp_path, tools=(tool,), settings=admins) as rig:
        message_id = await rig.say("[[tool:pay]] please")
        await rig.outcome(message_id)
        approval = await rig.store.approvals.waiting(rig.lane())
        assert approval is not None

        approved = await rig.answer(f"/approve {approval.id}", chat="bob")
        denied = await rig.answer(f"/deny {approval.id}", chat="bob")

        assert "only the person who asked, or an admin" in approved
        assert "only the person who asked, or an admin" in denied
        assert await rig.store.inbox.state(message_id) == "parked"
        assert tool.runs == 0
        assert await rig.answer(f"/approve {approval.id}", chat="boss") == "Approved."
        assert await rig.outcome(message_id) == "answered"
        assert tool.runs == 1


@pytest.mark.req("J9")
async def test_j9_nobody_approves_their_own_where_the_policy_says_so(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    policy = {"APPROVALS__ALLOW_SELF": "false", "APPROVALS__ADMINS": '["rest:boss"]'}
    async with open_rig(tmp_path, tools=(tool,), settings=policy) as rig:
        message_id = await rig.say("[[tool:pay]] please")
        await rig.outcome(message_id)
        approval = await rig.store.approvals.waiting(rig.lane())
        assert approval is not None

        assert "another person" in await rig.answer("/approve")
        assert await rig.answer(f"/approve {approval.id}", chat="boss") == "Approved."
        assert await rig.outcome(message_id) == "answered"


@pytest.mark.req("J9")
async def test_j9_an_approval_holds_for_its_arguments_alone(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ASKING)
    both = '[[tool:pay {"to":"bob"}]] [[tool:pay {"to":"eve"}]] please'
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        message_id = await rig.say(both)
        assert await rig.outcome(message_id) == "parked"
        bob = await rig.store.approvals.waiting(rig.lane())
        await rig.answer("/approve")
        await rig.until(lambda: tool.runs == 1)
        await rig.until(equals(lambda: rig.store.inbox.state(message_id), "parked"))
        eve = await rig.store.approvals.waiting(rig.lane())

        assert bob is not None
        assert eve is not None
        assert bob.arguments_hash != eve.arguments_hash
        await rig.answer("/deny")
        assert await rig.outcome(message_id) == "answered"
        assert tool.runs == 1


def _plain(_seen: SeenConversation, number: int) -> ScriptedTurn:
    """Answer whatever is asked; the directives in the text were for the process that died."""
    return ScriptedTurn(text=f"call {number}")


@pytest.mark.req("J9")
@pytest.mark.parametrize(
    ("word", "outcome", "runs"),
    [("yes", "answered", 1), ("No.", "answered", 0), ("Ja!", "answered", 1)],
)
@pytest.mark.parametrize("platform", ["rest", "push"])
async def test_j9_a_plain_yes_or_no_settles_what_waits(
    tmp_path: Path, word: str, outcome: str, runs: int, platform: str
) -> None:
    tool = RunTool("pay", traits=ToolTraits(needs_approval=True))
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        parked = await rig.say("[[tool:pay {}]]", platform=platform)
        assert await rig.outcome(parked) == "parked"

        told = await rig.answer(word, platform=platform)

        assert told in ("Approved.", "Denied.")
        await rig.until(equals(lambda: rig.store.inbox.state(parked), "done"))
        record = await rig.store.inbox.get(parked)
        assert record is not None
        assert record.outcome == outcome
        assert tool.runs == runs


@pytest.mark.req("J9")
async def test_j9_a_plain_yes_is_a_message_where_nothing_waits(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        assert (await rig.answer("yes")).endswith("yes")


@pytest.mark.req("J9")
async def test_j9_a_plain_yes_in_a_group_is_no_approval_of_somebody_who_may_not(
    tmp_path: Path,
) -> None:
    tool = RunTool("pay", traits=ToolTraits(needs_approval=True))
    settings = {"APPROVALS__ADMINS": '["rest:boss"]'}
    async with open_rig(tmp_path, tools=(tool,), settings=settings) as rig:
        parked = await rig.say_in_thread("[[tool:pay {}]]", user="ann")
        assert await rig.outcome(parked) == "parked"
        said = await rig.say_in_thread("yes", user="ann")
        await rig.outcome(said)

        assert tool.runs == 0
        boss = await rig.say_in_thread("yes", user="boss")
        await rig.outcome(boss)
        await rig.until(lambda: tool.runs == 1)
