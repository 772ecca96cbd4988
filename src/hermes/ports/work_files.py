"""The port to the files of a session's working folder, for channels that serve them."""

from typing import Protocol

import msgspec


class WorkFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in a working folder: its path there, its size in bytes and when it changed."""

    path: str
    size: int
    changed_at: float


class SessionOwner(msgspec.Struct, frozen=True, kw_only=True):
    """Whose files: a person's, in the session of a lane; `folder` is which of its folders its agent
    works in."""

    person_id: str
    lane: str
    folder: str = ""


class WorkFiles(Protocol):
    """The files of sessions; each person of a session has their own."""

    @property
    def most_bytes(self) -> int:
        """The size of the largest file that is read or written."""
        ...

    async def listed(self, owner: SessionOwner) -> tuple[WorkFile, ...]:
        """Return the files of a session by their paths."""
        ...

    async def get(self, owner: SessionOwner, path: str) -> bytes:
        """Return a file; raises `NotFound`, `BadRequest` or `TooLarge`."""
        ...

    async def put(self, owner: SessionOwner, path: str, data: bytes) -> bool:
        """Write a file whole or not at all; return whether it is new."""
        ...

    async def remove(self, owner: SessionOwner, path: str) -> None:
        """Delete a file; raises `NotFound`."""
        ...
