"""`/restart`: finish what runs and start again; turns that take too long go on after it."""

from hermes.errors import Conflict
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.texts.say import say, words

_ASKED = words("I finish what I am doing and restart.")
_ALONE = words("I cannot restart from here: nothing would start me again.")


async def restart_gateway(turn: Turn, ctx: TurnContext, _argument: str) -> str:
    """Ask the process to restart, and say so; the command's own commit comes before its end."""
    source, services = turn.event.source, ctx.services

    async def ask() -> None:
        if not services.restart(f"/restart by {source.sender_name}"):
            raise Conflict(say(_ALONE))

    try:
        await services.on_record("gateway.restart", turn.person_id, work=ask)
    except Conflict as error:
        return str(error)
    return say(_ASKED)
