"""Reads the message graphs of a database; writes nothing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from hermes.errors import StoreError
from hermes.graph import MessageGraph, Problem
from hermes.ports.graph_reader import GraphEntry
from hermes.ports.person_rows import PersonRow
from hermes.ports.secrets import SecretValues
from hermes.store.sql.graph_audit import check_rows, find_orphans
from hermes.store.sql.graph_storage import SqlGraphStorage
from hermes.store.sql.person_rows import LEFT_OUT, person_rows
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.secrets import secret_values
from hermes.store.sqlite.connection import Database, newest_version, open_reader

_SQL = load("graph")
_SALT = b"hermes.export.names"


class SqlGraphReader:
    """Implements `ports.graph_reader.GraphReader`."""

    def __init__(self, db: Database, *, sealer: Sealer) -> None:
        self._connection = db
        self._sealer = sealer

    @classmethod
    def read(cls, path: Path, *, key_file: bytes) -> "SqlGraphReader":
        """Open the graphs of a database while another process may write it."""
        db = open_reader(path, vfs=None)
        version = int(db.one("PRAGMA user_version"))
        if version != newest_version():
            db.close()
            raise StoreError(
                f"the database has schema version {version}, this Hermes reads {newest_version()}; "
                "start `hermes up` of this version once, which upgrades it"
            )
        sealer = Sealer(key_file)
        sealer.read_digest_key(db)
        return cls(db, sealer=sealer)

    def graphs(self, session: str | None = None) -> Sequence[GraphEntry]:
        """Return the graphs of a session, or of all, most recently used first."""
        rows = self._connection.rows(_SQL["graphs"])
        texts = ((number, _text(name)) for number, name in rows)
        named = [(number, name, *_parts(name)) for number, name in texts]
        found = [
            self._safe_entry(number, name, session=lane, epoch=epoch)
            for number, name, lane, epoch in named
            if session in (None, lane)
        ]
        return sorted(found, key=lambda entry: -entry.used_at)

    def open(self, name: str, *, branch: str = "main") -> MessageGraph:
        """Return a graph; raises NotFound if there is none with this name and branch."""
        storage = SqlGraphStorage(self._connection, name, sealer=self._sealer)
        return MessageGraph.open(name, storage, branch=branch, hasher=self._sealer.hasher())

    def graph_of_call(self, call_id: str) -> str | None:
        """Return the name of the graph that a call belongs to."""
        row = self._connection.row(_SQL["graph_of_call"], (call_id,))
        return None if row is None else str(row[0])

    def check(self, name: str) -> Sequence[Problem]:
        """Return the faults in the rows of a graph, beyond what its branches show."""
        return check_rows(self._connection, name, sealer=self._sealer)

    def orphans(self) -> Sequence[Problem]:
        """Return rows of graphs that the store does not know."""
        return find_orphans(self._connection)

    def salt(self) -> bytes:
        """Return the secret that hides names in exports; constant for this store."""
        return self._sealer.digest(_SALT)

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Read everything in the block as it is when the block begins."""
        self._connection.execute("BEGIN")
        try:
            # SQLite takes the state with the first read.
            self._connection.one("PRAGMA schema_version")
            yield
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def secret_values(self) -> SecretValues:
        """Return every stored secret with its value."""
        return secret_values(self._connection, self._sealer)

    def person_rows(self, person_id: str) -> Iterator[PersonRow]:
        """Yield all rows of a person, a page at a time."""
        return person_rows(self._connection, person_id, sealer=self._sealer)

    def left_out(self) -> Mapping[str, str]:
        """Return the tables that are not among these rows, with the reasons."""
        return LEFT_OUT

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _safe_entry(self, number: int, name: str, *, session: str, epoch: int) -> GraphEntry:
        """Return a graph for the list; an unreadable one must not hide the others."""
        try:
            return self._entry(number, name, session=session, epoch=epoch)
        except (StoreError, TypeError, ValueError):
            return GraphEntry(
                name=name,
                session=session,
                epoch=epoch,
                is_current=False,
                messages=0,
                calls=0,
                branches=(),
                people=(),
                may_train=False,
                used_at=0.0,
            )

    def _entry(self, number: int, name: str, *, session: str, epoch: int) -> GraphEntry:
        refs = self._connection.rows(_SQL["listed_refs"], (number,))
        people = self._connection.rows(_SQL["people"], (number,))
        current, used_at = self._connection.row(_SQL["lane"], (session,)) or (epoch, 0.0)
        main = next((ref for ref in refs if ref[0] == b"main"), None)
        return GraphEntry(
            name=name,
            session=session,
            epoch=epoch,
            is_current=epoch == current,
            messages=0 if main is None else int(main[1]),
            calls=sum(int(ref[2]) for ref in refs),
            branches=tuple(_text(ref[0]) for ref in refs),
            people=tuple(_text(row[0]) for row in people),
            may_train=bool(people) and all(row[1] for row in people),
            used_at=float(used_at),
        )


def _text(kept: bytes) -> str:
    """Return a text as far as it can be decoded; the rest matches nothing."""
    return kept.decode(errors="replace")


def _parts(name: str) -> tuple[str, int]:
    """Return the session and the epoch of a graph's name."""
    session, _, epoch = name.rpartition("#")
    is_number = epoch.isascii() and epoch.isdecimal()
    return (session, int(epoch)) if session and is_number else (name, 0)
