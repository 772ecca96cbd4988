"""Running one tool: bounded in time, its failures told to the model instead of raised."""

import asyncio

import msgspec
import structlog

from hermes import failpoints
from hermes.errors import ToolError
from hermes.message.parts import ToolCallPart, ToolResultPart
from hermes.ports.tool import Tool, ToolContext

_MAX_RESULT_CHARS = 100_000
_log = structlog.get_logger(__name__)


async def run_tool(
    tool: Tool, call: ToolCallPart, *, context: ToolContext, timeout_s: float
) -> ToolResultPart:
    """Run the tool and return its result as a part; a failure is a result too."""
    limit = tool.traits.timeout_s or timeout_s
    try:
        arguments = _checked(call)
        async with failpoints.outside("tool.run"), asyncio.timeout(limit):
            text = await tool.run(arguments, context)
    except ToolError as error:
        return _failure(call, str(error))
    except TimeoutError:
        return _failure(call, f"the tool {call.name} gave no result within {limit:g} s")
    except Exception as error:  # noqa: BLE001  tool boundary: its code must not end the turn
        _log.exception("tool_crashed", tool=call.name, message_id=context.turn_id)
        return _failure(call, f"the tool {call.name} crashed: {type(error).__name__}")
    return ToolResultPart(call.id, call.name, text[:_MAX_RESULT_CHARS])


def outcome_unknown(call: ToolCallPart) -> ToolResultPart:
    """Return the result of a tool that was running when the process died."""
    return _failure(
        call,
        f"outcome unknown: the tool {call.name} was started and its result was lost; "
        "it may or may not have taken effect, and it was not run again",
    )


def unknown_tool(call: ToolCallPart) -> ToolResultPart:
    """Return the result for a tool that does not exist or is not allowed here."""
    return _failure(call, f"there is no tool {call.name!r} here; use one of the listed tools")


def denied(call: ToolCallPart, reason: str) -> ToolResultPart:
    """Return the result of a tool call that a person did not allow."""
    return _failure(call, f"the tool {call.name} was not run: {reason}")


def _checked(call: ToolCallPart) -> msgspec.Raw:
    raw = call.arguments or "{}"
    try:
        decoded = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise ToolError(f"the arguments of {call.name} are not valid JSON: {error}") from error
    if not isinstance(decoded, dict):
        raise ToolError(f"the arguments of {call.name} must be a JSON object")
    return msgspec.Raw(raw.encode())


def _failure(call: ToolCallPart, text: str) -> ToolResultPart:
    return ToolResultPart(call.id, call.name, text, failed=True)
