"""Running a tool outside of a turn."""

import msgspec

from hermes.message.parts import ToolCallPart, ToolResultPart
from hermes.ports.tool import Tool, ToolContext
from hermes.tools.executor import run_tool


async def no_child(_text: str, _agent: str) -> str:
    raise AssertionError("this tool has no subagent")


CONTEXT = ToolContext(turn_id="m_1", ordinal=3, person_id="p_1", lane="lane", run_child=no_child)


async def ran(tool: Tool, arguments: object = None, *, timeout_s: float = 30.0) -> ToolResultPart:
    """Run a tool as a turn would, with arguments as JSON text or as values."""
    text = (
        arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
    )
    call = ToolCallPart("c1", tool.spec.name, text)
    return await run_tool(tool, call, context=CONTEXT, timeout_s=timeout_s)
