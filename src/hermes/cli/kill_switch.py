"""`hermes kill-switch on|off|status`: stops every model call at once, until it is turned off."""

from typing import Annotated

import typer

from hermes.cli.operator_calls import call, operator_name
from hermes.cli.terminal import AsJson, Home, clean, examples, print_json
from hermes.control.order import NoFields
from hermes.control.orders import KILL_SWITCH_SET, KILL_SWITCH_SHOW
from hermes.control.spending import SwitchOrder, SwitchReport
from hermes.control.why_answer import clock_time
from hermes.ports.spend import KillSwitch

ON_EPILOG = examples(
    "hermes kill-switch on",
    'hermes kill-switch on --reason "the bill is wrong"',
    "hermes kill-switch on --json",
)
OFF_EPILOG = examples("hermes kill-switch off", "hermes kill-switch off --json")
STATUS_EPILOG = examples("hermes kill-switch status", "hermes kill-switch status --json")


def turn_on(
    *,
    home: Home = None,
    reason: Annotated[
        str,
        typer.Option(help="The reason; callers and `hermes status` see it.", show_default=False),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Stop every model call at once, across restarts too, until `off`."""
    _order(home, SwitchOrder(is_on=True, by=operator_name(), reason=reason), as_json=as_json)


def turn_off(home: Home = None, as_json: AsJson = False) -> None:
    """Allow model calls again."""
    _order(home, SwitchOrder(is_on=False, by=operator_name()), as_json=as_json)


def status(home: Home = None, as_json: AsJson = False) -> None:
    """Show whether model calls are stopped, since when, by whom and why."""
    report = call(home, KILL_SWITCH_SHOW, NoFields(), empty=lambda: SwitchReport(is_on=False))
    _print(report, as_json=as_json)


def switch_text(switch: KillSwitch) -> str:
    """Return the state of the kill switch in words."""
    since = f" since {clock_time(switch.at)}" if switch.at else ""
    by = f", by {switch.by}" if switch.by else ""
    reason = f": {switch.reason}" if switch.reason else ""
    if switch.is_on:
        return f"on{since}{by}{reason}"
    return f"off{since}{by}"


def _order(home: Home, order: SwitchOrder, *, as_json: bool) -> None:
    report = call(home, KILL_SWITCH_SET, order)
    _print(report, as_json=as_json)


def _print(report: SwitchReport, *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    print(clean(f"The kill switch is {switch_text(report)}."))
    if report.is_on:
        print("No model is called. `hermes kill-switch off` allows model calls again.")
