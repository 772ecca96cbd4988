"""Tools: which ones a model may see, and how they are run.

Authors of tools need the names listed here: `tool`, the `ToolContext` that a function may ask for,
and `ToolError`, whose text the model receives.
"""

from hermes.errors import ToolError
from hermes.ports.tool import ToolContext
from hermes.tools.function_tool import tool

__all__ = ["ToolContext", "ToolError", "tool"]
