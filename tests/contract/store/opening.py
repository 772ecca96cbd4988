"""Opening the store for a test, and again after it was closed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hermes.message.ids import make_id
from hermes.store.sql.seal import make_store_keys
from hermes.store.sqlite.store import SqliteStore, StoreOptions
from hermes.testing.manual_time import ManualClock
from tests.contract.store.blank import blank

KEYS = make_store_keys()


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[SqliteStore]:
    """Open the store of a folder, and close it after use."""
    store = SqliteStore(
        blank(folder / "hermes.db"),
        key_file=KEYS,
        clock=ManualClock(),
        make_id=make_id,
        options=StoreOptions(synchronous="NORMAL"),
    )
    try:
        yield store
    finally:
        await store.close()
