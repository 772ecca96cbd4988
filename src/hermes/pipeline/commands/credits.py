"""`/credits`: a person's balance, and booking a referral code."""

from hermes.errors import Refused
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.people.credits import terms_for
from hermes.people.referral import bring_code
from hermes.people.wallet import referral_text, wallet_text
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def tell_credits(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Answer `/credits`; with a code, a turn that is cut off and repeated comes out the same."""
    services, person, code = ctx.services, turn.person, argument
    settings, store = services.settings.credits, services.store
    ctx.journal.note("credits", brings_code=bool(code))
    if not code or person is None:
        terms = terms_for(None if person is None else person.tier, settings)
        return _said(wallet_text(await store.wallets.get(turn.person_id), terms))
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
