"""Stage: what was said before in this session, and in no other."""

from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.session_keep import signature_of
from hermes.pipeline.turn import Turn


async def load_history(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Give the turn its session's newest entries."""
    use_session(turn, ctx)
    said = ctx.services.store.transcripts.history(
        turn.lane,
        epoch=turn.epoch,
        head=turn.head,
        limit=ctx.services.settings.turns.history_messages,
        cut=turn.retry or 0,
    )
    return turn.after(said)


def use_session(turn: Turn, ctx: TurnContext) -> None:
    """Say that what is ready of a session is used now; a subagent's lane is none."""
    if turn.event.internal:
        return
    services = ctx.services
    setup = signature_of(turn, services.planner.default_model, tools=services.tool_sets.version)
    services.session_keep.use(turn.lane, setup)
