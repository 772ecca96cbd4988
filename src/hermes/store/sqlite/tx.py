"""Reads and transactions over a SQLite connection; nothing here ever suspends."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hermes.errors import HermesError
from hermes.store.sql.tx import Row, Rows
from hermes.store.sqlite.connection import Database

_Result = TypeVar("_Result")


class SqliteReads:
    """Implements `store.sql.tx.Reads`."""

    __slots__ = ("_connection",)

    def __init__(self, db: Database) -> None:
        self._connection = db

    # Any: SQLite's values; the named query decides the columns and their types.
    async def rows(self, sql: str, *bindings: Any) -> list[Row]:
        """Return every row of a query."""
        return self._connection.rows(sql, bindings)

    async def row(self, sql: str, *bindings: Any) -> Row | None:
        """Return the first row of a query, if there is one."""
        return self._connection.row(sql, bindings)

    async def one(self, sql: str, *bindings: Any) -> Any:
        """Return the single value of a query that always has one row."""
        return self._connection.one(sql, bindings)

    async def look(self, work: Callable[[Rows], _Result]) -> _Result:
        """Run plain code over the connection."""
        return work(self._connection)


class SqliteTx(SqliteReads):
    """Implements `store.sql.tx.Tx`; the writer holds the transaction."""

    __slots__ = ()

    # Any: as above.
    def put(self, sql: str, *bindings: Any) -> None:
        """Write, whatever it changes."""
        self._connection.execute(sql, bindings)

    def must(self, sql: str, *bindings: Any, error: HermesError) -> None:
        """Write; raises `error` unless exactly one row was changed."""
        self._connection.execute(sql, bindings)
        if self._connection.changes() != 1:
            raise error

    def lock(self, sql: str, *bindings: Any, error: HermesError) -> None:
        """Raise `error` unless the query finds a row; one writer keeps it as it is."""
        if self._connection.row(sql, bindings) is None:
            raise error

    async def locked(self, sql: str, *bindings: Any) -> Row | None:
        """Return the first row of a query; one writer keeps it as it is."""
        return self._connection.row(sql, bindings)

    async def changed(self, sql: str, *bindings: Any) -> int:
        """Write, and return how many rows were changed."""
        self._connection.execute(sql, bindings)
        return self._connection.changes()


def drive(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine that waits for nothing but SQLite; return its result."""
    try:
        work.send(None)
    except StopIteration as end:
        result: _Result = end.value
        return result
    work.close()
    raise RuntimeError("a unit of work waited for something other than the database")
