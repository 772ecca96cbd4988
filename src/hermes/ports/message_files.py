"""The port to the files of messages, for channels that take and show them over HTTP."""

from typing import Protocol

from hermes.message.parts import Media
from hermes.ports.media import MediaOwner


class MessageFiles(Protocol):
    """Keeps the files that come with messages, and opens those of messages that were sent."""

    @property
    def most_bytes(self) -> int:
        """The size of the largest file that is kept."""
        ...

    @property
    def most_files(self) -> int:
        """How many files one message may have."""
        ...

    async def keep_sent(self, data: bytes, *, name: str | None, key: str) -> Media:
        """Store a file of a new message; the same bytes under the same `key` are the same place.

        Raises a `HermesError` if it is too large, a decompression bomb, or if there is no room.
        """
        ...

    async def open_sent(self, media: Media, *, owner: MediaOwner) -> bytes:
        """Return a file of a message, wherever it is now; raises `NotFound` if it is gone."""
        ...
