"""Writes training data from graphs into one file, and tells what was refused and why.

A file appears under its name only when it is whole. Of people who have not agreed nothing is
written: whether they have is looked up graph by graph.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from hermes.control.graphs import branches_of
from hermes.errors import BadRequest, HermesError
from hermes.graph import MessageGraph
from hermes.graph.exports import (
    FormatName,
    Refusal,
    Report,
    Row,
    Tokenizer,
    export_rows,
    write_jsonl,
)
from hermes.ports.graph_reader import GraphEntry, GraphReader

# Told before each graph and at the end: how many are done, of how many, and the rows so far.
Progress = Callable[[int, int, int], None]
WriteRows = Callable[[Iterable[Row], Path], int]


class UnreadableGraph(msgspec.Struct, frozen=True):
    """A graph that could not be read at all."""

    graph: str
    text: str


class ExportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was written where, and what was not; `file` is None when there was no row.

    `graphs` were looked at, and `with_rows` of them gave rows.
    """

    format: FormatName
    file: str | None
    bytes: int
    graphs: int
    with_rows: int
    without_consent: int
    rows: int
    trained: int
    refused: dict[str, int]
    refusals: tuple[Refusal, ...]
    unopened: tuple[UnreadableGraph, ...]


def _has_none(_text: str) -> bool:
    return False


class GraphExportPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to write: the format, the file, and how rows get into it.

    Answers that operators had made again are left out, except `with_replays`.
    """

    format: FormatName
    file: Path
    write: WriteRows
    tokenizer: Tokenizer | None = None
    has_secret: Callable[[str], bool] = _has_none
    with_replays: bool = False


def write_rows(rows: Iterable[Row], path: Path) -> int:
    """Write rows as JSON lines; return how many."""
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        return write_jsonl(rows, stream)


def export_graphs(
    reader: GraphReader, entries: Sequence[GraphEntry], *, plan: GraphExportPlan, progress: Progress
) -> ExportReport:
    """Write the rows of graphs into a file, and account for every call that gave none."""
    report, unopened = Report(), list[UnreadableGraph]()
    agreed = {entry.name for entry in entries if entry.may_train}

    def graphs() -> Iterator[MessageGraph]:
        for place, entry in enumerate(entries):
            progress(place, len(entries), report.rows)
            try:
                branches = branches_of(reader, entry, with_replays=plan.with_replays)
            except HermesError as problem:
                unopened.append(UnreadableGraph(entry.name, str(problem)))
                continue
            yield from branches

    rows = export_rows(
        graphs(),
        plan.format,
        may_train=agreed.__contains__,
        salt=reader.salt(),
        report=report,
        tokenizer=plan.tokenizer,
        has_secret=plan.has_secret,
    )
    size = _write_whole(plan, rows)
    progress(len(entries), len(entries), report.rows)
    return ExportReport(
        format=plan.format,
        file=str(plan.file) if report.rows else None,
        bytes=size,
        graphs=report.graphs,
        with_rows=report.with_rows,
        without_consent=len(entries) - len(agreed),
        rows=report.rows,
        trained=report.trained,
        refused={str(reason): count for reason, count in report.refused.items()},
        refusals=tuple(report.refusals),
        unopened=tuple(unopened),
    )


def _write_whole(plan: GraphExportPlan, rows: Iterable[Row]) -> int:
    """Write a file under another name, and give it its own when it is on the disk as a whole."""
    with _failing_clearly(plan.file), _beside(plan.file) as part:
        if not plan.write(rows, part):
            return 0
        part.chmod(0o600)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        size = part.stat().st_size
        part.replace(plan.file)
        return size


@contextmanager
def _beside(file: Path) -> Iterator[Path]:
    # What was said in private goes in there: until it is whole, nobody else even sees the folder.
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as folder:
        yield Path(folder) / file.name


@contextmanager
def _failing_clearly(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise BadRequest(
            f"{file} cannot be written: {problem.strerror or problem}. Nothing was changed there; "
            "choose another folder with --out, or make room."
        ) from problem
