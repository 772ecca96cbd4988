"""The working folders: one for each session and person, kept over restarts of the gateway.

They are in `workdirs/PERSON/SESSION/` of the home, each with its `files` and the records of its
background processes. What a program does there is its own business: nothing in `files` is trusted.
"""

import hashlib
import os
import re
from pathlib import Path
from typing import Final

import msgspec

from hermes.errors import TooLarge, ToolError
from hermes.message.session_key import root_lane
from hermes.ports.clock import Clock
from hermes.tools.terminal.files_beneath import FilesBeneath
from hermes.tools.terminal.folder_tree import remove_tree, used_bytes
from hermes.tools.terminal.sandbox import Sandbox

FOLDER: Final = "workdirs"
_FILES: Final = "files"
_MARK: Final = "session"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_]{1,100}")
_TIDY_S: Final = 3_600.0
_MB: Final = 1_000_000
# Fewer free entries of the file system than this are as bad as a full disk.
_FEW_ENTRIES: Final = 10_000


class WorkFolder(msgspec.Struct, frozen=True, kw_only=True):
    """One session's folder: its `files`, and beside them the records, which programs do not see."""

    lane: str
    files: Path
    records: Path


def has_path(path: Path) -> bool:
    """Return whether a path of the home exists; every turn asks, and a thread costs 30 times the look."""
    # Not `Path.exists`: it takes five times as long.
    return os.path.exists(path)  # noqa: PTH110


class WorkFolders:
    """Makes, finds, measures and removes working folders; `shared` is one folder for all sessions.

    `free_mb` is what must stay free on the disk.
    """

    def __init__(
        self,
        root: Path,
        *,
        sandbox: Sandbox,
        shared: Path | None,
        keep_s: float,
        free_mb: int,
        clock: Clock,
    ) -> None:
        self._root = root
        self._sandbox = sandbox
        self._shared = shared
        self._keep_s = keep_s
        self._free_mb = free_mb
        self._clock = clock
        self._tidied_at: float | None = None

    @property
    def has_any(self) -> bool:
        """Whether any session has used a folder; most gateways have none."""
        return has_path(self._root)

    def of(self, person_id: str, lane: str, *, beside: str = "") -> WorkFolder:
        """Return where the folder of a session is; a subagent works in that of its session.

        A session may have others `beside` it, by name.
        """
        lane = root_lane(lane)
        whose = f"{lane}\n{beside}" if beside else lane
        name = hashlib.sha256(whose.encode()).hexdigest()[:32]
        records = self._root / _plain(person_id) / name
        return WorkFolder(lane=lane, files=self._shared or records / _FILES, records=records)

    def open(self, person_id: str, lane: str, *, beside: str = "") -> WorkFolder:
        """Return the folder of a session, made if it is missing, and note that it is used."""
        work = self.of(person_id, lane, beside=beside)
        try:
            for folder in (self._root, work.records.parent, work.records):
                folder.mkdir(mode=0o700, exist_ok=True)
            if self._shared is None:
                self._make_files(work.files)
            (work.records / _MARK).write_text(work.lane)
            self.touch(work.records)
        except OSError as error:
            raise ToolError(f"the working folder cannot be made: {error.strerror}") from error
        return work

    def touch(self, records: Path) -> None:
        """Note that a folder is used now."""
        now = self._clock.now()
        os.utime(records / _MARK, (now, now))

    def files(self, work: WorkFolder) -> FilesBeneath:
        """Return the files of a session."""
        place = self._sandbox.place(work.files)
        return FilesBeneath(work.files, place=place, owner_id=self._sandbox.owner_id)

    def check_disk(self, work: WorkFolder) -> None:
        """Raise `TooLarge` if the disk has too little room left for anybody to write more."""
        if self._is_disk_full(work):
            raise TooLarge(
                f"The disk of the working folders is nearly full (less than {self._free_mb:,} MB, see "
                "terminal.min_free_mb): only an operator can help."
            )

    def is_full(self, work: WorkFolder, most: int) -> bool:
        """Return whether a folder takes more than `most` bytes, or fills the disk.

        Nothing more has room in one that is being removed.
        """
        if not (work.records / _MARK).exists():
            return True
        try:
            return self._is_disk_full(work) or used_bytes(work.files) > most
        except (FileNotFoundError, TooLarge):
            return True

    def _is_disk_full(self, work: WorkFolder) -> bool:
        """Return whether the disk is nearly full: an open file that was removed is in no folder."""
        disk = os.statvfs(work.files)
        is_crowded = disk.f_files > 0 and disk.f_favail < _FEW_ENTRIES
        return disk.f_bavail * disk.f_frsize < self._free_mb * _MB or is_crowded

    def people(self) -> tuple[str, ...]:
        """Return whose folders there are."""
        return tuple(sorted(one.name for one in self._root.glob("*")))

    def close(self, person_id: str) -> None:
        """Let the commands end that run in the folders of a person."""
        for mark in self._root.glob(f"{_plain(person_id)}/*/{_MARK}"):
            mark.unlink(missing_ok=True)

    def erase(self, person_id: str) -> None:
        """Remove every folder of a person."""
        remove_tree(self._root / _plain(person_id))

    def is_due(self) -> bool:
        """Return whether it is time to tidy up: once an hour."""
        now = self._clock.monotonic()
        if self._tidied_at is not None and now - self._tidied_at < _TIDY_S:
            return False
        self._tidied_at = now
        return True

    def tidy(self) -> int:
        """Remove the folders that were not used for long; return how many."""
        before = self._clock.now() - self._keep_s
        old = [mark.parent for mark in self._root.glob(f"*/*/{_MARK}") if _used(mark) < before]
        for folder in old:
            remove_tree(folder)
        return len(old)

    def _make_files(self, files: Path) -> None:
        files.mkdir(mode=0o700, exist_ok=True)
        # A program may have closed its own folder.
        files.chmod(0o700)
        owner = self._sandbox.owner_id
        if owner is not None:
            os.chown(files, owner, owner)


def erase_work_folders(home: Path, person_id: str) -> None:
    """Remove every working folder of a person, while no gateway runs."""
    remove_tree(home / FOLDER / _plain(person_id))


def _plain(name: str) -> str:
    is_safe = _PLAIN.fullmatch(name) is not None
    return name if is_safe else hashlib.sha256(name.encode()).hexdigest()


def _used(mark: Path) -> float:
    try:
        return mark.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
