"""J24: no nonce is used twice under a key, not even by a copy of the running machine."""

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.store.sql.seal import Sealer, make_store_keys
from hermes.store.sqlite.adoption import steps_beside
from hermes.store.sqlite.connection import Database, migrate
from hermes.store.sqlite.tx import SqliteTx, drive

pytestmark = pytest.mark.sqlite_only

NONCE = 12
SEALS = 300
PLACE = ("fact", "f_1")


@pytest.fixture
def sealer() -> Iterator[tuple[Sealer, Database]]:
    """A sealer that has sealed before, with the key of one person, and its database."""
    db = Database(":memory:")
    made = Sealer(make_store_keys())
    migrate(db, steps_beside(made))
    made.make_key(SqliteTx(db), "p_ann")
    nonces(made, db, number=1)
    yield made, db
    db.close()


def nonces(sealer: Sealer, db: Database, *, number: int) -> list[bytes]:
    """Seal something that often; return the nonces."""
    return [
        drive(sealer.seal(SqliteTx(db), "p_ann", b"hello", place=PLACE))[:NONCE]
        for _ in range(number)
    ]


@pytest.mark.req("J24")
def test_a_copy_of_the_running_process_seals_with_other_nonces(
    sealer: tuple[Sealer, Database], tmp_path: Path
) -> None:
    told = tmp_path / "nonces"

    # Like a snapshot of a machine that is started twice: the memory is copied, and nothing in
    # Python learns of it, as it would of os.fork.
    copy = ctypes.CDLL(None).fork()
    if copy == 0:
        told.write_bytes(b"".join(nonces(*sealer, number=SEALS)))
        os._exit(0)
    os.waitpid(copy, 0)
    theirs, ours = told.read_bytes(), nonces(*sealer, number=SEALS)

    copied = {theirs[at : at + NONCE] for at in range(0, len(theirs), NONCE)}
    assert len(copied) == len(set(ours)) == SEALS
    assert copied.isdisjoint(ours)
