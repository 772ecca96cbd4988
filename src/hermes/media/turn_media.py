"""Fetches the attachments of turns, and reads those of their answers.

Between the pipeline's port and the media cache: it knows how each platform's own attachments are
fetched, and from which places an agent may send.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from hermes.errors import BadRequest, Forbidden, TooLarge
from hermes.media.cache import MediaCache
from hermes.message.file_name import safe_name
from hermes.message.parts import ImagePart, Media
from hermes.message.sound_length import sound_seconds
from hermes.ports.channel import Channel, MediaChannel, MediaKind
from hermes.ports.media import LocalMedia, MediaOwner

# The maximum number of attachments in memory at a time, over all turns.
_AT_ONCE: Final = 4
_MOST_URL: Final = 2_000
_FILE: Final = "file://"
_KINDS: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "wav": "audio/wav",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "pdf": "application/pdf",
    "zip": "application/zip",
    "txt": "text/plain",
}


class TurnMedia:
    """Implements `ports.media.Attachments`."""

    def __init__(self, cache: MediaCache, channels: Mapping[str, Channel]) -> None:
        self._cache = cache
        self._channels = channels
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def bring(self, media: Media, *, platform: str, owner: MediaOwner) -> LocalMedia:
        """Return an attachment as a file in the cache, with its type from its bytes."""
        if media.path is not None:
            return LocalMedia(await self._cache.adopt(media, owner))
        most = self._cache.rules.max_bytes
        if media.size is not None and media.size > most:
            raise TooLarge(f"it has {media.size} bytes, at most {most} are accepted")
        async with self._places:
            data = await self._fetched(media, platform, most)
            kept = await self._cache.put(data, owner=owner, name=media.name)
        return LocalMedia(kept, sound_seconds(data, kept.mime))

    async def lend(self, place: str, *, owner: MediaOwner) -> Media:
        """Return what an agent named as an attachment; raises a `Refused` that says why not."""
        if "://" in place[:20] and not place.lower().startswith(_FILE):
            return _linked(place)
        path = unquote(place[len(_FILE) :]) if place.lower().startswith(_FILE) else place
        name = Path(path).name
        async with self._places:
            data = await self._cache.open(path, owner=owner)
            return await self._cache.put(data, owner=owner, name=name, is_checked=False)

    def located(self, picture: ImagePart) -> ImagePart:
        """Return a picture with the whole path of its file."""
        return self._cache.located(picture)

    def takes(self, platform: str) -> tuple[MediaKind, ...]:
        """Return the kinds of attachments that a platform accepts."""
        channel = self._channels.get(platform)
        return () if channel is None else channel.capabilities.media

    async def tidy(self) -> None:
        """Remove what is old or too much, unless it is still needed."""
        await self._cache.tidy()

    async def _fetched(self, media: Media, platform: str, most: int) -> bytes:
        if media.ref is None:
            if media.url is None:
                raise BadRequest("it is gone")
            return await self._cache.fetch(media.url, limit=most)
        channel = self._channels.get(platform)
        if not isinstance(channel, MediaChannel):
            raise BadRequest("it cannot be fetched from there")
        data = await channel.fetch(media, limit=most)
        if len(data) > most:
            raise TooLarge(f"it has {len(data)} bytes, at most {most} are accepted")
        return data


def _linked(url: str) -> Media:
    """Return the attachment at an address; its sender fetches it."""
    try:
        parts = urlsplit(url)
        is_plain = bool(parts.hostname) and parts.username is None and parts.password is None
    except ValueError:
        is_plain = False
        parts = urlsplit("")
    if parts.scheme.lower() != "https" or not is_plain or len(url) > _MOST_URL or " " in url:
        raise Forbidden("only files and plain https addresses can be sent")
    name = safe_name(unquote(parts.path.rpartition("/")[2]))
    end = "" if name is None else name.rpartition(".")[2].lower()
    return Media(_KINDS.get(end, "application/octet-stream"), url=url, name=name)
