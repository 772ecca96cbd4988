"""The search index of a home, opened next to its database."""

from pathlib import Path

from hermes.app.store_files import DATABASE, KEY_FILE
from hermes.config import Settings, read_or_create_secret_file
from hermes.ports.clock import Clock
from hermes.store.search.notes import Notes
from hermes.store.search.search import SqliteSearch
from hermes.store.sql.seal import make_store_keys

SEARCH = "search.db"


def open_search(
    home: Path, settings: Settings, *, notes: Notes, clock: Clock
) -> SqliteSearch | None:
    """Return the index of a home, which processes the index notes; None if search is off."""
    if not settings.search.enabled:
        return None
    return SqliteSearch(
        home / SEARCH,
        database=home / DATABASE,
        key_file=read_or_create_secret_file(home / KEY_FILE, make_store_keys),
        notes=notes,
        clock=clock,
    )
