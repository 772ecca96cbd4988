"""Operators see what waits for approval in every conversation, and decide it by its id."""

from pathlib import Path

import pytest

from hermes.control.approvals import ApprovalOperations, ApprovalOrder, ApprovalsAsk
from hermes.errors import BadRequest, Conflict, NotFound
from hermes.ports.tool import ToolTraits
from tests.contract.journal.rig import Rig, RunTool, open_rig


def pay() -> RunTool:
    return RunTool("pay", lambda _: "paid", traits=ToolTraits(needs_approval=True))


def desk_of(rig: Rig) -> ApprovalOperations:
    return ApprovalOperations(rig.store, wake_lane=rig.core.signals.wake_lane, clock=rig.clock)


async def test_it_is_listed_with_its_arguments_and_approved(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(pay(),)) as rig:
        desk = desk_of(rig)
        message_id = await rig.say("[[tool:pay]] please", chat="ann")
        assert await rig.outcome(message_id) == "parked"
        (line,) = (await desk.list(ApprovalsAsk())).approvals
        record = await rig.store.inbox.get(message_id)

        assert record is not None
        assert (line.tool, line.message_id, line.person_id) == ("pay", message_id, record.person_id)
        assert line.question is not None
        assert line.question.startswith("May I run pay with ")
        assert line.expires_at > line.asked_at

        done = await desk.approve(ApprovalOrder(id=line.id, by="root"))
        assert (done.state, await rig.outcome(message_id)) == ("approved", "answered")
        decided = await rig.store.approvals.get(line.id)
        assert decided is not None
        assert decided.decided_by == "operator root"
        assert (await desk.list(ApprovalsAsk())).approvals == ()
        with pytest.raises(Conflict, match="approved already"):
            await desk.deny(ApprovalOrder(id=line.id))


async def test_the_end_of_an_id_is_enough_and_a_denied_tool_does_not_run(tmp_path: Path) -> None:
    tool = pay()
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        desk = desk_of(rig)
        message_id = await rig.say("[[tool:pay]] please", chat="ann")
        assert await rig.outcome(message_id) == "parked"
        (line,) = (await desk.list(ApprovalsAsk())).approvals

        with pytest.raises(NotFound, match="Nothing waits under"):
            await desk.deny(ApprovalOrder(id=line.id[-2:]))
        done = await desk.deny(ApprovalOrder(id=line.id[-6:]))

        assert (done.id, await rig.outcome(message_id)) == (line.id, "answered")
        assert tool.runs == 0


async def test_what_is_overdue_is_not_listed_and_cannot_be_approved(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(pay(),)) as rig:
        desk = desk_of(rig)
        message_id = await rig.say("[[tool:pay]] please", chat="ann")
        assert await rig.outcome(message_id) == "parked"
        (line,) = (await desk.list(ApprovalsAsk())).approvals
        rig.clock.advance(line.expires_at - rig.clock.now() + 1)

        assert (await desk.list(ApprovalsAsk())).approvals == ()
        with pytest.raises(Conflict, match="already"):
            await desk.approve(ApprovalOrder(id=line.id))
        with pytest.raises(BadRequest, match="limit"):
            await desk.list(ApprovalsAsk(limit=0))
