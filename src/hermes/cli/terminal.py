"""What all commands share for printing: common options, JSON, times."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hermes.message.visible import without_hidden

Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="The home folder; by default HERMES_HOME, or ~/.hermes.",
        show_default=False,
    ),
]
_PIPE_WIDTH = 1000
Wide = Annotated[bool, typer.Option("--wide", help="Show every column whole, however wide.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Since = Annotated[
    str | None,
    typer.Option(
        help="Only newer than this: a day such as 2026-11-01, or 30m, 12h, 7d.",
        show_default=False,
    ),
]
Person = Annotated[
    str, typer.Argument(metavar="USER", help="PLATFORM:USER_ID, or the id of a person or its end.")
]
ChannelName = Annotated[
    str, typer.Argument(metavar="CHANNEL", help="PLATFORM:USER_ID, as the platform writes it.")
]
_Report = TypeVar("_Report")


def console(*, wide: bool = False) -> Console:
    """Return the console for standard output; no colours if that is a pipe, or with NO_COLOR."""
    # A pipe has no width: nothing may be wrapped or cut there.
    is_endless = wide or not sys.stdout.isatty()
    return Console(highlight=False, width=_PIPE_WIDTH if is_endless else None)


def error_console() -> Console:
    """Return the console for progress and notes, on standard error."""
    return Console(stderr=True, highlight=False)


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def print_report(
    report: _Report,
    show: Callable[[_Report, Console], None],
    *,
    as_json: bool,
    wide: bool = False,
) -> None:
    """Print a report as JSON for programs, or show it to people."""
    if as_json:
        print_json(report)
    else:
        show(report, console(wide=wide))


def print_done(report: object, text: str, *, as_json: bool) -> None:
    """Print the report of an order as JSON for programs, or what it did in a sentence."""
    if as_json:
        print_json(report)
    else:
        print(clean(text))


def make_table(*names: str) -> Table:
    """Return a table with these columns."""
    return Table(*names, box=None, pad_edge=False, header_style="dim")


def texts(cells: Iterable[str]) -> list[Text]:
    """Return the cells of a row, without control codes and markup."""
    return [Text(clean(cell)) for cell in cells]


def print_fields(out: Console, fields: Iterable[tuple[str, str]]) -> None:
    """Print values beside their names."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, text in fields:
        table.add_row(Text(name, style="dim"), Text(clean(text)))
    out.print(table)


def examples(*lines: str) -> str:
    """Return the `--help` epilogue with one example per line."""
    return "\n".join(("Examples:", *(f"  {line}" for line in lines)))


_CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def clean(text: str) -> str:
    """Return a foreign text without what could manipulate a terminal; hidden letters are escapes."""
    return without_hidden(text.translate(_CONTROLS))
