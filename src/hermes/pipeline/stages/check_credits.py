"""Stage: what the message may spend.

What is looked at here only spares work: the first write of the turn checks the balance and sets the
credits aside in one, so that two messages can never spend the same credit.
"""

import msgspec

from hermes.errors import NoCredits
from hermes.message.reply import Reply
from hermes.people.credits import cannot_pay, hold_for
from hermes.pipeline.needs import CreditServices, StageContext, TimelineWriter
from hermes.pipeline.no_credits import no_credits_reply
from hermes.pipeline.turn import Turn


async def check_credits(
    turn: Turn, ctx: StageContext[CreditServices, TimelineWriter]
) -> Turn | Reply:
    """Decide the hold, which the first write of the turn sets aside."""
    services, event = ctx.services, turn.event
    hold = hold_for(event, turn.person_id, person=turn.person, settings=services.settings.credits)
    if hold is not None and hold.limited:
        wallet = await services.store.wallets.get(turn.person_id)
        if wallet is not None and cannot_pay(wallet, hold):
            return await no_credits_reply(
                turn, ctx, NoCredits(balance=wallet.balance, price=hold.amount)
            )
    return msgspec.structs.replace(turn, hold=hold)
