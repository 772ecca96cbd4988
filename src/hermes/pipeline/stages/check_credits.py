"""Stage: what the message may spend, and the answers to `/credits`.

What is looked at here only spares work: the first write of the turn checks the balance and sets the
credits aside in one, so that two messages can never spend the same credit.
"""

import msgspec

from hermes.errors import NoCredits, Refused
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.people.credits import cannot_pay, hold_for, terms_for
from hermes.people.referral import bring_code
from hermes.people.wallet import parse_credits, referral_text, wallet_text
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.pipeline.upgrade import upgrade


async def check_credits(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Decide the hold, which the first write of the turn sets aside."""
    services, event = ctx.services, turn.event
    code = None if event.internal else parse_credits(event.text)
    if code is not None:
        return await _tell(turn, ctx, code)
    hold = hold_for(event, turn.person_id, person=turn.person, settings=services.settings.credits)
    if hold is not None and hold.limited:
        wallet = services.store.wallets.get(turn.person_id)
        if wallet is not None and cannot_pay(wallet, hold):
            return upgrade(turn, ctx, NoCredits(balance=wallet.balance, price=hold.amount))
    return msgspec.structs.replace(turn, hold=hold)


async def _tell(turn: Turn, ctx: TurnContext, code: str) -> Reply:
    """Answer `/credits`; with a code, a turn that is cut off and repeated comes out the same."""
    services, person = ctx.services, turn.person
    settings, store = services.settings.credits, services.store
    ctx.journal.note("credits", brings_code=bool(code))
    if not code or person is None:
        terms = terms_for(None if person is None else person.tier, settings)
        return _said(wallet_text(store.wallets.get(turn.person_id), terms))
    try:
        referral = await bring_code(
            store.people,
            store.wallets,
            person=person,
            text=code,
            settings=settings,
            at=services.clock.now(),
        )
    except Refused as error:
        return _said(str(error), outcome=Outcome.REFUSED, code=error.code)
    return _said(referral_text(referral))


def _said(text: str, *, outcome: Outcome = Outcome.ANSWERED, code: str | None = None) -> Reply:
    return Reply(parts=(TextPart(text),), outcome=outcome, code=code)
