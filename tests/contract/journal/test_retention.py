"""Retention by days: unused conversations go whole, people who are gone are erased, the rest stays."""

from pathlib import Path

import pytest

from hermes.control.users import UserOrder
from hermes.errors import GuardFailed
from hermes.message.owner import OWNER_CHANNELS
from hermes.ports.wallet import NewGrant
from hermes.schedule.retention import Erase, Retention
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.test_places import desk_of
from tests.contract.journal.test_pruning import DAY, NEVER, damage, names, pruning


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
