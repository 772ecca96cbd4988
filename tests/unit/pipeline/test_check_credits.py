"""`check_credits` alone: what it sets aside, and whom it sends to the upgrade message."""

from dataclasses import dataclass, field

import msgspec
import pytest

from hermes.config import CreditSettings, CreditTier, Settings
from hermes.message.outcome import Outcome
from hermes.message.reply import Reply
from hermes.pipeline.stages.check_credits import check_credits
from hermes.pipeline.turn import Turn
from hermes.ports.people import Person
from hermes.ports.turns import CreditHold
from hermes.ports.wallet import Wallet
from tests.unit.pipeline.stage_parts import Context, Table, make_event, make_turn

LIMITED = Settings(credits=CreditSettings(policy="wallet", price_per_message=3, start_grant=10))


@dataclass(frozen=True)
class Store:
    wallets: Table[Wallet] = field(default_factory=Table)


@dataclass(frozen=True)
class Services:
    settings: Settings = LIMITED
    store: Store = field(default_factory=Store)


def with_balance(balance: int, *, is_limited: bool = True) -> Context[Services]:
    wallet = Wallet(person_id="p_ann", balance=balance, is_limited=is_limited, code="ANN42")
    return Context(Services(store=Store(Table({"p_ann": wallet}))))


@pytest.mark.req("A5")
async def test_a5_a_message_that_can_be_paid_for_sets_its_price_aside() -> None:
    ctx = with_balance(3)

    turn = await check_credits(make_turn(), ctx)

    assert isinstance(turn, Turn)
    assert turn.hold == CreditHold("p_ann", 3, limited=True, start_grant=10)
    assert ctx.journal.notes == []


@pytest.mark.req("A5")
async def test_a5_one_credit_too_few_ends_the_turn_with_the_upgrade_message() -> None:
    ctx = with_balance(2)

    reply = await check_credits(make_turn(), ctx)

    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.code, reply.earned) == (Outcome.REFUSED, "no_credits", False)
    assert "ANN42" in reply.text
    assert ctx.journal.notes == [("no_credits", {"balance": 2, "price": 3})]


@pytest.mark.req("A5")
async def test_a5_a_wallet_that_has_not_opened_yet_is_left_to_the_first_write() -> None:
    for ctx in (Context(Services()), with_balance(0, is_limited=False)):
        turn = await check_credits(make_turn(), ctx)

        assert isinstance(turn, Turn)
        assert turn.hold == CreditHold("p_ann", 3, limited=True, start_grant=10)


@pytest.mark.req("A5")
async def test_a5_where_credits_are_no_limit_no_wallet_is_read() -> None:
    free = Settings(credits=CreditSettings(policy="unlimited", price_per_message=3))
    services = Services(settings=free)

    turn = await check_credits(make_turn(), Context(services))

    assert isinstance(turn, Turn)
    assert turn.hold == CreditHold("p_ann", 3)
    assert services.store.wallets.asked == []


@pytest.mark.req("A5")
async def test_a5_a_subagent_and_a_price_of_nothing_set_nothing_aside() -> None:
    child = await check_credits(make_turn(make_event(internal=True)), with_balance(0))
    gratis = Settings(credits=CreditSettings(policy="wallet", price_per_message=0))
    free = await check_credits(make_turn(), Context(Services(settings=gratis)))

    assert isinstance(child, Turn)
    assert isinstance(free, Turn)
    assert (child.hold, free.hold) == (None, None)


@pytest.mark.req("A5")
async def test_a5_the_price_is_that_of_the_persons_tier() -> None:
    dear = CreditSettings(
        policy="wallet", price_per_message=3, tiers={"gold": CreditTier(price_per_message=1)}
    )
    ctx = with_balance(1)
    ctx.services = Services(settings=Settings(credits=dear), store=ctx.services.store)
    turn = make_turn()
    person = Person(id="p_ann", created_at=0.0, tier="gold")

    held = await check_credits(msgspec.structs.replace(turn, person=person), ctx)
    refused = await check_credits(turn, ctx)

    assert isinstance(held, Turn)
    assert held.hold is not None
    assert held.hold.amount == 1
    assert isinstance(refused, Reply)
