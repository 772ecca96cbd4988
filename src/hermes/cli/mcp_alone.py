"""Checks MCP servers without a gateway: starts them, lists their tools, stops them.

Imported by name only when used, because it imports the MCP SDK.
"""

import asyncio

from hermes.app.store_files import check_restored
from hermes.cli.offline import logs_in_a_file
from hermes.config import LoadedConfig, McpSettings, ensure_home
from hermes.ports.clock import SystemClock
from hermes.tools.mcp.report import McpReport
from hermes.tools.mcp.servers import McpServers


def look(loaded: LoadedConfig, name: str | None) -> McpReport:
    """Return the state of the named server, or of all, after one attempt to connect."""
    chosen = {
        key: server
        for key, server in loaded.settings.mcp.servers.items()
        if name in (None, key) and (server.enabled or key == name)
    }
    if not chosen:
        return McpReport()
    check_restored(loaded.home)
    ensure_home(loaded.home)
    # What is asked for by name is tested, switched off or not.
    servers = {key: server.model_copy(update={"enabled": True}) for key, server in chosen.items()}
    longest_s = max(server.connect_timeout_s for server in servers.values())
    settings = loaded.settings.mcp.model_copy(
        # Agreeing and listing each may take that long.
        update={"servers": servers, "start_wait_s": 2 * longest_s}
    )
    with logs_in_a_file(loaded):
        return asyncio.run(_look(settings, loaded))


async def _look(settings: McpSettings, loaded: LoadedConfig) -> McpReport:
    servers = McpServers(
        settings,
        clock=SystemClock(),
        proxy=loaded.settings.proxy,
        ipv4_only=loaded.settings.ipv4_only,
        home=loaded.home,
        ca_bundle=loaded.settings.net.ca_bundle,
    )
    try:
        await servers.start()
        return servers.status()
    finally:
        await servers.stop()
