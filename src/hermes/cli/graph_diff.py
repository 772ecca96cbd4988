"""`hermes graph diff CALL CALL`: compares what two model calls saw."""

from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hermes.agents.secrets import mask_of
from hermes.cli.graph_source import note_shown, required_graph_reader
from hermes.cli.terminal import AsJson, Home, clean, examples, print_report
from hermes.control.graph_diff import CallDiff, CallSide, SettingDiff, ToolsDiff, diff_calls
from hermes.control.why_answer import clock_time
from hermes.graph.comparison import Side, compared_lines

EPILOG = examples(
    "hermes graph diff m_06gtv2gs6bqvb0ljq03ptcp1.0 m_06gtv2h2vs1a30r53sojlikn.0",
    "hermes graph diff m_06gtv2gs6bqvb0ljq03ptcp1.0 m_06gtv2gs6bqvb0ljq03ptcp1.2 --json",
    "hermes graph show bob   (shows the ids of the calls in brackets)",
)
_LOOKS: dict[Side, tuple[str, str]] = {
    "head": ("", "bold"),
    "both": ("  ", "dim"),
    "before": ("- ", "red"),
    "after": ("+ ", "green"),
}


def command(
    before: Annotated[str, typer.Argument(help="The call to start from.")],
    after: Annotated[str, typer.Argument(help="The call to compare it with.")],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Compare what two model calls saw, in one conversation or in two.

    Also compares their models, tools, sampling settings and answers.
    """
    with required_graph_reader(home) as reader:
        found = diff_calls(reader, before, after)
        mask = mask_of(reader.secret_values())
        names = {found.before.graph, found.after.graph}
        note_shown(home, (entry for entry in reader.graphs() if entry.name in names))
    print_report(msgspec.convert(mask.report(found), CallDiff), _print, as_json=as_json)


def _print(found: CallDiff, out: Console) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, text in _facts(found):
        table.add_row(Text(name, style="dim"), Text(clean(text)))
    out.print(table)
    if not found.changes:
        out.print("Both saw the same messages.")
    for change in found.changes:
        out.print()
        for line in compared_lines(change):
            sign, style = _LOOKS[line.side]
            out.print(Text(clean(sign + line.text), style=style), soft_wrap=True)


def _facts(found: CallDiff) -> list[tuple[str, str]]:
    before, after = found.before, found.after
    model = before.model if before.model == after.model else f"{before.model} -> {after.model}"
    return [
        ("before", _side(before)),
        ("after", _side(after)),
        ("model", model),
        ("tools", _tools(found.tools)),
        ("sampling", "; ".join(map(_setting, found.sampling)) or "the same"),
        ("answer", "the same" if found.same_answer else "another"),
    ]


def _side(side: CallSide) -> str:
    when = "" if side.at is None else f", {clock_time(side.at)}"
    branch = "" if side.branch == "main" else f", branch {side.branch}"
    return f"{side.call} in {side.graph}{branch}: {side.messages} messages{when}"


def _tools(tools: ToolsDiff) -> str:
    told = [f"- {name}" for name in tools.removed] + [f"+ {name}" for name in tools.added]
    told += [f"{name} (changed)" for name in tools.changed]
    return ", ".join(told) or "the same"


def _setting(setting: SettingDiff) -> str:
    return f"{setting.name} {_value(setting.before)} -> {_value(setting.after)}"


def _value(value: Any) -> str:  # Any: JSON as the call had it
    return "unset" if value is None else msgspec.json.encode(value).decode()
