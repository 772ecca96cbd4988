"""What an error of Hermes is in the protocol.

An error that no caller may see is logged under an id, and the caller receives the id alone.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import structlog
from a2a.server.context import ServerCallContext
from a2a.utils.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    UnsupportedOperationError,
)

from hermes.errors import (
    AgentUnavailable,
    Forbidden,
    HermesError,
    NoCredits,
    Refused,
    Skipped,
    TryLater,
)
from hermes.http.errors import status_of
from hermes.server.a2a.channel import PLATFORM, CallContext

_NOT_POSSIBLE = (AgentUnavailable, Forbidden, NoCredits, Skipped)
_log = structlog.get_logger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


def context_of_call(context: ServerCallContext) -> CallContext:
    """Return our own context of a call."""
    found: CallContext = context.state["call"]
    return found


# Any: the SDK's parameters differ from method to method.
def translated(method: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """Let a method raise errors of the protocol alone."""

    @wraps(method)
    async def call(handler: Any, params: Any, context: ServerCallContext) -> T:
        try:
            return await method(handler, params, context)
        except A2AError:
            raise
        # Boundary to the SDK, which would show the text of any error to the caller.
        except Exception as error:
            raise await _protocol_error(error, context_of_call(context)) from error

    return call


def translated_stream(
    method: Callable[..., AsyncGenerator[T, None]],
) -> Callable[..., AsyncGenerator[T, None]]:
    """Let a method that streams raise errors of the protocol alone."""

    @wraps(method)
    async def stream(
        handler: Any, params: Any, context: ServerCallContext
    ) -> AsyncGenerator[T, None]:
        events = method(handler, params, context)
        try:
            async for event in events:
                yield event
        except A2AError:
            raise
        # Boundary to the SDK, which would show the text of any error to the caller.
        except Exception as error:
            raise await _protocol_error(error, context_of_call(context)) from error
        finally:
            await events.aclose()

    return stream


async def _protocol_error(error: Exception, call: CallContext) -> A2AError:
    if not isinstance(error, HermesError) or status_of(error) is None:
        error_id = call.make_id("e")
        _log.error("a2a_failed", error_id=error_id, exc_info=error)
        return InternalError(
            f"Something went wrong inside Hermes. The log explains the error id {error_id}."
        )
    data = {"code": error.code}
    if isinstance(error, Refused | TryLater):
        refusal = await call.gateway_api.refuse(PLATFORM, error)
        if refusal is not None:
            data["refusal"] = refusal
    if isinstance(error, TryLater):
        call.later = error
        return InternalError(str(error), data)
    if isinstance(error, _NOT_POSSIBLE):
        return UnsupportedOperationError(str(error), data)
    return InvalidParamsError(str(error), data)
