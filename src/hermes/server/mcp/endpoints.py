"""`/mcp` for OpenAPI, as far as it can be said there; imported only on demand.

What a message may be is said by the protocol itself: https://modelcontextprotocol.io.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from hermes.ports.gateway_api import ApiEndpoint
from hermes.server.mcp.endpoint import PATH

_RequestId = Annotated[str | int | None, Meta(description="A notification has none.")]


class McpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the Model Context Protocol, as JSON-RPC 2.0."""

    jsonrpc: Literal["2.0"]
    method: Annotated[str, Meta(description="Such as `tools/list` or `tools/call`.")]
    id: _RequestId = None
    # Any: what the protocol says of the method.
    params: Annotated[
        dict[str, Any],
        Meta(description="With `_meta.progressToken`, progress comes before the answer as events."),
    ] = {}


class McpError(msgspec.Struct, frozen=True, kw_only=True):
    """An error of JSON-RPC; `message` says why and what to do."""

    code: int
    message: str
    # Any: JSON.
    data: Any = None


class McpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request: a `result` or an `error`. A tool that fails is a result with `isError`."""

    jsonrpc: Literal["2.0"]
    id: str | int | None
    # Any: what the protocol says of the method.
    result: dict[str, Any] | None = None
    error: McpError | None = None


class McpRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was refused by HTTP, before a tool was run."""

    jsonrpc: Literal["2.0"]
    id: str | int | None = None
    error: McpError


ENDPOINTS: Final = (
    ApiEndpoint(
        name="mcp.call",
        method="POST",
        path=PATH,
        group="MCP",
        summary="Use agents over the Model Context Protocol (streamable HTTP, without sessions).",
        request=McpRequest,
        report=McpAnswer,
        streams=True,
        is_bearer_only=True,
        headers={"MCP-Protocol-Version": "The revision that the client speaks, after a handshake."},
        accepted="A notification was taken; there is no answer.",
        refusal=McpRefusal,
        refusals={
            400: "It is not one JSON-RPC message, or the protocol does not allow it.",
            401: "No key was sent, or an unknown one.",
            403: "A page of another site sent it, or the key is for models alone.",
            404: "It has an Mcp-Session-Id: Hermes keeps no sessions.",
            406: "The client does not accept `application/json` and `text/event-stream`.",
            413: "It is larger than `server.max_body_bytes`.",
            429: "The key may not send so many requests a minute.",
            503: "Hermes is starting or stopping; `Retry-After` says when to come again.",
        },
    ),
)


def mcp_endpoints() -> Sequence[ApiEndpoint]:
    """Return the endpoint, for OpenAPI."""
    return ENDPOINTS
