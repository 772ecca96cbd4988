"""`hermes mcp list|test|reload|login|logout`: the MCP servers that bring tools."""

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.environment import home_for, settings_for
from hermes.cli.gateway_client import client_for, connect
from hermes.cli.graph_source import any_graph_reader
from hermes.cli.operator_calls import ask_gateway, operator_name
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Wide,
    clean,
    console,
    error_console,
    examples,
    print_done,
    print_json,
)
from hermes.config import LoadedConfig, McpServerSettings
from hermes.control.mcp import McpLogout
from hermes.control.order import NoFields
from hermes.control.orders import MCP_LOGIN, MCP_LOGOUT, MCP_RELOAD, MCP_STATUS
from hermes.lazy import lazy
from hermes.ops.instance import find_running
from hermes.ports.secrets import EVERY_AGENT
from hermes.tools.mcp.report import McpReport, ServerStatus, diff_text

if TYPE_CHECKING:
    from hermes.cli.mcp_alone import look as look_alone
    from hermes.cli.mcp_login import log_in
else:
    look_alone = lazy("hermes.cli.mcp_alone:look")
    log_in = lazy("hermes.cli.mcp_login:log_in")

LIST_EPILOG = examples("hermes mcp list", "hermes mcp list --tools", "hermes mcp list --json")
TEST_EPILOG = examples("hermes mcp test", "hermes mcp test github", "hermes mcp test --json")
RELOAD_EPILOG = examples("hermes mcp reload", "hermes mcp reload --json")
LOGIN_EPILOG = examples("hermes mcp login tickets")
LOGOUT_EPILOG = examples("hermes mcp logout tickets")
_NONE = (
    "No MCP server is configured. To add one, write it below mcp.servers, as docs/mcp.md explains."
)
_COLUMNS = (
    Column("server", "id"),
    Column("state", "state"),
    Column("over", rank=3),
    Column("MCP", rank=4),
    Column("tools", "number", rank=2),
    Column("about", rank=1),
)


def list_all(
    *,
    home: Home = None,
    wide: Wide = False,
    tools: Annotated[
        bool, typer.Option("--tools", help="Also list every tool, prompt and resource.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the MCP servers and their state; if no gateway runs, start them briefly."""
    running = find_running(home_for(home))
    if running is not None:
        report = ask_gateway(client_for(running), MCP_STATUS, NoFields())
    else:
        report = _look(settings_for(home), None)
    if as_json:
        print_json(report)
    else:
        _print(report, console(wide=wide), with_tools=tools)


def try_out(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The server; by default all.", show_default=False),
    ] = None,
    *,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Start an MCP server, list its tools and stop it; a running gateway is not affected."""
    loaded = settings_for(home)
    known = loaded.settings.mcp.servers
    if name is not None and name not in known:
        listed = ", ".join(known) or "none"
        raise typer.BadParameter(f"{name!r} is not a configured server; configured: {listed}")
    report = _look(loaded, name)
    if as_json:
        print_json(report)
    else:
        _print(report, console(wide=wide), with_tools=True)
    if any(server.state != "connected" for server in report.servers):
        raise typer.Exit(1)


def reload(home: Home = None, as_json: AsJson = False) -> None:
    """Make the running gateway read its MCP servers again and restart those that changed."""
    diff = ask_gateway(connect(home_for(home)), MCP_RELOAD, NoFields())
    print_done(diff, diff_text(diff), as_json=as_json)


def login(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The server.")],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Log in at an MCP server that uses OAuth, in a browser; the gateway keeps the tokens, sealed."""
    client = connect(home_for(home))
    loaded = settings_for(home)
    server = loaded.settings.mcp.servers.get(name)
    if server is None or server.oauth.issuer is None or server.oauth.grant != "code":
        raise typer.BadParameter(f"{name!r} is not a configured server with oauth.grant: code")
    err = error_console()

    def show(address: str) -> None:
        err.print("Open this address in a browser of this machine, and log in:", soft_wrap=True)
        err.print(Text(clean(address)), soft_wrap=True)

    made = log_in(loaded, name, _filled(home, loaded, name), show=show)
    report = ask_gateway(client, MCP_LOGIN, msgspec.structs.replace(made, by=operator_name()))
    _tell_states(report, as_json=as_json)


def _filled(home: Home, loaded: LoadedConfig, name: str) -> McpServerSettings:
    """Return the settings of a server, with the stored secrets that they name, as the gateway has them."""
    if any(name in servers for servers in loaded.mcp_names.values()):
        with any_graph_reader(home) as reader:
            values = {} if reader is None else reader.secret_values()
        stored = {
            key: value for (owner, key), value in values.items() if owner == EVERY_AGENT and value
        }
        return loaded.mcp_with(stored).servers[name]
    return loaded.settings.mcp.servers[name]


def logout(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The server.")],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Forget the tokens of an MCP server; it needs a new login then."""
    order = McpLogout(server=name, by=operator_name())
    _tell_states(ask_gateway(connect(home_for(home)), MCP_LOGOUT, order), as_json=as_json)


def _tell_states(report: McpReport, *, as_json: bool) -> None:
    lines = [
        f"{one.name}: {one.state}" + (f" ({one.problem})" if one.problem else "")
        for one in report.servers
    ]
    print_done(report, "\n".join(lines), as_json=as_json)


def _look(loaded: LoadedConfig, name: str | None) -> McpReport:
    return look_alone(loaded, name)


def _print(report: McpReport, out: Console, *, with_tools: bool) -> None:
    if not report.servers:
        out.print(_NONE)
        return
    print_table(out, _COLUMNS, map(_cells, report.servers))
    for server in report.servers:
        for line in _details(server, with_tools=with_tools):
            out.print(Text(clean(line)), soft_wrap=True)


def _cells(server: ServerStatus) -> tuple[str, ...]:
    about = server.title if server.problem is None else server.problem
    return (
        server.name,
        server.state,
        server.transport,
        server.protocol or "-",
        str(len(server.tools)),
        about,
    )


def _details(server: ServerStatus, *, with_tools: bool) -> list[str]:
    lines = [f"{server.name}: {note}" for note in server.notes]
    if with_tools:
        lines += [
            f"  {tool.name}" + ("  (asks first)" if tool.needs_approval else "")
            for tool in server.tools
        ]
        lines += [f"  /{one.command} {one.use}".rstrip() for one in server.prompts]
        lines += [f"  @{server.name}:{uri}" for uri in server.resources]
    return lines
