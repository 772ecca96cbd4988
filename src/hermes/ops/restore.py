"""Makes a home of a backup's archive, which nobody trusts.

The whole archive is read and compared with its manifest before anything is written. From the first
file to the last a marker lies in the home, with which no gateway starts there; a restore that is
interrupted removes what it wrote, and one that was killed is undone by the next.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec

from hermes.durable_file import sync_folder, write_durably
from hermes.errors import BadRequest, Conflict, Refused, StorageFull
from hermes.ops.archive import ArchiveMember, ArchiveReader
from hermes.ops.backup import Tell
from hermes.ops.backup_manifest import (
    HEAD,
    HOME,
    MANIFEST,
    MOST_BYTES,
    MOST_FOLDERS,
    STORE,
    BackupManifest,
    read_head,
    read_manifest,
    signed_part,
)
from hermes.ops.backup_marks import (
    LAST_BACKUP,
    UNCHECKED_RESTORE,
    UNFINISHED_RESTORE,
    LastBackup,
    UncheckedManifest,
    leave_unchecked,
    record_backup,
)
from hermes.ops.private_files import read_as
from hermes.ports.backup import StoreBackup

_PART = "restore.part"
_MIB = 1024 * 1024
# One block of a tar: nothing smaller is one.
_SMALLEST = 512
_NOT_ONE = (
    "it is not the archive of a backup (`hermes backup` makes one; unpack a compressed one first)"
)
_MOST_HEAD = 64 * 1024
_FULL_RETRY_S = 60.0
# What an empty home may have, and an archive may not.
_OWN = frozenset({"keys", "logs", "run"})
_KEPT = frozenset({".env", "config.yaml"})
_MARKS = (UNCHECKED_RESTORE, LAST_BACKUP)
_NEVER = (*_OWN, ".env", _PART, UNFINISHED_RESTORE, *_MARKS, "copies")
_DATABASES = ("hermes.db", "search.db")


class RestorePlan(msgspec.Struct, frozen=True, kw_only=True):
    """Where to restore, and with which key: None if there is no key file yet.

    Only `without_key` does a plan without a key file fit an archive: its signature is checked at the
    first use with the key.
    `print_of` gives the fingerprint of a key file, `is_signed` checks a signature with it.
    """

    home: Path
    store: StoreBackup
    key_file: bytes | None
    without_key: bool
    print_of: Callable[[bytes], str]
    is_signed: Callable[[bytes, bytes, str], bool]


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """The home that was made; unless it `has_key`, it needs the key file with the fingerprint `key`."""

    home: str
    files: int
    bytes: int
    made_at: float
    version: str
    schema_version: int
    home_id: str
    key: str
    has_key: bool
    left_out: tuple[str, ...] = ()


class _Marker(msgspec.Struct, frozen=True):
    names: tuple[str, ...]


def examine(file: BinaryIO, *, tell: Tell) -> BackupManifest:
    """Read a whole archive; return its manifest if every file is as the manifest says."""
    size = os.fstat(file.fileno()).st_size
    if size < _SMALLEST:
        raise BadRequest(_NOT_ONE)
    reader, found = ArchiveReader(file), dict[str, tuple[int, str]]()
    last: ArchiveMember | None = None
    content = b""
    for member in reader.members():
        if not found and last is None and member.name != HEAD:
            break
        if last is not None and last.name == MANIFEST:
            raise BadRequest("it has files after its manifest")
        if member.name in (HEAD, MANIFEST):
            content = _small(reader, member)
            if last is None:
                read_head(content)
        else:
            _check_name(member.name)
            if member.name in found:
                raise BadRequest(f"it contains {member.name[:80]!r} twice")
            found[member.name] = member.size, _digest(reader)
        last = member
        tell(file.tell(), 2 * size, "checking")
    if last is None:
        raise BadRequest(_NOT_ONE)
    if last.name != MANIFEST:
        raise BadRequest("it has no manifest at its end: it was cut off")
    return _compared(read_manifest(content), found)


def _small(reader: ArchiveReader, member: ArchiveMember) -> bytes:
    if member.size > (_MOST_HEAD if member.name == HEAD else MOST_BYTES):
        raise BadRequest(f"its {member.name} is too large ({member.size} bytes)")
    return b"".join(reader.pieces())


def _digest(reader: ArchiveReader) -> str:
    found = hashlib.sha256()
    for piece in reader.pieces():
        found.update(piece)
    return found.hexdigest()


def _compared(manifest: BackupManifest, found: dict[str, tuple[int, str]]) -> BackupManifest:
    told = {entry.name: (entry.size, entry.sha256) for entry in manifest.files}
    for name in sorted(told.keys() | found.keys()):
        if name not in found or name not in told:
            where = "its manifest" if name not in told else "the archive"
            raise BadRequest(f"{name[:80]!r} is missing in {where}")
        if told[name] != found[name]:
            raise BadRequest(f"{name[:80]!r} is damaged: its checksum is not that of the manifest")
    for parent in (str(one) for name in told for one in PurePosixPath(name).parents):
        if parent in told:
            raise BadRequest(f"{parent[:80]!r} is a file and a folder")
    return manifest


def _check_name(name: str) -> None:
    """Refuse a name that would leave the home, or that a home makes itself."""
    kind, _, rest = name.partition("/")
    parts = rest.split("/")
    is_plain = all(part not in ("", ".", "..") for part in parts) and "\0" not in name
    is_deep = len(parts) > MOST_FOLDERS
    if kind + "/" not in (STORE, HOME) or not is_plain or is_deep or not name.isprintable():
        raise BadRequest(f"it contains {name[:80]!r}, which no backup has")
    # Some file systems do not tell letters by their case.
    first = parts[0].casefold()
    is_own = first in _NEVER or first.startswith(_DATABASES)
    # What the engine keeps beside a database (a journal, a WAL) belongs to the process that made it.
    is_beside = len(parts) > 1 or first.endswith(("-journal", "-wal", "-shm"))
    if (kind + "/" == HOME and is_own) or (kind + "/" == STORE and is_beside):
        raise BadRequest(f"it contains {name[:80]!r}, which no backup has")


def check_fit(manifest: BackupManifest, plan: RestorePlan) -> None:
    """Raise `Refused` if this Hermes or this key file cannot use the archive."""
    if manifest.engine != plan.store.engine:
        raise BadRequest(
            f"it is of a {manifest.engine[:40]} store, and this home has {plan.store.engine}"
        )
    if manifest.schema_version > plan.store.newest_schema:
        raise BadRequest(
            f"its schema {manifest.schema_version} is newer than {plan.store.newest_schema}, the newest "
            f"of this Hermes; use Hermes {manifest.version[:40]} or a newer one"
        )
    if plan.key_file is None:
        _check_wanted_without_key(manifest, plan)
        return
    given = plan.print_of(plan.key_file)
    if given != manifest.key:
        raise BadRequest(
            f"it needs the key file with the fingerprint {manifest.key[:40]}, and the given one has "
            f"{given}; name the right one with --key-file"
        )
    if not plan.is_signed(plan.key_file, signed_part(manifest), manifest.signature):
        raise BadRequest(
            "its manifest was changed after the backup was made: the signature is not that of its key"
        )


def _check_wanted_without_key(manifest: BackupManifest, plan: RestorePlan) -> None:
    """Refuse an archive whose signature cannot be checked now, unless that is wanted."""
    if not plan.without_key:
        raise BadRequest(
            "its signature can only be checked with its key file, the one with the fingerprint "
            f"{manifest.key[:40]}; name your copy with --key-file. If you have it only "
            "later, restore with --without-key; nothing of the home is run before the key is there"
        )


def restore(
    file: BinaryIO, manifest: BackupManifest, plan: RestorePlan, *, tell: Tell
) -> RestoreReport:
    """Write the files of an examined archive into an empty home, whose lock the caller holds."""
    home, tops = plan.home, _tops(manifest)
    _undo(home)
    _check_empty(home, tops)
    _check_room(home, manifest)
    write_durably(home / UNFINISHED_RESTORE, msgspec.json.encode(_Marker(tops)))
    try:
        _extract(file, manifest, home, tell=tell)
        plan.store.load(home / _PART, key_file=plan.key_file)
        sync_folder(home)
        shutil.rmtree(home / _PART, ignore_errors=True)
        if plan.key_file is None:
            leave_unchecked(home, UncheckedManifest(signed_part(manifest), manifest.signature))
        record_backup(home, LastBackup(at=manifest.made_at, file=str(file.name)))
    except OSError as error:
        _undo(home)
        raise StorageFull(
            f"The home {home} cannot be written ({error.strerror}); nothing is left there. Free some "
            "space, or name another home.",
            _FULL_RETRY_S,
        ) from error
    # Boundary of a restore: whatever ended it, also Ctrl-C, half a home is of no use.
    except BaseException:
        _undo(home)
        raise
    _remove(home / UNFINISHED_RESTORE)
    sync_folder(home)
    return RestoreReport(
        home=str(home),
        files=len(manifest.files),
        bytes=sum(entry.size for entry in manifest.files),
        made_at=manifest.made_at,
        version=manifest.version,
        schema_version=manifest.schema_version,
        home_id=manifest.home_id,
        key=manifest.key,
        has_key=plan.key_file is not None,
        left_out=tuple(one.name for one in manifest.left_out),
    )


def _tops(manifest: BackupManifest) -> tuple[str, ...]:
    inside = [entry.name.split("/")[1] for entry in manifest.files if entry.name.startswith(HOME)]
    return tuple(sorted(set(inside)))


def _check_empty(home: Path, tops: tuple[str, ...]) -> None:
    kept = _KEPT - set(tops)
    found = [
        *(one.name for one in home.iterdir() if one.name not in _OWN | kept),
        *(f"keys/{one.name}" for one in (home / "keys").iterdir() if one.name != "store.keys"),
    ]
    if found:
        shown = ", ".join(sorted(found)[:5])
        raise Conflict(
            f"The home {home} is not empty: it has {shown}. A restore replaces nothing; move the home "
            "away, or name another one with --home."
        )


def _check_room(home: Path, manifest: BackupManifest) -> None:
    needed = sum(entry.size for entry in manifest.files)
    free = shutil.disk_usage(home).free
    if needed > free:
        raise StorageFull(
            f"The disk of {home} has {free // _MIB} MiB left, and the backup needs "
            f"{needed // _MIB + 1} MiB.",
            _FULL_RETRY_S,
        )


def _extract(file: BinaryIO, manifest: BackupManifest, home: Path, *, tell: Tell) -> None:
    size = os.fstat(file.fileno()).st_size
    told = {entry.name: entry.sha256 for entry in manifest.files}
    file.seek(0)
    reader, folders = ArchiveReader(file), {home}
    for member in reader.members():
        # Checked once more: the file may have changed since it was examined.
        if member.name in told:
            path = _place(member.name, home)
            folders |= _make_folders(path.parent, home)
            if _write(path, reader, member) != told.pop(member.name):
                raise Refused("The archive changed while it was restored; nothing is left of it.")
        tell(size + file.tell(), 2 * size, "writing")
    if told:
        raise Refused("The archive changed while it was restored; nothing is left of it.")
    for folder in folders:
        sync_folder(folder)


def _place(name: str, home: Path) -> Path:
    kind, _, rest = name.partition("/")
    return (home / _PART if kind + "/" == STORE else home) / rest


def _make_folders(folder: Path, home: Path) -> set[Path]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {folder, *(one for one in folder.parents if one.is_relative_to(home))}


def _write(path: Path, reader: ArchiveReader, member: ArchiveMember) -> str:
    found = hashlib.sha256()
    mode = 0o700 if member.is_executable else 0o600
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as out:
        for piece in reader.pieces():
            found.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    return found.hexdigest()


def _undo(home: Path) -> None:
    """Remove what an unfinished restore has written; its marker names it."""
    marker = read_as(home / UNFINISHED_RESTORE, _Marker)
    if marker is None:
        (home / UNFINISHED_RESTORE).unlink(missing_ok=True)
        return
    for path in (*_written(home, marker), home / UNFINISHED_RESTORE):
        _remove(path)
    sync_folder(home)


def _written(home: Path, marker: _Marker) -> Iterator[Path]:
    for name in (*marker.names, _PART, *_MARKS):
        yield home / name
    # The store's engine puts its files there last.
    yield from home.glob("hermes.db*")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
