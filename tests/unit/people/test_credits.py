"""What a message sets aside, by policy and tier; and what people are told about their credits."""

import pytest

from hermes.config import CreditSettings, CreditTier
from hermes.errors import NoCredits
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.people.credits import Terms, cannot_pay, charge_for, hold_for, terms_for
from hermes.people.referral import Referral
from hermes.people.wallet import (
    parse_credits,
    referral_text,
    start_to_come,
    upgrade_text,
    wallet_text,
)
from hermes.ports.people import Person
from hermes.ports.turns import Charge, CreditHold
from hermes.ports.wallet import Wallet

ANN = Person(id="p_1", created_at=1.0, tier="free")
PRO = Person(id="p_1", created_at=1.0, tier="pro")
WALLETS = CreditSettings(policy="wallet", price_per_message=2, start_grant=9)
TIERS = CreditSettings(
    policy="wallet",
    tiers={
        "pro": CreditTier(policy="unlimited"),
        "cheap": CreditTier(price_per_message=0),
        "rich": CreditTier(start_grant=500, price_per_message=3),
    },
)
WALLET = Wallet(person_id="p_1", balance=4, is_limited=True, code="K7QM4XWP3H")


def event(*, internal: bool = False) -> MessageEvent:
    return MessageEvent(
        account="a",
        route="r",
        external_id="x",
        source=Source(platform="rest", chat_id="c", user_id="u"),
        parts=(TextPart("hello"),),
        at=1.0,
        internal=internal,
    )


@pytest.mark.req("A5")
@pytest.mark.parametrize(
    ("tier", "terms"),
    [
        (None, Terms(True, 1, 20)),
        ("free", Terms(True, 1, 20)),
        ("pro", Terms(False, 1, 20)),
        ("cheap", Terms(True, 0, 20)),
        ("rich", Terms(True, 3, 500)),
    ],
)
def test_a_tier_changes_what_its_entry_names(tier: str | None, terms: Terms) -> None:
    assert terms_for(tier, TIERS) == terms


@pytest.mark.req("A5", "J11")
@pytest.mark.parametrize(
    ("person", "settings", "hold"),
    [
        (ANN, CreditSettings(), CreditHold("p_1", 1)),
        (ANN, WALLETS, CreditHold("p_1", 2, limited=True, start_grant=9)),
        (PRO, TIERS, CreditHold("p_1", 1)),
        (None, WALLETS, CreditHold("p_1", 2, limited=True, start_grant=9)),
        (ANN, CreditSettings(price_per_message=0), None),
    ],
)
def test_a_hold_is_limited_where_the_policy_is_a_wallet(
    person: Person | None, settings: CreditSettings, hold: CreditHold | None
) -> None:
    assert hold_for(event(), "p_1", person=person, settings=settings) == hold


@pytest.mark.req("A5", "J14")
def test_a_subagents_message_sets_nothing_aside() -> None:
    assert hold_for(event(internal=True), "p_1", person=ANN, settings=WALLETS) is None


@pytest.mark.req("A5")
@pytest.mark.parametrize(
    ("balance", "is_limited", "limited", "expected"),
    [
        (1, True, True, True),
        (2, True, True, False),
        (-5, False, True, False),
        (-5, True, False, False),
    ],
)
def test_only_an_open_wallet_with_too_little_cannot_pay(
    balance: int, is_limited: bool, limited: bool, expected: bool
) -> None:
    wallet = Wallet(person_id="p_1", balance=balance, is_limited=is_limited)

    assert cannot_pay(wallet, CreditHold("p_1", 2, limited=limited)) is expected
    assert cannot_pay(None, CreditHold("p_1", 2, limited=limited)) is False


@pytest.mark.req("A6", "A7", "J11")
def test_a_hold_is_captured_for_what_was_delivered_and_released_otherwise() -> None:
    hold = CreditHold("p_1", 3)

    assert charge_for(hold, delivered=True) == Charge(person_id="p_1", amount=3, captured=True)
    assert charge_for(hold, delivered=False) == Charge(person_id="p_1", amount=3, captured=False)
    assert charge_for(None, delivered=True) is None


@pytest.mark.req("A5")
def test_the_upgrade_message_names_the_code_the_balance_and_the_price() -> None:
    settings = CreditSettings(upgrade_message="{balance}/{price} {{x}} {referral_code}")
    error = NoCredits(balance=1, price=2)

    assert upgrade_text(WALLET, error, settings=settings) == "1/2 {x} K7QM4-XWP3H"
    assert upgrade_text(None, error, settings=settings) == "1/2 {x} none"
    assert "K7QM4-XWP3H" in upgrade_text(WALLET, error, settings=CreditSettings())


@pytest.mark.req("A5")
@pytest.mark.parametrize(
    "text", ["{code}", "{balance.real}", "{0}", "{balance", "{balance!r}", "{price:>9}", ""]
)
def test_an_upgrade_message_with_fields_that_nobody_fills_in_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="upgrade_message"):
        CreditSettings(upgrade_message=text)


@pytest.mark.req("A5")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("/credits", ""),
        (" /credits ", ""),
        ("/Credits@bot", ""),
        ("/credits k7qm4-xwp3h ", "k7qm4-xwp3h"),
        ("/creditsx", None),
        ("credits", None),
        ("what are my /credits", None),
    ],
)
def test_the_command_is_told_from_what_is_said(text: str, code: str | None) -> None:
    assert parse_credits(text) == code


@pytest.mark.req("A5")
def test_a_person_is_told_what_they_have_or_will_have() -> None:
    limited, free = Terms(True, 1, 20), Terms(False, 1, 20)
    closed = Wallet(person_id="p_1", balance=-7, code="K7QM4XWP3H")
    again = Wallet(person_id="p_1", balance=-7, code="K7QM4XWP3H", had_start=True)

    assert wallet_text(WALLET, limited) == (
        "You have 4 credits; a message costs 1. Your referral code is K7QM4-XWP3H."
    )
    assert wallet_text(closed, limited).startswith("You have 20 credits;")
    assert wallet_text(again, limited).startswith("You have 0 credits;")
    assert wallet_text(WALLET, free) == (
        "Your messages are free. Your referral code is K7QM4-XWP3H."
    )
    assert [start_to_come(one, limited) for one in (closed, again, None)] == [20, 0, 20]
    assert start_to_come(closed, free) == 0


@pytest.mark.req("A5")
def test_a_newcomer_is_told_what_the_code_gave() -> None:
    def told(bonus: int) -> str:
        referral = Referral(
            code="K7QM4XWP3H", person_id="p_2", referred_by="p_1", bonus=bonus, changed=True
        )
        return referral_text(referral)

    assert told(1).startswith("Welcome! The code K7QM4-XWP3H gives 1 credit to you")
    assert told(0) == "Thank you: I noted the code K7QM4-XWP3H."
