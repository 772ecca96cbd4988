"""`hermes audit`: who gave which order, about whom, and with what result."""

from typing import Annotated

import typer
from rich.console import Console

from hermes.cli.operator_calls import call
from hermes.cli.since import since_time
from hermes.cli.terminal import AsJson, Home, Since, examples, print_report, print_table
from hermes.control.audit import MOST_ROWS, AuditAsk, AuditReport
from hermes.control.orders import AUDIT_LIST
from hermes.control.why_answer import clock_time
from hermes.ports.audit import AuditRow

EPILOG = examples(
    "hermes audit",
    "hermes audit --since 7d --action users.erase",
    "hermes audit --actor token:t_3f9a0c12be45 --json",
)


def command(
    *,
    since: Since = None,
    actor: Annotated[
        str,
        typer.Option(help="Only orders of this actor, as the list names it.", show_default=False),
    ] = "",
    action: Annotated[
        str,
        typer.Option(help="Only orders of this name, such as pairing.approve.", show_default=False),
    ] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_ROWS, help="At most this many orders.")
    ] = 100,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List the orders that operators gave, the newest first."""
    ask = AuditAsk(since=since_time(since, home) or 0.0, actor=actor, action=action, limit=limit)
    report = call(home, AUDIT_LIST, ask, empty=AuditReport)
    print_report(report, _print, as_json=as_json)


def _print(report: AuditReport, out: Console) -> None:
    if not report.orders:
        out.print("No orders were found.")
        return
    names = ("when", "who", "role", "order", "about", "result")
    print_table(out, names, (_cells(row) for row in report.orders))


def _cells(row: AuditRow) -> tuple[str, ...]:
    end = f"{row.state} ({row.code})" if row.code else row.state
    return (clock_time(row.at), row.actor, row.role, row.action, " ".join(row.targets), end)
