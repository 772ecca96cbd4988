"""Stage: which tools the model gets to see.

They stand before everything else in a request, so a list that changes from message to message makes
a service read the whole session anew.
"""

import msgspec

from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.tools.gate import OPENING, Gated, gate, only_small_talk
from hermes.tools.tool_sets import ToolSet


async def gate_tools(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Give the turn the tools that its agent may use and its session can need."""
    offered = ctx.services.tool_sets.of(turn.agent.settings.tools, turn.event.source.platform)
    if not offered.tools:
        return turn
    gated = _gated(turn, ctx, offered)
    ctx.journal.note(
        "gated",
        rule=gated.rule,
        sent=gated.names,
        left_out=gated.left_out,
        saved_tokens=gated.saved_tokens,
    )
    return msgspec.structs.replace(turn, tools=gated.tools)


def _gated(turn: Turn, ctx: TurnContext, offered: ToolSet) -> Gated:
    rules, event = ctx.services.gate_rules, turn.event
    if rules.mode == "off":
        return offered.whole
    attached = any(not isinstance(part, TextPart) for part in event.parts)
    name = turn.agent.settings.name
    if rules.mode == "always":
        return gate(
            event.text, turn.history, offered.tools, rules=rules, attached=attached, name=name
        )
    is_opening = turn.head <= OPENING and only_small_talk(
        event.text,
        turn.history,
        rules=rules,
        attached=attached,
        name=name,
        chars_before=sum(map(len, turn.system)),
    )
    return offered.none if is_opening else offered.whole
