"""Checks of the MCP settings: values that are right alone and wrong together.

Part of config, after validation, called by `checks`; pure.
"""

from collections.abc import Iterator

from hermes.config.keys import dotted, nearest
from hermes.config.mcp import NO_MCP, McpServerSettings
from hermes.config.named_variables import unfilled
from hermes.config.routing_checks import Fault
from hermes.config.settings import Key, Settings


def mcp_problems(settings: Settings) -> Iterator[Fault]:
    """Yield what is wrong with the servers and the lists of the platforms."""
    for name, server in settings.mcp.servers.items():
        yield from _one_way(("mcp", "servers", name), server)
    for key, variable in unfilled(settings):
        text = f"but the variable {variable} is set neither in the environment nor in .env"
        yield key, settings.mcp.servers[key[2]].env.get(key[-1], ""), text, f"set {variable}"
    yield from _unknown_servers(settings)


def _one_way(key: Key, server: McpServerSettings) -> Iterator[Fault]:
    """A server is either started or called."""
    if server.command is None and server.url is None:
        text = "expected a program to start or an address to call"
        yield (*key, "command"), None, text, f"set {dotted(key)}.command or {dotted(key)}.url"
    if server.command is not None and server.url is not None:
        text = "but url is set, too"
        yield (*key, "command"), server.command, text, "remove one of the two"


def _unknown_servers(settings: Settings) -> Iterator[Fault]:
    known = [*settings.mcp.servers, NO_MCP]
    for platform, names in settings.mcp.platforms.items():
        for name in names:
            if name not in known:
                text = f"expected names of mcp.servers or {NO_MCP}: {', '.join(known)}"
                meant = nearest(name, known) or NO_MCP
                yield ("mcp", "platforms", platform), names, text, f"did you mean {meant}?"
