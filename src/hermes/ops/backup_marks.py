"""What a home says about its backups: when the last one was made, and whether a restore was cut off.

Every start reads these; what makes and restores archives is loaded only by those commands.
"""

from pathlib import Path

import msgspec

from hermes.durable_file import write_durably
from hermes.ops.private_files import read_as

LAST_BACKUP = "last-backup.json"
# Lies in a home from the first file of a restore to the last.
UNFINISHED_RESTORE = "restore.unfinished"
# Lies in a home that was restored without its key file, until somebody with the key comes.
UNCHECKED_RESTORE = "restore.unchecked"


class LastBackup(msgspec.Struct, frozen=True, kw_only=True):
    """When a home was last backed up, and into which file."""

    at: float
    file: str
    bytes: int = 0


class UncheckedManifest(msgspec.Struct, frozen=True):
    """What the key of a backup signed, and the signature that its archive has."""

    content: bytes
    signature: str


def last_backup(home: Path) -> LastBackup | None:
    """Return the last backup of a home, or None if there was none."""
    return read_as(home / LAST_BACKUP, LastBackup)


def record_backup(home: Path, last: LastBackup) -> bool:
    """Remember a backup in its home; return False if the disk does not take it."""
    try:
        write_durably(home / LAST_BACKUP, msgspec.json.encode(last))
    except OSError:
        # The archive is made; a home on a full disk is one more reason to have it.
        return False
    return True


def unfinished_restore(home: Path) -> str | None:
    """Return why nothing may start in a home into which a restore was not finished, or None."""
    if not (home / UNFINISHED_RESTORE).exists():
        return None
    return (
        f"a restore into {home} was cut off, so it is not whole. Run the same `hermes restore FILE` "
        "again: it removes the rest and starts over"
    )


def is_unchecked(home: Path) -> bool:
    """Return whether a home was restored without its key file, and nobody has checked it since."""
    return (home / UNCHECKED_RESTORE).exists()


def leave_unchecked(home: Path, manifest: UncheckedManifest) -> None:
    """Leave in a home what its key has to check before anything runs there."""
    write_durably(home / UNCHECKED_RESTORE, msgspec.json.encode(manifest))


def unchecked_manifest(home: Path) -> UncheckedManifest | None:
    """Return what a home's key has to check, or None if it cannot be read."""
    return read_as(home / UNCHECKED_RESTORE, UncheckedManifest)


def mark_checked(home: Path) -> None:
    """Note that the key of a home has checked it."""
    (home / UNCHECKED_RESTORE).unlink(missing_ok=True)
