"""Reads the items of an imported file one by one, each with its place, within limits."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

import msgspec

from hermes.errors import BadRequest, NotFound, TooLarge

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_FILE_BYTES = 1024 * 1024 * 1024
MAX_MESSAGES = 100_000
_decode = msgspec.json.Decoder().decode


def items_of(path: str | os.PathLike[str]) -> Iterator[tuple[str, Any]]:  # Any: JSON
    """Iterate over the lines of a file, or the items of its one JSON list; each with its place."""
    file = Path(path)
    try:
        stream = file.open("rb")
    except OSError as problem:
        raise NotFound(f"{file} cannot be read: {problem.strerror or problem}.") from problem
    with stream:
        start = stream.read(1)
        stream.seek(0)
        # Lines may be lists of messages, too; such a file is read line by line.
        if start == b"[" and _is_one_list(stream):
            yield from _listed(stream, file.name)
        else:
            yield from _lines(stream, file.name)


def decoded(data: bytes | str, place: str, *, kind: Any = Any) -> Any:  # Any: JSON, a type
    """Return JSON as data, or as a `kind`; raises BadRequest that names the place."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as problem:
        raise BadRequest(f"{place} cannot be read: {problem}.") from problem
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise BadRequest(f"{place} is not JSON: {problem}.") from problem
    except RecursionError as problem:
        raise BadRequest(f"{place} is nested too deep.") from problem


def read_whole(stream: IO[bytes], name: str) -> bytes:
    """Return the content of a file of at most `MAX_FILE_BYTES`."""
    data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise TooLarge(
            f"{name} has more than {MAX_FILE_BYTES >> 20} MB. Split it, or write it as JSON lines."
        )
    return data


def _is_one_list(stream: BinaryIO) -> bool:
    first = stream.readline(MAX_LINE_BYTES)
    stream.seek(0)
    try:
        found = _decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    return not (found and isinstance(found[0], dict) and "role" in found[0])


def _listed(stream: BinaryIO, name: str) -> Iterator[tuple[str, Any]]:
    found = decoded(read_whole(stream, name), name)
    for number, item in enumerate(found if isinstance(found, list) else [found], 1):
        yield f"item {number} of {name}", item


def _lines(stream: BinaryIO, name: str) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        place = f"line {number} of {name}"
        if len(line) > MAX_LINE_BYTES:
            raise TooLarge(f"{place} has more than {MAX_LINE_BYTES >> 20} MB.")
        if line.strip():
            yield place, line
