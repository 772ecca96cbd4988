"""Reads the message graphs for the index: the heads of branches, and what each version added.

Reads the database over its own connection, in the index's thread. Only what people and models said
is indexed: no system prompts, notes, thoughts or tool messages.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from hermes.errors import StoreError
from hermes.graph.reader import ObjectReader
from hermes.graph.records import Move
from hermes.graph.sequence import Sequence as Messages
from hermes.message.chat import ChatMessage
from hermes.message.parts import AudioPart, FilePart, ImagePart, TextPart
from hermes.store.sql.graph_storage import SqlGraphStorage
from hermes.store.sql.places import blob_place
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sqlite.connection import open_reader

_SQL = load("following", package="hermes.store.search")
_GRAPH = load("graph")
# Edits that restore or summarise messages add nothing new.
_SAID = frozenset({"start", "append", "insert", "set", "replace", "answer", "retry"})
_KEY = b"hermes.search.key."
_decode = msgspec.json.Decoder(ChatMessage).decode
_encode = msgspec.json.Encoder().encode


class BranchState(NamedTuple):
    """The current version of a branch."""

    graph: int
    name: str
    branch: str
    version: int
    root: bytes


class Addition(NamedTuple):
    """A version that added messages `start` to `start + added` of the context `root`."""

    at: float
    graph: int
    branch: str
    number: int
    root: bytes
    start: int
    added: int
    person: str
    turn: str


class IndexMessage(NamedTuple):
    """One message to index, with its owner and its author."""

    person: str
    role: Literal["user", "assistant"]
    text: str


class Graphs:
    """The message graphs of a database, as the index reads them."""

    def __init__(self, path: Path, key_file: bytes) -> None:
        self._db = open_reader(path, vfs=None)
        self._sealer = Sealer(key_file)
        self._sealer.read_digest_key(self._db)

    def index_key(self) -> bytes:
        """Return the key of the index; each database has its own."""
        made = b"".join(self._sealer.digest(_KEY + part) for part in (b"1", b"2"))
        return made[:32]

    def use_keys(self, key_file: bytes) -> None:
        """Use the key file of a rotation from now on."""
        self._sealer.use_keys(key_file)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def page(self, after: int, limit: int) -> tuple[int | None, list[BranchState]]:
        """Return the branches of the next graphs, and the last graph; None after the end."""
        last = self._db.one(_SQL["last_graph"], (after, limit))
        return last, [_branch(row) for row in self._db.rows(_SQL["refs"], (after, limit))]

    def branches(self, graph: int) -> list[BranchState]:
        """Return the branches of one graph."""
        return [_branch(row) for row in self._db.rows(_SQL["refs_of"], (graph,))]

    def name(self, graph: int) -> str | None:
        """Return what a graph is called now; None if there is none."""
        row = self._db.row(_SQL["name"], (graph,))
        return None if row is None else str(row[0])

    def moves(self, branch: BranchState, after: int) -> list[Move]:
        """Return the versions of a branch up to its head, beginning with `after`."""
        storage = SqlGraphStorage(self._db, branch.name, sealer=self._sealer, number=branch.graph)
        # The branch may have advanced meanwhile.
        with self._db:
            ref = storage.ref(branch.branch)
            newest = branch.version if ref is None else ref.version
            found = storage.last_moves(branch.branch, newest - after + 1)
        return [move for move in reversed(found) if move.number <= branch.version]

    def is_temporary(self, name: str) -> bool:
        """Return whether the session of a graph leaves nothing to others."""
        return self._db.row(_SQL["is_temporary"], (name.rpartition("#")[0],)) is not None

    def spoken(self, addition: Addition, *, name: str) -> Iterator[IndexMessage]:
        """Return what a version added and can still be decrypted; nothing of temporary sessions."""
        if self.is_temporary(name):
            return
        storage = SqlGraphStorage(self._db, name, sealer=self._sealer, number=addition.graph)
        sequence = Messages.read(addition.root, ObjectReader(storage, self._sealer.hasher()))
        names = [one.id for one in sequence.names(addition.start, addition.start + addition.added)]
        opened = self._open(addition, names)
        for one in names:
            if one in opened:
                person, message = opened[one]
                said = spoken_of(person, message)
                if said is not None:
                    yield said

    def _open(
        self, addition: Addition, names: Sequence[bytes]
    ) -> dict[bytes, tuple[str, ChatMessage]]:
        """Return messages with their owners, without those of erased people."""
        listed = _encode([name.hex() for name in names]).decode()
        opened: dict[bytes, tuple[str, ChatMessage]] = {}
        rows = self._db.rows(_GRAPH["blobs"], (addition.graph, listed))
        for name, person, sealed, body in rows:
            # If several people said the same, it belongs to the person whose turn it was.
            if name in opened and person != addition.person:
                continue
            place = blob_place(body)
            content = self._sealer.open_at_once(self._db, person, sealed, place=place)
            if content is not None:
                opened[name] = (person, _decode(content))
        return opened

    def erased(self) -> frozenset[str]:
        """Return all erased people; their messages are no longer decrypted."""
        found = frozenset(str(row[0]) for row in self._db.rows(_SQL["erased"]))
        for person in found:
            self._sealer.forget(person)
        return found

    def forget(self, person: str) -> None:
        """Stop using a person's key that was read before."""
        self._sealer.forget(person)


def additions(moves: Sequence[Move], *, graph: int) -> Iterator[Addition]:
    """Return the versions that added something people or models said."""
    for move in moves:
        edit = move.edit
        if edit.kind in _SAID and edit.added and move.origin is None:
            yield Addition(
                at=move.at or 0.0,
                graph=graph,
                branch=move.branch,
                number=move.number,
                root=move.after,
                start=edit.start,
                added=edit.added,
                person=edit.actor,
                turn=edit.reason,
            )


def spoken_of(person: str, message: ChatMessage) -> IndexMessage | None:
    """Return the searchable text of a message; None if it has none."""
    role = message.role
    if role not in ("user", "assistant"):
        return None
    parts = message.parts
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        text = parts[0].text
    else:
        text = " ".join(filter(None, map(_text_of_part, parts)))
    return IndexMessage(person, role, text) if text and not text.isspace() else None


def _text_of_part(part: object) -> str | None:
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, AudioPart):
        return part.transcript
    if isinstance(part, FilePart | ImagePart):
        return part.media.name
    return None


def _branch(row: tuple[object, ...]) -> BranchState:
    graph, name, branch, version, root = row
    if not (isinstance(graph, int) and isinstance(name, bytes) and isinstance(branch, str)):
        raise StoreError("a branch in the database was changed on disk; `hermes graph verify`")
    if not (isinstance(version, int) and isinstance(root, bytes)):
        raise StoreError("a branch in the database was changed on disk; `hermes graph verify`")
    return BranchState(graph, name.decode(errors="replace"), branch, version, root)
