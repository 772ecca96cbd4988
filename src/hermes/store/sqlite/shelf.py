"""Every message graph of a database, for whoever reads them whole; nothing is written here."""

from collections.abc import Sequence
from pathlib import Path

from hermes.errors import StoreError
from hermes.graph import MessageGraph
from hermes.ports.graphs import GraphEntry
from hermes.store.sqlite.connection import Database, newest_version, open_reader
from hermes.store.sqlite.graph_storage import SqliteGraphStorage
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.seal import Sealer

_SQL = load("graph")
_SALT = b"hermes.export.names"


class SqliteShelf:
    """Fits `ports.graphs.GraphShelf`."""

    def __init__(self, db: Database, *, sealer: Sealer) -> None:
        self._connection = db
        self._sealer = sealer

    @classmethod
    def read(cls, path: Path, *, key_file: bytes) -> "SqliteShelf":
        """Open the graphs of a database beside whoever writes it."""
        db = open_reader(path, vfs=None)
        version = int(str(db.pragma("user_version")))
        if version != newest_version():
            db.close()
            raise StoreError(
                f"the database has schema version {version}, this Hermes reads {newest_version()}; "
                "start `hermes up` of this version once, which brings it up to date"
            )
        sealer = Sealer(key_file)
        sealer.load_digest_key(db)
        return cls(db, sealer=sealer)

    def graphs(self, session: str | None = None) -> Sequence[GraphEntry]:
        """Return the graphs of a session, or of all, the most recently used first."""
        rows = self._connection.rows(_SQL["graphs"])
        named = [(number, str(name), *_parts(name)) for number, name in rows]
        found = [
            self._entry(number, name, session=lane, epoch=epoch)
            for number, name, lane, epoch in named
            if session in (None, lane)
        ]
        return sorted(found, key=lambda entry: -entry.used_at)

    def open(self, name: str, *, branch: str = "main") -> MessageGraph:
        """Return a graph; raises NotFound if there is none of this name and branch."""
        storage = SqliteGraphStorage(self._connection, name, sealer=self._sealer)
        return MessageGraph.open(name, storage, branch=branch, hasher=self._sealer.hasher())

    def graph_of_call(self, call_id: str) -> str | None:
        """Return the name of the graph that a call belongs to."""
        row = self._connection.row(_SQL["graph_of_call"], (call_id,))
        return None if row is None else str(row[0])

    def salt(self) -> bytes:
        """Return the secret of this store that hides names in exports; always the same."""
        return self._sealer.digest(_SALT)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _entry(self, number: int, name: str, *, session: str, epoch: int) -> GraphEntry:
        refs = self._connection.rows(_SQL["refs"], (number,))
        people = self._connection.rows(_SQL["people"], (number,))
        current, used_at = self._connection.row(_SQL["lane"], (session,)) or (epoch, 0.0)
        main = next((ref for ref in refs if ref[0] == "main"), None)
        return GraphEntry(
            name=name,
            session=session,
            epoch=epoch,
            is_current=epoch == current,
            messages=0 if main is None else int(main[2]),
            calls=sum(int(ref[4]) for ref in refs),
            branches=tuple(str(ref[0]) for ref in refs),
            people=tuple(str(row[0]) for row in people),
            may_train=bool(people) and all(row[1] for row in people),
            used_at=float(used_at),
        )


def _parts(name: str) -> tuple[str, int]:
    """Return the session and the epoch of a graph's name."""
    session, _, epoch = name.rpartition("#")
    return (session, int(epoch)) if session and epoch.isdigit() else (name, 0)
