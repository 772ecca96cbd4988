"""Whether a picture can be shown to a model at all, before anybody pays for a look at it.

A file is read no further than its beginning, off the loop. An address elsewhere is left to the
providers, which fetch it through the guarded client or have their service do it.
"""

import asyncio
import base64
import binascii
from pathlib import Path

from hermes.message.parts import ImagePart, Media
from hermes.message.picture_kind import HEAD_BYTES, picture_kind

# As the providers have it.
_MAX_BYTES = 20_000_000
_INLINE = "data:"
_HEAD_CHARS = 4 * HEAD_BYTES

GONE = "it is gone"
TOO_LARGE = "it is too large"
NO_PICTURE = "it is broken, or of a kind that cannot be read"


async def problems_of(pictures: tuple[ImagePart, ...]) -> tuple[str | None, ...]:
    """Return for each picture why it cannot be shown, or None when it can."""
    return await asyncio.to_thread(lambda: tuple(_problem(one.media) for one in pictures))


def _problem(media: Media) -> str | None:
    if media.path is not None:
        return _of_file(Path(media.path))
    if media.url is None:
        return GONE
    if media.url[: len(_INLINE)].lower() == _INLINE:
        return _of_value(media.url)
    return None if media.url.startswith(("http://", "https://")) else NO_PICTURE


def _of_file(path: Path) -> str | None:
    try:
        if path.stat().st_size > _MAX_BYTES:
            return TOO_LARGE
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return GONE
    return None if picture_kind(head) else NO_PICTURE


def _of_value(url: str) -> str | None:
    head, _, data = url.partition(",")
    if len(data) * 3 // 4 > _MAX_BYTES:
        return TOO_LARGE
    if not head.lower().endswith(";base64") or "%" in data[:_HEAD_CHARS]:
        return None  # a rare form that the providers read
    try:
        start = base64.b64decode("".join(data[:_HEAD_CHARS].split())[: HEAD_BYTES // 3 * 4])
    except (binascii.Error, ValueError):
        return NO_PICTURE
    return None if picture_kind(start) else NO_PICTURE
