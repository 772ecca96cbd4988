"""Tables that fit their terminal: an id is never cut, and what matters least is left out first.

On a terminal each row is one line, times are relative and states have colours. A pipe gets every
column whole, with full times in UTC; so does a terminal with `--wide`, except for the times.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from hermes.cli.terminal import clean
from hermes.control.why_answer import clock_time
from hermes.ports.clock import SystemClock

Cell = str | float | None
Kind = Literal["text", "id", "number", "time", "state"]


class Column(NamedTuple):
    """A column; those of a higher `rank` are left out first where there is no room, 0 never.

    A cell of the kind `time` is seconds since 1970. Only a `text` is ever shortened.
    """

    name: str
    kind: Kind = "text"
    rank: int = 0


class _Fitted(NamedTuple):
    """A column that is shown, its place in the rows, and its width."""

    column: Column
    place: int
    width: int


_GAP = 2
_LEAST_TEXT = 14
_STEPS = (("s", 60.0), ("min", 60.0), ("h", 24.0), ("days", 30.0))
_NOW_S = 5.0
_STYLES: Mapping[str, str] = {
    **dict.fromkeys(("active", "answered", "approved", "connected", "ok", "on", "paired"), "green"),
    **dict.fromkeys(("available", "done", "listening", "polling", "ready", "running"), "green"),
    **dict.fromkeys(("busy", "guest", "may", "paused", "stopped", "unknown", "waiting"), "yellow"),
    **dict.fromkeys(("blocked", "dead", "disconnected", "failed", "fatal", "off"), "red"),
    **dict.fromkeys(("not", "refused"), "red"),
    **dict.fromkeys(("erased", "expired", "forgotten", "idle", "revoked"), "dim"),
}


def print_table(out: Console, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> None:
    """Print rows below the names of their columns, as many columns as fit."""
    now = SystemClock().now() if out.is_terminal else None
    texts = [[_shown(cell, now) for cell in row] for row in rows]
    whole = [
        max(cell_len(one) for one in (column.name, *(row[place] for row in texts)))
        for place, column in enumerate(columns)
    ]
    kept = _fitted(columns, whole, room=out.width)
    _print_row(out, (_cell(one, one.column.name, style="dim") for one in kept))
    for row in texts:
        _print_row(out, (_cell(one, row[one.place], style=_style(one, row)) for one in kept))
    shown = {one.column.name for one in kept}
    left_out = [column.name for column in columns if column.name not in shown]
    if left_out:
        note = f"No room for: {', '.join(left_out)}. --wide shows every column."
        out.print(Text(note, style="dim"), soft_wrap=True)


def relative_time(at: float, now: float) -> str:
    """Return how long ago a time was, or how soon it is; a distant one as its day."""
    apart = abs(now - at)
    if apart < _NOW_S:
        return "now"
    size = apart
    for unit, many in _STEPS:
        if size < many:
            count = int(size)
            name = "day" if unit == "days" and count == 1 else unit
            return f"in {count} {name}" if at > now else f"{count} {name} ago"
        size /= many
    return clock_time(at).partition(" ")[0]


def _shown(cell: Cell, now: float | None) -> str:
    if isinstance(cell, float):
        return clock_time(cell) if now is None else relative_time(cell, now)
    return " ".join(clean(cell or "").split("\n"))


def _fitted(columns: Sequence[Column], whole: Sequence[int], *, room: int) -> list[_Fitted]:
    """Return the columns that fit, the least important left out; texts share what is left."""
    kept = [
        _Fitted(column, place, _least(column, whole[place])) for place, column in enumerate(columns)
    ]
    while _width(kept) > room and any(one.column.rank for one in kept):
        kept.remove(max(kept, key=lambda one: one.column.rank))
    free = max(0, room - _width(kept))
    for one in sorted(kept, key=lambda one: whole[one.place] - one.width):
        more = min(whole[one.place] - one.width, free)
        kept[kept.index(one)] = one._replace(width=one.width + more)
        free -= more
    return kept


def _width(kept: Sequence[_Fitted]) -> int:
    return sum(one.width + _GAP for one in kept) - _GAP


def _least(column: Column, whole: int) -> int:
    """Return the room that a column cannot do without."""
    return min(whole, max(_LEAST_TEXT, cell_len(column.name))) if column.kind == "text" else whole


def _cell(fitted: _Fitted, text: str, *, style: str) -> Text:
    width, kind = fitted.width, fitted.column.kind
    if cell_len(text) > width:
        text = set_cell_size(text, width - 1).rstrip() + "…"
    space = " " * max(0, width - cell_len(text))
    return Text(space + text if kind == "number" else text + space, style=style)


def _style(fitted: _Fitted, row: Sequence[str]) -> str:
    word = row[fitted.place].replace(",", " ").partition(" ")[0]
    return _STYLES.get(word, "") if fitted.column.kind == "state" else ""


def _print_row(out: Console, cells: Iterable[Text]) -> None:
    line = Text(" " * _GAP).join(cells)
    line.rstrip()
    # A line that is too long all the same is wrapped by the terminal, and nothing of it is lost.
    out.print(line, soft_wrap=True)
