"""Why a connection of the SDK ended, in words for operators: its exceptions are translated here."""

import httpx2
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from hermes.tools.mcp.clean_text import one_line
from hermes.tools.mcp.connection import LinkLost

_CHARS = 500


def leaf_of(error: BaseException) -> BaseException:
    """Return the first real cause in a group of exceptions, as task groups raise them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def explain(error: BaseException, epitaph: str) -> str:
    """Return what an operator should know; `epitaph` is what the wire says about its end."""
    cause = leaf_of(error)
    if isinstance(cause, LinkLost):
        return str(cause)
    if isinstance(cause, TimeoutError):
        return f"no answer in time ({epitaph})" if epitaph else "no answer in time"
    if isinstance(cause, httpx2.TransportError):
        return epitaph or f"no connection ({one_line(str(cause), _CHARS)})"
    if isinstance(cause, httpx2.HTTPStatusError):
        return epitaph or f"the server answered HTTP {cause.response.status_code}"
    if isinstance(cause, MCPError):
        told = one_line(cause.error.message, _CHARS)
        return f"{epitaph} ({told})" if epitaph else f"the server refused: {told}"
    if isinstance(cause, ValidationError | httpx2.SSEError):
        return "what the server answered is not MCP, or too long"
    return one_line(f"{type(cause).__name__}: {cause}", _CHARS)
