"""All that is kept of a person as lines of JSON, for them to take along.

Who they are, what is known of them, what they had and spent, and what was said in their sessions.
Of a session that others wrote in, too, only the person's own messages are told. Notes to the model
beside a message are left out: they quote other people.
"""

from collections.abc import Iterator

import msgspec

from hermes.control.person_record import MOST_LINES, PersonRecord
from hermes.errors import HermesError
from hermes.graph import MessageGraph
from hermes.graph.version import Version
from hermes.ports.graph_reader import GraphEntry, GraphReader

Line = dict[str, object]


def export_lines(record: PersonRecord, reader: GraphReader | None) -> Iterator[Line]:
    """Yield a line for the person, for each thing that is kept of them, and for each message."""
    yield from _identity(record)
    for fact in sorted(record.facts, key=lambda one: not one.is_structural):
        yield _line("fact", fact, without=("id", "person_id"))
    if record.dream is not None:
        yield _line("dream", record.dream)
    yield from _credits(record)
    yield from _responses(record)
    if reader is not None:
        yield from session_lines(reader, record.person.id)


def session_lines(reader: GraphReader, person_id: str) -> Iterator[Line]:
    """Yield a line for each message of a person's sessions."""
    for entry in reader.graphs():
        if person_id in entry.people:
            yield from _session(reader, entry, person_id)


def _identity(record: PersonRecord) -> Iterator[Line]:
    """Yield who the person is: their channels, requests to be let in, codes, and consent."""
    person, papers = record.person, record.papers
    yield {
        "kind": "person",
        "id": person.id,
        "user": record.user,
        "state": person.state,
        "tier": person.tier,
        "created_at": person.created_at,
    }
    yield {"kind": "consent", "may_train": person.may_train, "at": papers.consent_at}
    for channel in person.channels:
        yield _line("channel", channel, without=("person_id",))
    for pairing in papers.pairings:
        yield _line("pairing", pairing)
    for link in papers.links:
        yield _line("link_code", link)


def _credits(record: PersonRecord) -> Iterator[Line]:
    """Yield what the person has left, and every line of their ledger, the oldest first."""
    if record.wallet is not None:
        yield _line("wallet", record.wallet, without=("person_id", "users"))
    if len(record.ledger) == MOST_LINES:
        text = f"Only the newest {MOST_LINES:,} lines of the ledger are here."
        yield {"kind": "problem", "text": text}
    for booked in reversed(record.ledger):
        yield {**_line("credit", booked), "kind": "credit", "booked": booked.kind}


def _responses(record: PersonRecord) -> Iterator[Line]:
    """Yield the stored responses of the person's keys, the oldest first."""
    if record.more_responses:
        text = f"{record.more_responses:,} older stored responses are not here."
        yield {"kind": "problem", "text": text}
    for one in reversed(record.responses):
        said = msgspec.json.decode(one.items, type=dict[str, object])
        answer = msgspec.json.decode(one.answer, type=dict[str, object])
        yield {"kind": "response", "at": one.at, "previous": one.previous, **answer, **said}


def _line(kind: str, value: msgspec.Struct, *, without: tuple[str, ...] = ()) -> Line:
    fields: Line = msgspec.to_builtins(value)
    return {"kind": kind, **{name: one for name, one in fields.items() if name not in without}}


def _session(reader: GraphReader, entry: GraphEntry, person_id: str) -> Iterator[Line]:
    """Yield the messages of one session; one that cannot be read is reported and skipped."""
    named: Line = {"session": entry.session, "epoch": entry.epoch}
    is_shared = len(entry.people) > 1
    try:
        graph = reader.open(entry.name)
        for version, index in _places(graph, person_id, is_shared=is_shared):
            # What was taken out since is read where it was.
            said = _without_notes(dict(graph.at(version)[index]))
            told: Line = {"message_id": version.edit.reason, "at": version.at}
            yield {"kind": "message", **named, **told, **said}
    except HermesError as error:
        yield {"kind": "problem", **named, "text": str(error)}


def _places(
    graph: MessageGraph, person_id: str, *, is_shared: bool
) -> Iterator[tuple[Version, int]]:
    for version in graph.versions():
        edit = version.edit
        if edit.actor == person_id:
            count = min(1, edit.added) if is_shared else edit.added
            for index in range(edit.start, edit.start + count):
                yield version, index


def _without_notes(said: Line) -> Line:
    parts = said.get("parts")
    if isinstance(parts, list):
        said["parts"] = [part for part in parts if part.get("type") != "note"]
    return said
