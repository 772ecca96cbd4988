"""What a turn does when all places for model calls are taken: it writes what it has, and that it waits."""

import structlog

from hermes.errors import StorageFull, StoreError
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.steps import TimelineEvent
from hermes.ports.turns import WAITS_FOR_PLACE

_log = structlog.get_logger(__name__)


async def note_wait(turn: Turn, ctx: TurnContext) -> None:
    """Write at once that the turn waits for a place: `hermes why` has to know it now.

    The results of its tools are written too: they must outlive whatever ends this process meanwhile.
    """
    ctx.journal.waits_for_place = True
    if ctx.journal.begun:
        await ctx.journal.write_results(turn)
    event = TimelineEvent(WAITS_FOR_PLACE, ctx.services.clock.now())
    try:
        await ctx.services.store.inbox.note(turn.id, event)
    except (StoreError, StorageFull) as error:
        _log.warning("wait_not_noted", message_id=turn.id, problem=str(error))
