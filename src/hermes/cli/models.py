"""`hermes models`: the configured models, their abilities and prices, and whether they answer."""

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hermes.cli.environment import settings_for
from hermes.cli.model_offers import ask_here, gateway_of, price_text
from hermes.cli.operator_calls import ask_gateway
from hermes.cli.terminal import AsJson, Home, clean, examples, print_report
from hermes.control.models import ListedService, ModelLine, ModelsReport, models_report
from hermes.control.order import NoFields
from hermes.control.orders import MODELS_LIST
from hermes.lazy import lazy
from hermes.routing.model_facts import ModelFacts

if TYPE_CHECKING:
    from hermes.app.model_lists import kept_lists
else:
    kept_lists = lazy("hermes.app.model_lists:kept_lists")

EPILOG = examples(
    "hermes models",
    "hermes models --all   (with what services list themselves)",
    "hermes models --json",
    "ANTHROPIC_API_KEY=... hermes models   (what a key would add)",
)


def command(
    context: typer.Context,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Also the models that only a service's own list names.")
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List the models: availability, abilities, context and price per million tokens in / out."""
    if context.invoked_subcommand is not None:
        return
    report = _report(home)
    print_report(report, partial(_print, every=every), as_json=as_json)


def _report(home: Home) -> ModelsReport:
    gateway = gateway_of(home)
    if gateway is not None:
        return ask_gateway(gateway, MODELS_LIST, NoFields())
    loaded = settings_for(home)
    facts = ModelFacts(loaded.settings.providers, kept_lists(loaded.home))
    return models_report(loaded.settings, ask_here(loaded), facts)


def _print(report: ModelsReport, out: Console, *, every: bool) -> None:
    table = Table("model", "state", "where", "can", "context", "in / out", box=None, pad_edge=False)
    for line in report.models:
        if not (every or line.is_configured):
            continue
        table.add_row(*(Text(clean(cell)) for cell in _cells(line)))
    out.print(table)
    out.print(
        f"Prices in dollars per million tokens, as listed on {report.prices_date}. `hermes "
        "route PROMPT` shows which model would answer.",
        style="dim",
    )
    if report.lists:
        listed = ", ".join(map(_age, report.lists))
        out.print(clean(f"Prices and sizes of services' own lists: {listed}."), style="dim")


def _age(one: ListedService) -> str:
    day = datetime.fromtimestamp(one.at, UTC).date().isoformat()
    return f"{one.provider} {one.models} models on {day}"


def _cells(line: ModelLine) -> tuple[str, ...]:
    where = "this machine" if line.local else "elsewhere"
    return (
        f"{line.provider}:{line.model}",
        _state(line),
        f"{where}, demonstration" if line.demonstration else where,
        ", ".join((*(("chat",) if line.chat else ()), *line.abilities)),
        f"{line.context_tokens:,}",
        price_text(line.price),
    )


def _state(line: ModelLine) -> str:
    if not line.available:
        return line.problem or "not available"
    rests = "; ".join(one.words for one in line.resting)
    if line.is_cooling:
        return rests or "not called for a while"
    return f"available ({rests})" if rests else "available"
