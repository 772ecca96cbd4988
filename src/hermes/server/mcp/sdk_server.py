"""The official SDK's server behind `/mcp`: both eras of the protocol, without sessions.

Loaded by name with the first call, because the SDK takes a second to import. It converts between
the SDK's types and ours; what the tools do is not known here.
"""

import asyncio
import logging
from typing import Any

import mcp_types as types
import msgspec
import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from hermes import __version__
from hermes.errors import HermesError
from hermes.http.errors import status_of
from hermes.http.turn import TurnView
from hermes.message.ids import make_id
from hermes.server.mcp.progress import Report
from hermes.server.mcp.tools import McpCall, McpTools, OfferedTool
from hermes.server.v1.callers import ApiCaller

_INSTRUCTIONS = (
    "Hermes is a gateway between chat platforms and AI agents. You act for one person. A message "
    "that is sent is kept and answered even if you stop waiting: get_message returns its reply."
)
_log = structlog.get_logger(__name__)
# The SDK logs whole messages, which are untrusted text; what matters is logged here.
logging.getLogger("mcp").setLevel(logging.CRITICAL)

Context = ServerRequestContext[Any, Request]


def load_sessions(tools: McpTools, caller_key: str) -> "McpSessions":
    """Return the server; calling it late imports the SDK late."""
    return McpSessions(tools, caller_key)


class McpSessions:
    """Serves requests whose caller is known: it is in their scope, under `caller_key`."""

    def __init__(self, tools: McpTools, caller_key: str) -> None:
        self._tools = tools
        self._caller_key = caller_key
        server: Server[Any] = Server(
            "hermes",
            version=__version__,
            title="Hermes",
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._manager = StreamableHTTPSessionManager(server, stateless=True)
        self._task: asyncio.Task[None] | None = None
        self._end = asyncio.Event()

    async def start(self) -> None:
        """Return once requests can be served."""
        started = asyncio.Event()
        self._task = asyncio.create_task(self._run(started), name="mcp server")
        await started.wait()

    async def close(self) -> None:
        """End what still runs."""
        self._end.set()
        if self._task is not None:
            await self._task

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._manager.handle_request(scope, receive, send)

    async def _run(self, started: asyncio.Event) -> None:
        async with self._manager.run():
            started.set()
            await self._end.wait()

    def _caller(self, context: Context) -> ApiCaller:
        assert context.request is not None
        caller: ApiCaller = context.request.scope[self._caller_key]
        return caller

    async def _list_tools(
        self, context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        offered = self._tools.offered(self._caller(context))
        return types.ListToolsResult(tools=[_listed(tool) for tool in offered])

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        call = McpCall(caller=self._caller(context), report=_report(context))
        try:
            done = await self._tools.run(params.name, params.arguments or {}, call=call)
        except HermesError as error:
            if status_of(error) is None:
                return _unexpected(params.name)
            return _failed(str(error), code=error.code)
        except Exception:  # noqa: BLE001  the boundary of one call
            return _unexpected(params.name)
        return _result(done)


def _report(context: Context) -> Report | None:
    """Return where progress goes; None for a caller that has sent no token for it."""
    if not context.meta or context.meta.get("progress_token") is None:
        return None

    async def report(progress: int, text: str) -> None:
        await context.session.report_progress(progress, message=text)

    return report


def _listed(tool: OfferedTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.changes, destructive_hint=False, open_world_hint=tool.changes
        ),
    )


def _result(done: msgspec.Struct) -> types.CallToolResult:
    """Return a result as data, and as text for a model."""
    data: dict[str, Any] = msgspec.to_builtins(done)
    text = msgspec.json.encode(done).decode()
    if isinstance(done, TurnView) and done.outcome is not None and done.reply is not None:
        text = done.reply
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=data
    )


def _failed(text: str, *, code: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content={"error": {"code": code, "message": text}},
        is_error=True,
    )


def _unexpected(tool: str) -> types.CallToolResult:
    """Log what was not expected; return a result that names the entry."""
    error_id = make_id("e")
    _log.exception("mcp_call_failed", error_id=error_id, tool=tool[:80])
    return _failed(
        f"Something went wrong inside Hermes. The log explains the error id {error_id}.",
        code="internal",
    )
