"""`hermes alerts`: recent events that needed an operator."""

from typing import Annotated

import msgspec
import typer
from rich.text import Text

from hermes.cli.environment import home_for
from hermes.cli.since import since_time
from hermes.cli.terminal import AsJson, Home, Since, clean, console, examples, print_json
from hermes.control.why_answer import clock_time
from hermes.ops.alert_book import read_alerts
from hermes.ops.alert_windows import Alert

EPILOG = examples(
    "hermes alerts", "hermes alerts --since 1d --kind breaker_open", "hermes alerts --json"
)
_STYLES = {"warning": "yellow", "critical": "bold red"}


class AlertsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Alerts, the newest first."""

    alerts: tuple[Alert, ...] = ()


def command(
    *,
    kind: Annotated[
        str | None, typer.Option(help="Only alerts of this kind.", show_default=False)
    ] = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many alerts.")] = 20,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List alerts, the newest first; repeats within alerts.window_s are counted, not listed."""
    at = since_time(since, home)
    found = [
        alert
        for alert in read_alerts(home_for(home))
        if kind in (None, alert.kind) and (at is None or alert.at >= at)
    ]
    if as_json:
        print_json(AlertsReport(alerts=tuple(found[:limit])))
        return
    out = console()
    for alert in found[:limit]:
        times = f"  {alert.count} times" if alert.count > 1 else ""
        out.print(
            Text(f"{clock_time(alert.at)}  ", style="dim")
            + Text(f"{alert.severity:<8}", style=_STYLES[alert.severity])
            + Text(clean(f"  {alert.kind}{times}  {alert.text}"))
        )
    if not found:
        out.print("There are no alerts.")
