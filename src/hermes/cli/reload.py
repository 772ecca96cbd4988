"""`hermes reload`: makes the running gateway read its configuration again."""

from hermes.cli.environment import home_for
from hermes.cli.gateway_client import connect
from hermes.cli.operator_calls import ask_gateway
from hermes.cli.terminal import AsJson, Home, clean, console, examples, print_json
from hermes.control.order import NoFields
from hermes.control.orders import GATEWAY_RELOAD
from hermes.tools.mcp.report import diff_text

# A platform with a new credential has half a minute to connect.
_CONNECT_S = 60.0
EPILOG = examples("hermes reload", "hermes reload --json")


def command(home: Home = None, as_json: AsJson = False) -> None:
    """Reload the configuration; list settings that need a restart."""
    report = ask_gateway(connect(home_for(home)), GATEWAY_RELOAD, NoFields(), timeout_s=_CONNECT_S)
    if as_json:
        print_json(report)
        return
    out = console()
    if not report.applied and not report.needs_restart:
        out.print("Nothing has changed.")
    if report.applied:
        out.print(f"Applied: {', '.join(report.applied)}")
    for channel in report.channels:
        said = f"{channel.name}: {channel.state}" + (f": {channel.note}" if channel.note else "")
        out.print(clean(said), markup=False)
    if report.mcp is not None:
        out.print(clean(diff_text(report.mcp)), markup=False)
    if report.needs_restart:
        out.print(f"Needs a restart: {', '.join(report.needs_restart)}", style="yellow")
