"""The work that a turn leaves behind: learning from what its person said, once the session pauses."""

from hermes.message.session_key import graph_name
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.memory import EXTRACT, NewJob


def extraction_of(turn: Turn, ctx: TurnContext) -> NewJob | None:
    """Return the job of a turn's session and person, if facts are learnt at all.

    Nothing is learnt from subagents, nor from programs, whose words are not a person's own.
    """
    settings, event = ctx.services.settings.memory, turn.event
    if not settings.extract or event.internal or event.key is not None or event.history:
        return None
    if event.scheduled is not None:
        return None
    now = ctx.services.clock.now()
    return NewJob(
        kind=EXTRACT,
        key=f"{EXTRACT}:{graph_name(turn.lane, turn.epoch)}:{turn.person_id}",
        lane=turn.lane,
        epoch=turn.epoch,
        person_id=turn.person_id,
        due_at=now + settings.extract_pause_s,
        latest_at=now + settings.extract_after_s,
    )
