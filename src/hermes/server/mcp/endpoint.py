"""`/mcp` over streamable HTTP: who calls, what may come in, and the session of the SDK behind it.

The order on every request is fixed: origin, key, size, shape. Only then the official SDK sees it,
which is imported by the first call. It keeps no sessions, so a restart or another node loses none.
"""

import asyncio
from typing import TYPE_CHECKING

import msgspec
from starlette.types import Message, Receive, Scope, Send

from hermes.errors import BadRequest, Forbidden, HermesError, NotFound, Overloaded
from hermes.http.errors import error_response, status_of
from hermes.http.route import HttpExchange, refuse_url_credentials, send_answer, send_response
from hermes.http.same_origin import Origins
from hermes.lazy import lazy
from hermes.ports.channel import HttpResponse
from hermes.server.mcp.tools import McpTools
from hermes.server.v1.callers import Callers

if TYPE_CHECKING:
    from hermes.server.mcp.sdk_server import McpSessions, load_sessions
else:
    # The SDK takes a second to import.
    load_sessions = lazy("hermes.server.mcp.sdk_server:load_sessions")

PATH = "/mcp"
_BODY_S = 30.0
_AGAIN_S = 5.0
# JSON-RPC: a request that is not valid.
_INVALID = -32600


class McpEndpoint:
    """The ASGI app of `/mcp`."""

    def __init__(
        self, tools: McpTools, callers: Callers, *, origins: Origins, body_bytes: int
    ) -> None:
        self._tools = tools
        self._callers = callers
        self._origins = origins
        self._body_bytes = body_bytes
        self._sessions: McpSessions | None = None
        self._loading = asyncio.Lock()
        self._is_closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        exchange = HttpExchange(scope, receive)
        try:
            body = await self._admit(exchange)
            sessions = await self._loaded()
        except HermesError as error:
            if status_of(error) is None:
                raise
            await send_answer(_refusal(error), exchange, send)
            return
        if body is None:
            await send_response(send, _wrong_method(exchange.method))
            return
        await sessions.serve(scope, _Replay(body, receive), send)

    async def close(self) -> None:
        """End what still runs; the turns go on."""
        self._is_closed = True
        if self._sessions is not None:
            await self._sessions.close()

    async def _admit(self, exchange: HttpExchange) -> bytes | None:
        """Return the body of a request that may go on, and note its caller; None without one."""
        refuse_url_credentials(exchange)
        if "origin" in exchange.headers and not self._origins.is_same(exchange.headers):
            raise Forbidden(
                "A page of another site sent this request: MCP clients are programs, and send no "
                "Origin header."
            )
        caller = await self._callers.check(exchange.headers)
        if caller.run is not None:
            raise Forbidden("The key of a program is for the models at /v1 and for nothing else.")
        if exchange.method != "POST":
            return None
        if "mcp-session-id" in exchange.headers:
            raise NotFound(
                "There is no such session: Hermes keeps none. Initialize again, and send no "
                "Mcp-Session-Id."
            )
        kind = exchange.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise BadRequest(f"The Content-Type is {kind[:80]!r}: expected application/json.")
        body = await exchange.body(limit=self._body_bytes, timeout_s=_BODY_S)
        _check_json(body)
        exchange.scope[CALLER] = caller
        return body

    async def _loaded(self) -> "McpSessions":
        async with self._loading:
            if self._is_closed:
                raise Overloaded("Hermes is stopping. Send this again in a moment.", _AGAIN_S)
            if self._sessions is None:
                # Off the loop: nobody else waits for the import.
                self._sessions = await asyncio.to_thread(load_sessions, self._tools, CALLER)
                await self._sessions.start()
            return self._sessions


# The scope key of who calls.
CALLER = "hermes.mcp_caller"


class _Replay:
    """A `receive` that returns the body that was read, then what comes after it."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


def _check_json(body: bytes) -> None:
    """Raise `BadRequest` for a body that is no JSON object, or that is nested too deeply."""
    try:
        msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        msgspec.json.decode(body)
    except RecursionError:
        raise BadRequest("The request is nested too deeply.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"The request is not one JSON-RPC message: {error}.") from None


def _refusal(error: HermesError) -> HttpResponse:
    """Return an error as clients of MCP show it: as one of JSON-RPC, with the status of HTTP."""
    response = error_response(error)
    return msgspec.structs.replace(response, body=_error_body(str(error)))


def _wrong_method(method: str) -> HttpResponse:
    text = f"The method {method[:20]} is not possible here: send each message by POST."
    return HttpResponse(status=405, body=_error_body(text), headers={"allow": "POST"})


def _error_body(text: str) -> bytes:
    error = {"code": _INVALID, "message": text}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})
