"""The small protocol between the store's SQL and the engine that runs it.

A unit of work is a coroutine over `Tx`: one transaction, which is on disk when it has ended. What
is posted (`put`, `must`) costs no waiting; only what is awaited may cost a round trip. On SQLite
nothing suspends. An engine elsewhere gathers what is posted and sends it together.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from hermes.errors import HermesError

Result = TypeVar("Result")
# Any: values of the database; the named query decides the columns and their types.
Row = tuple[Any, ...]


class Rows(Protocol):
    """Plain reads over a connection, for code that follows references as it reads."""

    def rows(self, sql: str, bindings: Row = ()) -> list[Row]:
        """Return every row of a query."""
        ...

    def row(self, sql: str, bindings: Row = ()) -> Row | None:
        """Return the first row of a query, if there is one."""
        ...

    def one(self, sql: str, bindings: Row = ()) -> Any:
        """Return the single value of a query that always has one row."""
        ...


class Reads(Protocol):
    """Reads that may wait."""

    async def rows(self, sql: str, *bindings: Any) -> list[Row]:
        """Return every row of a query."""
        ...

    async def row(self, sql: str, *bindings: Any) -> Row | None:
        """Return the first row of a query, if there is one."""
        ...

    async def one(self, sql: str, *bindings: Any) -> Any:
        """Return the single value of a query that always has one row."""
        ...

    async def look(self, work: Callable[[Rows], Result]) -> Result:
        """Run plain code that reads as it goes, such as the graph library; it writes nothing."""
        ...


class Tx(Reads, Protocol):
    """One transaction: reads in it see its own writes."""

    def put(self, sql: str, *bindings: Any) -> None:
        """Post a write, whatever it changes."""
        ...

    def must(self, sql: str, *bindings: Any, error: HermesError) -> None:
        """Post a write that has to change exactly one row; else the unit fails with `error`."""
        ...

    def lock(self, sql: str, *bindings: Any, error: HermesError) -> None:
        """Post a query that finds one row, and keep that row as it is until the unit ends.

        If it finds none, the unit fails with `error`.
        """
        ...

    async def locked(self, sql: str, *bindings: Any) -> Row | None:
        """Return the first row of a query; nobody else changes it until the unit ends."""
        ...

    async def changed(self, sql: str, *bindings: Any) -> int:
        """Write, and return how many rows were changed."""
        ...


Unit = Callable[[Tx], Coroutine[Any, Any, Result]]


class Units(Protocol):
    """Runs units of work, each in a transaction."""

    # How many transactions have ended, and how many units they held.
    commits: int
    units: int

    async def run(
        self, name: str, unit: Unit[Result], *, after: Callable[[Result], None] | None = None
    ) -> Result:
        """Run `unit`; return when it is on disk.

        Cancelling the caller does not cancel the unit. `after` runs on the loop once the unit is
        durable, even if nobody waits any more. A unit may run twice: it changes nothing but the
        database.
        """
        ...

    async def close(self) -> None:
        """Wait for everything that was submitted."""
        ...
