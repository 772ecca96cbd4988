"""`hermes costs`: what model calls cost, by person, agent, channel, key, model or day, or of a message."""

import asyncio
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from hermes.calls.days import Calendar
from hermes.cli.environment import settings_for
from hermes.cli.operator_calls import call, money
from hermes.cli.terminal import AsJson, Home, clean, examples, make_table, print_report
from hermes.control.branches import BranchAsk, BranchReport
from hermes.control.orders import COSTS_BRANCH, COSTS_SHOW
from hermes.control.spending import CostAsk, CostLine, CostsReport, costs
from hermes.control.why_call import cost_text
from hermes.errors import BadRequest, NotFound
from hermes.ports.clock import SystemClock
from hermes.ports.spend import CostBy, CostRow

EPILOG = examples(
    "hermes costs",
    "hermes costs --by person --days 7",
    "hermes costs --by day --month 2026-11",
    "hermes costs --message m_0k3v9c2h6l1g",
    "hermes costs --by key --from 2026-11-01 --to 2026-11-15 --json",
)
_UNNAMED = {"key": "no key", "agent": "no agent", "channel": "no channel"}


def command(
    *,
    home: Home = None,
    by: Annotated[CostBy, typer.Option(help="What the rows are grouped by.")] = "model",
    days: Annotated[
        int | None,
        typer.Option(
            help="The last days, including today; 30 if no days are given.", show_default=False
        ),
    ] = None,
    month: Annotated[
        str | None, typer.Option(help="A month, such as 2026-11.", show_default=False)
    ] = None,
    first_day: Annotated[
        str | None, typer.Option("--from", help="The first day.", show_default=False)
    ] = None,
    last_day: Annotated[
        str | None,
        typer.Option("--to", help="The last day; today if not given.", show_default=False),
    ] = None,
    message: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="One message with everything that it has delegated, by branch.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what model calls cost: calls, tokens, dollars, and tokens whose price is unknown.

    Days are those of the setting time_zone.
    """
    if message is not None:
        if any(value is not None for value in (days, month, first_day, last_day)):
            raise BadRequest("One message has no days: leave out --days, --month, --from and --to.")
        branch = call(home, COSTS_BRANCH, BranchAsk(id=message), empty=_no_message)
        print_report(branch, _print_branch, as_json=as_json)
        return
    ask = CostAsk(
        by=by,
        days=days,
        month=month,
        first_day=first_day,
        last_day=last_day,
    )
    report = _report(ask, home)
    print_report(report, _print, as_json=as_json)


def _no_message() -> BranchReport:
    raise NotFound("There is no message: nothing is stored here yet.")


def _print_branch(report: BranchReport, out: Console) -> None:
    table = make_table("message", "agent", "state")
    for name in ("tokens in", "tokens out", "cost", "with all below"):
        table.add_column(name, justify="right")
    for line in report.lines:
        used = line.usage
        cells = (
            f"{'  ' * line.depth}{line.id}",
            line.agent,
            str(line.outcome or line.state),
            f"{used.tokens_in:,}",
            f"{used.tokens_out:,}",
            cost_text(used),
            cost_text(line.whole),
        )
        table.add_row(*(Text(clean(cell)) for cell in cells))
    out.print(table)
    out.print(f"All of it is paid by {report.person_id}.", style="dim")


def _report(ask: CostAsk, home: Home) -> CostsReport:
    return call(home, COSTS_SHOW, ask, empty=lambda: asyncio.run(_nothing(ask, home)))


async def _nothing(ask: CostAsk, home: Home) -> CostsReport:
    calendar = Calendar(settings_for(home).settings.time_zone)
    return await costs(None, ask, today=calendar.day(SystemClock().now()))


def _print(report: CostsReport, out: Console) -> None:
    days = f"{report.first_day} to {report.last_day}"
    if not report.rows:
        out.print(f"Nothing was spent from {days}.")
        return
    table = make_table(report.by)
    for name in ("calls", "cached", "tokens in", "tokens out", "cost"):
        table.add_column(name, justify="right")
    table.add_column("price unknown", justify="right")
    for row in report.rows:
        table.add_row(*_cells(row, name=_name(row, report.by)))
    table.add_row(*_cells(report.total, name="total"), style="bold")
    out.print(table)
    note = (
        " Budgets count an assumed price for tokens without a known price."
        if report.total.assumed_usd
        else ""
    )
    out.print(f"{days}.{note}", style="dim")


def _name(row: CostLine, by: CostBy) -> str:
    name = row.name or _UNNAMED.get(by, "unknown")
    return f"{name} ({row.label})" if row.label else name


def _cells(row: CostRow, *, name: str) -> list[Text]:
    cells = [name, *(f"{count:,}" for count in _counts(row)), _cost(row), _unknown(row)]
    return [Text(clean(cell)) for cell in cells]


def _counts(row: CostRow) -> tuple[int, ...]:
    return (row.calls, row.cached_calls, row.tokens_in, row.tokens_out)


def _cost(row: CostRow) -> str:
    """Return a cost as text; tokens without a known price are shown as unknown, not as zero."""
    if not row.unpriced_tokens:
        return money(row.cost_usd)
    return f"{money(row.cost_usd)} + unknown" if row.cost_usd else "price unknown"


def _unknown(row: CostRow) -> str:
    if not row.unpriced_tokens:
        return ""
    return f"{row.unpriced_tokens:,} tokens, counted as {money(row.assumed_usd)}"
