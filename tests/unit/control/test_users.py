"""People and pairing as the operator orders them, over the real store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from hermes.calls.days import Calendar
from hermes.config import load
from hermes.config.settings import tier_names
from hermes.control.keys import NewKey
from hermes.control.operations import Operations
from hermes.control.pairing import PairApproval, PairOrder, PairReport
from hermes.control.users import LinkOrder, TierOrder, UserAsk, UserOrder, UsersAsk
from hermes.errors import BadRequest, Conflict, NotFound, RateLimited
from hermes.message.ids import make_id
from hermes.people.pairing import PAIRING
from hermes.ports.pairing import PairingAsk
from hermes.ports.people import ChannelAccess
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened

NOW = 1_700_000_000.0


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as made:
        yield made


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def operations(store: Store, clock: ManualClock) -> Operations:
    return Operations(
        store,
        calendar=Calendar("UTC"),
        clock=clock,
        make_id=make_id,
        address="http://127.0.0.1:8080",
    )


async def ask(store: Store, user: str, code: str) -> None:
    wish = PairingAsk(
        platform="telegram",
        user_id=user,
        person_id="p_x",
        message_id="m",
        code=code,
        at=NOW,
    )
    await store.pairing.ask(wish, rules=PAIRING)


@pytest.mark.req("A3")
async def test_somebody_is_let_in_before_they_write_blocked_and_let_in_again(operations, store):
    with capture_logs() as logs:
        added = await operations.users.add(UserOrder(user="telegram:4711", name="Ann", by="olga"))
        again = await operations.users.add(UserOrder(user="telegram:4711"))
        blocked = await operations.users.block(UserOrder(user="telegram:4711", by="olga"))
        twice = await operations.users.block(UserOrder(user=added.user.id))
        back = await operations.users.activate(UserOrder(user="telegram:4711", by="olga"))

    assert (added.user.state, added.changed, again.changed) == ("active", True, False)
    assert (added.user.channels[0].name, added.user.channels[0].activated_how) == (
        "Ann",
        "operator",
    )
    assert (blocked.user.state, blocked.changed, twice.changed) == ("blocked", True, False)
    assert (back.user.state, back.changed) == ("active", True)
    # The log knows the person, never what a platform calls them.
    assert [(line["event"], line["person_id"], line["by"]) for line in logs] == [
        (f"user_{did}", added.user.id, "olga") for did in ("added", "blocked", "activated")
    ]


@pytest.mark.req("A3")
async def test_activating_a_channel_lets_in_that_one_and_a_person_all_of_theirs(operations, store):
    person = (await operations.keys.create(NewKey(user="ann"))).key.person_id
    await operations.users.add(UserOrder(user="telegram:1"))
    await operations.users.link(LinkOrder(user="v1:ann", channel="telegram:1"))
    await operations.pairing.revoke(PairOrder(user="telegram:1"))

    await operations.users.activate(UserOrder(user="telegram:1"))
    one = [
        (await store.users.channel_access(*name)).is_active
        for name in (("telegram", "1"), ("v1", "ann"))
    ]
    await operations.users.activate(UserOrder(user=person))
    both = [
        (await store.users.channel_access(*name)).is_active
        for name in (("telegram", "1"), ("v1", "ann"))
    ]

    assert (one, both) == ([True, False], [True, True])


@pytest.mark.req("A3")
async def test_linking_and_unlinking_say_what_changed_hands(operations, store):
    ann = (await operations.users.add(UserOrder(user="telegram:1"))).user.id
    bob = (await operations.users.add(UserOrder(user="signal:2"))).user.id

    linked = await operations.users.link(LinkOrder(user="telegram:1", channel="signal:2"))
    again = await operations.users.link(LinkOrder(user=ann, channel="signal:2"))
    shown = await operations.users.show(UserAsk(user=bob))
    erased = await operations.users.erase(UserOrder(user="telegram:1"))

    assert (linked.moved.before, linked.moved.after, linked.changed) == (bob, ann, True)
    assert again.changed is False
    assert [(one.platform, one.person_id) for one in shown.user.left] == [("signal", ann)]
    assert (erased.user.state, erased.changed) == ("erased", True)
    assert sorted(one.was_person or "" for one in erased.user.channels) == ["", bob]
    await operations.users.add(UserOrder(user="signal:9"))
    with pytest.raises(Conflict, match="only channel"):
        await operations.users.unlink(UserOrder(user="signal:9"))


@pytest.mark.req("A3")
async def test_what_an_operator_cannot_mean_is_refused_with_what_to_write(operations):
    for name in ("Ann Smith", "telegram:", ":7", "", "x" * 300 + ":1"):
        with pytest.raises(BadRequest, match="PLATFORM:USER_ID"):
            await operations.users.add(UserOrder(user=name))
    with pytest.raises(NotFound, match="Nobody is known as"):
        await operations.users.block(UserOrder(user="telegram:1"))
    with pytest.raises(BadRequest, match="active, guest, blocked, erased"):
        await operations.users.list(UsersAsk(state="happy"))
    with pytest.raises(BadRequest, match="from 1 to"):
        await operations.users.list(UsersAsk(limit=0))
    await operations.users.add(UserOrder(user="telegram:1"))
    with pytest.raises(NotFound, match="hermes users add"):
        await operations.users.link(LinkOrder(user="telegram:1", channel="signal:nobody"))


@pytest.mark.req("W31")
async def test_a_code_lets_in_and_five_wrong_ones_lock_with_what_else_there_is(
    operations, store, clock
):
    await operations.users.add(UserOrder(user="telegram:7"))
    await operations.pairing.revoke(PairOrder(user="telegram:7"))
    await ask(store, "7", "ABCDEFGH")

    listed = await operations.pairing.list()
    with pytest.raises(BadRequest, match="not a pairing code"):
        await operations.pairing.approve(PairApproval(platform="telegram", code="ABCDEFG0"))
    with pytest.raises(NotFound, match="4 more wrong ones"):
        await operations.pairing.approve(PairApproval(platform="telegram", code="AAAA-AAAA"))
    approved = await operations.pairing.approve(PairApproval(platform="telegram", code="abcd-efgh"))
    after = await operations.pairing.list()

    assert [(one.platform, one.user_id) for one in listed.waiting] == [("telegram", "7")]
    assert (approved.platform, approved.user_id) == ("telegram", "7")
    assert (after.waiting, [one.user_id for one in after.paired]) == ((), ["7"])

    for _ in range(3):
        with pytest.raises(NotFound):
            await operations.pairing.approve(PairApproval(platform="telegram", code="AAAAAAAA"))
    for told in ("one of 5 wrong codes", "There were 5 wrong codes"):
        with pytest.raises(RateLimited, match=told) as caught:
            await operations.pairing.approve(PairApproval(platform="telegram", code="AAAAAAAA"))
        assert caught.value.retry_after == 3_600
    assert (await operations.pairing.list()).locked == {"telegram": NOW + 3_600}
    clock.advance(3_600)
    assert (await operations.pairing.list()).locked == {}


@pytest.mark.req("W31")
async def test_denying_and_revoking_say_when_there_is_nothing_to_do(operations, store):
    await ask(store, "7", "ABCDEFGH")
    added = await operations.users.add(UserOrder(user="telegram:8"))

    denied = await operations.pairing.deny(PairOrder(user="telegram:7"))
    with pytest.raises(NotFound, match="does not wait"):
        await operations.pairing.deny(PairOrder(user="telegram:7"))
    revoked = [await operations.pairing.revoke(PairOrder(user="telegram:8")) for _ in range(2)]
    with pytest.raises(NotFound, match="Nobody has written as"):
        await operations.pairing.revoke(PairOrder(user="telegram:9"))

    assert denied == PairReport(platform="telegram", user_id="7")
    assert [one.changed for one in revoked] == [True, False]
    assert await store.users.channel_access("telegram", "8") == ChannelAccess(added.user.id)


@pytest.mark.req("A3")
async def test_a_tier_is_one_of_the_settings_and_reaches_the_keys_at_once(operations, store):
    made = (await operations.keys.create(NewKey(user="ann"))).key
    before = await store.keys.get(made.id)

    with capture_logs() as logs:
        given = await operations.users.set_tier(TierOrder(user="v1:ann", tier="pro", by="olga"))
        again = await operations.users.set_tier(TierOrder(user=made.person_id, tier="pro"))
    after = await store.keys.get(made.id)
    with pytest.raises(BadRequest, match=r"'gold' is not a tier here: expected one of .*free"):
        await operations.users.set_tier(TierOrder(user="v1:ann", tier="gold"))
    with pytest.raises(NotFound, match="Nobody is known as"):
        await operations.users.set_tier(TierOrder(user="v1:bob", tier="pro"))
    await operations.users.erase(UserOrder(user="v1:ann"))
    with pytest.raises(Conflict, match="was erased"):
        await operations.users.set_tier(TierOrder(user=made.person_id, tier="free"))

    assert (given.user.tier, given.did, given.changed) == ("pro", "tiered", True)
    assert again.changed is False
    assert (before.tier, after.tier) == ("free", "pro")
    assert [(line["event"], line["by"]) for line in logs] == [("user_tiered", "olga")]


@pytest.mark.req("A3")
def test_the_tiers_are_those_the_settings_know_and_with_models_where_tiers_choose_them(tmp_path):
    plain = {"HERMES_CREDITS__TIERS__GOLD__POLICY": "unlimited"}

    known = tier_names(load(plain, tmp_path).settings)
    choosing = tier_names(load({**plain, "HERMES_ROUTING__BY_TIER": "true"}, tmp_path).settings)

    assert {"free", "pro", "gold"} <= set(known)
    assert "free" in choosing
    assert "gold" not in choosing
