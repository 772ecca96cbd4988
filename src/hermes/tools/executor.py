"""Runs one tool: checks its arguments, limits its time, and reports failures to the model."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from hermes import failpoints
from hermes.errors import ToolError
from hermes.message.parts import ToolCallPart, ToolResultPart
from hermes.ports.tool import Tool, ToolContext
from hermes.tools.arguments import checked_arguments
from hermes.tools.result_limit import kept_text

_log = structlog.get_logger(__name__)


# Returns a text without secrets.
MaskResult = Callable[[str], Awaitable[str]]


async def unmasked(text: str) -> str:
    """Return a text as it is: there are no secrets."""
    return text


async def run_tool(
    tool: Tool,
    call: ToolCallPart,
    *,
    context: ToolContext,
    timeout_s: float,
    mask: MaskResult = unmasked,
) -> ToolResultPart:
    """Run the tool and return its result as a part without secrets; a failure is a result, too."""
    result = await _result(tool, call, context=context, timeout_s=timeout_s)
    # Before it is cut: a part of a secret would not be found.
    text = kept_text(await mask(result.text))
    return result if text == result.text else msgspec.structs.replace(result, text=text)


async def _result(
    tool: Tool, call: ToolCallPart, *, context: ToolContext, timeout_s: float
) -> ToolResultPart:
    limit = tool.traits.timeout_s or timeout_s
    bound = asyncio.timeout(limit)
    try:
        arguments = checked_arguments(call, tool.spec)
        async with failpoints.outside("tool.run"), bound:
            text = await tool.run(arguments, context)
    except ToolError as error:
        return _failure(call, str(error))
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Something that the tool waited for was cancelled, and not the turn.
        return _failure(call, f"the tool {call.name} crashed: CancelledError")
    except Exception as error:  # noqa: BLE001  tool boundary: its code must not end the turn
        if bound.expired():
            return _failure(call, _late(tool, limit))
        _log.exception("tool_crashed", tool=call.name, message_id=context.turn_id)
        return _failure(call, f"the tool {call.name} crashed: {type(error).__name__}")
    return ToolResultPart(call.id, call.name, text)


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
    """Return the result of a tool call that a person denied."""
    return _failure(call, f"the tool {call.name} was not run: {reason}")


def stopped(call: ToolCallPart) -> ToolResultPart:
    """Return the result of a tool that was cancelled because the person stopped the turn."""
    return _failure(
        call,
        f"the tool {call.name} was stopped before it ended; it may have taken effect in part",
    )


def _late(tool: Tool, limit: float) -> str:
    told = f"the tool {tool.spec.name} gave no result within {limit:g} s and was abandoned"
    if tool.traits.idempotent:
        return f"{told}; it may be called again"
    return f"{told}; it may or may not have taken effect, so look before you call it again"


def _failure(call: ToolCallPart, text: str) -> ToolResultPart:
    return ToolResultPart(call.id, call.name, text, failed=True)
