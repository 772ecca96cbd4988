"""A well-behaved server of the newest revision, on the official SDK: over pipes, or HTTP at a port.

Its tools ask a question, grow the list, tell their progress, and remember being cancelled.
"""

import asyncio
import sys
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("newest", version="1")
cancelled: list[str] = []
READS = ToolAnnotations(read_only_hint=True)


class Name(BaseModel):
    name: str


async def who() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


@server.tool(annotations=READS)
async def greet(person: Annotated[Name, Resolve(who)]) -> str:
    return f"Hello, {person.name}!"


@server.tool(annotations=READS)
async def revision(ctx: Context) -> str:
    return ctx.protocol_version or ""


@server.tool(annotations=READS)
async def grow(ctx: Context) -> str:
    server.add_tool(revision, name="grown")
    await ctx.notify_tools_changed()
    return "grown"


@server.tool(annotations=READS)
async def steps(ctx: Context) -> str:
    await ctx.report_progress(1, 2, "half way")
    return "done"


@server.tool(annotations=READS)
async def hang() -> str:
    try:
        await anyio.sleep(3_600)
    except asyncio.CancelledError:
        cancelled.append("hang")
        raise
    return "woken"


@server.tool(annotations=READS)
async def was_cancelled() -> str:
    return ",".join(cancelled)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]), stateless_http=True)
    else:
        server.run("stdio")
