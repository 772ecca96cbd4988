"""Delegated tasks: turns of other agents that a turn starts, waits for, looks at and stops.

A task is an accepted message on a lane of its own below the turn; its id is the message's. It is named by
the call that gave it, so a call that is repeated after a crash finds its tasks instead of giving them
again. The turn that gave a task may wait for it, or leave it alone: then it goes on by itself.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol
from weakref import WeakValueDictionary

import msgspec
import structlog

from hermes.agents.roster import Agent
from hermes.errors import Refused, ToolError, TryLater
from hermes.message.outcome import MessageState, Outcome
from hermes.message.session_key import child_lane, root_lane, task_lane
from hermes.pipeline.children import ChildServices, FirstMessages, HasStates, child_event, end_of
from hermes.pipeline.needs import StageContext, StopTurn, TimelineWriter
from hermes.pipeline.turn import Turn
from hermes.ports.tool import DelegatedTask
from hermes.ports.turns import MessageRecord, TurnResult

EVERY_AGENT: Final = "*"
# How much longer than its time a task is waited for: it may be about to end by itself.
_GRACE_S = 5.0
_CANCEL_WAIT_S = 5.0
_SHOWN = 100
_ENDS: dict[Outcome, str] = {
    Outcome.FAILED: "the task failed: {}",
    Outcome.INTERRUPTED: "the task was stopped before it ended",
    Outcome.EXPIRED: "the task waited too long and was given up: {}",
    Outcome.REFUSED: "the task was refused: {}",
}
_log = structlog.get_logger(__name__)


class TaskTurns(FirstMessages, Protocol):
    """Knows what runs below a conversation, and ends it."""

    async def count_below(self, lane: str) -> int: ...
    async def interrupt(self, message_id: str, *, by: str) -> tuple[tuple[str, str], ...]: ...


class TaskInbox(Protocol):
    """Knows messages, and what they answered."""

    async def state(self, message_id: str) -> MessageState | None: ...
    async def get(self, message_id: str, /) -> MessageRecord | None: ...
    async def result(self, message_id: str) -> TurnResult | None: ...


class TeamStore(HasStates, Protocol):
    """A store that knows tasks."""

    @property
    def inbox(self) -> TaskInbox: ...
    @property
    def turns(self) -> TaskTurns: ...


class TeamServices(ChildServices, Protocol):
    """What delegated tasks need beside what subagents do: somebody who stops turns."""

    @property
    def store(self) -> TeamStore: ...
    @property
    def stop_turn(self) -> StopTurn: ...
    @property
    def wake_lane(self) -> Callable[[str], None]: ...
    @property
    def team_locks(self) -> "TeamLocks": ...


class TeamJournal(TimelineWriter, Protocol):
    """Numbers the tasks of a call, and notes where they run."""

    def next_child(self, call: int) -> str: ...
    def took_child(self, ordinal: int, lane: str) -> None: ...


class TeamLocks:
    """Makes one conversation give its tasks one after the other, so that each counts for the next."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, lane: str) -> asyncio.Lock:
        """Return the lock of a conversation."""
        return self._locks.setdefault(root_lane(lane), asyncio.Lock())


class Reach(Protocol):
    """Decides to whom a turn may give tasks, and which tasks are its own."""

    def check(self, agent: Agent | None, name: str) -> None:
        """Raise `ToolError` if the turn may not give a task to an agent, or if there is none."""
        ...

    def owns(self, task: MessageRecord) -> bool:
        """Return whether the turn may look at a task of its person."""
        ...


class AgentReach:
    """What the model of a turn may do: use the team of its agent, and see tasks of its conversation."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def check(self, agent: Agent | None, name: str) -> None:
        """Raise `ToolError` for an agent that is not in the team."""
        team = self._turn.agent.settings.delegates
        is_named = agent is not None and (agent.key in team or agent.name in team)
        if not is_named and EVERY_AGENT not in team:
            known = ", ".join(team)
            raise ToolError(f"{name[:_SHOWN]!r} is not in your team; you may delegate to: {known}")
        if agent is None:
            raise ToolError(f"there is no workspace {name[:_SHOWN]!r}")

    def owns(self, task: MessageRecord) -> bool:
        """Return whether a task was given in this conversation."""
        return root_lane(task.lane) == root_lane(self._turn.lane)


class TurnTeam:
    """The tasks of one tool call, or of one command, of a turn; fits `ports.tool.Team`."""

    def __init__(
        self,
        turn: Turn,
        ctx: StageContext[TeamServices, TeamJournal],
        *,
        reach: Reach,
        call: int,
        ordinal: int = -1,
    ) -> None:
        self._turn = turn
        self._services = ctx.services
        self._journal = ctx.journal
        self._reach = reach
        self._call = call
        self._ordinal = ordinal

    async def delegate(
        self, text: str, workspaces: Sequence[str], *, waits: bool
    ) -> tuple[DelegatedTask, ...]:
        """Give a task to each of the agents; return the tasks, or how they ended."""
        names = tuple(dict.fromkeys(workspaces))
        most = self._services.settings.tools.delegate_width
        if len(names) > most:
            raise ToolError(f"at most {most} workspaces get a task at once: {len(names)} are named")
        tasks = [await self._give(text, name, waits=waits) for name in names]
        if not waits:
            return tuple(tasks)
        async with asyncio.TaskGroup() as group:
            ends = [group.create_task(self._end(one)) for one in tasks]
        return tuple(end.result() for end in ends)

    async def look(self, task_id: str, *, wait_s: float = 0.0) -> DelegatedTask:
        """Return how far a task is, after it has ended or this time."""
        record = await self._owned(task_id)
        if wait_s and record.state is not MessageState.DONE:
            await self._wait(record.id, wait_s)
            record = await self._owned(task_id)
        return await self._told(record)

    async def cancel(self, task_id: str) -> DelegatedTask:
        """Stop a task, and what it has started."""
        record = await self._owned(task_id)
        if record.state is not MessageState.DONE:
            await self._stop(record)
        return await self.look(task_id, wait_s=_CANCEL_WAIT_S)

    async def _give(self, text: str, name: str, *, waits: bool) -> DelegatedTask:
        """Return the task that this call gives to an agent, or why it cannot be given."""
        turn, number = self._turn, self._journal.next_child(self._call)
        make_lane = child_lane if waits else task_lane
        lane = make_lane(turn.lane, turn.id, number=number)
        known = await self._services.store.turns.first(lane)
        if known is not None:
            self._journal.took_child(self._ordinal, lane)
            return DelegatedTask(workspace=name, task_id=known.id, state=known.state)
        try:
            async with self._services.team_locks.of(turn.lane):
                task_id = await self._put(text, name, lane=lane, number=number, waits=waits)
        except (ToolError, Refused, TryLater) as error:
            return DelegatedTask(workspace=name, error=str(error))
        self._journal.took_child(self._ordinal, lane)
        self._journal.note("delegated", task=task_id, workspace=name, waits=waits)
        return DelegatedTask(workspace=name, task_id=task_id, state=MessageState.NEW)

    async def _put(self, text: str, name: str, *, lane: str, number: str, waits: bool) -> str:
        services, turn = self._services, self._turn
        agent = await self._chosen(name)
        await self._check_room()
        now = services.clock.now()
        until = now + services.settings.tools.delegate_limit_s
        above = turn.event.delegation
        if waits and above is not None and above.until is not None:
            until = min(until, above.until)
        event = child_event(turn, text, agent=agent, number=number, at=now, until=until)
        return (await services.put_child(event, lane)).message_id

    async def _chosen(self, name: str) -> Agent:
        """Return the agent of a task; raises `ToolError` if it must not get one."""
        services, turn = self._services, self._turn
        agent = await services.roster.find(name)
        self._reach.check(agent, name)
        assert agent is not None
        above = turn.event.delegation
        if agent.key == turn.agent.key:
            raise ToolError(f"{name!r} is the workspace itself: name another one")
        if above is not None and agent.key in above.agents:
            raise ToolError(f"{name!r} waits for this task itself: that would be a circle")
        deepest = services.settings.tools.delegate_depth
        if turn.depth >= deepest:
            raise ToolError(
                f"tasks may be nested {deepest} deep at most (tools.delegate_depth): do it yourself"
            )
        agent.check_ready()
        return agent

    async def _check_room(self) -> None:
        services = self._services
        most = services.settings.tools.delegate_open
        if await services.store.turns.count_below(root_lane(self._turn.lane)) >= most:
            raise ToolError(
                f"{most} tasks of this conversation have not ended (tools.delegate_open): wait for "
                "some, or cancel them"
            )

    async def _end(self, task: DelegatedTask) -> DelegatedTask:
        """Wait for the end of a task; one that does not end in time is stopped."""
        if not task.task_id:
            return task
        inbox = self._services.store.inbox
        record = await inbox.get(task.task_id)
        if record is not None and record.state is not MessageState.DONE:
            try:
                is_over = await self._wait(record.id, self._left_s(record))
            except ToolError as error:
                return msgspec.structs.replace(task, error=str(error))
            if not is_over:
                return await self._late(task, record)
            record = await inbox.get(task.task_id)
        if record is None:
            return msgspec.structs.replace(task, error="nothing is known of the task any more")
        return await self._told(record, name=task.workspace)

    async def _late(self, task: DelegatedTask, record: MessageRecord) -> DelegatedTask:
        """Stop a task whose time is up: it waits for a person or for a tool that cannot be stopped."""
        _log.warning("task_out_of_time", task_id=record.id, message_id=self._turn.id)
        await self._stop(record)
        error = "the task gave no answer in its time and was stopped (tools.delegate_limit_s)"
        return msgspec.structs.replace(task, error=error)

    def _left_s(self, record: MessageRecord) -> float:
        """Return how long a task is waited for."""
        services = self._services
        event, now = record.event, services.clock.now()
        given = None if event is None else event.delegation
        until = None if given is None else given.until
        limit_s = services.settings.tools.delegate_limit_s
        left_s = limit_s if until is None else min(until - now, limit_s)
        return max(left_s, 0.0) + _GRACE_S

    async def _wait(self, message_id: str, wait_s: float) -> bool:
        """Wait for the end of a task; False if it has not come."""
        try:
            async with asyncio.timeout(wait_s):
                await end_of(self._services, message_id)
        except TimeoutError:
            return False
        return True

    async def _stop(self, record: MessageRecord) -> None:
        """Stop a task for good: also if this process ends right now."""
        services, by = self._services, self._turn.id
        for lane, message_id in await services.store.turns.interrupt(record.id, by=by):
            services.stop_turn(lane, by, message_id=message_id)
            services.wake_lane(lane)

    async def _owned(self, task_id: str) -> MessageRecord:
        """Return a task that the turn may look at; a foreign one is as unknown as one that never was."""
        record = await self._services.store.inbox.get(task_id)
        if (
            record is None
            or record.event is None
            or record.event.delegation is None
            or record.person_id != self._turn.person_id
            or not self._reach.owns(record)
        ):
            raise ToolError(
                f"no task {task_id[:_SHOWN]!r} was given from here, or it is older than the days that "
                "messages are kept"
            )
        return record

    async def _told(self, record: MessageRecord, *, name: str = "") -> DelegatedTask:
        """Return how far a task is, with its reply or why there is none."""
        task = DelegatedTask(
            workspace=name or await self._name_of(record),
            task_id=record.id,
            state=record.state,
            outcome=record.outcome,
        )
        if record.state is not MessageState.DONE:
            return task
        result = await self._services.store.inbox.result(record.id)
        if record.outcome is Outcome.ANSWERED and result is not None:
            return msgspec.structs.replace(task, reply=result.text)
        return _without_answer(task, result)

    async def _name_of(self, record: MessageRecord) -> str:
        key = "" if record.event is None else record.event.agent or ""
        agent = await self._services.roster.find(key)
        return key if agent is None else agent.name or key


def _without_answer(task: DelegatedTask, result: TurnResult | None) -> DelegatedTask:
    """Return a task that ended without an answer, with what is known about that."""
    text = "" if result is None else result.text
    ending = _ENDS.get(task.outcome or Outcome.FAILED, "the task ended without an answer")
    error = ending.format(text or "nothing more is known")
    is_part = result is not None and (result.is_partial or task.outcome is Outcome.INTERRUPTED)
    return msgspec.structs.replace(task, error=error, reply=text if is_part else "")
