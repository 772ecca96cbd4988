"""All that is kept of a person, for them to take along: facts, and what was said in their sessions.

One value a line. Of a session that others wrote in, too, only the person's own messages are told.
"""

from collections.abc import Iterator

from hermes.control.memory import MemoryReport
from hermes.errors import HermesError
from hermes.graph import MessageGraph
from hermes.ports.graphs import GraphEntry, GraphShelf

Line = dict[str, object]


def export_lines(report: MemoryReport, shelf: GraphShelf | None) -> Iterator[Line]:
    """Yield a line for the person, for each fact, and for each message of their sessions."""
    yield {"kind": "person", "id": report.person_id, "user": report.user}
    for fact in report.facts:
        yield {
            "kind": "fact",
            "key": fact.key,
            "value": fact.value,
            "source": fact.source,
            "at": fact.at,
            "updated_at": fact.updated_at,
            "earlier": [
                {"value": one.value, "source": one.source, "at": one.at} for one in fact.earlier
            ],
        }
    for entry in () if shelf is None else shelf.graphs():
        if report.person_id in entry.people:
            assert shelf is not None
            yield from _session(shelf, entry, report.person_id)


def _session(shelf: GraphShelf, entry: GraphEntry, person_id: str) -> Iterator[Line]:
    """Yield the messages of one session; one that cannot be read is told, and stops nothing."""
    named: Line = {"session": entry.session, "epoch": entry.epoch}
    is_shared = len(entry.people) > 1
    try:
        graph = shelf.open(entry.name)
        for message_id, at, index in _places(graph, person_id, is_shared=is_shared):
            said = dict(graph[index])
            yield {"kind": "message", **named, "message_id": message_id, "at": at, **said}
    except HermesError as error:
        yield {"kind": "problem", **named, "text": str(error)}


def _places(
    graph: MessageGraph, person_id: str, *, is_shared: bool
) -> Iterator[tuple[str, float | None, int]]:
    for version in graph.versions():
        edit = version.edit
        if edit.actor == person_id:
            for index in range(edit.start, edit.start + (1 if is_shared else edit.added)):
                yield edit.reason, version.at, index
