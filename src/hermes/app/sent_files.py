"""Files that an operator sends: kept in the home by the command, then moved to the message that sends them.

The gateway is told only which file of its own media folder is meant, never a path of the machine.
"""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import msgspec

from hermes.app.adapters import make_client
from hermes.app.media import FOLDER
from hermes.channel_kit.events import part_of
from hermes.config import Settings, ensure_home
from hermes.control.sends import AdoptFile
from hermes.errors import BadRequest
from hermes.media.cache import CacheRules, MediaCache
from hermes.media.eviction import ARRIVED
from hermes.media.named_file import read_named_file
from hermes.message.file_name import safe_name
from hermes.message.media_kind import file_kind
from hermes.message.parts import Media, Part
from hermes.ports.media import MediaOwner


def kept_files(home: Path, settings: Settings) -> MediaCache:
    """Return the media folder of a home, for files of its owner; nothing is fetched with it."""
    rules = CacheRules(
        max_bytes=settings.media.max_bytes,
        max_pixels=settings.media.max_pixels,
        cache_bytes=settings.media.cache_mb * 1_000_000,
        share_bytes=settings.media.cache_mb_each * 1_000_000,
    )
    return MediaCache(home / FOLDER, make_client(settings), rules=rules)


def keep_files(home: Path, settings: Settings, paths: Iterable[Path]) -> tuple[dict[str, str], ...]:
    """Keep files in the home, to be sent by the next order; raise for one that cannot be."""
    ensure_home(home)
    cache = kept_files(home, settings)

    async def keep() -> tuple[dict[str, str], ...]:
        return tuple([await _keep(cache, path) for path in paths])

    return asyncio.run(keep())


def adopting(cache: MediaCache) -> AdoptFile:
    """Return the function that moves a kept file to the message that sends it."""

    async def adopt(file: Mapping[str, str], owner: MediaOwner) -> Part:
        named = PurePosixPath(file.get("path", ""))
        if named.parts[:1] != (ARRIVED,) or len(named.parts) != 2 or named.name == "..":
            raise BadRequest("A file is named by its place in the media folder, arrived/NAME.")
        media = Media("", path=str(named), name=safe_name(file.get("name")))
        try:
            data = await cache.read(media, limit=cache.rules.max_bytes)
        except OSError as error:
            raise BadRequest(
                f"The file {named.name} is not there any more; send it again."
            ) from error
        kind = file_kind(data)
        told = msgspec.structs.replace(media, mime=kind.mime, size=len(data))
        return part_of(await cache.adopt(told, owner))

    return adopt


async def _keep(cache: MediaCache, path: Path) -> dict[str, str]:
    most, limit = cache.rules.max_bytes, "can be sent (media.max_bytes)"
    data = await asyncio.to_thread(read_named_file, path, most=most, limit=limit)
    kept = await cache.keep(data, mime="", name=path.name)
    return {"path": kept.path or "", "name": kept.name or ""}
