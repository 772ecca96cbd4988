"""Credits as the operator orders and sees them, over the real store."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from hermes.config import CreditSettings, CreditTier
from hermes.control.credits import (
    CreditOperations,
    GrantOrder,
    ReferOrder,
    RefundOrder,
    WalletAsk,
    WalletReport,
    WalletsAsk,
)
from hermes.errors import BadRequest, Conflict, Forbidden, NotFound
from hermes.message.ids import make_id
from hermes.ports.steps import StepWrite
from hermes.ports.store import Store
from hermes.ports.wallet import LedgerLine
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened
from tests.torture.store_rig import accept, answer, begin, ending

NOW = 1_700_000_000.0
CLOCK = ManualClock(NOW)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as made:
        yield made


def operations(store: Store, settings: CreditSettings | None = None) -> CreditOperations:
    return CreditOperations(store, settings or CreditSettings(), clock=CLOCK, make_id=make_id)


async def person(store: Store, user: str) -> str:
    found = await store.people.find("rest", user)
    assert found is not None
    return found.id


@pytest.mark.req("A5")
async def test_a_person_is_shown_with_terms_balance_and_lines(store: Store) -> None:
    await answer(store, "paid", user="ann", clock=CLOCK)
    tiers = {"free": CreditTier(policy="wallet", price_per_message=3, start_grant=8)}

    free = await operations(store).show(WalletAsk(user="rest:ann"))
    limited = await operations(store, CreditSettings(tiers=tiers)).show(
        WalletAsk(user=free.person_id)
    )

    assert free == WalletReport(
        user="rest:ann",
        person_id=await person(store, "ann"),
        tier="free",
        is_limited=False,
        price=1,
        balance=-1,
        held=0,
        start_to_come=0,
        referral_code=free.referral_code,
        referred_by=None,
        referred=0,
        lines=(LedgerLine(id="m_paid", kind="capture", amount=-1, at=NOW),),
    )
    assert (limited.is_limited, limited.price, limited.start_to_come) == (True, 3, 8)
    with pytest.raises(NotFound, match="Nobody is known as 'rest:bob'"):
        await operations(store).show(WalletAsk(user="rest:bob"))


@pytest.mark.req("A5")
async def test_a_grant_is_booked_and_logged_once_under_its_id(store: Store) -> None:
    await accept(store, "hello", user="ann", clock=CLOCK)
    order = GrantOrder(user="rest:ann", amount=5, reason="invoice 77", id="77", by="olga")

    with capture_logs() as logs:
        booked = [await operations(store).grant(order) for _ in range(2)]
        other = await operations(store).grant(GrantOrder(user="rest:ann", amount=-2))

    assert [(one.line.id, one.balance, one.changed) for one in booked] == [
        ("grant:77", 5, True),
        ("grant:77", 5, False),
    ]
    assert (other.balance, other.changed) == (3, True)
    # The log knows the person and never the reason.
    assert [sorted(line) for line in logs] == [
        ["amount", "by", "event", "id", "log_level", "person_id"]
    ] * 2


@pytest.mark.req("A5")
@pytest.mark.parametrize(
    ("order", "problem"),
    [
        (GrantOrder(user="rest:ann", amount=0), "A grant of 0 credits"),
        (GrantOrder(user="rest:ann", amount=10**10), "A grant of 10000000000 credits"),
        (GrantOrder(user="rest:ann", amount=1, reason="x" * 501), "The reason has 501 characters"),
        (GrantOrder(user="rest:ann", amount=1, id="x" * 101), "id of the grant has 101 characters"),
        (GrantOrder(user=" ", amount=1), "The person has no name"),
    ],
)
async def test_a_grant_that_makes_no_sense_is_refused(
    store: Store, order: GrantOrder, problem: str
) -> None:
    await accept(store, "hello", user="ann", clock=CLOCK)

    with pytest.raises(BadRequest, match=problem):
        await operations(store).grant(order)


@pytest.mark.req("A6")
async def test_a_message_is_refunded_by_its_own_id_or_its_senders(store: Store) -> None:
    await answer(store, "paid", user="ann", clock=CLOCK)

    first = await operations(store).refund(RefundOrder(message="paid", reason="wrong", by="olga"))
    again = await operations(store).refund(RefundOrder(message="m_paid"))

    assert (first.line, first.balance, first.changed) == (
        LedgerLine(id="m_paid", kind="refund", amount=1, at=NOW, reason="wrong", by="olga"),
        0,
        True,
    )
    assert (again.line, again.changed) == (first.line, False)


@pytest.mark.req("A6", "J13")
async def test_what_was_not_paid_for_is_not_refunded(store: Store) -> None:
    await accept(store, "host", user="ann", clock=CLOCK)
    await accept(store, "joined", user="ann", clock=CLOCK)
    lease, message = await begin(store, "ann", clock=CLOCK)
    claim = StepWrite(message_id=message.id, person_id=message.person_id, claims=("m_joined",))
    await store.turns.step(lease, claim)
    end = msgspec.structs.replace(ending(message, clock=CLOCK), merged=("m_joined",))
    await store.turns.commit(lease, end)

    with pytest.raises(Conflict, match="m_joined is part of m_host, which paid for both"):
        await operations(store).refund(RefundOrder(message="joined"))
    for name in ("m_unknown", ""):
        with pytest.raises(NotFound, match="Nothing was captured"):
            await operations(store).refund(RefundOrder(message=name))


@pytest.mark.req("A5")
async def test_a_newcomer_is_referred_once_and_nobody_by_themselves(store: Store) -> None:
    for user in ("ann", "bob", "cy"):
        await accept(store, f"hello-{user}", user=user, clock=CLOCK)
    orders = operations(store, CreditSettings(referral_bonus=4))
    codes = [
        (await orders.show(WalletAsk(user=f"rest:{user}"))).referral_code or ""
        for user in ("ann", "bob", "cy")
    ]

    first = await orders.refer(ReferOrder(user="rest:bob", code=codes[0]))
    again = await orders.refer(ReferOrder(user="rest:bob", code=codes[0]))

    assert (first.referred_by, first.bonus, first.balance, first.changed) == (
        await person(store, "ann"),
        4,
        4,
        True,
    )
    assert (again.balance, again.changed) == (4, False)
    with pytest.raises(Conflict, match="only the first one counts"):
        await orders.refer(ReferOrder(user="rest:bob", code=codes[2]))
    with pytest.raises(Forbidden, match="your own referral code"):
        await orders.refer(ReferOrder(user="rest:ann", code=codes[0]))
    with pytest.raises(NotFound, match="Nobody has the referral code 33333-33333"):
        await orders.refer(ReferOrder(user="rest:ann", code="3333333333"))


@pytest.mark.req("A5")
async def test_wallets_are_listed_and_audited(store: Store) -> None:
    for user in ("ann", "bob"):
        await answer(store, f"m-{user}", user=user, clock=CLOCK)
    await operations(store).grant(GrantOrder(user="rest:bob", amount=5))

    report = await operations(store).list(WalletsAsk(limit=1))
    audit = await operations(store).audit()

    assert [(one.users, one.balance) for one in report.wallets] == [(("rest:ann",), -1)]
    assert (audit.wallets, audit.lines, audit.total, audit.wrong) == (2, 4, 4, 0)
    for limit in (0, 10_001):
        with pytest.raises(BadRequest, match="expected a number from 1 to 10,000"):
            await operations(store).list(WalletsAsk(limit=limit))
