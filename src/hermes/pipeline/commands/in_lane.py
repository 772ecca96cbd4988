"""Commands that stand in the lane and need no model: they wait for what runs, and end the turn."""

from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.admission import refusal_of
from hermes.pipeline.commands.plugin_commands import run_plugged
from hermes.pipeline.commands.table import IN_LANE
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def answer_command(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Return the answer to a command, or the refusal of one; every other message goes on."""
    if turn.event.internal:
        return turn
    written = ctx.services.commands.read(turn.event.text)
    if written is None or written.spec is None or written.spec.beside:
        return turn
    ctx.journal.note("command", name=written.name)
    refusal = refusal_of(written.spec, turn, ctx)
    if refusal is None and ctx.services.hooks is not None:
        refusal = await ctx.services.hooks.refusal(written, turn)
    if refusal is not None:
        return refusal
    act = IN_LANE.get(written.name)
    if act is None:
        return Reply(parts=(TextPart(await run_plugged(written, turn, ctx)),))
    return await act(turn, ctx, written.argument)
