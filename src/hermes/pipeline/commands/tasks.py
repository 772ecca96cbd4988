"""`/background`: something to do beside the conversation."""

from hermes.message.session_key import base_lane, is_background
from hermes.pipeline.background import lane_of, put_task, tasks_of, title_of
from hermes.pipeline.commands.effect import Effect, refused
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.texts.say import say, words

_HOW = words("Write /background and what I should do meanwhile; what comes of it is sent here.")


async def start_task(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Start a task whose result comes into this chat when it is done."""
    if not argument:
        return refused(say(_HOW))
    if ctx.services.commands.read(argument) is not None:
        return refused(
            say("A command cannot be done in the background; say what I should do in words.")
        )
    most = ctx.services.settings.busy.max_background
    own = lane_of(turn)
    tasks = await tasks_of(ctx.services, base_lane(turn.lane))
    others = [one for one in tasks if one.lane != own and is_background(one.lane)]
    if len(others) >= most:
        return refused(
            say(
                "I am doing as much in the background as I may already: {count} "
                "(busy.max_background). /status shows it, /stop all stops it.",
                count=len(others),
            )
        )
    accepted = await put_task(turn, ctx, argument)
    ctx.journal.note("background", task=accepted.message_id)
    return Effect(text=say("I do that in the background: {task}", task=title_of(argument)))
