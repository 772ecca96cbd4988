"""`delegate_task`, `delegate_task_async` and `task_*`: tasks for other agents, one or several at once.

They are offered to agents whose settings name a team (`delegates`). The turn's team decides who may get a
task and whose tasks may be looked at; what they said comes back as JSON, as data.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec

from hermes.errors import ToolError
from hermes.ports.provider import ToolSpec
from hermes.ports.tool import DelegatedTask, Team, ToolContext, ToolTraits
from hermes.tools.builtin.delegate import INTENT

DELEGATE: Final = "delegate_task"
DELEGATE_ASYNC: Final = "delegate_task_async"
# Longer than any task may take: the team stops one whose time is up.
_BEYOND_LIMIT_S: Final = 120.0
_LONGEST_TASK: Final = 100_000
_LONGEST_WAIT_S: Final = 60
# Any: JSON schemas.
_Schema = dict[str, Any]


class _Given(msgspec.Struct, forbid_unknown_fields=True):
    workspaces: tuple[str, ...]
    task: str


class _Asked(msgspec.Struct, forbid_unknown_fields=True):
    task_id: str
    wait_s: float = 0.0


class TasksReport(msgspec.Struct, frozen=True):
    """Tasks, as models and programs see them."""

    tasks: tuple[DelegatedTask, ...]


def tasks_json(tasks: Sequence[DelegatedTask]) -> str:
    """Return tasks as JSON; raises `ToolError` with it if there is an error in each."""
    text = msgspec.json.encode(TasksReport(tuple(tasks))).decode()
    if all(one.error for one in tasks):
        raise ToolError(text)
    return text


class TeamTool:
    """One of the tools; implements the tool port."""

    def __init__(
        self,
        spec: ToolSpec,
        act: Callable[[Team, msgspec.Raw], Awaitable[str]],
        *,
        timeout_s: float | None = None,
    ) -> None:
        self.spec = spec
        self.traits = ToolTraits(
            idempotent=True,
            cancellable=True,
            parallel=True,
            timeout_s=timeout_s,
            intents=(INTENT,),
            needs_team=True,
        )
        self._act = act

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        """Do what the call says with the team of its turn."""
        if context.team is None:
            raise ToolError("there is no team here")
        return await self._act(context.team, arguments)


def team_tools(limit_s: float) -> tuple[TeamTool, ...]:
    """Return the tools; `limit_s` is the time limit of a task."""
    return (
        TeamTool(_DELEGATE, _delegate_and_wait, timeout_s=limit_s + _BEYOND_LIMIT_S),
        TeamTool(_DELEGATE_ASYNC, _delegate),
        TeamTool(_STATUS, _status),
        TeamTool(_RESULT, _result, timeout_s=_BEYOND_LIMIT_S),
        TeamTool(_CANCEL, _cancel),
    )


async def _delegate_and_wait(team: Team, arguments: msgspec.Raw) -> str:
    given = msgspec.json.decode(arguments, type=_Given)
    return tasks_json(await team.delegate(given.task, given.workspaces, waits=True))


async def _delegate(team: Team, arguments: msgspec.Raw) -> str:
    given = msgspec.json.decode(arguments, type=_Given)
    return tasks_json(await team.delegate(given.task, given.workspaces, waits=False))


async def _status(team: Team, arguments: msgspec.Raw) -> str:
    asked = msgspec.json.decode(arguments, type=_Asked)
    task = await team.look(asked.task_id)
    return msgspec.json.encode(TasksReport((msgspec.structs.replace(task, reply=""),))).decode()


async def _result(team: Team, arguments: msgspec.Raw) -> str:
    asked = msgspec.json.decode(arguments, type=_Asked)
    return tasks_json((await team.look(asked.task_id, wait_s=asked.wait_s),))


async def _cancel(team: Team, arguments: msgspec.Raw) -> str:
    asked = msgspec.json.decode(arguments, type=_Asked)
    return msgspec.json.encode(TasksReport((await team.cancel(asked.task_id),))).decode()


def _spec(name: str, description: str, **properties: _Schema) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key != "wait_s"],
        "additionalProperties": False,
    }
    return ToolSpec(name, description, msgspec.Raw(msgspec.json.encode(schema)))


_WHO: Final[_Schema] = {
    "type": "array",
    "items": {"type": "string", "minLength": 1},
    "minItems": 1,
    "description": "The names of the workspaces that get the task, all at once.",
}
_TASK: Final[_Schema] = {"type": "string", "minLength": 1, "maxLength": _LONGEST_TASK}
_ID: Final[_Schema] = {"type": "string", "minLength": 1, "description": "The task_id."}
_WAIT: Final[_Schema] = {
    "type": "number",
    "minimum": 0,
    "maximum": _LONGEST_WAIT_S,
    "description": "How many seconds to wait for the end, if it has not come.",
}
_SELF_CONTAINED: Final = (
    "A workspace knows nothing of this conversation: put all it needs into the task. For different "
    "tasks make several calls; they run side by side."
)
_DELEGATE: Final = _spec(
    DELEGATE,
    f"Give one task to one or several workspaces and wait for their answers. {_SELF_CONTAINED}",
    workspaces=_WHO,
    task=_TASK,
)
_DELEGATE_ASYNC: Final = _spec(
    DELEGATE_ASYNC,
    "Give one task to one or several workspaces and get task ids at once, without waiting. "
    f"{_SELF_CONTAINED}",
    workspaces=_WHO,
    task=_TASK,
)
_STATUS: Final = _spec("task_status", "Tell how far a delegated task is.", task_id=_ID)
_RESULT: Final = _spec(
    "task_result", "Get the answer of a delegated task, if it has ended.", task_id=_ID, wait_s=_WAIT
)
_CANCEL: Final = _spec(
    "task_cancel", "Stop a delegated task and everything it has started.", task_id=_ID
)
