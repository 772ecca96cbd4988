"""The files of sessions, for the file tools and for the API."""

import asyncio
import errno
from collections.abc import Callable
from typing import Final, TypeVar

from hermes.errors import BadRequest, StorageFull, TooLarge
from hermes.ports.work_files import SessionOwner, WorkFile
from hermes.tools.terminal.files_beneath import FilesBeneath
from hermes.tools.terminal.folder_tree import used_bytes
from hermes.tools.terminal.work_folders import WorkFolder, WorkFolders

T = TypeVar("T")
_MB: Final = 1_000_000


class SessionFiles:
    """Fits `ports.work_files.WorkFiles`; a person reaches only their own sessions' folders."""

    def __init__(self, folders: WorkFolders, *, folder_mb: int, most_bytes: int) -> None:
        self._folders = folders
        self._folder_bytes = folder_mb * _MB
        self.most_bytes = most_bytes

    def folder(self, owner: SessionOwner) -> FilesBeneath:
        """Return the files of a session; its folder is made if it is missing."""
        return self._folders.files(self._opened(owner))

    def write(self, owner: SessionOwner, path: str, data: bytes) -> bool:
        """Write a file if there is room for it; return whether it is new."""
        work = self._opened(owner)
        self._folders.check_disk(work)
        used = used_bytes(work.files)
        if used + len(data) > self._folder_bytes:
            raise TooLarge(
                f"The working folder holds {used:,} bytes, and with this file more than the "
                f"{self._folder_bytes:,} that are allowed: delete files first."
            )
        return self._folders.files(work).write(path, data)

    def _opened(self, owner: SessionOwner) -> WorkFolder:
        return self._folders.open(owner.person_id, owner.lane, beside=owner.folder)

    async def listed(self, owner: SessionOwner) -> tuple[WorkFile, ...]:
        """Return the files of a session, at most as many as are listed at once."""
        return await _in_thread(lambda: self.folder(owner).list().files)

    async def get(self, owner: SessionOwner, path: str) -> bytes:
        """Return a file of a session."""
        return await _in_thread(lambda: self.folder(owner).read(path, limit=self.most_bytes))

    async def put(self, owner: SessionOwner, path: str, data: bytes) -> bool:
        """Write a file of a session; return whether it is new."""
        return await _in_thread(lambda: self.write(owner, path, data))

    async def remove(self, owner: SessionOwner, path: str) -> None:
        """Delete a file of a session."""
        await _in_thread(lambda: self.folder(owner).remove(path))


async def _in_thread(act: Callable[[], T]) -> T:
    """Return what a file operation returns; what the system refuses is the caller's to correct."""
    try:
        return await asyncio.to_thread(act)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(
                "the disk is full: the file was not written; free some space", 30.0
            ) from error
        raise BadRequest(
            f"The file cannot be used ({error.strerror}): choose another name or folder."
        ) from error
