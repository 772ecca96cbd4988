"""`hermes graph verify|verify-export`: checks that stored and exported conversations are intact."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from hermes.cli.environment import home_for
from hermes.cli.failure import FAILED
from hermes.cli.graph_source import any_graph_reader, required_graph_reader
from hermes.cli.progress import Show, progress_bar
from hermes.cli.terminal import AsJson, Home, clean, examples, print_report
from hermes.control.exported_file import (
    FileReport,
    Numbered,
    check_file,
    read_jsonl,
    read_table,
)
from hermes.control.graph_check import CheckReport, check_graphs
from hermes.control.graphs import find_all
from hermes.errors import NotFound
from hermes.lazy import lazy
from hermes.ports.graph_reader import GraphReader

if TYPE_CHECKING:
    from hermes.graph.exports.parquet import read_parquet
else:
    read_parquet = lazy("hermes.graph.exports.parquet:read_parquet")

VERIFY_EPILOG = examples(
    "hermes graph verify",
    "hermes graph verify bob ann#2",
    "hermes graph verify --json || echo damaged",
)
FILE_EPILOG = examples(
    "hermes graph verify-export ./data/openai.jsonl",
    "hermes graph verify-export ./data/trl-preference.parquet --json",
)
_SHOWN = 20
_PARQUET = ".parquet"


def verify(
    session: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SESSION",
            help="Only these conversations, optionally with #EPOCH; by default all.",
            show_default=False,
        ),
    ] = None,
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Check the whole store: compute every hash again, apply every edit again.

    Exit code 1 if there is damage; what was erased on purpose does not count.
    """
    if not home_for(home).exists():
        raise NotFound(
            f"There is no home {home_for(home)}, so nothing was checked. Select another one with "
            "--home."
        )
    with any_graph_reader(home) if not session else required_graph_reader(home) as reader:
        report = CheckReport() if reader is None else _check(reader, session or [])
    print_report(report, _print_check, as_json=as_json)
    if report.damage:
        raise typer.Exit(FAILED)


def verify_export(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file written by `hermes graph export`.")
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Check every row of an exported file against its certificate; needs only the file.

    Exit code 1 if a row is invalid, or if there is no row.
    """
    path = file.expanduser().absolute()
    with progress_bar("Checking") as show:
        report = check_file(path, _rows(path, show))
    print_report(report, _print_file, as_json=as_json)
    if report.broken or not report.rows:
        raise typer.Exit(FAILED)


def _check(reader: GraphReader, wanted: list[str]) -> CheckReport:
    with progress_bar("Checking") as show:
        entries = find_all(reader, wanted) if wanted else list(reader.graphs())
        return check_graphs(
            reader,
            entries,
            progress=lambda done, total: show(done, total, "branches"),
            whole=not wanted,
        )


def _rows(path: Path, show: Show) -> Iterator[Numbered]:
    if path.suffix == _PARQUET:
        return read_table(path, read_parquet)
    size = path.stat().st_size if path.is_file() else 0
    return read_jsonl(path, lambda done: show(done, size, "bytes"))


def _print_check(report: CheckReport, out: Console) -> None:
    counts = (
        (report.graphs, "graph"),
        (report.branches, "branch"),
        (report.versions, "version"),
        (report.calls, "call"),
    )
    checked = ", ".join(_count(number, word) for number, word in counts)
    found = (
        f"{_count(len(report.damage), 'problem')} found" if report.damage else "no problem found"
    )
    _say(f"Checked {checked}: {found}.", out)
    if report.erased:
        graphs = len({one.graph for one in report.erased})
        beside = len(report.erased) - report.erased_messages
        told = f" and {_count(beside, 'text')} that only models saw" if beside else ""
        _say(
            f"erased: {_count(report.erased_messages, 'message')}{told} in "
            f"{_count(graphs, 'graph')}, of people who were erased. This is not damage.",
            out,
        )
    for one in report.damage[:_SHOWN]:
        branch = f"branch {one.branch}" if one.branch else ""
        place = ", ".join(part for part in (one.graph, branch, one.where) if part)
        _say(f"{one.trouble}: {place}: {one.text}", out)
    _say_more(len(report.damage), out)
    if report.damage:
        _say("Move the home away as it is, then restore a backup with `hermes restore FILE`.", out)


def _print_file(report: FileReport, out: Console) -> None:
    formats = ", ".join(sorted(report.formats))
    rows = _count(report.rows, "row") + (f" ({formats})" if formats else "")
    if not report.rows:
        _say(f"{report.file} has no rows.", out)
    elif not report.broken:
        _say(f"{report.file}: {rows}, every certificate is valid.", out)
    else:
        _say(f"{report.file}: {rows}, {report.broken:,} of them invalid.", out)
    word = "row" if report.file.endswith(_PARQUET) else "line"
    for one in report.problems[:_SHOWN]:
        _say(f"{word} {one.row}: {one.trouble}, {one.where}: {one.text}", out)
    _say_more(report.broken, out)


def _say_more(count: int, out: Console) -> None:
    if count > _SHOWN:
        _say(f"and {count - _SHOWN:,} more; --json lists them", out)


def _count(number: int, word: str) -> str:
    several = f"{word}es" if word.endswith("ch") else f"{word}s"
    return f"{number:,} {word if number == 1 else several}"


def _say(text: str, out: Console) -> None:
    out.print(Text(clean(text)), soft_wrap=True)
