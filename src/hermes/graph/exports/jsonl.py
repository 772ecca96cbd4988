"""Writes rows as JSON lines: one row per line, UTF-8, keys in the order of the format."""

from collections.abc import Iterable
from typing import TextIO

import msgspec

from hermes.graph.exports.sheet import Row


def write_jsonl(rows: Iterable[Row], stream: TextIO, *, certificates: TextIO | None = None) -> int:
    """Write rows as they come and return how many; certificates go into a stream of their own.

    Without `certificates` each stays in its row. Line n of one file belongs to line n of the other.
    """
    count = 0
    for row in rows:
        count += 1
        written = row
        if certificates is not None:
            written = {key: value for key, value in row.items() if key != "certificate"}
            certificates.write(json_line(row["certificate"]))
        stream.write(json_line(written))
    return count


def json_line(value: object) -> str:
    """Return a JSON value as a line."""
    return msgspec.json.encode(value).decode() + "\n"
