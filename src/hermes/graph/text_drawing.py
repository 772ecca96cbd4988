"""A drawn conversation as lines of text: branch after branch, with a mark where one begins.

Pure: it knows no terminal; the printer handles control codes in messages.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from hermes.graph.sketch import Drawing, FormerVersion, Sketch, SketchAuthor, SketchLine

Tone = Literal["title", "message", "answer", "former", "note", "blank"]
# An answer that the model ended by itself, or with tool calls; older calls do not say.
_USUAL_ENDS = frozenset({"", "end", "tool_calls"})
_INDENT = "       "
# Characters that would start a new line; names and reasons also come from outside.
_ONE_LINE = dict.fromkeys(map(ord, "\n\r\t\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")


class DrawnRow(msgspec.Struct, frozen=True):
    """A line of text, and what it shows."""

    tone: Tone
    text: str


def rows(drawing: Drawing) -> Iterator[DrawnRow]:
    """Iterate over a drawing as single lines of text."""
    for row in _rows(drawing):
        yield DrawnRow(row.tone, row.text.translate(_ONE_LINE))


def _rows(drawing: Drawing) -> Iterator[DrawnRow]:
    for place, sketch in enumerate(drawing.branches):
        if place:
            yield DrawnRow("blank", "")
        children = [one for one in drawing.branches if one.parent == sketch.branch]
        yield DrawnRow("title", _title(sketch))
        shown = sketch.begins + sketch.left_out
        if sketch.left_out:
            yield DrawnRow("note", f"{_INDENT}… {sketch.left_out} earlier, not shown")
        yield from _forks(one for one in children if one.begins <= shown)
        for line in sketch.lines:
            yield from _line_rows(line)
            yield from _forks(one for one in children if one.begins == line.index + 1)
        yield from (_former("removed", told) for told in sketch.gone)


def _title(sketch: Sketch) -> str:
    count = f"{sketch.messages} message{'' if sketch.messages == 1 else 's'}"
    title = f"{sketch.branch}: {count}, version {sketch.version}"
    if not sketch.parent:
        return title
    if not sketch.begins:
        return f"{title}, begins where {sketch.parent} begins"
    begins = f"{title}, begins after message {sketch.begins - 1} of {sketch.parent}"
    return begins if sketch.lines or sketch.left_out else f"{begins} and adds nothing yet"


def _forks(beginning: Iterable[Sketch]) -> Iterator[DrawnRow]:
    for one in beginning:
        yield DrawnRow("note", f"{_INDENT}├─ branch {one.branch} begins here")


def _line_rows(line: SketchLine) -> Iterator[DrawnRow]:
    yield from (_former("removed", told) for told in line.gone)
    tone: Tone = "answer" if line.by else "message"
    yield DrawnRow(tone, f"{line.index:>5}  {line.role:<9}  {line.text}{_by(line.by)}")
    if line.summary:
        by = f", written by {line.summary.call}" if line.summary.call else ""
        yield DrawnRow("note", f"{_INDENT}≡ replaces {line.summary.messages} messages{by}")
    yield from (_former("was", told) for told in line.was)
    for child in line.children:
        yield DrawnRow("note", f"{_INDENT}└─ tool call {child.tool_call_id}: chat {child.graph}")


def _former(word: str, told: FormerVersion) -> DrawnRow:
    by = f" by {told.actor}" if told.actor else ""
    why = f": {told.reason}" if told.reason else ""
    how = f"({told.edit} at version {told.version}{by}{why})"
    return DrawnRow("former", f"{_INDENT}┆ {word}: {told.role}  {told.text}{_by(told.by)}  {how}")


def _by(wrote: SketchAuthor | None) -> str:
    if wrote is None:
        return ""
    told = [f"{name}={value}" for name, value in wrote.sampling.items()]
    if wrote.stop_reason not in _USUAL_ENDS:
        told.append(f"stopped: {wrote.stop_reason}")
    return f"  [{' '.join((wrote.call, wrote.model, *told))}]"
