"""Credits: what a message sets aside before the work, and what its end makes of it."""

from hermes.config import CreditSettings
from hermes.message.event import MessageEvent
from hermes.ports.records import Charge, Hold


def hold_for(event: MessageEvent, person_id: str, *, settings: CreditSettings) -> Hold | None:
    """Return what to set aside; subagents' messages are paid by their parent's."""
    if event.internal:
        return None
    return Hold(person_id, settings.price_per_message)


def charge_for(hold: Hold | None, *, delivered: bool) -> Charge | None:
    """End a hold: captured when something was delivered or shown, otherwise released."""
    if hold is None:
        return None
    return Charge(person_id=hold.person_id, amount=hold.amount, captured=delivered)
