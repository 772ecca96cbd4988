"""Operators see what waits for approval in every conversation, and decide it by its id."""

from pathlib import Path

import pytest

from hermes.control.approvals import ApprovalOperations, ApprovalOrder, ApprovalsAsk
from hermes.control.runtime import RuntimeHandles
from hermes.errors import BadRequest, Conflict, NotFound
from hermes.ports.tool import ToolTraits
from tests.contract.journal.rig import Rig, RunTool, open_rig
from tests.stores.opening import tables


def pay() -> RunTool:
    return RunTool("pay", lambda _: "paid", traits=ToolTraits(needs_approval=True))


def desk_of(rig: Rig) -> ApprovalOperations:
    turns = RuntimeHandles(
        wake_lane=rig.core.signals.wake_lane, tell_tool=rig.core.questions.decided
    )
    return ApprovalOperations(rig.store, turns, clock=rig.clock)


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
        assert await desk.ids() == (line.id,)
        assert line.expires_at > line.asked_at

        done = await desk.approve(ApprovalOrder(id=line.id, by="root"))
        assert (done.state, await rig.outcome(message_id)) == ("approved", "answered")
        decided = await rig.store.approvals.get(line.id)
        assert decided is not None
        assert decided.decided_by == "operator root"
        assert (await desk.list(ApprovalsAsk())).approvals == ()
        with pytest.raises(Conflict, match="approved already"):
            await desk.deny(ApprovalOrder(id=line.id))


@pytest.mark.sqlite_only
async def test_what_was_asked_is_kept_with_the_approval_and_not_only_in_its_notice(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, tools=(pay(),)) as rig:
        message_id = await rig.say("[[tool:pay]] please", chat="ann")
        assert await rig.outcome(message_id) == "parked"
        with tables(tmp_path) as db:
            db.execute("DELETE FROM outbox")
        (line,) = (await desk_of(rig).list(ApprovalsAsk())).approvals

        assert line.question is not None
        assert line.question.startswith("May I run pay with ")


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


async def test_the_beginning_of_an_id_is_enough_and_several_are_named(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(pay(),)) as rig:
        desk = desk_of(rig)
        message_id = await rig.say("[[tool:pay]] please", chat="ann")
        assert await rig.outcome(message_id) == "parked"
        (line,) = (await desk.list(ApprovalsAsk())).approvals
        older(tmp_path, line.id, "a_twin_0001", "a_twin_0002")

        with pytest.raises(BadRequest, match="short for several ids: a_twin_0001, a_twin_0002"):
            await desk.approve(ApprovalOrder(id="a_twin"))
        done = await desk.approve(ApprovalOrder(id=line.id[:-1]))

        assert (done.id, await rig.outcome(message_id)) == (line.id, "answered")


async def test_an_exact_id_is_decided_however_many_are_older(tmp_path: Path) -> None:
    async with open_rig(tmp_path, tools=(pay(),)) as rig:
        desk = desk_of(rig)
        message_id = await rig.say("[[tool:pay]] please", chat="ann")
        assert await rig.outcome(message_id) == "parked"
        (line,) = (await desk.list(ApprovalsAsk())).approvals
        older(tmp_path, line.id, *(f"a_older_{number:04}" for number in range(1_000)))

        done = await desk.approve(ApprovalOrder(id=line.id))

        assert (done.id, done.person_id) == (line.id, line.person_id)
        assert await rig.outcome(message_id) == "answered"


def older(folder: Path, approval_id: str, *new: str) -> None:
    """Let other approvals wait, which were asked for before this one."""
    with tables(folder) as db:
        for one in new:
            db.execute(
                "INSERT INTO approvals (id, message_id, lane, ordinal, tool, arguments_hash, "
                "requester, chat_type, asked_at, expires_at, state) "
                "SELECT ?, message_id, 'rest:other', ordinal, tool, arguments_hash, requester, "
                "chat_type, asked_at - 1, expires_at, state FROM approvals WHERE id = ?",
                (one, approval_id),
            )
