"""Stage: messages of programs that are commands about delegated tasks.

Only a message that came with a credential with that right is read as commands, and only if it is nothing
else: not what it quotes, not what a model or a tool wrote. They need no model, and are no part of the
conversation. A turn that a crash cuts off runs its commands again and finds the tasks that it had given.
"""

import asyncio
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Protocol

import msgspec

from hermes.agents.roster import Agent
from hermes.errors import BadRequest, NoCredits, ToolError, TurnInterrupted
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.pipeline.needs import CreditServices, HasWallets, Lookup, StoppableContext
from hermes.pipeline.no_credits import no_credits_reply
from hermes.pipeline.replies import stopped_reply
from hermes.pipeline.teams import TeamJournal, TeamServices, TeamStore, TurnTeam
from hermes.pipeline.turn import Turn
from hermes.ports.keys import CallerKey
from hermes.ports.tool import DelegatedTask
from hermes.ports.turns import MessageRecord
from hermes.sessions.task_commands import TaskCommand, read_task_commands

_WAIT_S = 60.0
_NO_RIGHT = (
    "This credential may not delegate: `hermes token create --delegate` and `hermes keys create "
    "--delegate` make one that may."
)


class CommandStore(TeamStore, HasWallets, Protocol):
    """A store that knows tasks, what people have left, and keys."""

    @property
    def keys(self) -> Lookup[CallerKey]: ...


class TaskCommandServices(TeamServices, CreditServices, Protocol):
    """What `run_task_commands` uses: delegated tasks, and the key that the message came with."""

    @property
    def store(self) -> CommandStore: ...


class CommandJournal(TeamJournal, Protocol):
    """Leases the lane, so that the turn is known to run."""

    async def begin(self, turn: Turn) -> None: ...


class CredentialReach:
    """What a program may do: use the agents that its credential may use, and see its own tasks."""

    def __init__(self, turn: Turn, key: CallerKey | None) -> None:
        self._turn = turn
        self._is_gone = key is None and turn.event.key is not None
        self._patterns = () if key is None else key.models

    def check(self, agent: Agent | None, name: str) -> None:
        """Raise `ToolError` for an agent that the key may not use, or that is not there."""
        if agent is None:
            raise ToolError(f"there is no workspace {name[:100]!r}")
        if self._is_gone:
            raise ToolError("the key that this message came with was deleted")
        names = (f"agent:{agent.key}", f"agent:{agent.name}")
        if self._patterns and not any(
            fnmatchcase(one, pattern) for one in names for pattern in self._patterns
        ):
            raise ToolError(f"this key may not use the workspace {name[:100]!r}")

    def owns(self, task: MessageRecord) -> bool:
        """Return whether a task was given with the same credential."""
        event, own = task.event, self._turn.event
        return event is not None and (event.key, event.token) == (own.key, own.token)


_Context = StoppableContext[TaskCommandServices, CommandJournal]


async def run_task_commands(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Run the commands that a message is; every other message goes on."""
    try:
        commands = _commands(turn)
    except BadRequest as error:
        return _refused(str(error)) if turn.event.may_delegate else turn
    if not commands:
        return turn
    if not turn.event.may_delegate:
        return _refused(_NO_RIGHT)
    ctx.journal.note("command", name=commands[0].verb, count=len(commands))
    try:
        await ctx.journal.begin(turn)
    except NoCredits as error:
        return await no_credits_reply(turn, ctx, error)
    try:
        with ctx.interrupt.scope():
            tasks = await _run_all(turn, ctx, commands=commands)
    except TurnInterrupted:
        return stopped_reply(turn, "", by=ctx.interrupt.by or "")
    return _reply(tasks, is_work=any(command.delegates for command in commands))


def _commands(turn: Turn) -> tuple[TaskCommand, ...]:
    """Return the commands that a program has written; raises `BadRequest` if they are not whole."""
    event = turn.event
    is_program = bool(event.may_delegate or event.token or event.key)
    if not is_program or event.internal or event.scheduled is not None or event.history:
        return ()
    if turn.is_prompt or turn.joined or not all(isinstance(part, TextPart) for part in event.parts):
        return ()
    return read_task_commands(event.text)


async def _run_all(
    turn: Turn, ctx: _Context, *, commands: Sequence[TaskCommand]
) -> tuple[DelegatedTask, ...]:
    key_id = turn.event.key
    key = None if key_id is None else await ctx.services.store.keys.get(key_id)
    reach = CredentialReach(turn, key)
    async with asyncio.TaskGroup() as group:
        running = [
            group.create_task(_run(command, TurnTeam(turn, ctx, reach=reach, call=number)))
            for number, command in enumerate(commands, start=1)
        ]
    return tuple(task for one in running for task in one.result())


async def _run(command: TaskCommand, team: TurnTeam) -> tuple[DelegatedTask, ...]:
    """Run one command; what went wrong is part of the answer."""
    try:
        if command.delegates:
            waits = command.verb == "delegate_task"
            return await team.delegate(command.text, command.workspaces, waits=waits)
        if command.verb == "task_cancel":
            return (await team.cancel(command.task_id),)
        task = await team.look(
            command.task_id, wait_s=_WAIT_S if command.verb == "task_result" else 0.0
        )
    except ToolError as error:
        named = ", ".join(command.workspaces)
        return (DelegatedTask(workspace=named, task_id=command.task_id, error=str(error)),)
    return (msgspec.structs.replace(task, reply="") if command.verb == "task_status" else task,)


def _reply(tasks: tuple[DelegatedTask, ...], *, is_work: bool) -> Reply:
    """Return the tasks as JSON; the message has failed if there is an error in each."""
    text = msgspec.json.encode({"tasks": tasks}).decode()
    errors = [task.error for task in tasks if task.error]
    if len(errors) == len(tasks):
        return Reply(parts=(TextPart(text),), outcome=Outcome.FAILED, reason=errors[0])
    return Reply(parts=(TextPart(text),), earned=is_work)


def _refused(text: str) -> Reply:
    return Reply(parts=(TextPart(text),), outcome=Outcome.REFUSED, reason=text)
