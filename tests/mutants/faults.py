"""A fault: one small edit of one source file, and the identity by which lists name it. Pure."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, order=True)
class Edit:
    """Replaces the characters from `start` to `end` of a file by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Fault:
    """One edit of a function (`Class.method`), a module constant, or a named query (`query NAME`)."""

    area: str
    path: str
    function: str
    line: int
    operator: str
    before: str
    after: str
    edit: Edit

    @property
    def identity(self) -> str:
        """The name that stays the same when lines above it come or go."""
        return f"{self.path}::{self.function}::{self.operator}::{self.before} -> {self.after}"

    @property
    def is_sql(self) -> bool:
        """Whether a query is changed and not code."""
        return self.path.endswith(".sql")

    def rank(self, seed: int) -> str:
        """The position in the order of a seed; independent of all other faults."""
        return sha256(f"{seed}:{self.identity}".encode()).hexdigest()


def changed(source: str, edit: Edit) -> str:
    """Return a source with an edit; it has as many lines as before."""
    lost = source.count("\n", edit.start, edit.end) - edit.text.count("\n")
    return source[: edit.start] + edit.text + "\n" * lost + source[edit.end :]


def make_fault(
    source: str, edit: Edit, *, area: str, path: str, function: str, operator: str
) -> Fault:
    """Describe an edit by the lines that it changes."""
    first = source.rfind("\n", 0, edit.start) + 1
    last = source.find("\n", edit.end)
    last = len(source) if last < 0 else last
    after = source[first : edit.start] + edit.text + source[edit.end : last]
    return Fault(
        area=area,
        path=path,
        function=function,
        line=source.count("\n", 0, edit.start) + 1,
        operator=operator,
        before=_one_line(source[first:last]),
        after=_one_line(after),
        edit=edit,
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def diff_of(fault: Fault, source: str) -> str:
    """Return the fault as a unified diff without context."""
    old, new = source.splitlines(), changed(source, fault.edit).splitlines()
    lines = difflib.unified_diff(old, new, fault.path, fault.path, lineterm="", n=0)
    return "\n".join(lines)


def choose(faults: Sequence[Fault], *, seed: int, count: int) -> list[Fault]:
    """Draw `count` faults, the same number of every area as far as there are as many.

    What was drawn stays drawn when other code changes. A line gives one fault until every line of
    its area has given one.
    """
    areas: dict[str, list[Fault]] = {}
    for fault in sorted(faults, key=lambda one: one.rank(seed)):
        areas.setdefault(fault.area, []).append(fault)
    ordered = {area: _lines_first(of) for area, of in sorted(areas.items())}
    chosen: list[Fault] = []
    left, open_areas = count, len(ordered)
    for of in sorted(ordered.values(), key=len):
        share = left // open_areas
        chosen.extend(of[:share])
        left -= min(share, len(of))
        open_areas -= 1
    return sorted(chosen, key=lambda one: (one.area, one.path, one.line, one.operator))


def _lines_first(faults: list[Fault]) -> list[Fault]:
    seen: set[tuple[str, str]] = set()
    first: list[Fault] = []
    more: list[Fault] = []
    for fault in faults:
        place = (fault.path, fault.before)
        (more if place in seen else first).append(fault)
        seen.add(place)
    return first + more
