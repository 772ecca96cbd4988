"""`hermes models`: the configured models, their abilities and prices, and whether they answer."""

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from hermes.cli.environment import settings_for
from hermes.cli.model_offers import ask_here, gateway_of, price_text
from hermes.cli.operator_calls import ask_gateway
from hermes.cli.tables import Column, print_table
from hermes.cli.terminal import AsJson, Home, Wide, clean, examples, print_report
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
_COLUMNS = (
    Column("model", "id"),
    Column("state", "state"),
    Column("where", rank=3),
    Column("can", rank=4),
    Column("context", "number", rank=2),
    Column("in / out", rank=1),
)


def list_all(
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Also the models that only a service's own list names.")
    ] = False,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List the models: availability, abilities, context and price per million tokens in / out."""
    report = _report(home)
    print_report(report, partial(_print, every=every), as_json=as_json, wide=wide)


def _report(home: Home) -> ModelsReport:
    gateway = gateway_of(home)
    if gateway is not None:
        return ask_gateway(gateway, MODELS_LIST, NoFields())
    loaded = settings_for(home)
    facts = ModelFacts(loaded.settings.providers, kept_lists(loaded.home))
    return models_report(loaded.settings, ask_here(loaded), facts)


def _print(report: ModelsReport, out: Console, *, every: bool) -> None:
    shown = (line for line in report.models if every or line.is_configured)
    print_table(out, _COLUMNS, map(_cells, shown))
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
