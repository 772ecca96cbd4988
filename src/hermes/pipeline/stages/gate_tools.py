"""Stage: which tools the model gets to see.

They stand before everything else in a request, so a list that changes from message to message makes
a service read the whole session again.
"""

from typing import Protocol

import msgspec

from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.needs import HasToolSets, StageContext, TimelineWriter
from hermes.pipeline.turn import Turn
from hermes.tools.gate import OPENING, GatedTools, gate, only_small_talk
from hermes.tools.gate_rules import GateRules, LateGateRules
from hermes.tools.tool_sets import ToolSet


class GateServices(HasToolSets, Protocol):
    """What `gate_tools` uses: the tools of agents, and the rules of the gate."""

    @property
    def gate_rules(self) -> LateGateRules: ...


_Context = StageContext[GateServices, TimelineWriter]


async def gate_tools(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Give the turn the tools that its agent may use and its session can need."""
    if turn.event.delegation is not None and not turn.event.delegation.has_tools:
        return turn
    settings, platform = turn.agent.settings, turn.event.source.platform
    offered = ctx.services.tool_sets.of(
        settings.tools,
        platform,
        has_memory=not turn.is_temporary,
        has_team=bool(settings.delegates),
        has_skills=bool(turn.skills),
    )
    if not offered.tools:
        return turn
    late = ctx.services.gate_rules
    gated = offered.whole if late.mode == "off" else _gated(turn, await late.get(), offered)
    ctx.journal.note(
        "gated",
        rule=gated.rule,
        sent=gated.names,
        left_out=gated.left_out,
        saved_tokens=gated.saved_tokens,
    )
    return msgspec.structs.replace(turn, tools=gated.tools)


def _gated(turn: Turn, rules: GateRules, offered: ToolSet) -> GatedTools:
    event = turn.event
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
