"""One message graph in the database, for plain reading.

Ids are keyed hashes; messages and tokens are encrypted for a person. Chunks, moves and calls hold
only ids and numbers, so that an erased person's graph can still be verified.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from hermes.errors import PersonErased, StoreError, StoreRejected
from hermes.graph.records import Call, Edit, Feedback, Link, Move, Origin, Ref
from hermes.graph.storage import Batch
from hermes.store.sql.graph_rows import GraphRows
from hermes.store.sql.places import NO_PLACE, Place, blob_place
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Row, Rows

_SQL = load("graph")
_PEOPLE = load("people")
_REPLAYS = load("replays")
_encode_json = msgspec.json.Encoder().encode
_AT_ONCE = 1_000
_BACK_AT_ONCE = 32
# In the place of the number of a graph.
TOOLS, TOOLS_ASIDE = 0, -1


class MoveLine(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """A move without the columns that its row already has."""

    before: bytes | None
    after: bytes
    length: int
    content: int
    edit: Edit
    origin: Origin | None = None
    at: float | None = None


class CallTokens(msgspec.Struct, frozen=True, array_like=True):
    """What a model wrote, as numbers."""

    token_ids: tuple[int, ...] | None
    logprobs: tuple[float, ...] | None


_decode_line = msgspec.msgpack.Decoder(MoveLine).decode
_decode_call = msgspec.msgpack.Decoder(Call).decode
_decode_link = msgspec.msgpack.Decoder(Link).decode
_decode_feedback = msgspec.msgpack.Decoder(Feedback).decode
_decode_tokens = msgspec.msgpack.Decoder(CallTokens).decode


class SqlGraphStorage:
    """Implements `graph.storage.GraphStorage` for the graph `name`, except writing."""

    def __init__(self, db: Rows, name: str, *, sealer: Sealer, number: int | None = None) -> None:
        self._connection = db
        self._name = name
        self._sealer = sealer
        self._known = number
        self._packed = GraphRows(name, sealer)

    @property
    def number(self) -> int | None:
        """The database's number of this graph; None if it is not stored."""
        if self._known is None:
            row = self._connection.row(_SQL["number"], (self._name,))
            self._known = None if row is None else int(row[0])
        return self._known

    def get_blobs(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the bytes of stored blobs; raises PersonErased for erased ones."""
        found, erased = self.open_blobs(ids)
        if erased:
            name, person_id = next(iter(erased.items()))
            raise PersonErased(f"blob {name.hex()} was person {person_id}'s, who was erased")
        missing = [name for name in ids if name not in found]
        if missing:
            # Tools belong to no graph; pruning puts them aside while it looks who uses them.
            for place in (TOOLS, TOOLS_ASIDE):
                rows = self._rows("blobs", place, missing)
                found |= {name: data for name, _, data, _ in rows if isinstance(data, bytes)}
        return found

    def open_blobs(self, ids: Sequence[bytes]) -> tuple[dict[bytes, bytes], dict[bytes, str]]:
        """Return the messages that can be decrypted, and the owners of erased ones."""
        found: dict[bytes, bytes] = {}
        erased: dict[bytes, str] = {}
        for name, person_id, sealed, body in self._rows("blobs", self.number, ids):
            data = self._open(person_id, sealed, blob_place(body))
            if data is None:
                erased[name] = person_id
            else:
                found[name] = data
        # Messages that another person said too are still there.
        return found, {name: whose for name, whose in erased.items() if name not in found}

    def get_chunks(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the bytes of stored chunks."""
        rows = self._rows("chunks", self.number, ids)
        return {name: data for name, data in rows if isinstance(data, bytes)}

    def _open(self, person_id: str, sealed: bytes, place: Place) -> bytes | None:
        """Return the decrypted content; None only if the person was erased on purpose."""
        data = self._sealer.open_at_once(self._connection, person_id, sealed, place=place)
        if data is None:
            row = self._connection.row(_PEOPLE["is_erased"], (person_id,))
            if row is None or not row[0]:
                raise StoreError(
                    f"the data key of person {person_id} is missing, although they were not "
                    "erased: nothing of theirs opens. Restore a backup with `hermes restore`."
                )
        return data

    def _rows(self, query: str, graph: int | None, names: Sequence[bytes]) -> Iterator[Row]:
        for start in range(0, len(names), _AT_ONCE):
            listed = _encode_json([name.hex() for name in names[start : start + _AT_ONCE]])
            yield from self._connection.rows(_SQL[query], (graph, listed.decode()))

    def write(self, batch: Batch) -> None:
        """Refuse: `GraphWriter` writes graphs, inside the transactions of the store."""
        raise StoreRejected(
            f"the graph {self._name!r} is open for reading; {len(batch.moves)} moves were not written"
        )

    def branches(self, graph: str) -> Mapping[str, Ref]:
        """Return the head of each branch of a graph."""
        if graph != self._name:
            return {}
        rows = self._connection.rows(_SQL["refs"], (self.number,))
        return {row[0]: Ref(*row[1:4]) for row in rows}

    def ref(self, branch: str) -> Ref | None:
        """Return the head of one branch."""
        row = (
            None
            if self.number is None
            else self._connection.row(_SQL["ref"], (self.number, branch))
        )
        return None if row is None else Ref(*row)

    def calls_made(self, branch: str) -> int:
        """Return how many calls a branch has made."""
        row = self._connection.row(_SQL["calls_made"], (self.number, branch))
        return 0 if row is None else int(row[0])

    def moves(self, graph: str, branch: str) -> Sequence[Move]:
        """Return the log of a branch, oldest first."""
        if graph != self._name:
            return ()
        rows = self._connection.rows(_SQL["moves"], (self.number, branch))
        return tuple(self._read_move(branch, row) for row in rows)

    def last_moves(self, branch: str, limit: int) -> Sequence[Move]:
        """Return the newest lines of a branch's log, newest first."""
        rows = self._connection.rows(_SQL["last_moves"], (self.number, branch, limit))
        return tuple(self._read_move(branch, row) for row in rows)

    def log(self, branch: str, version: int) -> Iterator[Move]:
        """Iterate over a branch's log from a version back to its beginning."""
        while version >= 0:
            rows = self._connection.rows(
                _SQL["moves_back"], (self.number, branch, version, _BACK_AT_ONCE)
            )
            yield from (self._read_move(branch, row) for row in rows)
            if len(rows) < _BACK_AT_ONCE:
                return
            version -= _BACK_AT_ONCE

    def calls_back(self, branch: str) -> Iterator[Call]:
        """Iterate over a branch's calls from the last to the first."""
        before = 2**62
        while True:
            rows = self._connection.rows(
                _SQL["calls_back"], (self.number, branch, before, _BACK_AT_ONCE)
            )
            yield from map(self._read_call, rows)
            if len(rows) < _BACK_AT_ONCE:
                return
            before = rows[-1][1]

    def calls(self, graph: str) -> Sequence[Call]:
        """Return the calls of all branches of a graph, oldest first."""
        if graph != self._name:
            return ()
        rows = self._connection.rows(_SQL["calls"], (self.number,))
        # Calls of one branch are in order; a stable sort keeps those of the same instant so.
        return sorted(map(self._read_call, rows), key=lambda call: call.at or 0.0)

    def calls_of_message(self, branch: str, message_id: str) -> Iterator[Call]:
        """Iterate over the calls that the turn of a message made on a branch, in their order."""
        where = (self.number, branch, message_id)
        return map(self._read_call, self._connection.rows(_REPLAYS["calls_of_message"], where))

    def links(self, graph: str) -> Sequence[Link]:
        """Return the links from a graph to others."""
        if graph != self._name:
            return ()
        rows = self._connection.rows(_SQL["links"], (self.number,))
        found = (
            self._packed.unpack("link", (number,), data, decode=_decode_link)
            for number, data in rows
        )
        return tuple(msgspec.structs.replace(link, graph=graph) for link in found)

    def feedback(self, graph: str) -> Sequence[Feedback]:
        """Return the thumbs of a graph, oldest first."""
        if graph != self._name:
            return ()
        return tuple(
            map(self._read_feedback, self._connection.rows(_SQL["feedback"], (self.number,)))
        )

    def _read_feedback(self, row: Row) -> Feedback:
        number, data, person_id, sealed = row
        beside = (number, person_id, sealed)
        found = self._packed.unpack("thumb", beside, data, decode=_decode_feedback)
        secret = None if sealed is None else self._open(person_id, sealed, NO_PLACE)
        reason = "" if secret is None else secret.decode()
        return msgspec.structs.replace(found, graph=self._name, reason=reason)

    def _read_move(self, branch: str, row: Row) -> Move:
        line = self._packed.unpack("version", (branch, row[0]), row[1], decode=_decode_line)
        return Move(
            graph=self._name,
            branch=branch,
            number=row[0],
            before=line.before,
            after=line.after,
            length=line.length,
            content=line.content,
            edit=line.edit,
            origin=line.origin,
            at=line.at,
        )

    def _read_call(self, row: Row) -> Call:
        branch, number, call_id, data, person_id, tokens = row
        beside = (branch, number, call_id, person_id, tokens)
        found = self._packed.unpack("call", beside, data, decode=_decode_call)
        call = msgspec.structs.replace(found, id=call_id, graph=self._name, branch=branch)
        secret = None if tokens is None else self._open(person_id, tokens, NO_PLACE)
        if secret is None:
            return call
        known = _decode_tokens(secret)
        return msgspec.structs.replace(call, token_ids=known.token_ids, logprobs=known.logprobs)
