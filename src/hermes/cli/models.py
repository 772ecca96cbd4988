"""`hermes models`: the configured models, their abilities and prices, and whether they answer."""

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hermes.cli.environment import settings_for
from hermes.cli.model_offers import ask_here, gateway_of, price_text
from hermes.cli.operator_calls import ask_gateway
from hermes.cli.terminal import AsJson, Home, clean, examples, print_report
from hermes.control.models import ModelLine, ModelsReport, models_report
from hermes.control.order import NoFields
from hermes.control.orders import MODELS_LIST

EPILOG = examples(
    "hermes models",
    "hermes models --json",
    "ANTHROPIC_API_KEY=... hermes models   (what a key would add)",
)


def command(context: typer.Context, home: Home = None, as_json: AsJson = False) -> None:
    """List the models: availability, abilities, context and price per million tokens in / out."""
    if context.invoked_subcommand is not None:
        return
    report = _report(home)
    print_report(report, _print, as_json=as_json)


def _report(home: Home) -> ModelsReport:
    gateway = gateway_of(home)
    if gateway is not None:
        return ask_gateway(gateway, MODELS_LIST, NoFields())
    loaded = settings_for(home)
    return models_report(loaded.settings, ask_here(loaded))


def _print(report: ModelsReport, out: Console) -> None:
    table = Table("model", "state", "where", "can", "context", "in / out", box=None, pad_edge=False)
    for line in report.models:
        table.add_row(*(Text(clean(cell)) for cell in _cells(line)))
    out.print(table)
    out.print(
        f"Prices in dollars per million tokens, as listed on {report.prices_date}. `hermes "
        "route PROMPT` shows which model would answer.",
        style="dim",
    )


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
