"""A drawn conversation as a Mermaid flowchart.

Messages are hostile input: only letters, digits and spaces are written as they are, everything else
as a numbered entity, so nothing in a message can end its label or begin markup. Mermaid refuses
charts that are too large, so older messages are folded into one box.
"""

from collections.abc import Iterator

from hermes.graph.message_text import shortened
from hermes.graph.sketch import Drawing, FormerVersion, Sketch, SketchAuthor, SketchLine

# Mermaid's default limits.
MOST_LETTERS = 50_000
MOST_ARROWS = 500
_BOXES = (90, 45, 22, 11, 5, 2, 1)
_LETTERS = 40
_LETTERS_OF_NAMES = 32
_BESIDE = 2
_STYLES = (
    "classDef answer fill:#dcefe0,stroke:#3c7a4d,color:#17301e",
    "classDef former fill:#f3f3f3,stroke:#999999,color:#555555,stroke-dasharray:4 3",
    "classDef folded fill:#fff6dd,stroke:#b38a1d,color:#4a3a0c",
)


def mermaid(drawing: Drawing) -> str:
    """Return a drawing as the text of a Mermaid flowchart."""
    charts = (_chart(drawing, boxes) for boxes in _BOXES)
    lines = next(chart for chart in charts if _fits(chart))
    return "\n".join(lines) + "\n"


def _fits(chart: list[str]) -> bool:
    arrows = sum(" --> " in line or " .- " in line for line in chart)
    return arrows <= MOST_ARROWS and sum(map(len, chart)) + len(chart) <= MOST_LETTERS


def _chart(drawing: Drawing, boxes: int) -> list[str]:
    """Return the chart with at most this many branches and messages."""
    shown = drawing.branches[:boxes]
    room = max(1, boxes // max(1, len(shown)))
    chart = ["flowchart TD", *_STYLES]
    ids: dict[str, dict[int, str]] = {}
    for number, sketch in enumerate(shown):
        branch = _Boxes(sketch, f"b{number}", room)
        above = ids.get(sketch.parent, {})
        ids[sketch.branch] = above | branch.ids
        chart += branch.chart(above.get(sketch.begins - 1))
    left_out = len(drawing.branches) - len(shown)
    return [*chart, f'more["{left_out} more branches"]:::folded'] if left_out else chart


def escaped(text: str) -> str:
    """Return text for a quoted label: everything but letters, digits and spaces becomes an entity.

    Invisible characters are left out: they could only change the direction of the text.
    """
    seen = (letter for letter in " ".join(text.split()) if letter.isprintable())
    return "".join(
        letter if letter == " " or letter.isalnum() else f"#{ord(letter)};" for letter in seen
    )


class _Boxes:
    """The boxes of one branch; `ids` maps messages to boxes."""

    def __init__(self, sketch: Sketch, prefix: str, room: int) -> None:
        self._sketch = sketch
        self._prefix = prefix
        self._shown = sketch.lines[-room:]
        self._folded = sketch.lines[: len(sketch.lines) - len(self._shown)]
        self._older = sketch.left_out + len(self._folded)
        self.ids = dict.fromkeys(range(sketch.begins, sketch.begins + self._older), f"{prefix}f")
        self.ids |= {line.index: f"{prefix}m{line.index}" for line in self._shown}

    def chart(self, before: str | None) -> Iterator[str]:
        """Iterate over the lines of the chart; `before` is the box that the branch begins after."""
        last = f"{self._prefix}s"
        yield f'{last}(["{_named(self._sketch.branch)}"])'
        if before:
            yield f"{before} --> {last}"
        if self._older:
            yield f'{self._prefix}f["{self._older} older messages"]:::folded'
            yield f"{last} --> {self._prefix}f"
            last = f"{self._prefix}f"
        for line in self._shown:
            box = self.ids[line.index]
            yield f"{box}{_box(line)}"
            yield f"{last} --> {box}"
            yield from self._beside(box, line)
            last = box
        yield from _formers(last, self._sketch.gone, word="removed")

    def _beside(self, box: str, line: SketchLine) -> Iterator[str]:
        yield from _formers(box, (*line.was, *line.gone), word="before")
        for number, child in enumerate(line.children[:_BESIDE]):
            label = f"chat {shortened(child.graph, width=_LETTERS_OF_NAMES)}"
            yield f'{box}c{number}[["{escaped(label)}"]]'
            yield f"{box} --> {box}c{number}"


def _box(line: SketchLine) -> str:
    label = _label(line.role, line.text, line.by)
    if line.summary:
        return f'[/"{label}<br/>replaces {line.summary.messages} messages"/]:::folded'
    return f'["{label}"]:::answer' if line.by else f'["{label}"]'


def _formers(box: str, told: tuple[FormerVersion, ...], *, word: str) -> Iterator[str]:
    # The newest messages that fit into the chart.
    for number, one in enumerate(told[-_BESIDE:]):
        name = f"{box}{word[0]}{number}"
        yield f'{name}["{_label(one.role, one.text, one.by)}"]:::former'
        yield f"{box} -. {word} .- {name}"


def _label(role: str, text: str, by: SketchAuthor | None) -> str:
    said = escaped(f"{shortened(role, width=12)}: {shortened(text, width=_LETTERS)}")
    return f"{said}<br/>{_named(by.call)}<br/>{_named(by.model)}" if by else said


def _named(name: str) -> str:
    return escaped(shortened(name, width=_LETTERS_OF_NAMES))
