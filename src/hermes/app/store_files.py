"""The database of a home and its key file: neither is used without the other.

The key file gets its name only after the database was created. So a key file without a database
means that the database was lost, never that a first start was cut off, and Hermes refuses to start.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hermes.config import Settings, StartChoices, read_or_create_secret_file
from hermes.config.home import rename_secret_file
from hermes.errors import ConfigurationError, StoreError
from hermes.message.ids import MakeId
from hermes.ops.backup_marks import (
    is_unchecked,
    mark_checked,
    unchecked_manifest,
    unfinished_restore,
)
from hermes.ports.clock import Clock
from hermes.store.sql.graph_reader import SqlGraphReader
from hermes.store.sql.key_prints import is_signed
from hermes.store.sql.seal import make_store_keys
from hermes.store.sql.transcripts import OnCommit, no_listener
from hermes.store.sqlite.connection import lacks_wal
from hermes.store.sqlite.open_file import newest_rescued
from hermes.store.sqlite.store import NO_WAL, SqliteStore, StoreOptions

DATABASE = "hermes.db"
KEY_FILE = "keys/store.keys"
# The key file's temporary name until its database has a schema.
FIRST_KEY_FILE = "keys/store.keys.first"


_NO_CHOICES = StartChoices()


def open_store(
    home: Path,
    settings: Settings,
    *,
    clock: Clock,
    make_id: MakeId,
    choices: StartChoices = _NO_CHOICES,
    on_open: Callable[[SqliteStore], None] = lambda _store: None,
    on_commit: OnCommit = no_listener,
) -> SqliteStore:
    """Open the database of a home; the first start creates it and its key file.

    `on_open` gets the store as soon as it is open: its caller closes it, also if this fails later.
    `on_commit` is called for every turn that is on disk.
    """
    check_restored(home)
    is_first = not (home / KEY_FILE).exists()
    store = SqliteStore(
        home / DATABASE,
        key_file=_first_key(home) if is_first else _key(home),
        clock=clock,
        make_id=make_id,
        options=StoreOptions(
            synchronous=settings.store.synchronous,
            group_commit_max=settings.store.group_commit_max,
            disk_reserve_mb=settings.store.disk_reserve_mb,
            is_new=is_first,
            lease_s=settings.lanes.lease_s,
            accepts_lone=choices.accepts_lone_database,
            copies=choices.copies_before_upgrade,
        ),
        on_commit=on_commit,
    )
    on_open(store)
    if is_first:
        rename_secret_file(home / FIRST_KEY_FILE, home / KEY_FILE)
    return store


def open_graph_reader(home: Path) -> SqlGraphReader:
    """Open the message graphs of a home for reading."""
    check_restored(home)
    if lacks_wal(home / DATABASE):
        raise StoreError(f"{home / DATABASE} {NO_WAL}")
    try:
        key_file = (home / KEY_FILE).read_bytes()
    except OSError as error:
        raise StoreError(
            f"the key file {KEY_FILE} of this home cannot be read ({error.strerror}); "
            "put your copy of it there (no backup has it inside), or run the command as the user of "
            "the gateway"
        ) from error
    return SqlGraphReader.read(home / DATABASE, key_file=key_file)


def check_restored(home: Path) -> None:
    """Raise `ConfigurationError` unless the home is as a backup had it, or was never restored.

    Everything that runs code of a home calls this first.
    """
    problem = restore_problem(home)
    if problem is not None:
        raise ConfigurationError(f"{problem}.")


def restore_problem(home: Path) -> str | None:
    """Return why nothing of a restored home may be used, or None."""
    unfinished = unfinished_restore(home)
    if unfinished is not None or not is_unchecked(home):
        return unfinished
    problem = _signature_problem(home)
    if problem is None:
        with suppress(OSError):
            mark_checked(home)
    return problem


def _signature_problem(home: Path) -> str | None:
    """Check with the key file what a restore without it could not; return what is wrong."""
    path, found = home / KEY_FILE, unchecked_manifest(home)
    if not path.exists():
        return (
            f"{path} is missing: the home was restored without it, so its backup has not been "
            "checked for changes yet. Put your copy of the key file there"
        )
    try:
        is_genuine = found is not None and is_signed(
            path.read_bytes(), found.content, found.signature
        )
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    except StoreError as error:
        return str(error)
    if is_genuine:
        return None
    return (
        f"the backup that {home} was restored from was changed after it was made, or {path} is not "
        "its key file: the signature does not fit. Nothing of the home is run; put the right key "
        "file there, or move the home away and restore another copy of the backup"
    )


def lost_database(home: Path) -> str | None:
    """Return why the database next to a key file cannot be its own, or None."""
    path = home / DATABASE
    if not (home / KEY_FILE).exists():
        return None
    if not path.exists():
        return f"{path} is missing, but its key file {home / KEY_FILE} exists"
    if path.stat().st_size == 0:
        return f"{path} is empty, but its key file {home / KEY_FILE} exists"
    return None


def restore_advice(home: Path) -> str:
    """Return what an operator can do about a lost database."""
    left = [name for name in (f"{DATABASE}-wal", f"{DATABASE}-shm") if (home / name).exists()]
    first = (
        f"First move {' and '.join(left)} out of {home}: SQLite would mix data of the lost file into "
        "the backup. "
        if left
        else ""
    )
    rescued = newest_rescued(home / DATABASE)
    if rescued is not None:
        return f"{first}{rescued} holds the data of the lost {DATABASE}: rename it to {DATABASE}"
    # Next to an empty database a missing key file is refused, too.
    both = f" and {home / DATABASE}" if (home / DATABASE).exists() else ""
    return (
        f"{first}Put your copy of {DATABASE} back, with the {DATABASE}-wal of the same copy if it has one; "
        "or restore a backup into an empty home with `hermes restore FILE`. To start with an empty home "
        f"instead, move {home / KEY_FILE}{both} away"
    )


def check_database(home: Path) -> None:
    """Raise `ConfigurationError` if the database of a key file is lost, or not restored yet."""
    check_restored(home)
    lost = lost_database(home)
    if lost is not None:
        raise ConfigurationError(f"{lost}. {restore_advice(home)}.")


def _key(home: Path) -> bytes:
    check_database(home)
    return read_or_create_secret_file(home / KEY_FILE, make_store_keys)


def _first_key(home: Path) -> bytes:
    key_file, database, first = home / KEY_FILE, home / DATABASE, home / FIRST_KEY_FILE
    if database.exists() and not first.exists():
        raise ConfigurationError(
            f"{key_file} is missing, and without it nobody can read {database}: put the copy of it there "
            "that was made with this database, or move the database away to start with an empty home"
        )
    return read_or_create_secret_file(first, make_store_keys)
