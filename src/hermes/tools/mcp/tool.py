"""An MCP tool as the core knows tools."""

from collections.abc import Iterable

import msgspec

from hermes.ports.provider import ToolSpec
from hermes.ports.tool import Tool, ToolContext, ToolTraits
from hermes.tools.mcp.catalogue import ToolOffer
from hermes.tools.mcp.server import McpServer


class McpTool:
    """One tool of one server."""

    def __init__(self, server: McpServer, offer: ToolOffer) -> None:
        self._server = server
        self.offer = offer

    def is_of(self, server: McpServer) -> bool:
        """Return whether it is a tool of exactly this server object, not of an earlier one."""
        return self._server is server

    def is_for(self, platform: str) -> bool:
        """Return whether it may be used on a platform."""
        return self._server.is_for(platform)

    @property
    def spec(self) -> ToolSpec:
        """The description for the model."""
        return self.offer.spec

    @property
    def traits(self) -> ToolTraits:
        """How the tool may be run."""
        return self.offer.traits

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        """Run the tool on the server and return its text."""
        given = msgspec.json.decode(arguments)
        return await self._server.call(self.offer, given, context=context)


def usable_on(platform: str, tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Return the tools without those of MCP servers that a platform may not use."""
    return tuple(tool for tool in tools if not isinstance(tool, McpTool) or tool.is_for(platform))
