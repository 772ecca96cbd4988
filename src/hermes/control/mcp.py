"""The operator's functions for the MCP servers of a running gateway."""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from hermes.config import LoadedConfig
from hermes.errors import BadRequest, ConfigurationError
from hermes.tools.mcp.report import Diff, McpReport
from hermes.tools.mcp.servers import McpServers

_log = structlog.get_logger(__name__)


class McpOperations:
    """Where operators ask after MCP servers; `reread` reads the configuration again.

    `secrets` are the stored ones by name; a `${NAME}` in the settings of a server is one of them before
    it is a variable.
    """

    def __init__(
        self, servers: McpServers, loaded: LoadedConfig, *, reread: Callable[[], LoadedConfig]
    ) -> None:
        self._servers = servers
        self._loaded = loaded
        self._reread = reread
        self.secrets: Mapping[str, str] = {}

    def prepare(self) -> None:
        """Give the secrets to the servers before their start."""
        self._servers.prepare(self._loaded.mcp_with(self.secrets))

    async def use_secrets(self) -> None:
        """Connect the servers anew whose secrets have changed, without reading the files again."""
        wanted = self._loaded.mcp_with(self.secrets)
        if wanted != self._servers.settings:
            await self._servers.reload(wanted)

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
        diff = await self._servers.reload(loaded.mcp_with(self.secrets))
        self._loaded = loaded
        _log.info(
            "mcp_reloaded",
            added=diff.servers_added,
            removed=diff.servers_removed,
            changed=diff.servers_changed,
        )
        return diff
