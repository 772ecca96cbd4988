"""`hermes interactions`: the model, tokens and tools behind each turn."""

from typing import Annotated

import typer
from rich.console import Console

from hermes.cli.operator_calls import call, money
from hermes.cli.since import since_time
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import AsJson, Home, Since, Wide, examples, print_report
from hermes.control.interactions import (
    MOST_INTERACTIONS,
    InteractionAsk,
    InteractionsReport,
)
from hermes.control.orders import INTERACTIONS_LIST
from hermes.ports.interactions import InteractionRow

EPILOG = examples(
    "hermes interactions",
    "hermes interactions --user telegram:4711 --since 7d",
    "hermes interactions --model openai:gpt-4o-mini --tool web_fetch --json",
)
_COLUMNS = (
    Column("when", "time"),
    Column("message", "id"),
    Column("person", "id", rank=5),
    Column("platform", rank=4),
    Column("agent", rank=6),
    Column("model", rank=1),
    Column("tokens in", "number", rank=3),
    Column("tokens out", "number", rank=3),
    Column("cost", "number", rank=2),
    Column("soul ms", "number", rank=8),
    Column("tools ms", "number", rank=7),
    Column("tools", rank=2),
)


def _only(text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(help=text, show_default=False)
    return option


def command(
    *,
    user: Annotated[
        str | None, _only("Only turns of this person: PLATFORM:USER_ID, or the id of a person.")
    ] = None,
    agent: Annotated[str | None, _only("Only turns of this agent.")] = None,
    platform: Annotated[str | None, _only("Only turns of this platform.")] = None,
    model: Annotated[
        str | None, _only("Only turns that this model answered, PROVIDER:MODEL.")
    ] = None,
    tool: Annotated[str | None, _only("Only turns that called this tool.")] = None,
    since: Since = None,
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_INTERACTIONS, help="At most this many turns.")
    ] = 20,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List turns, the newest first: model, tokens, cost, and the tools that ran."""
    ask = InteractionAsk(
        user=user,
        agent=agent,
        platform=platform,
        model=model,
        tool=tool,
        since=since_time(since, home),
        limit=limit,
    )
    report = call(home, INTERACTIONS_LIST, ask, empty=InteractionsReport)
    print_report(report, _print, as_json=as_json, wide=wide)


def _print(report: InteractionsReport, out: Console) -> None:
    if not report.interactions:
        out.print("No turns were found.")
        return
    print_table(out, _COLUMNS, map(_cells, report.interactions))


def _cells(row: InteractionRow) -> tuple[Cell, ...]:
    model = row.llm_backend or "none"
    return (
        row.at,
        row.message_id,
        row.person_id,
        row.platform,
        row.agent,
        f"{model} (cached)" if row.llm_cache_hit else model,
        f"{row.tokens_in:,}",
        f"{row.tokens_out:,}",
        "unknown" if row.cost_usd is None else money(row.cost_usd),
        f"{row.soul_load_ms:.1f}",
        f"{row.tool_exec_ms:.0f}",
        ", ".join(row.tools),
    )
