"""Stage: which tools the model gets to see."""

import msgspec

from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.tools.gate import allowed_tools, gate
from hermes.tools.mcp.tool import usable_on


async def gate_tools(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Give the turn the tools that its agent may use and its message can need."""
    settings = turn.agent.settings
    allowed = allowed_tools(ctx.services.tools, settings.tools)
    allowed = usable_on(turn.event.source.platform, allowed)
    if not allowed:
        return turn
    gated = gate(
        turn.event.text,
        turn.history,
        allowed,
        rules=ctx.services.gate_rules,
        attached=any(not isinstance(part, TextPart) for part in turn.event.parts),
        name=settings.name,
    )
    ctx.journal.note(
        "gated",
        rule=gated.rule,
        sent=[spec.name for spec in gated.tools],
        left_out=list(gated.left_out),
        saved_tokens=gated.saved_tokens,
    )
    return msgspec.structs.replace(turn, tools=gated.tools)
