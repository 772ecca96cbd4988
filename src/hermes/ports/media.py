"""The media port: how a turn's attachments become files here, and files become attachments.

Between the pipeline, which asks, and the media cache and the channels, which it must not know.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from hermes.message.parts import ImagePart, Media
from hermes.ports.channel import MediaKind

# Returns a picture with the whole path of its file.
LocatePicture = Callable[[ImagePart], ImagePart]


class MediaOwner(msgspec.Struct, frozen=True):
    """Whose an attachment is, and the message by whose turn it is used."""

    person_id: str
    message_id: str


class LocalMedia(msgspec.Struct, frozen=True):
    """An attachment that is a file here now; `seconds` is the length of a sound, where it is known."""

    media: Media
    seconds: float | None = None


class Attachments(Protocol):
    """Fetches what people sent, and opens what agents send."""

    async def bring(self, media: Media, *, platform: str, owner: MediaOwner) -> LocalMedia:
        """Return an attachment as a file in the cache, its type told from its bytes.

        Raises a `HermesError` where it cannot be had; the text of a `BadRequest` is for people.
        """
        ...

    async def lend(self, place: str, *, owner: MediaOwner) -> Media:
        """Return what an agent named as an attachment: an https address, or a file kept for sending.

        Raises a `Refused` whose text says why it is not sent.
        """
        ...

    def located(self, picture: ImagePart) -> ImagePart:
        """Return a picture with the whole path of its file, as programs open it."""
        ...

    def takes(self, platform: str) -> tuple[MediaKind, ...]:
        """Return which kinds of attachments a platform can be sent; none where it takes none."""
        ...

    async def tidy(self) -> None:
        """Remove what is old or too much, unless it is still needed; does nothing most of the time."""
        ...


class ReplyFiles(Protocol):
    """Keeps replies that are sent as files."""

    async def put(
        self, data: bytes, *, owner: MediaOwner, name: str | None = None, is_checked: bool = True
    ) -> Media:
        """Keep a file for a turn and return its place; the same bytes are the same file.

        Raises a `HermesError` where there is no room for it. `is_checked` is false for what Hermes
        made itself.
        """
        ...
