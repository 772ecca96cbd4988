"""Whether what is known of a turn's person may be told where the turn runs."""

from hermes.message.session_key import is_direct
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.memory import Soul


def is_private(turn: Turn, ctx: TurnContext) -> bool:
    """Tell whether the person alone reads along: a direct chat in which nobody else has written.

    What a subagent finds out is told in the chat that it works for.
    """
    if not is_direct(turn.lane):
        return False
    root = turn.lane.partition("/")[0]
    if root == turn.lane:
        soul = turn.soul or ctx.services.store.souls.get(turn.lane, turn.epoch)
        return _is_theirs(turn, soul)
    view = ctx.services.store.turns.view(root)
    soul = ctx.services.store.souls.get(root, view.epoch)
    if soul is None and view.head == 0 and view.message is not None:
        return view.message.person_id == turn.person_id
    return _is_theirs(turn, soul)


def _is_theirs(turn: Turn, soul: Soul | None) -> bool:
    return soul is not None and soul.shared_from is None and soul.person_id == turn.person_id
