"""`hermes why ID`: explains a message or a call, asked from the gateway or read from its files."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hermes.cli.environment import home_for
from hermes.cli.operator_calls import call
from hermes.cli.terminal import AsJson, Home, clean, examples, make_table, print_report
from hermes.control.branches import BranchLine, below_text
from hermes.control.orders import MESSAGES_READ, MESSAGES_WHY
from hermes.control.why import WhyAsk, WhyReport, WhyRoute, WhySummary
from hermes.control.why_answer import clock_time, span
from hermes.control.why_call import CallStory, cost_text, key_text, stored_text
from hermes.control.why_lines import WhyStepText
from hermes.control.why_pictures import pictures_text
from hermes.control.why_tools import tools_text
from hermes.errors import NotFound
from hermes.message.reply import Usage

EPILOG = examples(
    "hermes why m_0k3v9c2h6l1g",
    "hermes why 2h6l1g   (four letters of its beginning or end are enough)",
    "hermes why r_0k3v9c2h6l1g   (a refused message)",
    "hermes why o_0k3v9c2h6l1g   (what `hermes send` has sent, or the message of a reply)",
    "hermes why v_0k3v9c2h6l1g   (a call of /v1)",
    "hermes why my-own-id --text",
    "hermes why m_0k3v9c2h6l1g --json",
)


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="The id of a message, a refusal, a delivery or a call, or its beginning or end; or the "
            "sender's own id of a message.",
        ),
    ],
    *,
    home: Home = None,
    text: Annotated[
        bool,
        typer.Option(
            "--text",
            help="Also print the messages, recalled facts, long results, and plain user ids.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Explain a message, a delivery or a call: sender, model and why, cost, and where the reply went."""
    report = _report(name, home, text=text)
    print_report(report, _print, as_json=as_json)


def _report(name: str, home: Home, *, text: bool) -> WhyReport:
    folder = home_for(home)

    def nothing() -> WhyReport:
        why = (
            f"nothing is stored in {folder} yet"
            if folder.exists()
            else f"{folder} does not exist yet"
        )
        raise NotFound(f"There is no message {name!r}: {why}.")

    return call(home, MESSAGES_READ if text else MESSAGES_WHY, WhyAsk(id=name), empty=nothing)


def _print(report: WhyReport, out: Console) -> None:
    out.print(Text(clean(report.answer), style="bold"))
    out.print()
    _pairs(out, _facts(report))
    if report.call is not None:
        _pairs(out, _try_rows(report.call), title="Tries")
        out.print(stored_text(report.stored_until), style="dim")
        return
    _pairs(out, _route_rows(report.route), title="Route")
    _pairs(
        out,
        [(one.platform, _delivery(one.how, one.attempts)) for one in report.deliveries],
        title="Replies",
    )
    _pairs(out, [(one.id, _below(one)) for one in report.branch], title="Delegated")
    _timeline(report, out)
    if report.text is not None:
        _said(out, "Message", text=report.text.message)
        if report.text.recalled:
            _said(out, "Recalled", text="\n".join(report.text.recalled))
        for step in report.text.steps:
            _step(out, step)
        _said(out, "Reply", text=report.text.reply)
        for one in report.text.results:
            _said(out, f"Full result of {one.tool} (step {one.step})", text=one.text)


def _facts(report: WhyReport) -> list[tuple[str, str]]:
    usage, beside = report.usage, report.platform_usage
    accepted = clock_time(report.accepted_at) if report.accepted_at is not None else None
    has_model = report.model or report.call
    moved = ", ".join(f"{one.kind} {one.amount}" for one in report.credits)
    facts: list[tuple[str, str | None]] = [
        ("id", report.id),
        ("sender's id", report.external_id),
        ("from", f"{report.platform}, user {report.user}" if report.user else report.platform),
        ("accepted", accepted),
        ("lane", report.lane),
        ("state", report.call.outcome if report.call else report.outcome or report.state),
        ("waiting for", report.waiting_for),
        ("key", key_text(report.key) if report.key else None),
        ("asked for", report.call.wanted if report.call else None),
        ("model", report.model),
        ("deployment", report.deployment),
        ("rule", report.route.rule if report.route else None),
        ("history", summary_text(report.summary) if report.summary else None),
        ("tools", tools_text(report.tools) if report.tools else None),
        ("pictures", pictures_text(report.pictures) if report.pictures else None),
        ("tokens", f"{usage.tokens_in} in, {usage.tokens_out} out" if has_model else None),
        ("cost", cost_text(usage) if usage.cost_usd or usage.unpriced else None),
        ("platform paid", cost_text(beside) if beside != Usage() else None),
        ("with all delegated", cost_text(report.branch_usage) if report.branch else None),
        ("stopped", report.stop_reason),
        ("reason", report.reason),
        ("credits", moved or None),
        ("attempts", str(report.attempts) if report.attempts > 1 else None),
        ("refusal", f"{report.refusal.id} ({report.refusal.code})" if report.refusal else None),
    ]
    return [(name, text) for name, text in facts if text]


def summary_text(summary: WhySummary) -> str:
    """Return what the model saw of the older messages, in words."""
    what = "message" if summary.messages == 1 else "messages"
    seen = "a summary of" if summary.is_summary else "a note in the place of"
    return f"{seen} the first {summary.messages} {what}, then the others"


def _try_rows(call: CallStory) -> list[tuple[str, str]]:
    """Return every model that was called, in order, with its rule and its failure."""
    last = len(call.attempts) - 1
    rows = []
    for place, one in enumerate(call.attempts):
        ended = call.outcome if place == last else "skipped"
        status = f" ({one.status})" if one.status else ""
        how = f"failed: {one.problem}{status}" if one.problem else ended
        how = f"{how} at {one.deployment}" if one.deployment else how
        rows.append((one.model, f"{how}; {one.rule}" if one.rule else how))
    return rows


def _route_rows(route: WhyRoute | None) -> list[tuple[str, str]]:
    if route is None:
        return []
    rows = [("wanted", route.wanted)] if route.wanted else []
    rows += [(one.model, f"candidate: {one.rule}") for one in route.candidates]
    return rows + [(one.provider, f"left out: {one.reason}") for one in route.dropped]


def _below(line: BranchLine) -> str:
    return f"{'  ' * (line.depth - 1)}{below_text(line)}"


def _delivery(how: str, attempts: int) -> str:
    return f"{how}, {attempts} attempts" if attempts > 1 else how


def _timeline(report: WhyReport, out: Console) -> None:
    table = make_table("time (UTC)", "after", "lasted", "what", "cost", "")
    for line in report.lines:
        moment = datetime.fromtimestamp(line.at, UTC).strftime("%H:%M:%S.%f")[:-3]
        # The route has its own table.
        told = {} if line.what == "routed" else line.data
        data = " ".join(f"{name}={_cell(value)}" for name, value in told.items())
        table.add_row(
            moment,
            span(line.after_s),
            "" if line.lasted_s is None else span(line.lasted_s),
            Text(clean(line.what)),
            cost_text(line.usage) if line.usage != Usage() else "",
            Text(clean(data), style="dim"),
        )
    if table.row_count:
        out.print(Text("Timeline", style="bold"))
        out.print(table)


def _step(out: Console, step: WhyStepText) -> None:
    parts = (
        ("thoughts", step.thoughts),
        ("arguments", step.arguments),
        *((f"calls {call.tool}", call.arguments) for call in step.calls),
        ("text", step.text),
    )
    _pairs(out, [(name, text) for name, text in parts if text], title=f"Step {step.step}")


def _said(out: Console, title: str, *, text: str | None) -> None:
    out.print(Text(title, style="bold"))
    out.print(Text(clean(text) if text is not None else "(erased, or never stored)"))


def _cell(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_cell(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _pairs(out: Console, rows: list[tuple[str, str]], *, title: str | None = None) -> None:
    if not rows:
        return
    if title:
        out.print(Text(title, style="bold"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, text in rows:
        table.add_row(Text(clean(name), style="dim"), Text(clean(text)))
    out.print(table)
