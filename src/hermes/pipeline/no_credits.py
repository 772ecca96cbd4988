"""The end of a turn that the person's credits do not pay for: nothing ran, nothing is charged."""

from hermes.errors import NoCredits
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.people.wallet import upgrade_text
from hermes.pipeline.needs import CreditServices, StageContext, TimelineWriter
from hermes.pipeline.turn import Turn


async def no_credits_reply(
    turn: Turn, ctx: StageContext[CreditServices, TimelineWriter], error: NoCredits
) -> Reply:
    """Return the upgrade message with the person's referral code."""
    services = ctx.services
    wallet = await services.store.wallets.get(turn.person_id)
    text = upgrade_text(wallet, error, settings=services.settings.credits)
    ctx.journal.note("no_credits", balance=error.balance, price=error.price)
    return Reply(
        parts=(TextPart(text),), outcome=Outcome.REFUSED, reason=str(error), code=error.code
    )
