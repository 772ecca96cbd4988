"""Makes the archive of a home: its store and its files, a manifest, never a key.

The store's engine dumps the store; this module knows the files of a home and the archive.
"""

import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from hermes import __version__
from hermes.durable_file import sync_folder
from hermes.errors import BadRequest, HermesError, StorageFull
from hermes.ops.archive import ArchiveMember, ArchiveTarget, ArchiveWriter
from hermes.ops.backup_manifest import (
    FORMAT,
    HEAD,
    HOME,
    MANIFEST,
    MOST_FOLDERS,
    STORE,
    BackupHead,
    BackupManifest,
    FileEntry,
    LeftOut,
    signed,
)
from hermes.ops.backup_marks import LastBackup, record_backup
from hermes.ports.backup import StoreBackup, StoreDump

_PIECE = 1024 * 1024
_MIB = 1024 * 1024
_FULL_RETRY_S = 60.0

# Told how many bytes are done, of how many, and what is read now.
Tell = Callable[[int, int, str], None]


class BackupPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to back up: the store, and the files and folders `names` of the home.

    `key` is the fingerprint of the store's key, `sign` signs with it.
    """

    home: Path
    store: StoreBackup
    names: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    key: str
    sign: Callable[[bytes], str]
    made_at: float


class BackupReport(msgspec.Struct, frozen=True, kw_only=True):
    """The archive that was made; `file` is `-` for standard output."""

    file: str
    bytes: int
    files: int
    made_at: float
    home_id: str
    schema_version: int
    key: str
    left_out: tuple[LeftOut, ...] = ()
    recorded: bool = True


def back_up(plan: BackupPlan, target: Path, *, tell: Tell) -> BackupReport:
    """Write the archive to a file: it is whole and on disk, or it is not there."""
    _check_target(target, plan.home)
    with _work_folder(target.parent, target.name) as folder:
        draft = folder / "archive"
        with _on_disk_errors(target), open(draft, "xb", opener=_private) as out:
            _check_room(target.parent, plan)
            report = _write(plan, out, folder, tell=tell)
            out.flush()
            os.fsync(out.fileno())
            draft.replace(target)
            sync_folder(target.parent)
    return _recorded(plan, msgspec.structs.replace(report, file=str(target)))


def stream_backup(plan: BackupPlan, out: BinaryIO, *, tell: Tell) -> BackupReport:
    """Write the archive to a stream; the dump of the store waits in the home meanwhile."""
    with _work_folder(plan.home, "backup") as folder, _on_disk_errors(plan.home):
        report = _write(plan, _StreamTarget(out), folder, tell=tell)
    return _recorded(plan, report)


def is_archive(path: Path) -> bool:
    """Return whether a file begins as the archive of a backup does."""
    name = HEAD.encode() + b"\0"
    with path.open("rb") as file:
        return file.read(len(name)) == name


def _recorded(plan: BackupPlan, report: BackupReport) -> BackupReport:
    last = LastBackup(at=report.made_at, file=report.file, bytes=report.bytes)
    return msgspec.structs.replace(report, recorded=record_backup(plan.home, last))


def _check_target(target: Path, home: Path) -> None:
    if not target.parent.is_dir():
        raise BadRequest(f"There is no folder {target.parent}; make it, or name another file.")
    if target.parent.resolve().is_relative_to(home.resolve()):
        raise BadRequest(
            f"{target} is inside the home {home}: what destroys the home destroys the backup, too. "
            "Name a file outside, best on another disk."
        )
    if target.exists() and not (target.is_file() and is_archive(target)):
        raise BadRequest(
            f"{target} exists and is not a backup; it stays as it is. Name another file."
        )


def _check_room(folder: Path, plan: BackupPlan) -> None:
    files = sum(member.size for member, _ in _home_files(plan))
    needed, free = 2 * plan.store.size() + files, shutil.disk_usage(folder).free
    if needed > free:
        raise StorageFull(
            f"The disk of {folder} has {free // _MIB} MiB left, and the backup needs "
            f"{needed // _MIB + 1} MiB while it is made. Free some space, or name a file on another disk.",
            _FULL_RETRY_S,
        )


@contextmanager
def _work_folder(parent: Path, name: str) -> Iterator[Path]:
    """Make a folder for unfinished files, which is removed; so are those of killed processes."""
    for old in parent.glob(f".{name}.*.part"):
        _remove_unused(old)
    folder = parent / f".{name}.{os.getpid()}.part"
    try:
        folder.mkdir(mode=0o700)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise BadRequest(
            f"Nothing can be written in {parent} ({error.strerror}); name another file."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_unused(folder: Path) -> None:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)


@contextmanager
def _on_disk_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StorageFull(
            f"The backup cannot be written to {target} ({error.strerror}); nothing is left of it, and a "
            "file of that name is as it was. Free some space, or name another file.",
            _FULL_RETRY_S,
        ) from error


class _StreamTarget:
    """A stream whose errors are its own: the home's disk has nothing to do with them."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def write(self, piece: bytes) -> None:
        """Write a piece of the archive."""
        with _stream_errors():
            self._out.write(piece)

    def flush(self) -> None:
        """Hand over what was written."""
        with _stream_errors():
            self._out.flush()


@contextmanager
def _stream_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StorageFull(
            f"Standard output takes no more of the backup ({error.strerror}), so what it has is not "
            "whole. Free some space there, or send it to another place.",
            _FULL_RETRY_S,
        ) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


class _Progress:
    """Counts the bytes of a backup."""

    def __init__(self, total: int, tell: Tell) -> None:
        self._done = 0
        self._total = total
        self._tell = tell

    def at(self, done: int, name: str) -> None:
        self._done = done
        self._tell(min(done, self._total), self._total, name)

    def through(self, pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
        for piece in pieces:
            yield piece
            self.at(self._done + len(piece), name)


def _write(plan: BackupPlan, out: ArchiveTarget, folder: Path, *, tell: Tell) -> BackupReport:
    size = plan.store.size()
    total = 2 * size + sum(member.size for member, _ in _home_files(plan))
    progress = _Progress(total, tell)
    writer = ArchiveWriter(out, at=plan.made_at)
    head = BackupHead(format=FORMAT, version=__version__, made_at=plan.made_at)
    content = msgspec.json.encode(head)
    writer.add(ArchiveMember(HEAD, len(content)), iter((content,)))
    # Recognisable at once: an archive that is written into the home is not read into itself.
    out.flush()
    dump = plan.store.dump(folder, tell=lambda done, _: progress.at(done, "store"))
    progress.at(size, "store")
    entries = list(_store_entries(dump, folder, writer=writer, progress=progress))
    # After the store: what it names in the media cache was written before it was named.
    entries += _home_entries(plan, writer, progress)
    manifest = signed(_manifest(plan, dump, entries), plan.sign)
    content = msgspec.json.encode(manifest)
    writer.add(ArchiveMember(MANIFEST, len(content)), iter((content,)))
    writer.end()
    return BackupReport(
        file="-",
        bytes=sum(entry.size for entry in entries),
        files=len(entries),
        made_at=plan.made_at,
        home_id=dump.home_id,
        schema_version=dump.schema_version,
        key=plan.key,
        left_out=manifest.left_out,
    )


def _manifest(plan: BackupPlan, dump: StoreDump, entries: list[FileEntry]) -> BackupManifest:
    return BackupManifest(
        format=FORMAT,
        version=__version__,
        engine=plan.store.engine,
        schema_version=dump.schema_version,
        home_id=dump.home_id,
        made_at=plan.made_at,
        key=plan.key,
        files=tuple(entries),
        left_out=(*plan.left_out, *_unfit_files(plan)),
    )


def _store_entries(
    dump: StoreDump, folder: Path, *, writer: ArchiveWriter, progress: _Progress
) -> Iterator[FileEntry]:
    for name in dump.files:
        with (folder / name).open("rb") as file:
            member = ArchiveMember(STORE + name, os.fstat(file.fileno()).st_size)
            digest = writer.add(member, progress.through(_pieces(file, member.size), "store"))
        (folder / name).unlink()
        yield FileEntry(name=member.name, size=member.size, sha256=digest)


def _home_entries(
    plan: BackupPlan, writer: ArchiveWriter, progress: _Progress
) -> Iterator[FileEntry]:
    for member, path in list(_home_files(plan)):
        try:
            file = open(path, "rb", opener=_not_a_link)  # noqa: SIM115  closed below
        except FileNotFoundError:
            # The media cache has removed it since the folder was listed.
            continue
        with file:
            # Of now, not of the list: a small file may have been replaced meanwhile.
            found = os.fstat(file.fileno()).st_size
            pieces = progress.through(_pieces(file, found), member.name)
            digest = writer.add(member._replace(size=found), pieces)
        yield FileEntry(name=member.name, size=found, sha256=digest)


def _pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Read as many bytes as a file had at first; it may grow meanwhile."""
    while size and (piece := file.read(min(size, _PIECE))):
        size -= len(piece)
        yield piece


def _not_a_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)


def _home_files(plan: BackupPlan) -> Iterator[tuple[ArchiveMember, Path]]:
    for name, path, found in _walk(plan):
        if _unfit(name, found) is None:
            member = ArchiveMember(HOME + name, found.st_size, bool(found.st_mode & 0o100))
            yield member, path


def _unfit_files(plan: BackupPlan) -> Iterator[LeftOut]:
    for name, _, found in _walk(plan):
        why = _unfit(name, found)
        if why is not None:
            yield LeftOut(name=ascii(name) if not name.isprintable() else name, why=why)


def _unfit(name: str, found: os.stat_result) -> str | None:
    """Return why a file is not put into an archive, or None."""
    if stat.S_ISLNK(found.st_mode):
        return "it is a link"
    if not stat.S_ISREG(found.st_mode):
        return "it is not a file"
    if name.count("/") >= MOST_FOLDERS:
        return f"it lies more than {MOST_FOLDERS} folders deep"
    return None if name.isprintable() else "its name is not plain text"


def _walk(plan: BackupPlan) -> Iterator[tuple[str, Path, os.stat_result]]:
    """Yield what is in the home under the names, without hidden files and compiled code."""
    for name in plan.names:
        for path, found in _below(plan.home / name):
            yield path.relative_to(plan.home).as_posix(), path, found


def _below(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            yield path, found
            return
        inside = sorted(path.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        raise HermesError(f"{path} cannot be read ({error.strerror}); correct its owner") from error
    for one in inside:
        if not one.name.startswith(".") and one.name != "__pycache__":
            yield from _below(one)
