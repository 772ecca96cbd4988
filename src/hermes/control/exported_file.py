"""Checks a file of exported rows, row by row, with nothing but the file.

Every certificate is computed again. It needs no home, no store and no key, so it works wherever
the file has gone.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from hermes.errors import BadRequest, HermesError, NotFound
from hermes.graph.exports import verify_row

# Told after each row: how many bytes of the file are read.
Progress = Callable[[int], None]
ReadRows = Callable[[Path], Iterable[Any]]
_MOST_KEPT = 1_000


class RowTrouble(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a row; rows are counted from 1, as lines are."""

    row: int
    trouble: str
    where: str
    text: str


class FileReport(msgspec.Struct, kw_only=True):
    """How many rows a file has, in which formats, and which of them do not hold.

    `problems` has the first thousand of them, `broken` counts all.
    """

    file: str
    rows: int = 0
    broken: int = 0
    formats: dict[str, int] = {}
    problems: list[RowTrouble] = []


def check_file(path: Path, rows: Iterable[Any]) -> FileReport:  # Any: JSON of any shape
    """Check all rows of a file."""
    report = FileReport(file=str(path))
    for row in rows:
        report.rows += 1
        _count(report, row)
        problem = verify_row(row)
        if problem is None:
            continue
        report.broken += 1
        if len(report.problems) < _MOST_KEPT:
            report.problems.append(
                RowTrouble(
                    row=report.rows,
                    trouble=problem.trouble,
                    where=problem.where,
                    text=problem.text,
                )
            )
    return report


def read_jsonl(path: Path, progress: Progress) -> Iterator[Any]:
    """Iterate over the rows of a file of JSON lines; a line that is no JSON is given as it is."""
    try:
        with path.open("rb") as stream:
            for line in stream:
                if line.strip():
                    yield _decoded(line)
                progress(stream.tell())
    except OSError as problem:
        raise _unreadable(path, problem) from problem


def read_table(path: Path, read: ReadRows) -> Iterator[Any]:
    """Iterate over the rows of a parquet file, which `read` takes apart."""
    try:
        yield from read(path)
    except OSError as problem:
        raise _unreadable(path, problem) from problem


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # No row: verify_row says so.
        return None


def _count(report: FileReport, row: Any) -> None:
    told = row.get("certificate") if isinstance(row, dict) else None
    name = told.get("format") if isinstance(told, dict) else None
    if isinstance(name, str):
        report.formats[name] = report.formats.get(name, 0) + 1


def _unreadable(path: Path, problem: OSError) -> HermesError:
    if isinstance(problem, FileNotFoundError):
        return NotFound(
            f"There is no file {path}. Name one that `hermes graph export` has written."
        )
    return BadRequest(f"{path} cannot be read: {problem.strerror or problem}.")
