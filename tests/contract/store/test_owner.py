"""N13: the owner is one person over web chat and terminal, in new homes and in those that had two."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.message.owner import OWNER_CHANNELS
from hermes.message.source import Source
from hermes.ports.cron import CronOrigin, CronTask, NewCronJob, Rule
from hermes.ports.store import Store
from hermes.ports.wallet import NewGrant
from hermes.schedule.cron_run import due_run
from tests.stores.opening import opened

WEB, TERMINAL = OWNER_CHANNELS
NOW = 1_700_000_000.0


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as made:
        yield made


async def person_of(store: Store, channel: tuple[str, str]) -> str:
    person = await store.people.find(*channel)
    assert person is not None
    return person.id


async def grant(store: Store, person_id: str, amount: int) -> None:
    await store.wallets.grant(
        NewGrant(id=f"g_{person_id}", person_id=person_id, amount=amount, at=NOW, by="", reason="")
    )


async def test_a_new_home_has_one_owner_and_a_second_start_changes_nothing(store: Store) -> None:
    first = await store.owners.join(OWNER_CHANNELS, at=NOW)
    again = await store.owners.join(OWNER_CHANNELS, at=NOW + 1)

    assert first is not None
    assert (again, first.moved) == (None, ())
    user = await store.users.get(first.person_id)
    assert user is not None
    assert (user.state, len(await store.users.page(state="owner", limit=9))) == ("owner", 1)
    assert await store.users.page(state="active", limit=9) == ()
    assert {(one.platform, one.user_id) for one in user.channels} == set(OWNER_CHANNELS)
    assert all(one.activated_at is not None for one in user.channels)


async def test_two_people_with_balances_become_one_as_a_link_makes_them(store: Store) -> None:
    web = await store.users.add(*WEB, name=None, at=NOW)
    terminal = await store.users.add(*TERMINAL, name=None, at=NOW)
    await grant(store, web, 5)
    await grant(store, terminal, 7)

    joined = await store.owners.join(OWNER_CHANNELS, at=NOW)

    assert joined is not None
    assert (joined.person_id, joined.moved) == (web, (TERMINAL,))
    assert await person_of(store, TERMINAL) == web
    assert (await store.people.balance(web), await store.people.balance(terminal)) == (12, 0)
    user = await store.users.get(web)
    assert user is not None
    was = {(one.platform, one.user_id): one.was_person for one in user.channels}
    assert was == {WEB: None, TERMINAL: terminal}
    assert (await store.wallets.audit(limit=9)).differences == ()


@pytest.mark.req("W29")
async def test_the_jobs_of_the_one_without_a_channel_go_along_and_run(store: Store) -> None:
    web = await store.users.add(*WEB, name=None, at=NOW)
    terminal = await store.users.add(*TERMINAL, name=None, at=NOW)
    origin = CronOrigin(
        person_id=terminal,
        source=Source(platform="rest", chat_id="cli", user_id="cli"),
        account="default",
        lane="agent:main:rest:dm:cli",
    )
    rule = Rule(zone="UTC", every_s=3600, since=NOW)
    task = CronTask(origin=origin, text="the news", rule=rule, words="every hour")
    await store.cron.add(
        NewCronJob(id="j_1", task=task, at=NOW, next_at=NOW, most=9, forget_before=0.0)
    )

    await store.owners.join(OWNER_CHANNELS, at=NOW)

    assert await store.cron.of_person(terminal) == ()
    (job,) = await store.cron.of_person(web)
    assert job.task is not None
    assert (job.task.text, job.task.origin.person_id) == ("the news", web)
    run = due_run(job, job.task, now=NOW + 1, make_id=lambda prefix: f"{prefix}_1")
    assert await store.cron.run(run, kept=lambda _: None) is not None


async def test_only_one_of_them_is_there_and_gets_the_other(store: Store) -> None:
    terminal = await store.users.add(*TERMINAL, name=None, at=NOW)

    await store.owners.join(OWNER_CHANNELS, at=NOW)

    assert await person_of(store, WEB) == terminal


async def give_telegram(store: Store, person_id: str, number: str = "4711") -> None:
    await store.users.add("telegram", number, name=None, at=NOW)
    await store.users.link("telegram", number, person_id=person_id, at=NOW)


@pytest.mark.parametrize("wider", [WEB, TERMINAL])
async def test_people_of_whom_one_has_further_channels_are_left_apart(
    store: Store, wider: tuple[str, str]
) -> None:
    people = {one: await store.users.add(*one, name=None, at=NOW) for one in OWNER_CHANNELS}
    await give_telegram(store, people[wider])

    joined = await store.owners.join(OWNER_CHANNELS, at=NOW)

    assert joined is not None
    assert (joined.person_id, joined.moved, joined.apart) == (people[WEB], (), (TERMINAL,))
    assert await person_of(store, WEB) == people[WEB]
    assert await person_of(store, TERMINAL) == people[TERMINAL]
    assert await person_of(store, ("telegram", "4711")) == people[wider]
    assert await store.owners.join(OWNER_CHANNELS, at=NOW + 1) is None


async def test_who_has_further_channels_and_is_at_the_terminal_alone_is_not_the_owner(
    store: Store,
) -> None:
    terminal = await store.users.add(*TERMINAL, name=None, at=NOW)
    await give_telegram(store, terminal)

    joined = await store.owners.join(OWNER_CHANNELS, at=NOW)

    assert joined is not None
    assert joined.person_id != terminal
    assert joined.apart == (TERMINAL,)
    assert await person_of(store, WEB) == joined.person_id
    assert await person_of(store, TERMINAL) == terminal
    (owner,) = await store.users.page(state="owner", limit=9)
    assert owner.id == joined.person_id


async def test_an_owner_who_linked_everything_stays_the_owner(store: Store) -> None:
    web = await store.users.add(*WEB, name=None, at=NOW)
    await store.users.add(*TERMINAL, name=None, at=NOW)
    await store.users.link(*TERMINAL, person_id=web, at=NOW)
    await give_telegram(store, web)

    joined = await store.owners.join(OWNER_CHANNELS, at=NOW)

    assert joined is not None
    assert (joined.person_id, joined.moved, joined.apart) == (web, (), ())
    assert await person_of(store, TERMINAL) == web
    assert await person_of(store, ("telegram", "4711")) == web


async def test_what_an_operator_arranged_is_left_alone(store: Store) -> None:
    web = await store.users.add(*WEB, name=None, at=NOW)
    terminal = await store.users.add(*TERMINAL, name=None, at=NOW)
    for number, person_id in (("1", web), ("2", terminal)):
        await store.users.add("telegram", number, name=None, at=NOW)
        await store.users.link("telegram", number, person_id=person_id, at=NOW)

    await store.owners.join(OWNER_CHANNELS, at=NOW)

    assert (await person_of(store, WEB), await person_of(store, TERMINAL)) == (web, terminal)


async def test_what_was_taken_apart_later_stays_so(store: Store) -> None:
    await store.owners.join(OWNER_CHANNELS, at=NOW)
    moved = await store.users.unlink(*TERMINAL, at=NOW)

    await store.owners.join(OWNER_CHANNELS, at=NOW)

    assert await person_of(store, TERMINAL) == moved.after
    assert await person_of(store, WEB) == moved.before


async def test_the_owner_is_who_signs_in_to_the_web_chat(store: Store) -> None:
    await store.owners.join(OWNER_CHANNELS, at=NOW)
    moved = await store.users.unlink(*WEB, at=NOW)

    await store.owners.join(OWNER_CHANNELS, at=NOW)

    assert (await person_of(store, WEB), await person_of(store, TERMINAL)) == (
        moved.after,
        moved.before,
    )
    (owner,) = await store.users.page(state="owner", limit=9)
    assert owner.id == moved.after


async def test_a_blocked_one_is_not_let_in_by_it(store: Store) -> None:
    web = await store.users.add(*WEB, name=None, at=NOW)
    terminal = await store.users.add(*TERMINAL, name=None, at=NOW)
    await store.users.set_blocked(terminal, blocked=True, at=NOW)

    await store.owners.join(OWNER_CHANNELS, at=NOW)

    assert (await person_of(store, WEB), await person_of(store, TERMINAL)) == (web, terminal)


async def test_after_an_erasure_there_is_an_owner_again(store: Store) -> None:
    first = await store.owners.join(OWNER_CHANNELS, at=NOW)
    assert first is not None
    await store.people.erase(first.person_id, at=NOW)

    again = await store.owners.join(OWNER_CHANNELS, at=NOW)

    assert again is not None
    assert again.person_id != first.person_id
    assert await person_of(store, TERMINAL) == again.person_id
