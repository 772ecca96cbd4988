"""Writes rows as parquet files and reads them back; the only user of pyarrow.

A table gives every message the keys of all others, empty. So messages, tools and certificates are
columns of JSON strings (Arrow's own JSON type), which `datasets` returns as the original dicts.
pyarrow is an optional extra and is loaded on use.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TextIO

import msgspec

from hermes.errors import BadRequest, ConfigurationError
from hermes.graph.exports.jsonl import json_line
from hermes.graph.exports.message_reader import plain_json
from hermes.graph.exports.sheet import Row

# How a column holds its values: one JSON string or a list of them, a text, or token ids.
Kind = Literal["json", "jsons", "text", "ids"]
# Any: pyarrow has no types.
Arrow = Any

_TOKENS = frozenset({"input_ids", "labels"})
_BATCH_ROWS = 1_000
_BATCH_LETTERS = 16 * 1024 * 1024


def write_parquet(rows: Iterable[Row], path: Path, *, certificates: TextIO | None = None) -> int:
    """Write rows one by one and return how many; certificates go into a separate stream.

    Without `certificates` each stays in its row; else line n of the stream belongs to row n. The
    file gets its final name when it is complete.
    """
    arrow, part = _arrow(), path.with_name(f"{path.name}.part")
    count = 0
    try:
        with _Table(arrow, part) as table:
            for row in rows:
                count += 1
                kept = row
                if certificates is not None:
                    kept = {key: value for key, value in row.items() if key != "certificate"}
                    certificates.write(json_line(row["certificate"]))
                table.add(kept)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return count


def read_parquet(path: Path) -> Iterator[Row]:
    """Iterate over the rows of a file of `write_parquet`; keys that a row lacked are absent."""
    arrow = _arrow()
    try:
        with arrow.parquet.ParquetFile(path) as file:
            kinds = {field.name: _kind_in(arrow, field.type) for field in file.schema_arrow}
            for group in range(file.num_row_groups):
                for row in file.read_row_group(group).to_pylist():
                    yield {
                        name: _decoded(value, kinds[name])
                        for name, value in row.items()
                        if value is not None
                    }
    except (arrow.ArrowException, msgspec.DecodeError) as problem:
        raise BadRequest(
            f"{path} is not a readable parquet file of exported rows: {str(problem).rstrip('.')}. "
            "Export it again."
        ) from problem


class _Table:
    """A parquet file that grows by batches; a late column is empty in earlier rows."""

    def __init__(self, arrow: Arrow, path: Path) -> None:
        self._arrow = arrow
        self._path = path
        self._kinds: dict[str, Kind] = {}
        self._waiting: list[dict[str, Any]] = []  # Any: a cell as pyarrow takes it
        self._letters = 0
        self._writer: Arrow = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        try:
            if kind is None and self._waiting:
                self._write()
            elif kind is None and self._writer is None:
                # Without rows, no batch is written: some readers fail on an empty one.
                self._kinds = {"certificate": "json"}
                self._writer = self._open()
        finally:
            if self._writer is not None:
                self._writer.close()

    def add(self, row: Row) -> None:
        """Add one row."""
        cells = {}
        for name, value in row.items():
            kind = _kind_of(name, value)
            if self._kinds.setdefault(name, kind) != kind:
                raise BadRequest(
                    f"Column {name!r} was {self._kinds[name]} in earlier rows and is {kind} here. "
                    "A parquet file holds rows of one format: write one file for each."
                )
            cells[name] = _encoded(value, kind)
            self._letters += _letters(cells[name])
        self._waiting.append(cells)
        if len(self._waiting) >= _BATCH_ROWS or self._letters >= _BATCH_LETTERS:
            self._write()

    def _write(self) -> None:
        if self._writer is None:
            self._writer = self._open()
        elif set(self._kinds) != set(self._writer.schema.names):
            self._widen()
        self._writer.write_table(self._as_table(self._waiting))
        self._waiting, self._letters = [], 0

    def _open(self) -> Arrow:
        # Columns in the order of a row, late ones included, and certificates last.
        names = sorted(self._kinds, key="certificate".__eq__)
        schema = self._arrow.schema(
            [(name, _arrow_type(self._arrow, self._kinds[name])) for name in names]
        )
        # The file contains private messages: only its owner may read it.
        self._path.touch(mode=0o600)
        return self._arrow.parquet.ParquetWriter(self._path, schema, compression="zstd")

    def _widen(self) -> None:
        """Rewrite the file with the late columns."""
        self._writer.close()
        narrow = self._path.with_name(f"{self._path.name}.narrow")
        self._path.replace(narrow)
        self._writer = self._open()
        try:
            with self._arrow.parquet.ParquetFile(narrow) as file:
                for group in range(file.num_row_groups):
                    self._writer.write_table(self._as_table(file.read_row_group(group).to_pylist()))
        finally:
            narrow.unlink()

    def _as_table(self, rows: list[dict[str, Any]]) -> Arrow:
        schema = self._writer.schema
        made = []
        for field in schema:
            cells = [row.get(field.name) for row in rows]
            # The JSON type can only be reached by a cast.
            plain = _arrow_type(self._arrow, self._kinds[field.name], plain=True)
            made.append(self._arrow.array(cells, plain).cast(field.type))
        return self._arrow.Table.from_arrays(made, schema=schema)


def _arrow() -> Arrow:
    try:
        import pyarrow.parquet  # noqa: PLC0415 - optional, and heavy
    except ImportError as problem:
        raise ConfigurationError(
            "Parquet files need the package pyarrow, which is not installed. "
            "Run: pip install 'pyarrow>=19', or write JSON lines."
        ) from problem
    return pyarrow


def _arrow_type(arrow: Arrow, kind: Kind, *, plain: bool = False) -> Arrow:
    json = arrow.string() if plain else arrow.json_()
    types = {
        "json": json,
        "jsons": arrow.list_(json),
        "text": arrow.string(),
        "ids": arrow.list_(arrow.int64()),
    }
    return types[kind]


def _kind_in(arrow: Arrow, kept: Arrow) -> Kind | None:
    if isinstance(kept, arrow.JsonType):
        return "json"
    inside = kept.value_type if arrow.types.is_list(kept) else None
    return "jsons" if isinstance(inside, arrow.JsonType) else None


def _kind_of(name: str, value: object) -> Kind:
    if name in _TOKENS:
        return "ids"
    if isinstance(value, str):
        return "text"
    return "json" if isinstance(value, dict) else "jsons"


def _encoded(value: Any, kind: Kind) -> Any:  # Any: JSON, and a cell as pyarrow takes it
    if kind == "json":
        return plain_json(value)
    return [plain_json(one) for one in value] if kind == "jsons" else value


def _decoded(value: Any, kind: Kind | None) -> Any:  # Any: as above
    if kind == "json":
        return msgspec.json.decode(value)
    return [msgspec.json.decode(one) for one in value] if kind == "jsons" else value


def _letters(cell: str | list[str] | list[int]) -> int:
    if isinstance(cell, str):
        return len(cell)
    return sum(len(one) if isinstance(one, str) else 8 for one in cell)
