"""`hermes replay`: answers made again from what was frozen, one or a set of them."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.failure import FAILED, INTERRUPTED
from hermes.cli.operator_calls import call
from hermes.cli.replay_set import ReplaySetReport, SetRequest, print_set, replay_set
from hermes.cli.since import since_time
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Since,
    Wide,
    clean,
    console,
    examples,
    make_table,
    print_json,
    print_report,
)
from hermes.cli.who import operator_name
from hermes.control.interactions import MOST_INTERACTIONS, InteractionAsk
from hermes.control.orders import REPLAYS_LIST, REPLAYS_RUN, REPLAYS_SHOW
from hermes.control.replays import (
    MOST_REPLAYS,
    ReplayAsk,
    ReplayOrder,
    ReplayReport,
    ReplaysAsk,
    ReplaysReport,
)
from hermes.control.why_answer import span
from hermes.control.why_call import cost_text
from hermes.errors import BadRequest, Conflict
from hermes.message.reply import Usage
from hermes.pipeline.replays.answers import AnswerSide
from hermes.ports.replays import ReplayRecord

EPILOG = examples(
    "hermes replay m_0k3v9c2h6l1g",
    "hermes replay m_0k3v9c2h6l1g --model openai:gpt-4o-mini --prompt new-prompt.md",
    "hermes replay --since 7d --agent main --sample 50 --model house:qwen3 --fail-above 0.3",
)
LIST_EPILOG = examples("hermes replay list", "hermes replay list --label qwen3 --json")
SHOW_EPILOG = examples("hermes replay show rp_0k3v9c2h6l1g")
# A replay may make as many calls as a turn.
REPLAY_S = 900.0
_MOST_PARALLEL = 8
_COLUMNS = (
    Column("when", "time"),
    Column("replay", "id"),
    Column("message", "id"),
    Column("model", rank=1),
    Column("state", "state"),
    Column("why", rank=3),
    Column("changed", "number"),
    Column("cost", "number", rank=2),
    Column("set", rank=4),
)


def _only(text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(help=text, show_default=False)
    return option


def run(
    message: Annotated[
        str | None,
        typer.Argument(
            metavar="MESSAGE",
            help="The message whose answer is made again; without one, a set of them.",
            show_default=False,
        ),
    ] = None,
    *,
    model: Annotated[str, _only("The model that answers, PROVIDER:MODEL.")] = "",
    system: Annotated[str | None, _only("A system prompt in place of the agent's own.")] = None,
    prompt: Annotated[Path | None, _only("The same, from a file.")] = None,
    live_tools: Annotated[
        bool, typer.Option("--live-tools", help="Run tools for real; else the record answers.")
    ] = False,
    since: Since = None,
    agent: Annotated[str | None, _only("Of a set: only answers of this agent.")] = None,
    user: Annotated[str | None, _only("Of a set: only answers to this person.")] = None,
    platform: Annotated[str | None, _only("Of a set: only answers on this platform.")] = None,
    tool: Annotated[str | None, _only("Of a set: only answers that called this tool.")] = None,
    answered_by: Annotated[str | None, _only("Of a set: only answers of this model.")] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1, help="Of a set: so many of them, always the same ones.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_INTERACTIONS, help="Of a set: the newest so many.")
    ] = 100,
    parallel: Annotated[
        int, typer.Option(min=1, max=_MOST_PARALLEL, help="Of a set: so many at a time.")
    ] = 2,
    label: Annotated[str, _only("A name for the set, for `hermes replay list`.")] = "",
    max_cost: Annotated[
        float | None, typer.Option(help="Stop after so many dollars.", show_default=False)
    ] = None,
    fail_above: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Exit code 1 if an answer differs by more than this share, or is missing.",
            show_default=False,
        ),
    ] = None,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Make answers again from what was frozen, and compare them; nothing is sent to anybody.

    The model is called for real, at the gateway's own cost. Exit code 1 if there is no answer.
    """
    order = ReplayOrder(
        message=message or "",
        model=model,
        system=_prompt(system, prompt),
        live_tools=live_tools,
        max_usd=max_cost,
        label=label,
        by=operator_name(),
    )
    if message is not None:
        report = call(home, REPLAYS_RUN, order, empty=_nothing, timeout_s=REPLAY_S)
        print_report(report, _print, as_json=as_json, wide=wide)
        _exit(is_failed=_is_failed(report.replay, fail_above))
        return
    ask = InteractionAsk(
        user=user,
        agent=agent,
        platform=platform,
        model=answered_by,
        tool=tool,
        since=since_time(since, home),
        limit=limit,
    )
    if sample is None and ask == InteractionAsk(limit=limit):
        raise typer.BadParameter(
            "Name a message; or choose a set with --since, --sample, --agent, --user, --platform, "
            "--tool or --answered-by."
        )
    request = SetRequest(ask=ask, order=order, sample=sample, parallel=parallel)
    done = replay_set(home, request, timeout_s=REPLAY_S)
    print_report(done, print_set, as_json=as_json, wide=wide)
    if done.is_stopped:
        raise typer.Exit(INTERRUPTED)
    _exit(is_failed=_is_set_failed(done, fail_above))


def list_all(
    *,
    message: Annotated[str, _only("Only replays of this message.")] = "",
    label: Annotated[str, _only("Only replays of this set.")] = "",
    before: Annotated[str, _only("Only replays before this one.")] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=MOST_REPLAYS, help="At most this many replays.")
    ] = 20,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List the replays that were made, the newest first."""
    ask = ReplaysAsk(message=message, label=label, before=before, limit=limit)
    report = call(home, REPLAYS_LIST, ask, empty=ReplaysReport)
    print_report(report, _print_list, as_json=as_json, wide=wide)


def show(
    replay: Annotated[str, typer.Argument(metavar="REPLAY", help="The replay's id, or its end.")],
    *,
    home: Home = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Show a replay: both answers, what they took, and how they differ."""
    report = call(home, REPLAYS_SHOW, ReplayAsk(id=replay), empty=_nothing)
    if as_json:
        print_json(report)
    else:
        _print(report, console(wide=wide))


def _prompt(system: str | None, prompt: Path | None) -> str | None:
    if prompt is None:
        return system
    if system is not None:
        raise typer.BadParameter("Write --system TEXT or --prompt FILE, not both.")
    try:
        return prompt.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadRequest(f"{prompt} cannot be read as text: {problem}") from problem


def _nothing() -> ReplayReport:
    raise Conflict("Nothing is stored here yet, so nothing can be replayed.")


def _is_failed(replay: ReplayRecord, fail_above: float | None) -> bool:
    if replay.state != "answered":
        return True
    return fail_above is not None and (replay.change or 0.0) > fail_above


def _is_set_failed(done: ReplaySetReport, fail_above: float | None) -> bool:
    replays = [line.replay for line in done.lines if line.replay is not None]
    if not replays:
        return True
    return fail_above is not None and any(_is_failed(one, fail_above) for one in replays)


def _exit(*, is_failed: bool) -> None:
    if is_failed:
        raise typer.Exit(FAILED)


def _print(report: ReplayReport, out: Console) -> None:
    replay = report.replay
    how = replay.state if replay.change is None else f"{replay.state}, {_percent(replay)} changed"
    out.print(Text(f"{replay.id} of {replay.message_id}: {how}"), soft_wrap=True)
    if report.text:
        out.print(Text(clean(report.text)), soft_wrap=True)
    if report.before is None or report.after is None:
        return
    table = make_table("", "before", "after")
    for name, one, two in zip(
        ("model", "time", "tokens", "cost", "tools", "answer"),
        _cells_of(report.before),
        _cells_of(report.after),
        strict=True,
    ):
        table.add_row(Text(name, style="dim"), Text(clean(one)), Text(clean(two)))
    out.print(table)
    for line in report.diff:
        style = {"+": "green", "-": "red"}.get(line[:1], "dim")
        out.print(Text(clean(line), style=style), soft_wrap=True)


def _cells_of(side: AnswerSide) -> tuple[str, ...]:
    usage = Usage(side.tokens_in, side.tokens_out, cost_usd=side.cost_usd, unpriced=side.unpriced)
    return (
        side.model,
        span(side.ms / 1000),
        f"{side.tokens_in:,} in, {side.tokens_out:,} out",
        cost_text(usage),
        "\n".join(f"{one.name} {one.arguments}" for one in side.tools) or "none",
        side.text or "(no text)",
    )


def _print_list(report: ReplaysReport, out: Console) -> None:
    if not report.replays:
        out.print("No replays were found.")
        return
    print_table(out, _COLUMNS, map(_cells, report.replays))
    if report.next:
        out.print(Text(f"More: --before {report.next}", style="dim"))


def _cells(one: ReplayRecord) -> tuple[Cell, ...]:
    usage = Usage(one.tokens_in, one.tokens_out, cost_usd=one.cost_usd, unpriced=one.unpriced)
    return (
        one.started_at,
        one.id,
        one.message_id,
        f"{one.model} (live tools)" if one.is_live else one.model,
        one.state,
        one.reason,
        "" if one.change is None else _percent(one),
        cost_text(usage),
        one.label,
    )


def _percent(replay: ReplayRecord) -> str:
    return f"{(replay.change or 0.0) * 100:.1f} %"
