"""Prepares a conversation for a drawing: every branch message by message, as plain values.

It finds who wrote a message, its earlier versions that a call saw, and its subagents. Pure;
text_drawing.py and mermaid.py decide how it looks.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from hermes.errors import HermesError, NotFound, PersonErased
from hermes.graph.blob import Blob, Message
from hermes.graph.lineage import Birth, FormerMessage, Lineage, LineageSlot, trace
from hermes.graph.message_graph import MessageGraph
from hermes.graph.message_text import first_line
from hermes.graph.records import Call, Link
from hermes.graph.sequence import Sequence as Blobs
from hermes.graph.tool_groups import calls_in

WIDTH = 72
_READ_AT_ONCE = 500


class SketchAuthor(msgspec.Struct, frozen=True, omit_defaults=True):
    """The call that wrote a message, with what it was made with and why it stopped."""

    call: str
    model: str
    sampling: dict[str, Any] = {}  # Any: JSON, as the request had it
    stop_reason: str = ""


class FormerVersion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message that a call saw and that an edit replaced at `version`, with who and why."""

    role: str
    text: str
    by: SketchAuthor | None = None
    version: int
    edit: str
    actor: str = ""
    reason: str = ""


class Child(msgspec.Struct, frozen=True):
    """A chat of a subagent, and the tool call that it answered."""

    tool_call_id: str
    graph: str


class SketchSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a summary replaces: how many messages, and the call that wrote it."""

    messages: int
    call: str | None = None


class SketchLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message; `was` are its earlier versions, `gone` what was removed before it."""

    index: int
    role: str
    text: str
    by: SketchAuthor | None = None
    was: tuple[FormerVersion, ...] = ()
    gone: tuple[FormerVersion, ...] = ()
    summary: SketchSummary | None = None
    children: tuple[Child, ...] = ()


class Sketch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A branch: `lines` are its messages from `begins` on; before that it equals `parent`.

    The first `left_out` of them were not requested.
    """

    branch: str
    version: int
    messages: int
    begins: int = 0
    parent: str = ""
    left_out: int = 0
    lines: tuple[SketchLine, ...] = ()
    gone: tuple[FormerVersion, ...] = ()


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """A graph; a branch comes after the one that it begins from."""

    name: str
    calls: int
    branches: tuple[Sketch, ...]


def draw(
    branches: Sequence[MessageGraph],
    *,
    width: int = WIDTH,
    last: int | None = None,
    mask: Callable[[str], str] = str,
) -> Drawing:
    """Return the branches of one graph for a drawing; unreadable messages are marked.

    With `last`, only that many messages at the end of each branch are read and drawn. `mask` masks
    secrets before a text is shortened.
    """
    ordered = _parents_first(branches)
    pen = _Pen(ordered, width, last, mask=mask)
    sketches = tuple(pen.sketch(graph) for graph in ordered)
    calls = {call.id for graph in ordered for call in graph.calls()}
    return Drawing(name=ordered[0].name, calls=len(calls), branches=sketches)


def read_lines(sequence: Blobs, start: int, stop: int, *, width: int) -> Iterator[SketchLine]:
    """Iterate over messages without their past; unreadable ones are marked."""
    for index, found in enumerate(_read(sequence, start, stop), start):
        yield SketchLine(index=index, role=found.role, text=found.text(width))


def _parents_first(branches: Sequence[MessageGraph]) -> list[MessageGraph]:
    waiting = {graph.branch_name: graph for graph in branches}
    ordered: list[MessageGraph] = []
    while waiting:
        ready = [name for name, graph in waiting.items() if _parent(graph) not in waiting]
        # A log with a cycle is drawn in log order.
        ordered += [waiting.pop(name) for name in ready or list(waiting)]
    return ordered


def _parent(graph: MessageGraph) -> str | None:
    origin = graph.versions()[0].origin
    return origin.branch if origin else None


class _Pen:
    """Draws the branches of one graph; later ones begin from those that were drawn before."""

    def __init__(
        self,
        branches: Sequence[MessageGraph],
        width: int,
        last: int | None,
        *,
        mask: Callable[[str], str],
    ) -> None:
        self._width = width
        self._mask = mask
        self._last = last
        self._graphs = {graph.branch_name: graph for graph in branches}
        self._lineages: dict[str, Lineage] = {}
        self._calls: defaultdict[bytes, list[Call]] = defaultdict(list)
        for call in {call.id: call for graph in branches for call in graph.calls()}.values():
            if call.response is not None:
                self._calls[call.response].append(call)
        self._links: defaultdict[str, list[Link]] = defaultdict(list)
        for link in branches[0].links():
            self._links[link.tool_call_id].append(link)
        self._begun: defaultdict[str, set[int]] = defaultdict(set)
        for graph in branches:
            origin = graph.versions()[0].origin
            if origin:
                self._begun[origin.branch].add(origin.version)

    def sketch(self, graph: MessageGraph) -> Sketch:
        """Draw one branch, from where it differs from its parent."""
        name, sequence = graph.branch_name, graph.sequence
        lineage = trace(graph, self._lineages, remember=self._begun[name])
        self._lineages[name] = lineage
        parent = self._graphs.get(_parent(graph) or "")
        begins = 0 if parent is None else parent.sequence.common_prefix(sequence)
        shown = begins if self._last is None else max(begins, len(sequence) - self._last)
        found = _read(sequence, shown, len(sequence))
        own = zip(lineage.slots[shown:], found, strict=True)
        return Sketch(
            branch=name,
            version=graph.version,
            messages=len(sequence),
            begins=begins,
            parent="" if parent is None else parent.branch_name,
            left_out=shown - begins,
            lines=tuple(self._line(shown + at, *pair) for at, pair in enumerate(own)),
            gone=tuple(map(self._former, lineage.gone)),
        )

    def _line(self, index: int, slot: LineageSlot, found: "_Found") -> SketchLine:
        by = self._wrote(slot.birth, found.blob)
        made = slot.summary
        return SketchLine(
            index=index,
            role=found.role,
            text=found.text(self._width, self._mask),
            by=by,
            was=tuple(map(self._former, slot.was)),
            gone=tuple(map(self._former, slot.gone)),
            summary=SketchSummary(made.stop - made.start, made.call) if made else None,
            children=tuple(self._children(found, by)),
        )

    def _former(self, former: FormerMessage) -> FormerVersion:
        graph = self._graphs[former.branch]
        edit = graph.versions()[former.version].edit
        before = graph.at(former.version - 1).sequence
        (found,) = _read(before, former.index, former.index + 1)
        return FormerVersion(
            role=found.role,
            text=found.text(self._width, self._mask),
            by=self._wrote(former.birth, found.blob),
            version=former.version,
            edit=edit.kind,
            actor=edit.actor,
            reason=edit.reason,
        )

    def _wrote(self, birth: Birth, blob: Blob) -> SketchAuthor | None:
        if not birth.is_written:
            return None
        able = [
            call
            for call in self._calls[blob.id]
            if call.branch == birth.branch and call.version <= birth.version
        ]
        # The same text may have been written twice: then its place decides, or the nearest one.
        placed = [call for call in able if call.shared == birth.index]
        found = (placed or able or self._calls[blob.id])[-1:]
        return _author(found[0]) if found else None

    def _children(self, found: "_Found", by: SketchAuthor | None) -> Iterator[Child]:
        for tool_call_id in calls_in(found.message) if found.message else ():
            for link in self._links[tool_call_id]:
                if link.child and (by is None or by.call == link.call):
                    yield Child(tool_call_id, link.child)


def _author(call: Call) -> SketchAuthor:
    stopped = call.metadata.get("stop_reason")
    return SketchAuthor(call.id, call.model, call.sampling, str(stopped) if stopped else "")


class _Found(msgspec.Struct):
    """A message, or why it cannot be read."""

    blob: Blob
    message: Message | None = None
    trouble: str = ""

    @property
    def role(self) -> str:
        """The role, if known."""
        return str(self.message["role"]) if self.message else "?"

    def text(self, width: int, mask: Callable[[str], str] = str) -> str:
        """The beginning of the text."""
        if self.message is None:
            return f"({self.trouble})"
        return first_line(self.message, width=width, mask=mask)


def _read(sequence: Blobs, start: int, stop: int) -> Iterator[_Found]:
    blobs = list(sequence.names(start, stop))
    for at in range(0, len(blobs), _READ_AT_ONCE):
        some = blobs[at : at + _READ_AT_ONCE]
        try:
            sequence.reader.read_blobs(some)
            yield from map(_found, some)
        except HermesError:
            # One by one: the others can still be read.
            yield from (_alone(blob, sequence) for blob in some)


def _alone(blob: Blob, sequence: Blobs) -> _Found:
    try:
        sequence.reader.read_blobs((blob,))
    except PersonErased:
        return _Found(blob, trouble="erased")
    except NotFound:
        return _Found(blob, trouble="missing")
    except HermesError:
        return _Found(blob, trouble="damaged")
    return _found(blob)


def _found(blob: Blob) -> _Found:
    try:
        message = blob.message()
        return _Found(blob, message) if "role" in message else _Found(blob, trouble="damaged")
    except (msgspec.DecodeError, TypeError):
        return _Found(blob, trouble="damaged")
