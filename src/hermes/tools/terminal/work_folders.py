"""The working folders: one for each session and person, kept over restarts of the gateway.

They are in `workdirs/PERSON/SESSION/` of the home, each with its `files` and the records of its
background processes. What a program does there is its own business: nothing in `files` is trusted.
"""

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Final

import msgspec

from hermes.errors import ToolError
from hermes.message.session_key import root_lane
from hermes.ports.clock import Clock
from hermes.tools.terminal.files_beneath import FilesBeneath
from hermes.tools.terminal.sandbox import Sandbox

FOLDER: Final = "workdirs"
_FILES: Final = "files"
_MARK: Final = "session"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_]{1,100}")
_TIDY_S: Final = 3_600.0


class WorkFolder(msgspec.Struct, frozen=True, kw_only=True):
    """One session's folder: its `files`, and beside them the records, which programs do not see."""

    lane: str
    files: Path
    records: Path


class WorkFolders:
    """Makes, finds and removes working folders; `shared` is one folder that serves all sessions."""

    def __init__(
        self, root: Path, *, sandbox: Sandbox, shared: Path | None, keep_s: float, clock: Clock
    ) -> None:
        self._root = root
        self._sandbox = sandbox
        self._shared = shared
        self._keep_s = keep_s
        self._clock = clock
        self._tidied_at: float | None = None

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

    def erase(self, person_id: str) -> None:
        """Remove every folder of a person."""
        _remove(self._root / _plain(person_id))

    def tidy(self) -> int:
        """Remove the folders that were not used for long, once an hour; return how many."""
        now = self._clock.monotonic()
        if self._tidied_at is not None and now - self._tidied_at < _TIDY_S:
            return 0
        self._tidied_at = now
        before = self._clock.now() - self._keep_s
        old = [mark.parent for mark in self._root.glob(f"*/*/{_MARK}") if _used(mark) < before]
        for folder in old:
            _remove(folder)
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
    _remove(home / FOLDER / _plain(person_id))


def _plain(name: str) -> str:
    is_safe = _PLAIN.fullmatch(name) is not None
    return name if is_safe else hashlib.sha256(name.encode()).hexdigest()


def _used(mark: Path) -> float:
    try:
        return mark.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def _remove(folder: Path) -> None:
    """Remove a folder with everything in it, also what a program has closed."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except PermissionError:
        _unlock(folder)
        shutil.rmtree(folder)


def _unlock(folder: Path) -> None:
    folder.chmod(0o700)
    for here, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(here, name)
            if not path.is_symlink():
                path.chmod(0o700)
