"""Stage: who wrote. Whoever a channel authenticated is known from the accept on."""

import msgspec

from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def resolve_user(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Give the turn its person."""
    person = ctx.services.store.people.get(turn.person_id)
    return msgspec.structs.replace(turn, person=person)
