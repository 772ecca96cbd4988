"""Stage: who wrote, and whether they are answered."""

from typing import Protocol

import msgspec

from hermes.agents.roster import AgentRule
from hermes.message.reply import Reply
from hermes.message.source import Source
from hermes.pipeline.admission import AdmissionServices, turned_away
from hermes.pipeline.needs import Lookup, StageContext, TimelineWriter
from hermes.pipeline.turn import Turn
from hermes.ports.people import Person


class FindsAgentRule(Protocol):
    """Finds the rule that chooses the agent of a message."""

    def rule_for(self, source: Source, *, person_id: str | None = None) -> AgentRule | None: ...


class HasPeople(Protocol):
    """A store that knows people."""

    @property
    def people(self) -> Lookup[Person]: ...


class UserServices(AdmissionServices, Protocol):
    """What `resolve_user` uses: who is answered, by which agent, and who they are."""

    @property
    def roster(self) -> FindsAgentRule: ...
    @property
    def store(self) -> HasPeople: ...


async def resolve_user(turn: Turn, ctx: StageContext[UserServices, TimelineWriter]) -> Turn | Reply:
    """Resolve the sender to a person; end the turn if the person may not use Hermes."""
    away = await turned_away(turn, ctx)
    if away is not None:
        return away
    services = ctx.services
    rule = services.roster.rule_for(turn.event.source, person_id=turn.person_id)
    if rule is not None and rule.agent == turn.agent.key:
        ctx.journal.note("agent", agent=rule.agent, rule=rule.place)
    return msgspec.structs.replace(turn, person=await services.store.people.get(turn.person_id))
