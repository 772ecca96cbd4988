"""Opening a store for a test, a rig or a bench, and looking at what it has written.

This is the only way: nobody else names an engine, so that all of it runs on any of them. A test that is
about one engine has a mark (`sqlite_only`) and imports that engine itself.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path

from cryptography.fernet import Fernet

from hermes.message.ids import MakeId, make_id
from hermes.ports.clock import Clock
from hermes.ports.outbox import DeliveryRecord
from hermes.ports.search import Search
from hermes.ports.store import Store
from hermes.ports.wallet import Audit
from hermes.store.search.notes import Notes
from hermes.testing.manual_time import ManualClock
from tests.stores.choice import EngineName, chosen
from tests.stores.engine import (
    Engine,
    OnCommit,
    OpenedTables,
    Options,
    Patch,
    StoreSetup,
    Tables,
)
from tests.stores.sqlite import SqliteEngine

_ENGINES: dict[EngineName, Engine] = {"sqlite": SqliteEngine()}


def new_keys(older: bytes = b"") -> bytes:
    """Return the content of a key file with a new key, before those of an older file."""
    return Fernet.generate_key() + b"\n" + older


KEYS = new_keys()
DEFAULTS = Options()


def _engine() -> Engine:
    return _ENGINES[chosen()]


async def open_store(
    folder: Path,
    *,
    key_file: bytes = KEYS,
    clock: Clock | None = None,
    make_id: MakeId = make_id,
    options: Options = DEFAULTS,
    measure: Callable[[Path], int] | None = None,
    on_commit: OnCommit | None = None,
) -> Store:
    """Open the store of a folder, which is made the first time; the caller closes it."""
    setup = StoreSetup(
        key_file=key_file,
        clock=clock or ManualClock(),
        make_id=make_id,
        options=options,
        measure=measure,
        on_commit=on_commit,
    )
    return await _engine().open(folder, setup)


@asynccontextmanager
async def opened(
    folder: Path, *, key_file: bytes = KEYS, clock: Clock | None = None
) -> AsyncIterator[Store]:
    """Open the store of a folder, and close it after use."""
    store = await open_store(folder, key_file=key_file, clock=clock)
    try:
        yield store
    finally:
        await store.close()


def open_search(folder: Path, *, key_file: bytes, notes: Notes, clock: Clock) -> Search:
    """Open the search index beside the store of a folder."""
    return _engine().open_search(folder, key_file=key_file, notes=notes, clock=clock)


def tables(folder: Path, *, read_only: bool = False) -> AbstractContextManager[Tables]:
    """Open the tables of a folder's store, for what the port does not show and for damage."""
    return _engine().tables(folder, read_only=read_only)


def opened_tables(folder: Path, *, key_file: bytes) -> AbstractContextManager[OpenedTables]:
    """Open the tables of a folder's store with the key that opens their content."""
    return _engine().opened_tables(folder, key_file=key_file)


def raw_bytes(folder: Path) -> bytes:
    """Return everything that the store of a folder has written, as it is on disk."""
    return _engine().raw_bytes(folder)


def copy_store(folder: Path, *, to: Path) -> None:
    """Copy the store of a folder, which nobody has open."""
    _engine().copy(folder, to)


def drop_store(folder: Path) -> None:
    """Remove the store of a folder, which nobody has open."""
    _engine().drop(folder)


def audit(folder: Path, *, limit: int) -> Audit | None:
    """Return what `hermes credits audit` would find; None if no wallets were made yet."""
    return _engine().audit(folder, limit=limit)


async def deliveries_of(store: Store, message_id: str) -> tuple[DeliveryRecord, ...]:
    """Return the deliveries of a message, also of a send, which has no timeline."""
    return await _engine().deliveries_of(store, message_id)


def full_disk() -> Exception:
    """Return the error by which the engine says that its disk is full."""
    return _engine().full_disk()


def broken_disk() -> Exception:
    """Return the error by which the engine says that its disk fails."""
    return _engine().broken_disk()


def run_units_twice(patch: Patch) -> None:
    """Have every unit of work run, be undone and run again."""
    _engine().run_units_twice(patch)


def check_space_every(patch: Patch, seconds: float) -> None:
    """Have stores look for room on their disk this often."""
    _engine().check_space_every(patch, seconds)


def as_node(store: Store, node: str) -> None:
    """Go on as a node that has joined before, which no real process can."""
    _engine().as_node(store, node)
