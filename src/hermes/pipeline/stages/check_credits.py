"""Stage: what the message may spend. The policy is `unlimited`; the ledger is written all the same."""

import msgspec

from hermes.message.reply import Reply
from hermes.people.credits import hold_for
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def check_credits(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Decide the hold, which the first write of the turn sets aside."""
    hold = hold_for(turn.event, turn.person_id, settings=ctx.services.settings.credits)
    return msgspec.structs.replace(turn, hold=hold)
