"""Stage: what was said before in this session, and in no other."""

from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def load_history(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Give the turn its session's newest entries."""
    said = ctx.services.store.transcripts.history(
        turn.lane,
        epoch=turn.epoch,
        head=turn.head,
        limit=ctx.services.settings.turns.history_messages,
        cut=turn.retry or 0,
    )
    return turn.after(said)
