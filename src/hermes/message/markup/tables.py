"""A table as lines of text: aligned columns, or one line for every cell.

For platforms without tables; text in a fixed-width font stays in its column, even with wide
characters and emoji. Pure.
"""

import unicodedata
from itertools import zip_longest

from hermes.message.graphemes import cut_before
from hermes.message.markup.model import Table
from hermes.message.markup.span_text import words

# The width of a fixed-width font on a telephone, with some margin.
_WIDTH = 60
_GAP = "  "


def as_lines(table: Table, *, width: int = _WIDTH) -> tuple[str, ...]:
    """Return a table's lines: aligned, or as "head: value" if they would be wider than `width`."""
    head = [_flat(words(cell)) for cell in table.head]
    rows = [[_flat(words(cell)) for cell in row] for row in table.rows]
    columns = [max(map(display_width, column)) for column in zip(head, *rows, strict=True)]
    if sum(columns) + len(_GAP) * (len(columns) - 1) > width and rows:
        return _listed(head, rows)
    rule = [("-" * max(1, column)) for column in columns]
    return tuple(_aligned(row, columns) for row in (head, rule, *rows))


def display_width(text: str) -> int:
    """Return how many columns a text takes in a fixed-width font."""
    if text.isascii():
        return len(text)
    # The first item has nothing before it to cut from.
    padded = f" {text}"
    width, at = 0, len(padded)
    while at > 1:
        start = cut_before(padded, at - 1)
        width += _cluster_width(padded[start:at])
        at = start
    return width


def _cluster_width(cluster: str) -> int:
    if (
        "\ufe0f" in cluster
        or "\u200d" in cluster
        or (len(cluster) == 2 and cluster[0] >= "\U0001f1e6")
    ):
        return 2
    return (
        2
        if any(unicodedata.east_asian_width(char) in "WF" for char in cluster)
        else _narrow(cluster)
    )


def _narrow(cluster: str) -> int:
    return 0 if all(unicodedata.category(char) in {"Mn", "Me", "Cf"} for char in cluster) else 1


def _flat(text: str) -> str:
    return " ".join(text.split())


def _aligned(row: list[str], columns: list[int]) -> str:
    cells = (
        cell + " " * (width - display_width(cell)) for cell, width in zip(row, columns, strict=True)
    )
    return _GAP.join(cells).rstrip()


def _listed(head: list[str], rows: list[list[str]]) -> tuple[str, ...]:
    lines: list[str] = []
    for row in rows:
        if lines:
            lines.append("")
        for name, value in zip_longest(head, row, fillvalue=""):
            if value:
                lines.append(f"{name}: {value}" if name else value)
    return tuple(lines)
