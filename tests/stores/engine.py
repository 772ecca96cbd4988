"""What the tests need of an engine beside the port: to open it, and to look at what it has written."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from hermes.message.ids import MakeId
from hermes.ports.clock import Clock
from hermes.ports.graph_reader import GraphReader
from hermes.ports.outbox import DeliveryRecord
from hermes.ports.search import Search
from hermes.ports.store import Store
from hermes.ports.wallet import Audit
from hermes.store.search.notes import Notes
from hermes.store.sql.places import Place

# Any: `search.Notes.add`, which is given what an engine wrote.
OnCommit = Callable[[Any, Any], None]
# `pytest.MonkeyPatch.setattr`, since rigs run where there is no pytest.
Patch = Callable[[object, str, object], None]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a test opens its store: the settings of `store`, and a limit on SQLite's file."""

    synchronous: Literal["FULL", "NORMAL"] = "NORMAL"
    disk_reserve_mb: int = 64
    group_commit_max: int = 512
    # Whether the process is the only one on its store, and after which silence others take over.
    alone: bool = True
    lease_s: float = 30.0
    # For tests of SQLite only.
    max_pages: int | None = None
    accepts_lone: bool = False
    copies: bool = True


class StoreSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What a store is made with; None is the engine's default."""

    key_file: bytes
    clock: Clock
    make_id: MakeId
    options: Options
    measure: Callable[[Path], int] | None = None
    on_commit: OnCommit | None = None


class Tables(Protocol):
    """The tables of a store, beside the port: for what the port does not show, and for damage.

    Statements are in words that every engine knows, with parameters `?1`, as in the query files.
    """

    # Any: the values of the columns that the statement names.
    def rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return every row of a query."""
        ...

    def one(self, sql: str, bindings: tuple[Any, ...] = ()) -> Any:
        """Return the single value of a query that always has one row."""
        ...

    def execute(self, sql: str, bindings: tuple[Any, ...] = ()) -> object:
        """Change something."""
        ...


class OpenedTables(Protocol):
    """The tables of a store that nobody uses, with the key that opens their content."""

    @property
    def tables(self) -> Tables:
        """The tables."""
        ...

    @property
    def graphs(self) -> GraphReader:
        """The message graphs."""
        ...

    def problems(self) -> list[str]:
        """Return what the engine's own check finds wrong."""
        ...

    def try_keys(self) -> int:
        """Open every data key; return how many there are."""
        ...

    def body(self, body_id: int) -> bytes | None:
        """Return the content of a body, or None if it is gone."""
        ...

    def unseal(self, person_id: str, sealed: bytes, *, place: Place) -> bytes | None:
        """Return the content of a sealed column, or None if the person was erased."""
        ...


class Engine(Protocol):
    """One kind of store; a folder stands for one store of it."""

    async def open(self, folder: Path, setup: StoreSetup) -> Store:
        """Open the store of a folder; the first time it is made."""
        ...

    def open_search(self, folder: Path, *, key_file: bytes, notes: Notes, clock: Clock) -> Search:
        """Open the search index beside the store of a folder."""
        ...

    def tables(self, folder: Path, *, read_only: bool) -> AbstractContextManager[Tables]:
        """Open the tables of a folder's store."""
        ...

    def opened_tables(
        self, folder: Path, *, key_file: bytes
    ) -> AbstractContextManager[OpenedTables]:
        """Open the tables of a folder's store with its key."""
        ...

    def raw_bytes(self, folder: Path) -> bytes:
        """Return everything that the store has written, as it is on disk."""
        ...

    def copy(self, folder: Path, to: Path) -> None:
        """Make the store of one folder, which nobody has open, that of another one as well."""
        ...

    def drop(self, folder: Path) -> None:
        """Remove the store of a folder, which nobody has open."""
        ...

    def audit(self, folder: Path, *, limit: int) -> Audit | None:
        """Return what `hermes credits audit` would find; None if no wallets were made yet.

        The store may be as a killed process left it, and stays so.
        """
        ...

    async def deliveries_of(self, store: Store, message_id: str) -> tuple[DeliveryRecord, ...]:
        """Return the deliveries of a message."""
        ...

    def full_disk(self) -> Exception:
        """Return the error by which the engine says that its disk is full."""
        ...

    def broken_disk(self) -> Exception:
        """Return the error by which the engine says that its disk fails."""
        ...

    def run_units_twice(self, patch: Patch) -> None:
        """Have every unit run, be undone and run again."""
        ...

    def check_space_every(self, patch: Patch, seconds: float) -> None:
        """Have the store look for room on its disk this often."""
        ...

    def as_node(self, store: Store, node: str) -> None:
        """Go on as a node that has joined before."""
        ...
