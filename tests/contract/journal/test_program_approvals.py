"""A25: what a running adapter wants to be allowed is decided by its person, by an admin or by an operator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes.control.approvals import ApprovalOperations, ApprovalOrder, ApprovalsAsk
from hermes.control.runtime import RuntimeHandles
from hermes.errors import Conflict
from hermes.testing.scripted_adapter import ScriptedAdapter
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.test_buttons import last_question, platform
from tests.contract.journal.test_operator_approvals import desk_of
from tests.contract.journal.test_questions import asking, sent
from tests.contract.journal.test_teams import TEAM, delegating

pytestmark = pytest.mark.req("A25")
LANE = "agent:main:push:dm:ann"
RUNS = {"AGENTS__MAIN__RUNTIME": "one", "APPROVALS__ADMINS": '["push:root"]'}
BY_ADMINS = {**RUNS, "AGENTS__MAIN__APPROVALS__BY": "admins"}
BY_DIGGER = {"AGENTS__DIGGER__RUNTIME": "one", "AGENTS__DIGGER__APPROVALS__BY": "admins"}
BY_OTHERS = {**RUNS, "APPROVALS__ALLOW_SELF": "false"}


async def ask(rig: Rig, **more: Any) -> tuple[str, str]:
    """Let the adapter ask; return the message and the question."""
    message_id = await rig.say("ask first", platform="push", **more)
    await rig.until(lambda: bool(open_questions(rig)))
    return message_id, open_questions(rig)[0]


def open_questions(rig: Rig) -> list[str]:
    found = rig.core.questions.at(LANE)
    return [] if found is None else [found.id]


async def reply(rig: Rig, message_id: str) -> str:
    await rig.outcome(message_id)
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    return result.text


async def decided(rig: Rig, question: str) -> tuple[str, str | None]:
    row = await rig.store.approvals.get(question)
    assert row is not None
    return row.state, row.decided_by


@pytest.mark.parametrize(
    ("word", "state", "told"),
    [("approve", "approved", "scripted: allowed"), ("deny", "denied", "scripted: refused")],
)
async def test_an_operator_decides_while_the_program_waits(
    tmp_path: Path, word: str, state: str, told: str
) -> None:
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}, settings=RUNS) as rig:
        message_id, question = await ask(rig)
        desk = desk_of(rig)
        (line,) = (await desk.list(ApprovalsAsk())).approvals
        offered = await desk.ids()
        done = await getattr(desk, word)(ApprovalOrder(id=question[-6:], by="root"))

        assert (line.id, line.tool, line.question, line.is_question) == (
            question,
            "one",
            "May I?",
            False,
        )
        assert offered == (question,)
        assert (done.id, done.state) == (question, state)
        assert await reply(rig, message_id) == told
        assert await decided(rig, question) == (state, "operator root")
        with pytest.raises(Conflict, match="already"):
            await desk.approve(ApprovalOrder(id=question))


async def test_an_admin_decides_from_a_chat_of_their_own_and_nobody_else(tmp_path: Path) -> None:
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}, settings=RUNS) as rig:
        message_id, question = await ask(rig)
        stranger = await rig.answer(f"/approve {question}", chat="bob", platform="push")
        admin = await rig.answer(f"/approve {question}", chat="root", platform="push")

        assert stranger == "Only the person who was asked, or an admin, may decide this."
        assert admin == "Approved."
        assert await reply(rig, message_id) == "scripted: allowed"


@pytest.mark.parametrize("settings", [BY_ADMINS, BY_OTHERS])
async def test_where_the_policy_wants_somebody_else_the_person_cannot_allow_it(
    tmp_path: Path, settings: Mapping[str, str]
) -> None:
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}, settings=settings) as rig:
        message_id, question = await ask(rig)
        words = f"An admin decides: /approve {question} or /deny {question}."
        await rig.until(lambda: any(words in text for text in sent(rig)))
        refused = [
            await rig.answer(text, platform="push")
            for text in ("/approve", f"/approve {question}", "yes")
        ]
        waiting = await decided(rig, question)
        admin = await rig.answer(f"/deny {question}", chat="root", platform="push")

        assert len({*refused}) == 1
        assert refused[0].startswith("only admins (approvals.admins) may decide")
        assert waiting == ("waiting", None)
        assert admin == "Denied."
        assert await reply(rig, message_id) == "scripted: refused"


async def test_an_admin_alone_may_not_allow_what_their_own_message_asks_for(tmp_path: Path) -> None:
    settings = {**BY_OTHERS, "APPROVALS__ADMINS": '["push:ann", "push:root"]'}
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}, settings=settings) as rig:
        message_id, question = await ask(rig)
        refused = await rig.answer("/approve", platform="push")
        await rig.answer(f"/approve {question}", chat="root", platform="push")

        assert "requires another person" in refused
        assert await reply(rig, message_id) == "scripted: allowed"


async def test_what_a_person_says_while_an_admin_is_awaited_is_a_message(tmp_path: Path) -> None:
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}, settings=BY_ADMINS) as rig:
        message_id, question = await ask(rig)
        after = await rig.say("/queue what is the weather?", platform="push")
        await desk_of(rig).approve(ApprovalOrder(id=question))

        assert await reply(rig, message_id) == "scripted: allowed"
        assert await reply(rig, after) == "scripted: what is the weather?"


async def test_in_a_group_an_admin_presses_and_the_press_of_others_uses_nothing_up(
    tmp_path: Path,
) -> None:
    adapter = ScriptedAdapter()
    room: dict[str, Any] = {"chat": "room", "chat_type": "group"}
    async with open_rig(
        tmp_path, adapters={"one": adapter}, settings=BY_ADMINS, push=platform()
    ) as rig:
        message_id = await rig.say("ask first", platform="push", user="ann", **room)
        post = await last_question(rig, "room")
        approve = post.choices[0].value
        persons = await reply(rig, await rig.press(approve, user="ann", **room))
        others = await reply(rig, await rig.press(approve, user="bob", **room))
        await rig.outcome(await rig.press(approve, user="root", **room))

        assert [one.label for one in post.choices] == ["Approve", "Deny"]
        assert persons.startswith("only admins (approvals.admins) may decide")
        assert others == persons
        assert await reply(rig, message_id) == "scripted: allowed"


async def test_the_question_of_a_server_is_for_its_person_alone(tmp_path: Path) -> None:
    settings = {"APPROVALS__ADMINS": '["push:root"]'}
    async with open_rig(tmp_path, tools=(asking("trip"),), settings=settings) as rig:
        message_id = await rig.say("[[tool:trip]] please", platform="push")
        await rig.until(lambda: bool(open_questions(rig)))
        (question,) = open_questions(rig)
        desk = desk_of(rig)
        (line,) = (await desk.list(ApprovalsAsk())).approvals
        with pytest.raises(Conflict, match="only the person"):
            await desk.approve(ApprovalOrder(id=question))
        admin = await rig.answer(f"/approve {question}", chat="root", platform="push")

        assert (line.is_question, await desk.ids()) == (True, ())
        assert admin == "Only the person who was asked may answer this."
        assert await decided(rig, question) == ("waiting", None)
        await rig.answer("Rome", platform="push")
        assert await rig.outcome(message_id) == "answered"


@pytest.mark.req("J1", "J8", "A25")
@pytest.mark.parametrize("settings", [RUNS, BY_ADMINS])
async def test_a_decision_outlives_the_process_that_asked(
    tmp_path: Path, settings: Mapping[str, str]
) -> None:
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}, settings=settings) as rig:
        message_id, question = await ask(rig)
        # The process ends after the decision is on the disk and before the program hears of it.
        alone = ApprovalOperations(rig.store, RuntimeHandles(), clock=rig.clock)
        await alone.approve(ApprovalOrder(id=question, by="root"))

    after = ScriptedAdapter()
    async with open_rig(tmp_path, adapters={"one": after}, settings=settings) as rig:
        assert await reply(rig, message_id) == "scripted: allowed"
        assert [call.was_cut_off for call in after.calls] == [True]
        assert len(await rig.store.approvals.questions_of(message_id)) == 1


@pytest.mark.req("J1", "J8", "A25")
async def test_a_question_that_a_crash_left_is_decided_after_the_restart_and_not_asked_twice(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}, settings=RUNS) as rig:
        message_id, question = await ask(rig)

    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}, settings=RUNS) as rig:
        await desk_of(rig).approve(ApprovalOrder(id=question, by="root"))

        assert await reply(rig, message_id) == "scripted: allowed"
        assert len(await rig.store.approvals.questions_of(message_id)) == 1


@pytest.mark.req("J1", "J8", "A25")
async def test_a_program_that_wants_something_else_after_a_crash_is_not_given_the_old_answer(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}, settings=RUNS) as rig:
        message_id, question = await ask(rig)

    changed = ScriptedAdapter(wants="May I do something else?")
    async with open_rig(tmp_path, adapters={"one": changed}, settings=RUNS) as rig:
        await rig.until(lambda: open_questions(rig) not in ([], [question]))
        (other,) = open_questions(rig)
        with pytest.raises(Conflict, match="expired already"):
            await desk_of(rig).approve(ApprovalOrder(id=question))
        await desk_of(rig).deny(ApprovalOrder(id=other))

        assert await reply(rig, message_id) == "scripted: refused"
        assert await decided(rig, question) == ("expired", "restart")


@pytest.mark.req("J8", "A25")
@pytest.mark.parametrize("settings", [RUNS, BY_ADMINS])
async def test_a_gateway_that_stops_answers_no_question_of_a_program(
    tmp_path: Path, settings: Mapping[str, str]
) -> None:
    before = ScriptedAdapter()
    async with open_rig(tmp_path, adapters={"one": before}, settings=settings) as rig:
        message_id, question = await ask(rig)
        left = await rig.drain(10)
        state = await decided(rig, question)

    async with open_rig(tmp_path, adapters={"one": ScriptedAdapter()}, settings=settings) as rig:
        await desk_of(rig).approve(ApprovalOrder(id=question, by="root"))

        assert (left, state, before.closed) == (0, ("waiting", None), 1)
        assert await reply(rig, message_id) == "scripted: allowed"
        assert len(await rig.store.approvals.questions_of(message_id)) == 1


@pytest.mark.req("M11", "J1", "A25")
@pytest.mark.parametrize("end", ["", "crash", "stop"])
async def test_the_program_of_a_delegated_task_is_allowed_in_the_same_way(
    tmp_path: Path, end: str
) -> None:
    settings = {**TEAM, **BY_DIGGER}
    asks = delegating("digger", task="ask first")
    async with open_rig(
        tmp_path, adapters={"one": ScriptedAdapter()}, settings=settings, own_tools=True
    ) as rig:
        message_id = await rig.say(asks, platform="push")
        await rig.until(lambda: bool(open_questions(rig)))
        (question,) = open_questions(rig)
        if not end:
            await desk_of(rig).approve(ApprovalOrder(id=question))
            assert await rig.outcome(message_id) == "answered"
        elif end == "stop":
            assert await rig.drain(10) == 0

    async with open_rig(
        tmp_path, adapters={"one": ScriptedAdapter()}, settings=settings, own_tools=True
    ) as rig:
        if end:
            await desk_of(rig).approve(ApprovalOrder(id=question))

        assert await rig.outcome(message_id) == "answered"
        assert '"reply":"scripted: allowed"' in await reply(rig, message_id)
        assert (await decided(rig, question))[0] == "approved"
