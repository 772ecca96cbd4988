"""A message graph in a SQLite file that a test or a measurement writes by itself."""

from hermes.graph.storage import Batch
from hermes.store.sql.graph_storage import SqlGraphStorage
from hermes.store.sql.graph_writer import GraphWriter
from hermes.store.sql.numbers import Numbers
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.tx import SqliteTx, drive

_PEOPLE = load("people")
_GRAPH = load("graph")


class WritableGraph(SqlGraphStorage):
    """Implements `graph.storage.GraphStorage`; `in_unit` if somebody else holds the transaction."""

    def __init__(
        self, db: Database, name: str, *, sealer: Sealer, person_id: str, in_unit: bool = False
    ) -> None:
        super().__init__(db, name, sealer=sealer)
        self._db = db
        self._graph_name = name
        self._writer_sealer = sealer
        self._owner = person_id
        self._in_unit = in_unit

    def write(self, batch: Batch) -> None:
        """Store `batch`; raises Conflict if its branch is not where its moves begin."""
        if self._in_unit:
            self.put(batch)
            return
        with self._db:
            self.put(batch)

    def put(self, batch: Batch) -> None:
        """Write a batch inside a transaction."""
        numbers = Numbers()
        numbers.begin_after(int(self._db.one(_GRAPH["last_graph"])))
        self._writer_sealer.number_bodies(int(self._db.one(_PEOPLE["last_body"])))
        writer = GraphWriter(
            SqliteTx(self._db),
            self._graph_name,
            sealer=self._writer_sealer,
            numbers=numbers,
            person_id=self._owner,
        )
        drive(writer.put(batch))
