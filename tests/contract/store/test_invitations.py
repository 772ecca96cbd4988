"""Invitations and the sessions of people: whose they are, and what ends them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.errors import Conflict, Forbidden
from hermes.ports.access import AccessStore, Newcomer, NewSession, Role, credential_id
from hermes.ports.store import Store
from hermes.testing.access import MemoryAccessStore
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened

pytestmark = pytest.mark.req("W35")
INVITE = b"i" * 32
FIRST, SECOND, THIRD = (bytes([number]) * 32 for number in (1, 2, 3))
ANN, BOB = Newcomer(user="ann", name="Ann"), Newcomer(user="bob")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Store]:
    async with opened(tmp_path, clock=clock) as made:
        yield made


@pytest.fixture(params=["store", "memory"])
def access(request: pytest.FixtureRequest, store: Store) -> AccessStore:
    return store.access if request.param == "store" else MemoryAccessStore()


def session(digest: bytes, now: float) -> NewSession:
    return NewSession(digest=digest, label="a phone", now=now, expires_at=now + 100.0)


async def invite(access: AccessStore, who: Newcomer, now: float, *, role: Role = "person") -> None:
    await access.invite(INVITE, who, role=role, at=now, expires_at=now + 50.0)


@pytest.mark.parametrize("role", ["person", "viewer", "operator"])
async def test_an_invitation_makes_one_session_of_its_person_and_role(
    access: AccessStore, clock: ManualClock, role: Role
) -> None:
    now = clock.now()
    await invite(access, ANN, now, role=role)

    used = [await access.use_link("invite", INVITE, session(one, now)) for one in (FIRST, SECOND)]

    (made,) = await access.list("session")
    assert used == [True, False]
    assert (made.user, made.role, made.digest, made.parent) == ("ann", role, FIRST, None)
    assert await access.sessions_of("ann") == (made,)
    assert await access.sessions_of("bob") == await access.sessions_of("") == ()


async def test_an_invitation_is_no_sign_in_link_and_expires(
    access: AccessStore, clock: ManualClock
) -> None:
    now = clock.now()
    await invite(access, ANN, now)

    as_link = await access.use_link("signin", INVITE, session(FIRST, now))
    late = await access.use_link("invite", INVITE, session(FIRST, now + 50.0))

    assert (as_link, late, await access.list("session")) == (False, False, ())


async def test_a_person_has_the_name_that_was_told_last(
    access: AccessStore, clock: ManualClock
) -> None:
    await invite(access, BOB, clock.now())
    for name in ("Ann", "Ann Lee", ""):
        who = Newcomer(user="ann", name=name)
        await access.admit(who, session(name.encode().ljust(32), clock.now()))

    names = [await access.name_of(user) for user in ("ann", "bob", "eve")]

    assert names == ["Ann Lee", "", ""]


async def test_an_invitation_is_withdrawn_once(access: AccessStore, clock: ManualClock) -> None:
    now = clock.now()
    await invite(access, ANN, now)
    (known,) = await access.list("invite")

    withdrawn = [await access.withdraw(one) for one in ("t_other", known.id, known.id)]

    assert (known.user, withdrawn) == ("ann", [False, True, False])
    assert not await access.use_link("invite", INVITE, session(FIRST, now))


async def test_a_person_ends_their_own_sessions_and_no_others(
    access: AccessStore, clock: ManualClock
) -> None:
    for who, digest in ((ANN, FIRST), (ANN, SECOND), (BOB, THIRD)):
        await access.admit(who, session(digest, clock.now()))
    first, second, third = map(credential_id, (FIRST, SECOND, THIRD))

    foreign = await access.end_sessions_of("ann", only=third)
    kept = await access.end_sessions_of("ann", keep=first)
    again = await access.end_sessions_of("ann", only=second)

    assert (foreign, kept, again) == (0, 1, 0)
    assert {one.digest for one in await access.list("session")} == {FIRST, THIRD}


async def test_too_many_invitations_are_refused_until_some_have_expired(
    access: AccessStore, clock: ManualClock
) -> None:
    now = clock.now()
    for number in range(1_000):
        digest = number.to_bytes(32, "big")
        await access.invite(digest, ANN, role="person", at=now, expires_at=now + 50.0)

    with pytest.raises(Conflict):
        await invite(access, ANN, now)
    clock.advance(51.0)
    await invite(access, ANN, clock.now())

    assert [one.digest for one in await access.list("invite")] == [INVITE]


async def test_of_too_many_browsers_of_a_person_the_oldest_is_signed_out(
    access: AccessStore, clock: ManualClock
) -> None:
    await access.admit(BOB, session(THIRD, clock.now()))
    for number in range(51):
        clock.advance(1.0)
        await access.admit(ANN, session(b"%032d" % number, clock.now()))

    own = [int(one.digest) for one in await access.sessions_of("ann")]

    assert own == [*range(50, 0, -1)]
    assert len(await access.sessions_of("bob")) == 1


async def test_who_is_invited_is_a_person_who_is_let_in(store: Store, clock: ManualClock) -> None:
    await invite(store.access, ANN, clock.now())
    await store.access.admit(Newcomer(user="ann"), session(FIRST, clock.now()))

    found = await store.users.channel_access("web", "ann")
    assert found.person_id is not None
    user = await store.users.get(found.person_id)
    assert user is not None
    (channel,) = user.channels
    assert (channel.platform, channel.user_id, channel.name) == ("web", "ann", "Ann")
    assert (channel.activated_how, user.state) == ("operator", "active")


@pytest.mark.parametrize("erases", [False, True])
async def test_a_person_who_is_blocked_or_erased_is_signed_out_everywhere(
    store: Store, clock: ManualClock, erases: bool
) -> None:
    now, access = clock.now(), store.access
    await invite(access, ANN, now, role="operator")
    await access.use_link("invite", INVITE, session(FIRST, now))
    await invite(access, ANN, now)
    await access.admit(BOB, session(SECOND, now))
    await access.add("session", THIRD, label="mine", expires_at=None, user="owner")
    ann = (await store.users.channel_access("web", "ann")).person_id
    assert ann is not None
    # Read once, so that it is in memory.
    assert await access.check("session", FIRST, now=now)

    if erases:
        await store.people.erase(ann, at=now)
    else:
        await store.users.set_blocked(ann, blocked=True, at=now)

    checks = [await access.check("session", one, now=now) for one in (FIRST, SECOND, THIRD)]
    assert checks == [False, True, True]
    assert await access.list("invite") == ()
    if not erases:
        with pytest.raises(Forbidden):
            await invite(access, ANN, now)
        with pytest.raises(Forbidden):
            await access.admit(ANN, session(FIRST, now))
        await store.users.set_blocked(ann, blocked=False, at=now)
        assert not await access.check("session", FIRST, now=now)


async def test_a_session_ends_when_its_user_is_linked_to_somebody_who_is_blocked(
    store: Store, clock: ManualClock
) -> None:
    now = clock.now()
    await store.access.admit(ANN, session(FIRST, now))
    other = await store.users.add("telegram", "7", name=None, at=now)
    await store.users.set_blocked(other, blocked=True, at=now)
    before = await store.access.check("session", FIRST, now=now)

    await store.users.link("web", "ann", person_id=other, at=now)

    assert (before, await store.access.check("session", FIRST, now=now)) == (True, False)


async def test_the_owner_is_not_locked_out_of_the_browser_by_a_block(
    store: Store, clock: ManualClock
) -> None:
    now = clock.now()
    owner = await store.users.add("web", "owner", name=None, at=now)
    await store.access.add("session", FIRST, label="mine", expires_at=None, user="owner")
    await store.access.add("signin", INVITE, label="link", expires_at=None, user="owner")

    await store.users.set_blocked(owner, blocked=True, at=now)

    assert await store.access.check("session", FIRST, now=now)
    assert await store.access.use_link("signin", INVITE, session(SECOND, now))
    assert [one.user for one in await store.access.list("session")] == ["owner", "owner"]
