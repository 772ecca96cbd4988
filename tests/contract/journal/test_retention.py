"""Retention by days: unused conversations go whole, people who are gone are erased, the rest stays."""

from pathlib import Path

import pytest

from hermes.control.users import UserOrder
from hermes.errors import GuardFailed
from hermes.message.owner import OWNER_CHANNELS
from hermes.message.source import Source
from hermes.ports.cron import CronOrigin
from hermes.ports.wallet import NewGrant
from hermes.schedule.retention import Erase, Retention
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.test_places import desk_of
from tests.contract.journal.test_pruning import DAY, NEVER, damage, names, pruning

MANY = {**NEVER, "INBOX__MAX_WAITING_EACH": "2000"}


def retention(
    rig: Rig, *, conversations: int = 0, people: int = 0, erase: Erase | None = None
) -> Retention:
    async def erase_as_operators(person_id: str, silent_since: float) -> None:
        await desk_of(rig).users.erase(UserOrder(user=person_id), silent_since=silent_since)

    return Retention(
        rig.store.sessions,
        platforms=("rest",),
        conversation_days=conversations,
        people_days=people,
        ended=rig.core.sessions.ended,
        silent=rig.store.users.silent,
        erase=erase or erase_as_operators,
        clock=rig.clock,
    )


async def test_an_unused_conversation_is_ended_and_then_deleted_whole(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.answer("my secret is xylophone", chat="ann")
        rig.clock.advance(20 * DAY)
        await rig.answer("young", chat="bob")
        rig.clock.advance(11 * DAY)

        assert await retention(rig, conversations=30).round() == (1, 0)
        assert await retention(rig, conversations=30).round() == (0, 0)
        assert await pruning(rig, days=30).round() == 1

        assert [name.split("#")[0] for name in names(rig)] == [rig.lane("bob")]
        assert damage(rig) == []
        assert await rig.answer("hello again", chat="ann") == "#1 hello again"


async def test_without_days_nothing_is_ended_or_erased(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.answer("hello", chat="ann")
        rig.clock.advance(5_000 * DAY)

        assert await retention(rig).round() == (0, 0)
        assert len(names(rig)) == 1


async def test_people_who_are_gone_are_erased_and_others_are_kept(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.store.owners.join(OWNER_CHANNELS, at=rig.clock.now())
        for chat in ("gone", "blocked", "here"):
            await rig.answer("hello", chat=chat)
        people = {}
        for user in ("gone", "blocked", "here"):
            person = await rig.store.people.find("rest", user)
            assert person is not None
            people[user] = person.id
        await rig.store.users.set_blocked(people["blocked"], blocked=True, at=rig.clock.now())
        rig.clock.advance(20 * DAY)
        await rig.answer("still here", chat="here")
        rig.clock.advance(11 * DAY)

        assert await rig.store.users.silent(rig.clock.now() - 30 * DAY, 9) == (people["gone"],)
        assert await retention(rig, people=30).round() == (0, 1)
        assert await retention(rig, people=30).round() == (0, 0)
        erased = await rig.store.people.get(people["gone"])
        assert erased is not None
        assert erased.is_erased
        assert await rig.store.people.find("web", "owner") is not None


async def test_who_writes_between_the_look_and_the_erasure_is_kept(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.answer("hello", chat="ann")
        ann = await rig.store.people.find("rest", "ann")
        assert ann is not None
        rig.clock.advance(31 * DAY)

        async def erase_late(person_id: str, silent_since: float) -> None:
            await rig.answer("I am back", chat="ann")
            await desk_of(rig).users.erase(UserOrder(user=person_id), silent_since=silent_since)

        assert await retention(rig, people=30, erase=erase_late).round() == (0, 0)
        kept = await rig.store.people.get(ann.id)
        assert kept is not None
        assert not kept.is_erased
        with pytest.raises(GuardFailed, match=f"{ann.id} has written meanwhile"):
            await rig.store.people.erase(
                ann.id, at=rig.clock.now(), silent_since=rig.clock.now() - DAY
            )
        rig.clock.advance(31 * DAY)
        assert await retention(rig, people=30).round() == (0, 1)


async def test_five_hundred_who_cannot_be_erased_do_not_keep_others(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False, settings=NEVER) as rig:
        users = rig.store.users
        known = [
            await users.add("rest", f"user-{one}", name=None, at=rig.clock.now())
            for one in range(501)
        ]
        rig.clock.advance(31 * DAY)
        last = max(known)

        async def erase_the_last(person_id: str, silent_since: float) -> None:
            if person_id != last:
                raise GuardFailed(f"{person_id} cannot be erased")
            await rig.store.people.erase(person_id, at=rig.clock.now(), silent_since=silent_since)

        assert await retention(rig, people=30, erase=erase_the_last).round() == (0, 1)
        erased = await rig.store.people.get(last)
        assert erased is not None
        assert erased.is_erased


async def test_people_who_were_let_in_or_have_credits_are_not_silent(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        people = {}
        for user in ("buyer", "paid", "let_in", "spent", "started"):
            await rig.answer("hello", chat=user)
            person = await rig.store.people.find("rest", user)
            assert person is not None
            people[user] = person.id

        async def grant(user: str, name: str, amount: int) -> None:
            one = NewGrant(
                id=name,
                person_id=people[user],
                amount=amount,
                at=rig.clock.now(),
                by="ops",
                reason="",
            )
            await rig.store.wallets.grant(one)

        await grant("buyer", "g1", 500)
        await grant("started", f"start:{people['started']}", 2)
        rig.clock.advance(31 * DAY)
        await grant("paid", "g2", 5)
        await grant("spent", "g3", 5)
        await grant("spent", "g4", -5)
        await rig.store.users.set_active("rest", "let_in", how="operator", at=rig.clock.now())

        async def silent() -> set[str]:
            gone = await rig.store.users.silent(rig.clock.now() - 30 * DAY, 9)
            return {user for user, person_id in people.items() if person_id in gone}

        assert await silent() == {"started"}
        rig.clock.advance(31 * DAY)
        assert await silent() == {"started", "let_in", "spent"}


@pytest.mark.parametrize(("command", "ended"), [("/memory", 1), ("/status", 1), ("/credits", 0)])
async def test_a_command_keeps_its_person_and_a_conversation_only_if_it_waits_in_it(
    tmp_path: Path, command: str, ended: int
) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.answer("my secret is xylophone", chat="ann")
        for _ in range(4):
            rig.clock.advance(10 * DAY)
            await rig.answer(command, chat="ann")

        assert await retention(rig, conversations=30, people=30).round() == (ended, 0)
        rig.clock.advance(31 * DAY)
        assert await retention(rig, people=30).round() == (0, 1)


async def test_a_command_keeps_a_person_for_longer_than_messages_are_kept(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.answer("hello", chat="ann")
        rig.clock.advance(31 * DAY)
        await rig.answer("/status", chat="ann")
        rig.clock.advance(29 * DAY)
        await rig.core.maintenance.upkeep.round()

        assert await retention(rig, people=30).round() == (0, 0)


async def test_people_with_a_job_that_is_still_to_run_are_kept(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        people = {}
        for user in ("daily", "paused", "once"):
            await rig.answer("hello", chat=user)
            people[user] = await scheduled(rig, user)
        jobs = {user: (await rig.store.cron.of_person(one))[0] for user, one in people.items()}
        daily, paused, once = jobs["daily"], jobs["paused"], jobs["once"]
        await rig.store.cron.set(paused, next_at=paused.next_at, paused_at=1.0, reason="asked")
        # as after its only run
        await rig.store.cron.set(once, next_at=None)
        rig.clock.advance(31 * DAY)

        assert await rig.store.users.silent(rig.clock.now() - 30 * DAY, 9) == (people["once"],)
        assert await retention(rig, people=30).round() == (0, 1)
        kept = [await rig.store.cron.get(job.id) for job in (daily, paused)]
        assert [None if job is None else job.person_id for job in kept] == [
            people["daily"],
            people["paused"],
        ]
        assert await rig.store.cron.get(once.id) is None


async def test_a_job_that_was_made_between_the_look_and_the_erasure_keeps_its_person(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.answer("hello", chat="ann")
        rig.clock.advance(31 * DAY)

        async def erase_late(person_id: str, silent_since: float) -> None:
            await scheduled(rig, "ann")
            await desk_of(rig).users.erase(UserOrder(user=person_id), silent_since=silent_since)

        assert await retention(rig, people=30, erase=erase_late).round() == (0, 0)


async def scheduled(rig: Rig, user: str) -> str:
    """Make a daily job of somebody; return the person."""
    person = await rig.store.people.find("rest", user)
    assert person is not None
    origin = CronOrigin(
        person_id=person.id,
        source=Source(platform="rest", chat_id=user, user_id=user),
        account="default",
        lane=rig.lane(user),
    )
    await rig.core.cron.schedules.add(origin, when="every day at 9", text="the news")
    return person.id


async def test_more_conversations_than_one_page_are_ended_in_one_round(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=MANY) as rig:
        await answer_all(rig, [f"chat{number}" for number in range(501)])
        rig.clock.advance(31 * DAY)

        assert await retention(rig, conversations=30).round() == (501, 0)


async def test_a_page_of_conversations_that_cannot_end_does_not_keep_the_next(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    busy = [f"chat{number}" for number in range(500)]
    async with open_rig(tmp_path, clock=clock, settings=MANY) as rig:
        for at in (0, 250):
            await answer_all(rig, busy[at : at + 250])
            clock.advance(1)
        await rig.answer("hello", chat="last")

    async with open_rig(tmp_path, clock=clock, settings=MANY, start=False) as rig:
        for chat in busy:
            await rig.say("and this?", chat=chat)
        clock.advance(31 * DAY)

        assert await retention(rig, conversations=30).round() == (1, 0)


async def answer_all(rig: Rig, chats: list[str]) -> None:
    messages = [await rig.say("hello", chat=chat) for chat in chats]
    assert {await rig.outcome(message_id) for message_id in messages} == {"answered"}
