"""Credits: what a message sets aside before the work, and what its end makes of it."""

import msgspec

from hermes.config import CreditSettings
from hermes.message.event import MessageEvent
from hermes.ports.people import Person
from hermes.ports.turns import Charge, CreditHold
from hermes.ports.wallet import Wallet


class Terms(msgspec.Struct, frozen=True):
    """What holds for one person: whether their credits are a limit, the price, the start."""

    limited: bool
    price: int
    start_grant: int


def terms_for(tier: str | None, settings: CreditSettings) -> Terms:
    """Return the terms of a tier; what its entry leaves out is everybody's."""
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
    """Return what to set aside; subagents' messages are paid by their parent's."""
    if event.internal:
        return None
    terms = terms_for(None if person is None else person.tier, settings)
    if terms.price == 0:
        return None
    if not terms.limited:
        return CreditHold(person_id, terms.price)
    return CreditHold(person_id, terms.price, limited=True, start_grant=terms.start_grant)


def cannot_pay(wallet: Wallet | None, hold: CreditHold) -> bool:
    """Tell whether a hold has no chance; a wallet that has not opened yet may get its grant."""
    return (
        hold.limited and wallet is not None and wallet.is_limited and wallet.balance < hold.amount
    )


def charge_for(hold: CreditHold | None, *, delivered: bool) -> Charge | None:
    """End a hold: captured when something was delivered or shown, otherwise released."""
    if hold is None:
        return None
    return Charge(person_id=hold.person_id, amount=hold.amount, captured=delivered)
