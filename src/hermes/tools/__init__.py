"""Tools: which a model may see, and how they are run.

Who writes a tool needs what is named here: `tool`, the `ToolContext` that a function may ask for,
and the `ToolError` whose words the model is told.
"""

from hermes.errors import ToolError
from hermes.ports.tool import ToolContext
from hermes.tools.function_tool import tool

__all__ = ["ToolContext", "ToolError", "tool"]
