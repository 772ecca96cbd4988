"""Compares two lists of messages as text, line by line.

Pure; it works on plain messages, so the two may come from different graphs.
"""

import difflib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal

import msgspec

from hermes.graph.blob import Message, freeze
from hermes.graph.diff import Change, diff
from hermes.graph.hasher import PLAIN
from hermes.graph.message_text import CUT, lines_of
from hermes.graph.reader import ObjectReader
from hermes.graph.sequence import Sequence as Blobs

Side = Literal["head", "both", "before", "after"]
_AROUND = 3


class ComparisonLine(msgspec.Struct, frozen=True):
    """A line of a comparison, and the side it is on."""

    side: Side
    text: str


def compare(before: Sequence[Message], after: Sequence[Message]) -> list[Change]:
    """Return the changes that turn one list of messages into the other."""
    return diff(_blobs(before), _blobs(after))


def compared_lines(change: Change) -> Iterator[ComparisonLine]:
    """Iterate over the lines of one change; corresponding messages are put together."""
    pairs = zip_longest(change.before, change.after)
    for offset, (one, two) in enumerate(pairs):
        yield ComparisonLine("head", _head(one, two, change=change, offset=offset))
        yield from _lines(_said(one, two), _said(two, one))


_LEFT_OUT = ComparisonLine("both", CUT)


def _blobs(messages: Sequence[Message]) -> Blobs:
    return Blobs.of((freeze(message, PLAIN) for message in messages), ObjectReader(None, PLAIN))


def _head(one: Message | None, two: Message | None, *, change: Change, offset: int) -> str:
    if one is None or two is None:
        role, at = (two or one or {}).get("role"), change.at_before if one else change.at_after
        return f"message {at + offset} ({role}): {'only before' if one else 'only after'}"
    places = f"{change.at_before + offset}"
    if change.at_before != change.at_after:
        places = f"{places}, now {change.at_after + offset}"
    roles = one["role"] if one["role"] == two["role"] else f"{one['role']}, now {two['role']}"
    return f"message {places} ({roles}): changed"


def _said(message: Message | None, other: Message | None) -> list[str]:
    if message is None:
        return []
    lines = lines_of(message)
    if other is None or lines != lines_of(other):
        return lines or ["(nothing)"]
    # They have the same text but are not equal: their JSON shows the difference.
    return msgspec.json.format(msgspec.json.encode(message), indent=2).decode().splitlines()


def _lines(before: list[str], after: list[str]) -> Iterator[ComparisonLine]:
    sides: dict[str, Side] = {"-": "before", "+": "after", " ": "both"}
    found = difflib.unified_diff(before, after, n=_AROUND, lineterm="")
    # The first lines of the diff name files and positions.
    for line in list(found)[3:]:
        yield ComparisonLine(sides[line[0]], line[1:]) if line[0] in sides else _LEFT_OUT
