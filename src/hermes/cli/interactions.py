"""`hermes interactions`: the model, tokens and tools behind each turn."""

from typing import Annotated

import typer
from rich.console import Console

from hermes.cli.operator_calls import call, money
from hermes.cli.since import since_time
from hermes.cli.terminal import AsJson, Home, Since, examples, make_table, print_report, texts
from hermes.control.interactions import (
    MOST_INTERACTIONS,
    InteractionAsk,
    InteractionsReport,
)
from hermes.control.orders import INTERACTIONS_LIST
from hermes.control.why_answer import clock_time
from hermes.ports.interactions import InteractionRow

EPILOG = examples(
    "hermes interactions",
    "hermes interactions --user telegram:4711 --since 7d",
    "hermes interactions --model openai:gpt-4o-mini --tool web_fetch --json",
)
_COLUMNS = ("when", "message", "person", "platform", "agent", "model")
_NUMBERS = ("tokens in", "tokens out", "cost", "soul ms", "tools ms")


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
    print_report(report, _print, as_json=as_json)


def _print(report: InteractionsReport, out: Console) -> None:
    if not report.interactions:
        out.print("No turns were found.")
        return
    table = make_table(*_COLUMNS)
    for name in _NUMBERS:
        table.add_column(name, justify="right")
    table.add_column("tools")
    for row in report.interactions:
        table.add_row(*texts(_cells(row)))
    out.print(table)


def _cells(row: InteractionRow) -> tuple[str, ...]:
    model = row.llm_backend or "none"
    return (
        clock_time(row.at),
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
