"""Credits: what a message holds before the work, and how the hold ends."""

import msgspec

from hermes.config import CreditSettings
from hermes.message.event import MessageEvent
from hermes.ports.people import Person
from hermes.ports.turns import Charge, CreditHold
from hermes.ports.wallet import Wallet


class Terms(msgspec.Struct, frozen=True):
    """The terms of one person: whether credits limit them, the price, the starting credits."""

    limited: bool
    price: int
    start_grant: int


def terms_for(tier: str | None, settings: CreditSettings) -> Terms:
    """Return the terms of a tier; what its entry omits comes from the common terms."""
    own = settings.tiers.get(tier or "")
    policy = settings.policy if own is None or own.policy is None else own.policy
    price, start = settings.price_per_message, settings.start_grant
    if own is not None:
        price = price if own.price_per_message is None else own.price_per_message
        start = start if own.start_grant is None else own.start_grant
    return Terms(policy == "wallet", price, start)


def hold_for(
    event: MessageEvent, person_id: str, *, person: Person | None, settings: CreditSettings
) -> CreditHold | None:
    """Return how much to hold; a subagent's messages are paid by its parent's message."""
    if event.internal:
        return None
    terms = terms_for(None if person is None else person.tier, settings)
    if terms.price == 0:
        return None
    if not terms.limited:
        return CreditHold(person_id, terms.price)
    return CreditHold(person_id, terms.price, limited=True, start_grant=terms.start_grant)


def cannot_pay(wallet: Wallet | None, hold: CreditHold) -> bool:
    """Return whether a hold must fail; a wallet that is not open yet may still get its grant."""
    return (
        hold.limited and wallet is not None and wallet.is_limited and wallet.balance < hold.amount
    )


def charge_for(hold: CreditHold | None, *, delivered: bool) -> Charge | None:
    """End a hold: captured if something was delivered or shown, otherwise released."""
    if hold is None:
        return None
    return Charge(person_id=hold.person_id, amount=hold.amount, captured=delivered)
