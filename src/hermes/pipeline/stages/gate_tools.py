"""Stage: which tools the model gets to see."""

import msgspec

from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.tools.gate import gate_tools as allowed_tools


async def gate_tools(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Give the turn the tools that its agent may use."""
    specs = allowed_tools(ctx.services.tools, turn.agent.settings.tools)
    return msgspec.structs.replace(turn, tools=specs)
