"""The gate: which tools a message's model call gets to see."""

from collections.abc import Mapping

from hermes.ports.provider import ToolSpec
from hermes.ports.tool import Tool

EVERY_TOOL = "*"


def gate_tools(tools: Mapping[str, Tool], allowed: tuple[str, ...]) -> tuple[ToolSpec, ...]:
    """Return the specs of the tools that an agent may use, in a stable order."""
    if EVERY_TOOL in allowed:
        return tuple(tools[name].spec for name in sorted(tools))
    return tuple(tools[name].spec for name in sorted(allowed) if name in tools)
