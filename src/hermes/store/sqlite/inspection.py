"""Inspects a database without changing it: integrity, schema version, and whether the key opens it.

For `hermes doctor`, also while a gateway runs. It uses its own connection.
"""

from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec

from hermes.errors import StoreError, StoreRejected
from hermes.store.sql.seal import Sealer
from hermes.store.sqlite.connection import DAMAGE_ADVICE, Database, newest_version, open_reader

_MOST_FAULTS = 20
# SQLite reports progress after this many of its steps.
_STEPS = 2_000_000


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """The findings; a `key_problem` of None means that the key file opens the database."""

    bytes: int
    version: int
    newest: int
    faults: tuple[str, ...] = ()
    keys: int = 0
    key_problem: str | None = None


def inspect(path: Path, key_file: bytes | None, *, alive: Callable[[], None]) -> Inspection:
    """Inspect a database, calling `alive` meanwhile; raises `StoreError` if it does not open."""
    db = open_reader(path, vfs=None)
    try:
        db.set_progress_handler(_asked(alive), _STEPS)
        version = int(str(db.pragma("user_version")))
        found = db.rows(f"PRAGMA quick_check({_MOST_FAULTS})")
        faults = tuple(str(row[0]) for row in found if row[0] != "ok")
        keys, problem = _try_keys(db, key_file)
        return Inspection(
            bytes=path.stat().st_size,
            version=version,
            newest=newest_version(),
            faults=faults,
            keys=keys,
            key_problem=problem,
        )
    except apsw.Error as error:
        raise StoreRejected(
            f"the database {path.name} cannot be read ({error}); {DAMAGE_ADVICE}"
        ) from error
    finally:
        db.close()


def _asked(alive: Callable[[], None]) -> Callable[[], bool]:
    def go_on() -> bool:
        alive()
        return False

    return go_on


def _try_keys(db: Database, key_file: bytes | None) -> tuple[int, str | None]:
    if key_file is None:
        return 0, "keys/store.keys is missing"
    try:
        sealer = Sealer(key_file)
        sealer.read_digest_key(db)
        return sealer.try_all(db), None
    except StoreError as error:
        return 0, str(error)
