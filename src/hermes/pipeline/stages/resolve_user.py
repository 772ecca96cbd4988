"""Stage: who wrote, whether they are answered, and the commands that need no model."""

import msgspec

from hermes.message.reply import Reply
from hermes.pipeline.admission import turned_away
from hermes.pipeline.commands.in_lane import answer_command
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn


async def resolve_user(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Give the turn its person, or end it for those who are not let in."""
    away = await turned_away(turn, ctx)
    if away is not None:
        return away
    services = ctx.services
    rule = services.roster.rule_for(turn.event.source, person_id=turn.person_id)
    if rule is not None and rule.agent == turn.agent.key:
        ctx.journal.note("agent", agent=rule.agent, rule=f"agent_rules.{rule.name}")
    turn = msgspec.structs.replace(turn, person=services.store.people.get(turn.person_id))
    return await answer_command(turn, ctx)
