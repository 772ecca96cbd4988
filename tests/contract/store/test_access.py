"""Credentials: what was checked once is known without reading, and never for too long."""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from hermes import failpoints
from hermes.errors import StorageFull, Unauthenticated
from hermes.ports.access import AccessStore, NewSession, credential_id
from hermes.ports.store import Store
from hermes.server.auth import StoredAccess
from hermes.testing.access import MemoryAccessStore
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import full_disk, opened

DIGEST = b"d" * 32


def new_session(digest: bytes, *, now: float = 1.0) -> NewSession:
    return NewSession(digest=digest, label="a browser", now=now, expires_at=None)


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


@pytest.mark.req("J2")
async def test_a_session_that_was_checked_still_expires(store: Store) -> None:
    await store.access.add("session", DIGEST, label="browser", expires_at=2_000_000_000.0)

    checks = [
        await store.access.check("session", DIGEST, now=now)
        for now in (1_999_999_998.0, 1_999_999_999.0, 2_000_000_000.0)
    ]

    assert checks == [True, True, False]


@pytest.mark.req("J2")
async def test_a_code_that_was_checked_can_still_be_used_up(store: Store) -> None:
    await store.access.add("signin", DIGEST, label="link", expires_at=None)
    before = await store.access.check("signin", DIGEST, now=1.0)

    used = [
        await store.access.use_link("signin", DIGEST, new_session(session))
        for session in (b"1" * 32, b"2" * 32)
    ]

    assert (before, used) == (True, [True, False])
    assert [one.digest for one in await store.access.list("session")] == [b"1" * 32]
    assert not await store.access.check("signin", DIGEST, now=1.0)


@pytest.mark.req("J2", "W35")
@pytest.mark.parametrize("unit", ["use_credential", "add_credential"])
async def test_a_link_is_used_up_only_together_with_its_session(
    store: Store, clock: ManualClock, unit: str
) -> None:
    access = StoredAccess(store.access, clock=clock)
    code = await access.make_signin_code()

    def fail(_point: str) -> None:
        raise full_disk()

    failpoints.arm(f"store.{unit}.before", fail)
    with suppress(StorageFull):
        await access.sign_in(code)
    failpoints.disarm()
    with suppress(Unauthenticated):
        await access.sign_in(code)

    assert len(await store.access.list("session")) == 1


@pytest.mark.req("J2")
async def test_what_was_unknown_is_known_once_it_is_added(store: Store) -> None:
    before = await store.access.check("token", DIGEST, now=1.0)

    await store.access.add("token", DIGEST, label="api", expires_at=None)

    assert (before, await store.access.check("token", DIGEST, now=1.0)) == (False, True)
    assert not await store.access.check("session", DIGEST, now=1.0)


@pytest.mark.req("W35")
async def test_what_was_made_from_a_token_ends_with_it_however_indirectly(
    store: Store,
) -> None:
    token, laptop, phone, link, other = (bytes([number]) * 32 for number in range(1, 6))
    await store.access.add("token", token, label="ci", expires_at=None)
    await store.access.add("session", laptop, label="laptop", expires_at=None, parent=token)
    await store.access.add("session", phone, label="phone", expires_at=None, parent=laptop)
    await store.access.add("signin", link, label="link", expires_at=None, parent=phone)
    await store.access.add("session", other, label="other", expires_at=None)

    assert await store.access.revoke(credential_id(token))

    assert [one.label for one in await store.access.list("session")] == ["other"]
    assert (await store.access.list("token"), await store.access.list("signin")) == ((), ())
    with pytest.raises(Unauthenticated):
        await store.access.add("session", laptop, label="late", expires_at=None, parent=token)


@pytest.mark.req("W35")
async def test_a_session_signs_out_and_hands_on_what_it_made(store: Store) -> None:
    token, laptop, phone, link = (bytes([number]) * 32 for number in range(1, 5))
    await store.access.add("token", token, label="ci", expires_at=None)
    await store.access.add("session", laptop, label="laptop", expires_at=None, parent=token)
    await store.access.add("session", phone, label="phone", expires_at=None, parent=laptop)
    await store.access.add("signin", link, label="link", expires_at=None, parent=laptop)

    assert (await store.access.sign_out(laptop), await store.access.sign_out(laptop)) == (
        True,
        False,
    )

    (left,) = await store.access.list("session")
    assert (left.label, left.token) == ("phone", credential_id(token))
    assert await store.access.list("signin") == ()


@pytest.mark.req("W35")
async def test_all_sessions_end_but_one_and_the_use_of_it_is_known(store: Store) -> None:
    first, second = b"1" * 32, b"2" * 32
    await store.access.add("session", first, label="first", expires_at=None)
    await store.access.add("session", second, label="second", expires_at=None)
    await store.access.touch("session", first, at=7.0)

    assert await store.access.revoke_all("session", keep=credential_id(first)) == 1

    (left,) = await store.access.list("session")
    assert (left.label, left.seen_at) == ("first", 7.0)
    assert await store.access.find("session", second, now=1.0) is None


@pytest.mark.req("W35")
async def test_sessions_end_with_their_token_after_those_between_have_expired(
    store: Store, clock: ManualClock
) -> None:
    token, laptop, phone, tablet = (bytes([number]) * 32 for number in range(1, 5))
    soon = clock.now() + 10.0
    await store.access.add("token", token, label="ci", expires_at=None)
    await store.access.add("session", laptop, label="laptop", expires_at=soon, parent=token)
    await store.access.add("session", phone, label="phone", expires_at=soon, parent=laptop)
    await store.access.add("session", tablet, label="tablet", expires_at=None, parent=phone)

    clock.advance(10.0)
    await store.access.add("token", DIGEST, label="any", expires_at=None)

    (left,) = await store.access.list("session")
    assert (left.label, left.token) == ("tablet", credential_id(token))
    assert await store.access.revoke(credential_id(token))
    assert await store.access.list("session") == ()


@pytest.mark.req("W35")
async def test_no_session_of_a_chain_ends_after_its_token(
    access: AccessStore, clock: ManualClock
) -> None:
    token, laptop, phone, tablet = (bytes([number]) * 32 for number in range(1, 5))
    now = clock.now()
    late = now + 1_000.0
    await access.add("token", token, label="ci", expires_at=now + 40.0)
    await access.add("session", laptop, label="laptop", expires_at=now + 30.0, parent=token)
    await access.add("session", phone, label="phone", expires_at=late, parent=laptop)
    clock.advance(35.0)
    await access.add("session", tablet, label="tablet", expires_at=late, parent=phone)

    good = [
        [await access.check("session", one, now=at) for one in (phone, tablet)]
        for at in (now + 39.0, now + 40.0)
    ]

    assert good == [[True, True], [False, False]]


@pytest.mark.req("W35")
async def test_a_link_ends_with_the_session_that_made_it(
    access: AccessStore, clock: ManualClock
) -> None:
    laptop, link = b"1" * 32, b"2" * 32
    now = clock.now()
    await access.add("session", laptop, label="laptop", expires_at=now + 5.0)
    await access.add("signin", link, label="link", expires_at=now + 60.0, parent=laptop)

    good = [await access.check("signin", link, now=at) for at in (now + 4.0, now + 5.0)]

    assert good == [True, False]
    assert not await access.use_link("signin", link, new_session(b"3" * 32, now=now + 5.0))


@pytest.mark.req("W35")
@pytest.mark.parametrize("has_token", [True, False])
async def test_a_session_is_kept_that_was_made_from_one_that_ends(
    access: AccessStore, has_token: bool
) -> None:
    token, laptop, phone, tablet, other = (bytes([number]) * 32 for number in range(1, 6))
    root = token if has_token else None
    await access.add("token", token, label="ci", expires_at=None)
    await access.add("session", laptop, label="laptop", expires_at=None, parent=root)
    await access.add("session", phone, label="phone", expires_at=None, parent=laptop)
    await access.add("session", tablet, label="tablet", expires_at=None, parent=phone)
    await access.add("session", other, label="other", expires_at=None, parent=tablet)

    assert await access.revoke_all("session", keep=credential_id(tablet)) == 3

    (left,) = await access.list("session")
    assert (left.label, left.token) == ("tablet", credential_id(token) if has_token else "")
    await access.revoke(credential_id(token))
    assert [one.label for one in await access.list("session")] == ([] if has_token else ["tablet"])


@pytest.mark.req("W35")
async def test_a_token_stays_when_its_maker_ends_and_says_who_it_was(access: AccessStore) -> None:
    laptop, phone, token = (bytes([number]) * 32 for number in range(1, 4))
    await access.add("session", laptop, label="laptop", expires_at=None)
    await access.add("token", token, label="ci", expires_at=None, parent=laptop)
    await access.add("session", phone, label="phone", expires_at=None, parent=token)

    assert await access.revoke(credential_id(laptop))

    (left,) = await access.list("token")
    assert (left.label, left.token) == ("ci", credential_id(laptop))
    assert [one.label for one in await access.list("session")] == ["phone"]
    with pytest.raises(Unauthenticated):
        await access.add("token", DIGEST, label="late", expires_at=None, parent=laptop)


@pytest.mark.req("W35")
@pytest.mark.parametrize("kind", ["token", "session"])
async def test_what_is_no_sign_in_link_is_not_used_as_one(access: AccessStore, kind: str) -> None:
    await access.add(kind, DIGEST, label="ci", expires_at=None)

    used = await access.use_link("signin", DIGEST, new_session(b"1" * 32))

    assert not used
    assert await access.check(kind, DIGEST, now=1.0)


@pytest.mark.req("W35")
async def test_a_sign_out_leaves_alone_what_others_made(access: AccessStore) -> None:
    other, laptop, phone, link, token = (bytes([number]) * 32 for number in range(1, 6))
    root = b"r" * 32
    await access.add("session", other, label="other", expires_at=None)
    await access.add("signin", link, label="link", expires_at=None, parent=other)
    await access.add("token", root, label="root", expires_at=None)
    await access.add("session", laptop, label="laptop", expires_at=None, parent=root)
    await access.add("session", phone, label="phone", expires_at=None, parent=laptop)
    await access.add("token", token, label="made there", expires_at=None, parent=laptop)

    assert await access.sign_out(laptop)

    found = {
        one.label: one.parent
        for kind in ("session", "signin", "token")
        for one in await access.list(kind)
    }
    assert found == {
        "other": None,
        "link": other,
        "root": None,
        "phone": root,
        "made there": laptop,
    }


@pytest.mark.req("W35")
async def test_a_link_makes_nothing_and_is_no_other_kind(access: AccessStore) -> None:
    await access.add("signin", DIGEST, label="link", expires_at=None)

    with pytest.raises(Unauthenticated):
        await access.add("session", b"1" * 32, label="late", expires_at=None, parent=DIGEST)

    kinds = [await access.any(kind) for kind in ("signin", "session", "token")]
    assert kinds == [True, False, False]


@pytest.mark.req("W35")
async def test_the_use_of_a_session_is_none_of_a_token(access: AccessStore) -> None:
    await access.add("token", DIGEST, label="ci", expires_at=None)

    await access.touch("session", DIGEST, at=7.0)
    unused = await access.list("token")
    await access.touch("token", DIGEST, at=8.0)
    used = await access.list("token")

    assert ([one.seen_at for one in unused], [one.seen_at for one in used]) == ([None], [8.0])


@pytest.mark.req("M11")
async def test_m11_only_a_token_that_was_made_so_may_delegate(access: AccessStore) -> None:
    await access.add("token", DIGEST, label="ci", expires_at=None, may_delegate=True)
    await access.add("token", b"other", label="plain", expires_at=None)

    found = [await access.find("token", one, now=1.0) for one in (DIGEST, b"other")]

    assert [one.may_delegate for one in found if one is not None] == [True, False]
