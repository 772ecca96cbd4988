"""The tools of a live replay: they run for real, but only where nobody has to agree to it first."""

from collections.abc import Mapping
from typing import NoReturn, Protocol

from hermes.config import Settings
from hermes.errors import ToolError
from hermes.message.chat import ChatMessage
from hermes.message.parts import ToolCallPart
from hermes.pipeline.replays.answers import ReplayEnded
from hermes.pipeline.turn import Turn
from hermes.ports.tool import AsksByCall, Tool, ToolContext
from hermes.tools.arguments import checked_arguments
from hermes.tools.executor import MaskResult, run_tool

_EVERY_TOOL = "*"


class LiveToolServices(Protocol):
    """What running tools needs."""

    @property
    def tools(self) -> Mapping[str, Tool]: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def mask_result(self) -> MaskResult: ...


async def find_tool(turn: Turn, call: ToolCallPart, services: LiveToolServices) -> Tool:
    """Return the tool of a call; raises `ReplayEnded` if it may not be run in a replay."""
    offered = any(spec.name == call.name for spec in turn.tools)
    tool = services.tools.get(call.name) if offered else None
    if tool is None:
        raise ReplayEnded(
            "no_such_tool", f"The model called {call.name}, which is no tool of this gateway now."
        )
    if await _needs_approval(turn, call, tool):
        raise ReplayEnded(
            "needs_approval",
            f"The model called {call.name}, which somebody has to allow. In a replay nobody is asked.",
        )
    return tool


async def run_live(
    turn: Turn, call: ToolCallPart, tool: Tool, *, number: int, services: LiveToolServices
) -> ChatMessage:
    """Run a tool as a turn does, and return its result as the model sees it."""
    result = await run_tool(
        tool,
        call,
        context=_context(turn, number),
        timeout_s=services.settings.turns.tool_timeout_s,
        mask=services.mask_result,
    )
    return ChatMessage("tool", (result,))


async def _needs_approval(turn: Turn, call: ToolCallPart, tool: Tool) -> bool:
    """Return whether somebody has to agree to a call, as for a turn."""
    named = turn.agent.settings.approvals.tools
    if tool.traits.needs_approval or call.name in named or _EVERY_TOOL in named:
        return True
    if not isinstance(tool, AsksByCall):
        return False
    try:
        arguments = checked_arguments(call, tool.spec)
    except ToolError:
        # Nothing will be run, and the model is told why.
        return False
    return await tool.approver(arguments, _context(turn, -1)) != "nobody"


def _context(turn: Turn, number: int) -> ToolContext:
    """Return what a tool gets: nobody can be asked, and what is private stays so."""
    return ToolContext(
        turn_id=turn.id,
        ordinal=number,
        person_id=turn.person_id,
        lane=turn.lane,
        run_child=_no_child,
        call=number,
        may_read_history=False,
        skills=turn.skills,
        folder=turn.agent.settings.adapter.folder,
    )


async def _no_child(_text: str, _agent: str) -> NoReturn:
    raise ToolError("a replay starts no other agents")
