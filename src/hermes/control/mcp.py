"""The operator's functions for the MCP servers of a running gateway."""

import asyncio
from collections.abc import Callable

import structlog

from hermes.config import LoadedConfig
from hermes.errors import BadRequest, ConfigurationError
from hermes.tools.mcp.report import Diff, McpReport
from hermes.tools.mcp.servers import McpServers

_log = structlog.get_logger(__name__)


class McpOperations:
    """Where operators ask after MCP servers; `reread` reads the configuration again."""

    def __init__(self, servers: McpServers, reread: Callable[[], LoadedConfig]) -> None:
        self._servers = servers
        self._reread = reread

    async def status(self) -> McpReport:
        """Return the state of every server."""
        return self._servers.status()

    async def reload(self) -> Diff:
        """Read the configuration again and change to its servers; return what changed."""
        try:
            loaded = await asyncio.to_thread(self._reread)
        except ConfigurationError as error:
            raise BadRequest(
                f"Nothing was changed, because the configuration is wrong: {error}"
            ) from error
        diff = await self._servers.reload(loaded.settings.mcp)
        _log.info(
            "mcp_reloaded",
            added=diff.servers_added,
            removed=diff.servers_removed,
            changed=diff.servers_changed,
        )
        return diff
