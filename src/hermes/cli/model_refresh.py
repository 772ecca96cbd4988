"""`hermes models refresh`: asks the services for their own lists of models."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hermes.cli.environment import settings_for
from hermes.cli.model_offers import gateway_of, quiet_logs
from hermes.cli.operator_calls import ask_gateway, operator_name
from hermes.cli.progress import progress_bar
from hermes.cli.terminal import AsJson, Home, clean, examples, print_report
from hermes.control.model_refresh import RefreshedService, RefreshOrder, RefreshReport
from hermes.control.orders import MODELS_REFRESH
from hermes.lazy import lazy

if TYPE_CHECKING:
    from hermes.app.model_lists import refresh_here
else:
    refresh_here = lazy("hermes.app.model_lists:refresh_here")

EPILOG = examples(
    "hermes models refresh",
    "hermes models refresh openrouter groq",
    "hermes models refresh --json",
)
_LONGEST_S = 60.0


def command(
    providers: Annotated[
        list[str] | None,
        typer.Argument(help="The providers to ask; default: all."),
    ] = None,
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Ask services for their models, sizes and prices; used from the next call on."""
    order = RefreshOrder(providers=tuple(providers or ()), by=operator_name())
    with progress_bar("Asking the services") as show:
        show(0, 1, "")
        report = _report(home, order)
        show(1, 1, "")
    print_report(report, _print, as_json=as_json)
    if report.services and all(one.problem for one in report.services):
        raise typer.Exit(1)


def _report(home: Home, order: RefreshOrder) -> RefreshReport:
    gateway = gateway_of(home)
    if gateway is not None:
        return ask_gateway(gateway, MODELS_REFRESH, order, timeout_s=_LONGEST_S)
    loaded = settings_for(home)
    quiet_logs()

    async def ask() -> RefreshReport:
        return await refresh_here(loaded, order)

    return asyncio.run(ask())


def _print(report: RefreshReport, out: Console) -> None:
    table = Table("provider", "models", "sizes", "prices", "changed", "", box=None, pad_edge=False)
    for one in report.services:
        table.add_row(*(Text(clean(cell)) for cell in _cells(one)))
    if report.services:
        out.print(table)
    else:
        out.print("No configured service that can be called now has a list of its models.")
    out.print(
        f"For what a service does not say, the price list of {report.prices_date} counts; settings "
        "count before both.",
        style="dim",
    )


def _cells(one: RefreshedService) -> tuple[str, ...]:
    if one.problem is not None:
        kept = f"; the list of before stays ({one.models} models)" if one.at is not None else ""
        return (one.provider, "-", "-", "-", "-", f"{one.problem}{kept}")
    changed = f"+{one.added} -{one.removed}"
    return (one.provider, str(one.models), str(one.sized), str(one.priced), changed, "")
