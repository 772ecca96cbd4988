"""`hermes graph list|show`: lists the conversations, and draws one of them."""

import sys
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from hermes.agents.secrets import mask_of
from hermes.cli.graph_source import any_graph_reader, note_shown, required_graph_reader
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import (
    AsJson,
    Home,
    Wide,
    clean,
    console,
    examples,
    print_json,
    print_report,
)
from hermes.control.graphs import GraphList, branches_of, current, find_graphs, list_graphs
from hermes.graph.mermaid import mermaid
from hermes.graph.sketch import Drawing, draw
from hermes.graph.text_drawing import DrawnRow, Tone, rows
from hermes.ports.graph_reader import GraphEntry

LIST_EPILOG = examples("hermes graph list", "hermes graph list --json")
SHOW_EPILOG = examples(
    "hermes graph show agent:main:rest:dm:bob",
    "hermes graph show bob   (enough, when no other conversation has it in its name)",
    "hermes graph show bob#0   (what was said before the first /new)",
    "hermes graph show bob --mermaid > bob.mmd",
    "hermes graph show bob --last 20   (the end of a long one)",
    "hermes graph show bob --json",
)
_STYLES: dict[Tone, str] = {
    "title": "bold",
    "message": "",
    "answer": "green",
    "former": "dim",
    "note": "cyan",
    "blank": "",
}
_COLUMNS = (
    Column("session", "id"),
    Column("epoch", "number"),
    Column("messages", "number", rank=2),
    Column("calls", "number", rank=3),
    Column("branches", rank=5),
    Column("consent", rank=4),
    Column("last used", "time", rank=1),
)
_NARROWEST, _WIDEST, _BESIDE_TEXT = 40, 100, 44

Session = Annotated[
    str,
    typer.Argument(
        metavar="CONVERSATION",
        help="The conversation as `hermes graph list` names it, or a part of its name, optionally "
        "with #EPOCH.",
    ),
]


class GraphDrawing(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `--json`: the graph as listed, and its drawing."""

    graph: GraphEntry
    drawing: Drawing


def list_all(home: Home = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """List the conversations of this home: their length, and whether they may be trained on."""
    with any_graph_reader(home) as reader:
        found = list_graphs(reader)
    print_report(found, _print_list, as_json=as_json, wide=wide)


def show(
    session: Session,
    *,
    home: Home = None,
    last: Annotated[
        int | None,
        typer.Option("--last", min=1, help="Only this many messages at the end of each branch."),
    ] = None,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid chart.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw a conversation with its branches, its model calls, and the versions that calls saw.

    The call that wrote an answer, and its model, are in brackets.
    """
    if as_mermaid and as_json:
        raise typer.BadParameter("--mermaid and --json exclude each other: choose one.")
    out = console()
    with required_graph_reader(home) as reader:
        entry = current(find_graphs(reader.graphs(), session))
        note_shown(home, (entry,))
        width = min(max(out.width - _BESIDE_TEXT, _NARROWEST), _WIDEST)
        drawing = draw(
            branches_of(reader, entry),
            width=width,
            last=last,
            mask=mask_of(reader.secret_values()).text,
        )
    if as_json:
        print_json(GraphDrawing(graph=entry, drawing=drawing))
    elif as_mermaid:
        sys.stdout.write(mermaid(drawing))
    else:
        _print_drawing(entry, drawing, out)


def _print_list(found: GraphList, out: Console) -> None:
    if not found.graphs:
        out.print("There is no conversation yet. `hermes chat` starts one.")
        return
    print_table(out, _COLUMNS, map(_cells, found.graphs))


def _cells(entry: GraphEntry) -> tuple[Cell, ...]:
    return (
        entry.session,
        f"{entry.epoch}",
        f"{entry.messages:,}",
        f"{entry.calls:,}",
        ", ".join(entry.branches),
        "yes" if entry.may_train else "no",
        entry.used_at,
    )


def _print_drawing(entry: GraphEntry, drawing: Drawing, out: Console) -> None:
    now = ", the current one" if entry.is_current else ""
    count = f"{drawing.calls} call{'' if drawing.calls == 1 else 's'}"
    _print(DrawnRow("title", f"{entry.session}, epoch {entry.epoch}{now}: {count}"), out)
    _print(DrawnRow("blank", ""), out)
    for row in rows(drawing):
        _print(row, out)


def _print(row: DrawnRow, out: Console) -> None:
    out.print(Text(clean(row.text), style=_STYLES[row.tone]), soft_wrap=True)
