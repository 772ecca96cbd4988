"""`/link`: another account of the same person."""

from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def link(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Give a code to link another channel with, or link this one with a code."""
    told = await ctx.services.reception.link(
        turn.event.source, argument, person_id=turn.person_id, message_id=turn.id
    )
    ctx.journal.note("link", result=told.reason)
    return Reply(parts=(TextPart(told.text or ""),), reason=told.reason)
