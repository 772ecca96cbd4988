"""N13: what a person without channels still gets, and what they asked, follows their channels to the owner.

Each test makes two people, web chat and terminal, leaves something open of the terminal's person, and
joins the two as a start does.
"""

import re
from pathlib import Path

import pytest

from hermes.app.make_schedule import make_schedules
from hermes.control.deadletters import DeadLetterOperations, LetterOrder
from hermes.errors import NotFound
from hermes.message.ids import make_id
from hermes.message.owner import OWNER_CHANNELS
from hermes.message.source import Source
from hermes.ports.cron import CronJob, CronOrigin
from hermes.ports.tool import ToolTraits
from hermes.ports.wallet import NewGrant, NewReferral, NewRefund
from hermes.schedule.cron_run import due_run
from hermes.schedule.schedules import Schedules
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn
from tests.contract.journal.rig import Rig, RunTool, open_rig, settings_of
from tests.contract.journal.test_dead_letter_days import held
from tests.contract.journal.test_wallet import check_books, ledger, said, wallet_of

WEB, TERMINAL = OWNER_CHANNELS
CLI = TERMINAL[1]


async def grant(rig: Rig, person_id: str, amount: int) -> None:
    at = rig.clock.now()
    await rig.store.wallets.grant(
        NewGrant(id="g_1", person_id=person_id, amount=amount, at=at, by="", reason="")
    )


async def two_people(rig: Rig, *, given: int = 0) -> tuple[str, str]:
    """Make the person of the web chat and that of the terminal, who is given credits; return both."""
    web = await rig.store.users.add(*WEB, name=None, at=rig.clock.now())
    terminal = await rig.store.users.add(*TERMINAL, name=None, at=rig.clock.now())
    if given:
        await grant(rig, terminal, given)
    return web, terminal


async def join(rig: Rig) -> None:
    joined = await rig.store.owners.join(OWNER_CHANNELS, at=rig.clock.now())
    assert joined is not None
    assert joined.moved == (TERMINAL,)


async def balances(rig: Rig, *people: str) -> list[int]:
    return [await rig.store.people.balance(person_id) for person_id in people]


@pytest.mark.req("A6")
async def test_credits_that_an_unfinished_message_held_come_back_to_the_owner(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings=wallet_of(0)) as rig:
        people = await two_people(rig, given=10)
        running = await rig.say("[[hang]]", chat=CLI)
        await rig.until(lambda: len(rig.model.calls) == 1)
        await join(rig)
        held_then = await balances(rig, *people)

        await rig.answer("/stop", chat=CLI)

        assert await rig.outcome(running) == "interrupted"
        assert (held_then, await balances(rig, *people)) == ([9, 0], [10, 0])
        await check_books(rig)


@pytest.mark.req("A6")
async def test_credits_that_are_captured_after_the_join_leave_the_books_right(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, settings=wallet_of(0)) as rig:
        people = await two_people(rig, given=10)
        running = await rig.say("[[hang]]", chat=CLI)
        await rig.until(lambda: len(rig.model.calls) == 1)

    async with open_rig(
        tmp_path,
        clock=clock,
        settings=wallet_of(0),
        start=False,
        script=lambda *_: ScriptedTurn(text="here"),
    ) as rig:
        await join(rig)
        await rig.start()

        assert await rig.outcome(running) == "answered"
        assert (await balances(rig, *people), await ledger(rig, running)) == (
            [9, 0],
            [("capture", -1)],
        )
        await check_books(rig)


@pytest.mark.req("A8")
async def test_a_refund_and_a_bonus_of_the_former_person_reach_the_owner(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=wallet_of(0)) as rig:
        web, terminal = await two_people(rig, given=10)
        message_id = await said(rig, "hello", chat=CLI)
        newcomer = await rig.store.users.add("rest", "zoe", name=None, at=rig.clock.now())
        await join(rig)

        await rig.store.wallets.refund(NewRefund(message_id=message_id, at=rig.clock.now()))
        await rig.store.wallets.refund(NewRefund(message_id=message_id, at=rig.clock.now()))
        after_refund = await balances(rig, web, terminal)
        await rig.store.wallets.refer(
            NewReferral(
                person_id=newcomer, referred_by=terminal, bonus=5, most=9, at=rig.clock.now()
            )
        )

        assert (after_refund, await balances(rig, web, terminal)) == ([10, 0], [15, 0])
        await check_books(rig)


@pytest.mark.req("W29")
async def test_what_comes_back_stays_if_the_channels_went_to_several_people(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings=wallet_of(0)) as rig:
        joined = await rig.store.owners.join(OWNER_CHANNELS, at=rig.clock.now())
        assert joined is not None
        people = [
            await rig.store.users.add("rest", one, name=None, at=rig.clock.now())
            for one in ("ann", "bob")
        ]
        await grant(rig, joined.person_id, 10)
        message_id = await said(rig, "hello", chat=CLI)
        for channel, person_id in zip(OWNER_CHANNELS, people, strict=True):
            await rig.store.users.link(*channel, person_id=person_id, at=rig.clock.now())

        await rig.store.wallets.refund(NewRefund(message_id=message_id, at=rig.clock.now()))

        assert await balances(rig, *people, joined.person_id) == [0, 9, 1]
        await check_books(rig)


@pytest.mark.req("J9")
@pytest.mark.parametrize("answer", ["never mind", "/approve"])
async def test_an_approval_that_was_asked_before_is_decided_by_the_same_channel(
    tmp_path: Path, answer: str
) -> None:
    tool = RunTool("pay", traits=ToolTraits(needs_approval=True))
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        await two_people(rig)
        parked = await rig.say("[[tool:pay]] please", chat=CLI)
        assert await rig.outcome(parked) == "parked"
        await join(rig)

        following = await rig.say(answer, chat=CLI, denies=answer == "never mind")
        await rig.until(lambda: rig.store.inbox.waiting() == 0)

        assert await rig.outcome(following) == "answered"
        assert (await rig.outcome(parked), tool.runs) == (
            ("answered", 1) if answer == "/approve" else ("interrupted", 0)
        )


@pytest.mark.req("J9")
async def test_another_persons_message_does_not_deny_what_somebody_asked(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ToolTraits(needs_approval=True))
    async with open_rig(tmp_path, tools=(tool,)) as rig:
        parked = await rig.say("[[tool:pay]] please", chat="room", user="ann")
        assert await rig.outcome(parked) == "parked"
        approval = await rig.store.approvals.waiting(rig.lane("room"))

        await rig.say("never mind", chat="room", user="bob", denies=True)

        assert approval is not None
        assert await rig.store.approvals.waiting(rig.lane("room")) == approval


@pytest.mark.req("A28")
async def test_a_held_reply_that_is_released_after_a_link_reaches_the_chat(tmp_path: Path) -> None:
    async with open_rig(tmp_path, sending=False) as rig:
        message_id = await held(rig, "hello", chat="ann")
        web, _ = await two_people(rig)
        await rig.store.users.link("push", "ann", person_id=web, at=rig.clock.now())
        (row,) = await rig.deliveries(message_id)

        desk = DeadLetterOperations(
            rig.store, clock=rig.clock, wake=lambda name: rig.core.push.senders[name].wake()
        )
        rig.core.push.connected(rig.push)
        await desk.replay(LetterOrder(id=row.id))
        await rig.until(lambda: bool(rig.push.texts("ann")))

        assert rig.push.texts("ann") == ["#1 hello"]


@pytest.mark.req("W29")
async def test_a_code_that_was_made_before_links_to_the_owner(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        web, _ = await two_people(rig)
        code = re.search(r"[A-Z2-9]{4}-[A-Z2-9]{4}", await rig.answer("/link", chat=CLI))
        await join(rig)

        assert code is not None
        assert "is linked" in await rig.answer(f"/link {code[0]}", chat="zoe")
        linked = await rig.store.people.find("rest", "zoe")
        assert linked is not None
        assert linked.id == web


def schedules_of(rig: Rig, home: Path) -> Schedules:
    return make_schedules(rig.store, settings_of(home, {}), clock=rig.clock)


async def add_job(rig: Rig, home: Path, person_id: str, channel: tuple[str, str]) -> CronJob:
    """Make a job as a person does who writes on a channel."""
    platform, user_id = channel
    origin = CronOrigin(
        person_id=person_id,
        source=Source(platform=platform, chat_id=user_id, user_id=user_id),
        account="default",
        lane=rig.lane(user_id, platform),
    )
    return await schedules_of(rig, home).add(origin, when="every day at 9", text="the news")


async def owners_of(rig: Rig, *jobs: str) -> list[str]:
    found = [await rig.store.cron.get(job_id) for job_id in jobs]
    return [job.person_id for job in found if job is not None]


async def run_once(rig: Rig, job_id: str) -> None:
    job = await rig.store.cron.get(job_id)
    assert job is not None
    assert job.task is not None
    assert job.next_at is not None
    rig.clock.advance(job.next_at - rig.clock.now() + 1)
    run = due_run(job, job.task, now=rig.clock.now(), make_id=make_id)
    result = await rig.store.cron.run(run, kept=lambda _: None)
    assert result is not None
    rig.core.lanes.wake(run.message.lane)
    assert await rig.outcome(result.message_id) == "answered"


@pytest.mark.req("W29")
async def test_jobs_go_back_with_the_channel_that_they_were_made_on(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        web, terminal = await two_people(rig)
        old = await add_job(rig, tmp_path, terminal, TERMINAL)
        await join(rig)
        new = await add_job(rig, tmp_path, web, ("rest", "cli2"))
        taken = await owners_of(rig, old.id, new.id)
        await run_once(rig, old.id)

        moved = await rig.store.users.unlink(*TERMINAL, at=rig.clock.now())

        assert (taken, await owners_of(rig, old.id, new.id)) == ([web, web], [terminal, web])
        assert (moved.after, moved.jobs) == (terminal, 1)
        await run_once(rig, old.id)


@pytest.mark.req("W29")
async def test_what_a_run_answered_to_one_person_is_not_shown_to_the_next(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        _, terminal = await two_people(rig)
        job = await add_job(rig, tmp_path, terminal, TERMINAL)
        schedules = schedules_of(rig, tmp_path)
        for change in (join, unlink):
            await run_once(rig, job.id)
            found = await rig.store.cron.get(job.id)
            assert found is not None
            assert "the news" in await schedules.output(found)

            await change(rig)

            found = await rig.store.cron.get(job.id)
            assert found is not None
            with pytest.raises(NotFound, match="No answer"):
                await schedules.output(found)


async def unlink(rig: Rig) -> None:
    await rig.store.users.unlink(*TERMINAL, at=rig.clock.now())


@pytest.mark.req("W29")
async def test_a_job_that_was_made_while_linked_stays_with_its_maker_and_says_why_it_rests(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        ann = await rig.store.users.add("rest", "ann", name=None, at=rig.clock.now())
        await rig.store.users.add("push", "bob", name=None, at=rig.clock.now())
        await rig.store.users.link("push", "bob", person_id=ann, at=rig.clock.now())
        job = await add_job(rig, tmp_path, ann, ("push", "bob"))

        moved = await rig.store.users.unlink("push", "bob", at=rig.clock.now())
        rig.clock.advance(90_000)
        await rig.core.cron.worker.round()

        found = await rig.store.cron.get(job.id)
        assert found is not None
        assert (found.person_id, moved.jobs) == (ann, 0)
        assert found.reason == "push:bob belongs to another person now"


@pytest.mark.req("W29")
async def test_only_the_conversations_of_the_channel_change_hands(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("hello", chat="bobby")
        await rig.answer("hello", chat="bob")
        await rig.answer("hello", chat="D1", user="bob")
        bob = await rig.store.people.find("rest", "bob")
        assert bob is not None
        await rig.store.users.link("rest", "bobby", person_id=bob.id, at=rig.clock.now())
        await rig.answer("hello again", chat="D2", user="bobby")

        moved = await rig.store.users.unlink("rest", "bobby", at=rig.clock.now())

        async def owner(chat: str) -> str:
            (found,) = await rig.store.sends.sessions(
                "rest", chat, thread_id=None, agents=("main",)
            )
            return found.person_id

        assert [await owner(chat) for chat in ("bob", "D1")] == [bob.id, bob.id]
        assert [await owner(chat) for chat in ("bobby", "D2")] == [moved.after, moved.after]
        # and what was said in these is not what the first person goes on with
        assert await rig.answer("and I?", chat="D2", user="bobby") == "#1 and I?"
        assert await rig.answer("and I?", chat="bob") == "#2 and I?"


@pytest.mark.req("W29", "W22")
async def test_the_conversation_of_a_whole_group_changes_no_hands(tmp_path: Path) -> None:
    rules = {"SESSIONS__GROUPS": "shared", "SESSIONS__THREADS": "per_user"}
    async with open_rig(tmp_path, settings=rules) as rig:
        await rig.answer("hello", chat="bob")
        await rig.answer("hello", chat="bobby")
        bob = await rig.store.people.find("rest", "bob")
        assert bob is not None
        await rig.store.users.link("rest", "bobby", person_id=bob.id, at=rig.clock.now())
        await rig.answer("one", chat="room", chat_type="group", user="bobby")
        await rig.outcome(await rig.say_in_thread("mine", user="bobby"))

        moved = await rig.store.users.unlink("rest", "bobby", at=rig.clock.now())

        async def owner(thread: str | None) -> str:
            (found,) = await rig.store.sends.sessions(
                "rest", "room", thread_id=thread, agents=("main",)
            )
            return found.person_id

        assert [await owner(None), await owner("7")] == [bob.id, moved.after]
        said = await rig.answer("two", chat="room", chat_type="group", user="ann")
        assert said == "#2 two"
