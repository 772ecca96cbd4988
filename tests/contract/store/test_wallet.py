"""Wallets on the real store: balances that equal the books, grants and refunds that count once."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from hermes.errors import Conflict, GuardFailed, NoCredits, NotFound
from hermes.message.outcome import Outcome
from hermes.ports.steps import Lease
from hermes.ports.store import Store
from hermes.ports.turns import Begin, CreditHold, Interaction, MessageRecord
from hermes.ports.wallet import LedgerLine, NewGrant, NewReferral, NewRefund, Wallet
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened, raw_bytes, tables
from tests.torture.store_rig import accept, answer, ending, new_message

CLOCK = ManualClock()


async def newcomer(store: Store, user: str = "ann") -> str:
    await accept(store, f"hello-{user}", user=user, clock=CLOCK)
    return await person(store, user)


async def person(store: Store, user: str = "ann") -> str:
    found = await store.people.find("rest", user)
    assert found is not None
    return found.id


async def wallet(store: Store, user: str = "ann") -> Wallet:
    found = await store.wallets.get(await person(store, user))
    assert found is not None
    return found


def grant(person_id: str, amount: int = 5, *, name: str = "g_1", reason: str = "") -> NewGrant:
    return NewGrant(id=name, person_id=person_id, amount=amount, at=2.0, reason=reason, by="olga")


async def begin(store: Store, lane: str, hold: CreditHold) -> tuple[Lease, MessageRecord]:
    view = await store.turns.view(lane)
    assert view.message is not None
    lease = await store.turns.begin(
        Begin(
            lane=lane,
            owner="w",
            fence=view.fence,
            head=view.head,
            message_id=view.message.id,
            person_id=view.message.person_id,
            at=3.0,
            hold=hold,
        )
    )
    return lease, view.message


async def differences(store: Store) -> list[tuple[str, str, int | None, int | None]]:
    audit = await store.wallets.audit(limit=100)
    assert audit.wrong == len(audit.differences)
    return [(one.what, one.id, one.expected, one.found) for one in audit.differences]


@pytest.mark.req("A5")
async def test_everybody_has_a_wallet_and_a_code_of_their_own_also_after_reopening(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        people = [await newcomer(store, user) for user in ("ann", "bob")]
        wallets = [await store.wallets.get(one) for one in people]

    async with opened(tmp_path) as store:
        assert [await store.wallets.get(one) for one in people] == wallets
        codes = [one.code for one in wallets if one is not None and one.code is not None]
        assert [await store.wallets.owner(code) for code in codes] == people
        assert await store.wallets.owner("K7QM4XWP3H") is None
        assert await store.wallets.get("p_nobody") is None


@pytest.mark.req("A5", "J11")
async def test_a_limited_hold_is_checked_and_taken_in_one_unit(store: Store) -> None:
    ann = await newcomer(store)
    hold = CreditHold(ann, 2, limited=True, start_grant=3)

    await begin(store, "ann", hold)

    assert ((await wallet(store)).balance, (await wallet(store)).held) == (1, 2)
    await accept(store, "second", user="other", clock=CLOCK)
    with pytest.raises(NoCredits) as refused:
        await begin(store, "other", hold)
    assert (refused.value.balance, refused.value.price) == (1, 2)
    view = await store.turns.view("other")
    assert view.message is not None
    assert (view.fence, view.message.state, view.message.attempts) == (0, "new", 0)
    assert await differences(store) == []


@pytest.mark.req("A5", "J11", "J19")
async def test_50_begins_in_one_commit_take_what_there_is_and_no_more(store: Store) -> None:
    lanes = [f"lane{number}" for number in range(50)]
    for lane in lanes:
        message = new_message(lane, user="ann", clock=CLOCK)
        await store.inbox.accept(msgspec.structs.replace(message, lane=lane), kept=lambda _: None)
    hold = CreditHold(await person(store), 3, limited=True, start_grant=20)

    begun = await asyncio.gather(
        *(begin(store, lane, hold) for lane in lanes), return_exceptions=True
    )

    refused = [one for one in begun if isinstance(one, NoCredits)]
    assert (len(begun) - len(refused), len(refused)) == (6, 44)
    assert ((await wallet(store)).balance, (await wallet(store)).held) == (2, 18)
    assert await differences(store) == []


@pytest.mark.req("J11", "A6")
async def test_ends_capture_or_give_back_and_an_abandoned_one_gives_back(
    store: Store,
) -> None:
    ann = await newcomer(store)
    hold = CreditHold(ann, 1, limited=True, start_grant=3)
    lease, message = await begin(store, "ann", hold)
    await store.turns.commit(lease, ending(message, clock=CLOCK))
    assert ((await wallet(store)).balance, (await wallet(store)).held) == (2, 0)

    await accept(store, "second", clock=CLOCK)
    lease, message = await begin(store, "ann", hold)
    end = ending(message, clock=CLOCK)
    assert end.charge is not None
    free = msgspec.structs.replace(end.charge, captured=False)
    await store.turns.commit(lease, msgspec.structs.replace(end, charge=free))
    assert (await wallet(store)).balance == 2

    await accept(store, "third", clock=CLOCK)
    _, message = await begin(store, "ann", hold)
    assert (await wallet(store)).balance == 1
    await store.turns.abandon(message.id, Outcome.FAILED)
    assert ((await wallet(store)).balance, (await wallet(store)).held) == (2, 0)
    assert await differences(store) == []


@pytest.mark.req("A5")
async def test_a_grant_counts_once_under_its_id(store: Store) -> None:
    ann, bob = await newcomer(store), await newcomer(store, "bob")

    booked = await asyncio.gather(
        *(store.wallets.grant(grant(ann, reason="hello")) for _ in range(3))
    )

    assert [(one.balance, one.changed) for one in booked] == [(5, True), (5, False), (5, False)]
    for other in (grant(bob), grant(ann, 6)):
        with pytest.raises(Conflict, match="Use another id"):
            await store.wallets.grant(other)
    assert await store.wallets.lines(ann, limit=9) == (
        LedgerLine(id="g_1", kind="grant", amount=5, at=2.0, reason="hello", by="olga"),
    )
    assert await differences(store) == []


@pytest.mark.req("A5")
async def test_a_negative_grant_takes_back_and_a_grant_is_worth_its_amount(
    store: Store,
) -> None:
    for number in range(3):
        await answer(store, f"m{number}", user="ann", clock=CLOCK)
    assert (await wallet(store)).balance == -3

    balances = [
        (await store.wallets.grant(grant(await person(store), amount, name=f"g_{amount}"))).balance
        for amount in (10, -4)
    ]

    assert balances == [10, 6]
    assert await differences(store) == []


@pytest.mark.req("A6")
async def test_a_refund_gives_back_what_was_captured_once(store: Store) -> None:
    await answer(store, "paid", user="ann", clock=CLOCK)
    await store.wallets.grant(grant(await person(store)))
    refund = NewRefund(message_id="m_paid", at=4.0, reason="it was wrong", by="olga")

    booked = [await store.wallets.refund(refund) for _ in range(2)]

    assert [(one.line.amount, one.balance, one.changed) for one in booked] == [
        (1, 6, True),
        (1, 6, False),
    ]
    with pytest.raises(NotFound, match="Nothing was captured for 'm_unknown'"):
        await store.wallets.refund(msgspec.structs.replace(refund, message_id="m_unknown"))
    assert await differences(store) == []


@pytest.mark.req("A5")
async def test_bonuses_are_booked_once_and_the_owners_up_to_a_limit(store: Store) -> None:
    ann = await newcomer(store)
    others = [await newcomer(store, f"user{number}") for number in range(3)]
    referrals = [
        NewReferral(person_id=one, referred_by=ann, bonus=4, most=2, at=5.0)
        for one in (*others, others[0])
    ]

    changed = [await store.wallets.refer(one) for one in referrals]

    assert changed == [True, True, True, False]
    assert ((await wallet(store)).balance, (await wallet(store)).referred) == (8, 3)
    assert [(await wallet(store, f"user{number}")).balance for number in range(3)] == [4, 4, 4]
    assert await differences(store) == []


@pytest.mark.req("A5")
async def test_credits_go_along_with_a_linked_channel_and_the_start_grant_does_not(
    store: Store,
) -> None:
    ann, bob = await newcomer(store), await newcomer(store, "bob")
    await begin(store, "bob", CreditHold(bob, 1, limited=True, start_grant=20))
    await store.wallets.grant(grant(bob, 30))

    moved = []
    for at in (1.0, 2.0):
        moved.append((await store.users.link("rest", "bob", person_id=ann, at=at)).credits)
        await store.users.unlink("rest", "bob", at=at)

    assert moved == [29, 0]
    assert ((await wallet(store)).balance, (await wallet(store, "bob")).balance) == (29, 20)
    assert await differences(store) == []


@pytest.mark.req("J24", "A5")
async def test_erasing_a_person_ends_their_code_and_hides_why_they_got_credits(
    store: Store,
) -> None:
    ann = await newcomer(store)
    code = (await wallet(store)).code
    assert code is not None
    await store.wallets.grant(grant(ann, reason="for the secret matter"))
    await store.people.erase(ann, at=9.0)

    assert await store.wallets.owner(code) is None
    assert [(line.amount, line.reason) for line in await store.wallets.lines(ann, limit=9)] == [
        (5, "")
    ]
    with pytest.raises(NotFound, match="was erased"):
        await store.wallets.grant(grant(ann, name="g_2"))
    assert await differences(store) == []


@pytest.mark.req("J24")
async def test_a_reason_is_not_readable_on_disk(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.wallets.grant(grant(await newcomer(store), reason="for the secret matter"))

    files = raw_bytes(tmp_path)
    assert b"g_1" in files
    assert b"secret matter" not in files
    assert b"olga" not in files


@pytest.mark.req("A5")
async def test_wallets_are_listed_the_poorest_first_with_their_users(store: Store) -> None:
    for user, amount in (("ann", 5), ("bob", -2), ("cy", 1)):
        await newcomer(store, user)
        await store.wallets.grant(grant(await person(store, user), amount, name=f"g_{user}"))
    await begin(store, "cy", CreditHold(await person(store, "cy"), 1))

    listed = await store.wallets.poorest(below=None, limit=2)
    poor = await store.wallets.poorest(below=1, limit=9)

    assert [one.users for one in listed] == [("rest:bob",), ("rest:cy",)]
    assert [(one.balance, one.held) for one in listed] == [(-2, 0), (0, 1)]
    assert [msgspec.structs.replace(one, users=()) for one in listed] == [
        await wallet(store, user) for user in ("bob", "cy")
    ]
    assert poor == listed


@pytest.mark.req("A5", "J11", "J21")
@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("UPDATE wallets SET balance = 9", ("the balance is not", "", -1, 9)),
        ("DELETE FROM wallets", ("the balance is not", "", -1, None)),
        ("DELETE FROM wallets", ("a wallet for every person", "", 1, 0)),
        ("UPDATE ledger SET message_id = 'm_x'", ("a capture without a message", "m_x", 1, 0)),
        ("UPDATE inbox SET person_id = 'p_x'", None),
        (
            "DELETE FROM inbox; DELETE FROM interactions",
            ("a capture without a message", "m_paid", 1, 0),
        ),
        ("UPDATE ledger SET amount = 1", ("a line with the wrong sign", "capture m_paid", None, 1)),
        (
            "UPDATE ledger SET kind = 'gift'",
            ("a line with the wrong sign", "gift m_paid", None, -1),
        ),
        (
            "INSERT INTO holds VALUES ('m_paid', (SELECT id FROM people), 2, 1.0)",
            ("a hold that should have ended", "m_paid", 0, 2),
        ),
        (
            "DELETE FROM ledger; INSERT INTO holds VALUES ('m_paid', (SELECT id FROM people), 2, 1.0)",
            ("a hold that should have ended", "m_paid", 0, 2),
        ),
        (
            "INSERT INTO ledger (person_id, kind, amount, message_id, at)"
            " SELECT person_id, 'refund', 7, message_id, at FROM ledger",
            ("a refund of what was not captured", "m_paid", 1, 7),
        ),
        (
            "CREATE TABLE copy AS SELECT * FROM ledger; INSERT INTO copy SELECT * FROM ledger;"
            "DROP TABLE ledger; ALTER TABLE copy RENAME TO ledger",
            ("booked more than once", "capture m_paid", 1, 2),
        ),
    ],
)
async def test_an_audit_finds_what_was_done_to_the_books(
    tmp_path: Path, damage: str, found: tuple[str, str, int | None, int | None] | None
) -> None:
    async with opened(tmp_path) as store:
        await answer(store, "paid", user="ann", clock=CLOCK)
        ann = await person(store)
        assert await differences(store) == []
    with tables(tmp_path) as db:
        db.execute(damage)

    async with opened(tmp_path) as store:
        seen = await differences(store)
    if found is None:
        assert [what for what, *_ in seen] == ["a capture without a message of the same person"]
    else:
        what, name, expected, value = found
        assert [
            one
            for one in seen
            if one[0].startswith(what) and one[1:] == (name or ann, expected, value)
        ]


@pytest.mark.req("J11", "J21")
async def test_a_message_that_was_forgotten_is_still_a_message_to_the_audit(
    store: Store,
) -> None:
    lease, message = await begin(store, "ann", CreditHold(await newcomer(store), 1))
    end = ending(message, clock=CLOCK)
    provenance = Interaction(agent="main", platform="rest")
    await store.turns.commit(lease, msgspec.structs.replace(end, interaction=provenance))
    await store.purge(CLOCK.now() + 1, limit=10)

    assert await store.inbox.get(message.id) is None
    assert await differences(store) == []


@pytest.mark.req("J11", "A5")
async def test_a_message_that_was_captured_before_is_not_captured_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await newcomer(store)
        lease, message = await begin(store, "ann", CreditHold(ann, 1))
        line = "INSERT INTO ledger (person_id, kind, amount, message_id, at) VALUES (?1, ?2, -1, ?3, 1)"
        with tables(tmp_path) as found:
            found.execute(line, (ann, "capture", message.id))

        with pytest.raises(GuardFailed, match="was captured before"):
            await store.turns.commit(lease, ending(message, clock=CLOCK))

        assert await store.inbox.state(message.id) == "running"
