"""A new database without the wait: the migrations run once in a process, and each test gets a copy.

That they run on a file of its own, step by step, is shown by `test_schema` and by every real gateway.
"""

from pathlib import Path

from hermes.store.sql.seal import Sealer, make_store_keys
from hermes.store.sqlite.adoption import steps_beside
from hermes.store.sqlite.connection import Database, migrate


def _made() -> bytes:
    db = Database(":memory:")
    migrate(db, steps_beside(Sealer(make_store_keys())))
    # Every database has a key of its own, which the one who opens it first makes.
    db.execute("DELETE FROM meta WHERE key = 'digest_key'")
    assert db.changes() == 1
    content = db.serialize("main")
    db.close()
    return content


_BLANK = _made()


def blank(path: Path) -> Path:
    """Put an empty database at a path where none is; returns the path."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_bytes(_BLANK)
    return path
