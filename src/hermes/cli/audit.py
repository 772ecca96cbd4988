"""`hermes audit`: who gave which order, about whom, and with what result."""

from typing import Annotated

import typer
from rich.console import Console

from hermes.cli.operator_calls import call
from hermes.cli.since import since_time
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import AsJson, Home, Since, Wide, examples, print_report
from hermes.control.audit import MOST_ROWS, AuditAsk, AuditReport
from hermes.control.orders import AUDIT_LIST
from hermes.ports.audit import AuditRow

EPILOG = examples(
    "hermes audit",
    "hermes audit --since 7d --action users.erase",
    "hermes audit --actor token:t_3f9a0c12be45 --json",
)
_COLUMNS = (
    Column("when", "time"),
    Column("who", rank=1),
    Column("role", rank=3),
    Column("order", "id"),
    Column("about", "id", rank=2),
    Column("result", "state"),
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
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List the orders that operators gave, the newest first."""
    ask = AuditAsk(since=since_time(since, home) or 0.0, actor=actor, action=action, limit=limit)
    report = call(home, AUDIT_LIST, ask, empty=AuditReport)
    print_report(report, _print, as_json=as_json, wide=wide)


def _print(report: AuditReport, out: Console) -> None:
    if not report.orders:
        out.print("No orders were found.")
        return
    print_table(out, _COLUMNS, map(_cells, report.orders))


def _cells(row: AuditRow) -> tuple[Cell, ...]:
    end = f"{row.state} ({row.code})" if row.code else row.state
    return (row.at, row.actor, row.role, row.action, " ".join(row.targets), end)
