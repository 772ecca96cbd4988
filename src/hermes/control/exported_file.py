"""Checks a file of exported rows, row by row, with nothing but the file.

Every certificate is computed again. It needs no home, no store and no key, so it works wherever
the file has gone.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from hermes.errors import BadRequest, HermesError, NotFound
from hermes.graph import Problem
from hermes.graph.exports import verify_row

# Told after each row: how many bytes of the file are read.
Progress = Callable[[int], None]
ReadRows = Callable[[Path], Iterable[Any]]
_MOST_KEPT = 1_000
_PARQUET = b"PAR1"


class NoRow(msgspec.Struct, frozen=True):
    """A line that holds no row, and why."""

    text: str


# Where a row stands, counted from 1, and the row: JSON of any shape, or NoRow.
Numbered = tuple[int, Any]


class RowTrouble(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a row; `row` is its line in the file, or its place in a table."""

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


def check_file(path: Path, rows: Iterable[Numbered]) -> FileReport:
    """Check all rows of a file."""
    report = FileReport(file=str(path))
    for number, row in rows:
        report.rows += 1
        _count(report, row)
        problem = Problem("damaged", "line", row.text) if _is_none(row) else verify_row(row)
        if problem is None:
            continue
        report.broken += 1
        if len(report.problems) < _MOST_KEPT:
            report.problems.append(
                RowTrouble(
                    row=number,
                    trouble=problem.trouble,
                    where=problem.where,
                    text=problem.text,
                )
            )
    return report


def read_jsonl(path: Path, progress: Progress) -> Iterator[Numbered]:
    """Iterate over the rows of a JSON-lines file; a line that is not JSON is a NoRow."""
    try:
        with path.open("rb") as stream:
            if stream.read(len(_PARQUET)) == _PARQUET:
                raise BadRequest(
                    f"{path} holds parquet and no JSON lines. Give it a name that ends in .parquet."
                )
            stream.seek(0)
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, _decoded(line)
                progress(stream.tell())
    except OSError as problem:
        raise _unreadable(path, problem) from problem


def read_table(path: Path, read: ReadRows) -> Iterator[Numbered]:
    """Iterate over the rows of a parquet file, which `read` takes apart."""
    try:
        yield from enumerate(read(path), start=1)
    except OSError as problem:
        raise _unreadable(path, problem) from problem


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line.decode())
    except UnicodeDecodeError as problem:
        return NoRow(f"it is no text: byte {problem.start + 1} of the line is no UTF-8")
    except msgspec.DecodeError as problem:
        return NoRow(f"it is no JSON: {problem}")


def _is_none(row: Any) -> TypeGuard[NoRow]:
    return isinstance(row, NoRow)


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
