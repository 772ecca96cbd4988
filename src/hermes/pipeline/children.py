"""Subagents: a tool's turn inside a turn, on a lane that contains the parent turn's id."""

from collections.abc import AsyncIterator
from typing import Protocol

from hermes.agents.roster import Agent
from hermes.errors import AgentNotReady, AgentUnavailable, NotFound, ToolError
from hermes.message.event import Delegation, MessageEvent
from hermes.message.outcome import MessageState, Outcome
from hermes.message.parts import TextPart
from hermes.message.session_key import child_lane
from hermes.pipeline.needs import (
    Follow,
    HasClock,
    HasSettings,
    HasWatch,
    PutChild,
    StageContext,
    ToolJournal,
)
from hermes.pipeline.turn import Turn
from hermes.ports.turns import LaneView, MessageRecord
from hermes.ports.upward import Progress


class FindsAgent(Protocol):
    """Finds an agent by its name; `get` raises `NotFound` if there is none."""

    async def get(self, name: str, /) -> Agent: ...
    async def find(self, name: str, /) -> Agent | None: ...


class MessageStates(Protocol):
    """Knows how far a message is."""

    async def state(self, message_id: str) -> MessageState | None: ...


class LaneViews(Protocol):
    """Shows the next message of a lane."""

    async def view(self, lane: str) -> LaneView: ...


class FirstMessages(Protocol):
    """Knows the first message of a lane."""

    async def first(self, lane: str) -> MessageRecord | None: ...


class HasStates(Protocol):
    """A store that knows how far messages are."""

    @property
    def inbox(self) -> MessageStates: ...
    @property
    def turns(self) -> FirstMessages: ...


class ChildServices(HasClock, HasWatch, HasSettings, Protocol):
    """What a subagent needs: its agent, a place in the inbox, and somebody who follows its turn."""

    @property
    def store(self) -> HasStates: ...
    @property
    def roster(self) -> FindsAgent: ...
    @property
    def put_child(self) -> PutChild: ...
    @property
    def follow(self) -> Follow: ...


def parent_of(event: MessageEvent) -> str:
    """Return the message whose turn started this subagent's."""
    return event.external_id.partition(".")[0]


async def run_child(
    turn: Turn,
    ctx: StageContext[ChildServices, ToolJournal],
    *,
    text: str,
    agent: str,
    call: int,
    ordinal: int,
    has_tools: bool = True,
) -> str:
    """Run a subagent's turn to its end and return its reply; `call` counts the turn's tool calls.

    The message's id is made of the parent's turn and the number of the child in it, so that a
    parent which is resumed finds the child that it had started instead of starting another.
    """
    number = ctx.journal.next_child(call)
    services = ctx.services
    deepest = services.settings.tools.delegate_depth
    if turn.depth >= deepest:
        raise ToolError(f"subagents may be nested {deepest} deep at most")
    try:
        chosen = await services.roster.get(agent or turn.agent.key)
        if agent:
            chosen.check_ready()
    except (NotFound, AgentUnavailable, AgentNotReady) as error:
        raise ToolError(str(error)) from error
    lane = child_lane(turn.lane, turn.id, number=number)
    ctx.journal.took_child(ordinal, lane)
    known = await services.store.turns.first(lane)
    if known is not None:
        return await _reply_of(services, known.id)
    event = child_event(
        turn, text, agent=chosen, number=number, at=services.clock.now(), has_tools=has_tools
    )
    accepted = await services.put_child(event, lane)
    return await _reply_of(services, accepted.message_id)


def child_event(
    turn: Turn,
    text: str,
    *,
    agent: Agent,
    number: str,
    at: float,
    until: float | None = None,
    has_tools: bool = True,
) -> MessageEvent:
    """Return the message by which a turn starts another one, for the same person and on the same key."""
    above = turn.event.delegation
    if above is not None and until is None:
        until = above.until
    agents = (*(() if above is None else above.agents), turn.agent.key)
    return MessageEvent(
        account=turn.event.account,
        route="child",
        external_id=f"{turn.id}.{number}",
        source=turn.event.source,
        parts=(TextPart(text),),
        at=at,
        agent=agent.key,
        key=turn.event.key,
        token=turn.event.token,
        internal=True,
        depth=turn.event.depth,
        scheduled=turn.event.scheduled,
        delegation=Delegation(agents=agents, until=until, has_tools=has_tools),
    )


async def children_of(turns: LaneViews, lane: str, turn_id: str, *, call: int) -> tuple[str, ...]:
    """Return the lanes of the subagents that a tool call of a turn had started, in order."""
    found: list[str] = []
    while True:
        number = str(call) if not found else f"{call}.{len(found) + 1}"
        child = child_lane(lane, turn_id, number=number)
        view = await turns.view(child)
        if view.message is None and view.fence == 0:
            return tuple(found)
        found.append(child)


async def _reply_of(services: ChildServices, message_id: str) -> str:
    return _text(await end_of(services, message_id))


async def end_of(services: ChildServices, message_id: str) -> Progress:
    """Return how a subagent's turn ends, also if a person has to be waited for in between."""
    while True:
        async for progress in services.follow(message_id):
            if progress.kind == "done":
                return progress
        if not await _decided(services, services.watch.subscribe(message_id), message_id):
            raise ToolError("the subagent gave no answer before Hermes stopped")


async def _decided(
    services: ChildServices, updates: AsyncIterator[Progress], message_id: str
) -> bool:
    """Wait until a subagent that asked a person continues; False if this process will not know."""
    async for progress in updates:
        if progress.kind == "status":
            continue
        if progress.kind != "snapshot":
            return progress.kind != "stopping"
        if await services.store.inbox.state(message_id) is not MessageState.PARKED:
            return True
    return False


def _text(progress: Progress) -> str:
    how = "" if progress.outcome is None else f" ({progress.outcome.value})"
    if progress.result is None:
        raise ToolError(f"the subagent ended without an answer{how}")
    if progress.outcome is Outcome.ANSWERED:
        return progress.result.text
    raise ToolError(f"the subagent did not get to an answer{how}: {progress.result.text}")
