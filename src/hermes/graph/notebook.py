"""How a graph looks in a notebook and at a Python prompt: a short text, or a table in HTML.

Messages are hostile input: characters that a terminal would obey are replaced, and everything in
the HTML is escaped. A text has a bounded length, however long the conversation is.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from hermes.graph.mermaid import mermaid
from hermes.graph.message_graph import MessageGraph
from hermes.graph.sketch import (
    Drawing,
    FormerVersion,
    Sketch,
    SketchAuthor,
    SketchLine,
    draw,
    read_lines,
)
from hermes.graph.text_drawing import rows

_FIRST, _LAST = 3, 5
_WIDTH = 72
_HTML_LAST = 50
# Drawing replays the log; beyond this many versions the messages alone are shown.
_MOST_VERSIONS = 2_000
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_CELL = "text-align:left;vertical-align:top;white-space:pre-wrap;"
_ROLES = {
    "system": "#8a6d1d",
    "developer": "#8a6d1d",
    "user": "#1d5a8a",
    "assistant": "#2e7044",
    "tool": "#6b3f8a",
}
_GREY = "#777"


class DrawnGraph:
    """A drawing of a graph; its text is `str()`, its chart `mermaid()`, and notebooks show a table."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing

    def __repr__(self) -> str:
        return "\n".join(_printable(row.text) for row in rows(self.drawing))

    def _repr_html_(self) -> str:
        return _table(self.drawing.name, self.drawing.branches)

    def mermaid(self) -> str:
        """Return the drawing as a Mermaid flowchart, for Markdown pages."""
        return mermaid(self.drawing)


def draw_graph(branches: Sequence[MessageGraph], *, last: int | None, width: int) -> DrawnGraph:
    """Return the branches of one graph drawn."""
    return DrawnGraph(draw(branches, width=width, last=last))


def preview_text(graph: MessageGraph) -> str:
    """Return a graph as a few lines: its name, and its first and last messages."""
    count = len(graph)
    head = (
        f"<MessageGraph {graph.name!r}, branch {graph.branch_name!r}, version {graph.version}: "
        f"{count} message{'' if count == 1 else 's'}>"
    )
    lines = [_printable(head)]
    if count <= _FIRST + _LAST:
        lines += _plain_lines(graph, 0, count)
    else:
        lines += _plain_lines(graph, 0, _FIRST)
        lines.append(f"    …  {count - _FIRST - _LAST} more")
        lines += _plain_lines(graph, count - _LAST, count)
    return "\n".join(lines)


def preview_html(graph: MessageGraph) -> str:
    """Return the end of a graph as a table."""
    if graph.version <= _MOST_VERSIONS:
        return _table(graph.name, draw((graph,), width=400, last=_HTML_LAST).branches)
    start = max(0, len(graph) - _HTML_LAST)
    sketch = Sketch(
        branch=graph.branch_name,
        version=graph.version,
        messages=len(graph),
        left_out=start,
        lines=tuple(read_lines(graph.sequence, start, len(graph), width=400)),
    )
    return _table(graph.name, (sketch,))


def _plain_lines(graph: MessageGraph, start: int, stop: int) -> Iterator[str]:
    for line in read_lines(graph.sequence, start, stop, width=_WIDTH):
        yield _printable(f"{line.index:>5}  {line.role:<9}  {line.text}".rstrip())


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else _REPLACED for letter in text)


def _table(name: str, branches: Iterable[Sketch]) -> str:
    body = "".join(_branch(sketch) for sketch in branches)
    return f'<table class="hermes-graph"><caption>{_text(name)}</caption>{body}</table>'


def _branch(sketch: Sketch) -> str:
    count = f"{sketch.messages} message{'' if sketch.messages == 1 else 's'}"
    title = f"{sketch.branch}: {count}, version {sketch.version}"
    if sketch.parent:
        title += f", begins with {sketch.begins} of {sketch.parent}"
    cells = [f'<tr><th colspan="3" style="{_CELL}">{_text(title)}</th></tr>']
    if sketch.left_out:
        cells.append(_row("…", "", f"{sketch.left_out} earlier, not shown", color=_GREY))
    for line in sketch.lines:
        cells += _line(line)
    cells += (_former("removed", one) for one in sketch.gone)
    return f"<tbody>{''.join(cells)}</tbody>"


def _line(line: SketchLine) -> Iterator[str]:
    yield from (_former("removed", one) for one in line.gone)
    color = _ROLES.get(line.role, _GREY)
    yield _row(str(line.index), line.role, line.text, color=color, note=_by(line.by))
    if line.summary:
        yield _row("", "", f"replaces {line.summary.messages} messages", color=_GREY)
    yield from (_former("was", one) for one in line.was)
    for child in line.children:
        yield _row("", "", f"tool call {child.tool_call_id}: chat {child.graph}", color=_GREY)


def _former(word: str, former: FormerVersion) -> str:
    by = f" by {former.actor}" if former.actor else ""
    why = f": {former.reason}" if former.reason else ""
    note = f"{_by(former.by)} {former.edit} at version {former.version}{by}{why}".strip()
    return _row("", f"{word}:", former.text, color=_GREY, note=note)


def _by(wrote: SketchAuthor | None) -> str:
    if wrote is None:
        return ""
    told = [f"{name}={value}" for name, value in wrote.sampling.items()]
    return " ".join((wrote.call, wrote.model, *told))


def _row(number: str, role: str, text: str, *, color: str, note: str = "") -> str:
    small = f'<br><small style="color:{_GREY}">{_text(note)}</small>' if note else ""
    return (
        f'<tr><td style="{_CELL}color:{_GREY}">{_text(number)}</td>'
        f'<td style="{_CELL}color:{color}"><b>{_text(role)}</b></td>'
        f'<td style="{_CELL}">{_text(text)}{small}</td></tr>'
    )


def _text(text: str) -> str:
    return escape(_printable(text))
