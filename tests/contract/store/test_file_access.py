"""A database that the user may not write: the error says whose it is and what to do."""

import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

pytestmark = [
    pytest.mark.sqlite_only,
    pytest.mark.skipif(os.geteuid() != 0, reason="another user can be only root's choice"),
]

NOBODY = pwd.getpwnam("nobody")
# Becomes another user, and opens a database for writing.
OPEN = """
import os, sys
from pathlib import Path
from hermes.errors import StoreError
from hermes.store.sqlite.connection import open_database
os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
try:
    open_database(Path(sys.argv[1]), synchronous="FULL", vfs=None)
except StoreError as error:
    print(error)
"""


def opened_as(uid: int, path: Path) -> str:
    """Return what a user is told who opens a database."""
    command = [sys.executable, "-c", OPEN, str(path), str(uid)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def database() -> Iterator[Path]:
    """A database in a folder that everybody can reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        path = Path(folder) / "hermes.db"
        db = apsw.Connection(str(path))
        db.pragma("journal_mode", "wal")
        db.execute("CREATE TABLE t (x)")
        db.close()
        yield path


@pytest.mark.req("W1")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o666])
def test_a_file_of_somebody_else_is_named_with_its_owner(database: Path, mode: int) -> None:
    database.chmod(mode)

    said = opened_as(NOBODY.pw_uid, database)

    assert f"{database} belongs to user root (0)" in said
    assert f"Hermes runs as user nobody ({NOBODY.pw_uid})" in said
    assert "chown -R" in said


@pytest.mark.req("W1")
def test_a_read_only_file_is_named_with_the_command_that_helps(database: Path) -> None:
    os.chown(database, NOBODY.pw_uid, NOBODY.pw_gid)
    database.chmod(0o400)

    said = opened_as(NOBODY.pw_uid, database)

    assert "is read-only for user nobody" in said
    assert f"chmod 600 {database}" in said


@pytest.mark.req("W1")
def test_a_folder_that_cannot_be_written_is_named(database: Path) -> None:
    os.chown(database, NOBODY.pw_uid, NOBODY.pw_gid)
    database.chmod(0o600)
    database.parent.chmod(0o555)

    said = opened_as(NOBODY.pw_uid, database)

    assert f"the folder {database.parent} cannot be written by user nobody" in said
