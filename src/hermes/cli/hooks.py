"""`hermes hooks list`: the operator's own hooks and how their calls went."""

from rich.console import Console
from rich.text import Text

from hermes.cli.environment import home_for, settings_for
from hermes.cli.gateway_client import client_for
from hermes.cli.operator_calls import ask_gateway
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import AsJson, Home, Wide, clean, examples, print_report
from hermes.control.hooks import HooksReport, hooks_on_disk
from hermes.control.order import NoFields
from hermes.control.orders import HOOKS_LIST
from hermes.ops.instance import find_running
from hermes.plugins.hook_worker import HookReport

LIST_EPILOG = examples("hermes hooks list", "hermes hooks list --json")
_NONE = (
    "There are no hooks. To add one, write a folder below hooks/ in the home, as "
    "docs/hooks.md explains."
)
_COLUMNS = (
    Column("hook", "id"),
    Column("state", "state"),
    Column("events", rank=1),
    Column("runs", "number", rank=2),
    Column("failed", "number", rank=2),
    Column("dropped", "number", rank=3),
    Column("about", rank=4),
)


def list_all(home: Home = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """List the hooks: their events, how often they ran and failed, and the last error."""
    report = _report(home)
    print_report(report, _print, as_json=as_json, wide=wide)


def _report(home: Home) -> HooksReport:
    running = find_running(home_for(home))
    if running is not None:
        return ask_gateway(client_for(running), HOOKS_LIST, NoFields())
    loaded = settings_for(home)
    return hooks_on_disk(loaded.home, timeout_s=loaded.settings.hooks.timeout_s)


def _print(report: HooksReport, out: Console) -> None:
    if not report.hooks:
        out.print(_NONE)
        return
    print_table(out, _COLUMNS, map(_cells, report.hooks))
    for hook in report.hooks:
        if hook.last_error is not None:
            line = f"{hook.name}: the last error was: {hook.last_error}"
            out.print(Text(clean(line)), soft_wrap=True)


def _cells(hook: HookReport) -> tuple[str, ...]:
    return (
        hook.name,
        hook.state,
        ", ".join(hook.events),
        str(hook.runs),
        str(hook.failures),
        str(hook.dropped),
        hook.description or "-",
    )
