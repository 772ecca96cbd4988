"""The media cache of a home, connected to the store that knows which files are needed."""

import asyncio
from pathlib import Path

from hermes.config import Settings
from hermes.control.users import Forget
from hermes.media.cache import CacheRules, MediaCache, erase_files
from hermes.media.eviction import Tenants
from hermes.message.ids import make_id
from hermes.message.outcome import DeliveryState, MessageState
from hermes.net.client import HttpClient
from hermes.ports.clock import Clock
from hermes.ports.store import Store
from hermes.tools.terminal.work_folders import erase_work_folders

FOLDER = "media"
_MB = 1_000_000
_DAY_S = 86_400.0
_OVER = frozenset({DeliveryState.SENT, DeliveryState.DEAD})


def make_media_cache(
    home: Path, settings: Settings, *, client: HttpClient, store: Store, clock: Clock
) -> MediaCache:
    """Return the media cache of a home."""
    media = settings.media
    rules = CacheRules(
        max_bytes=media.max_bytes,
        max_pixels=media.max_pixels,
        cache_bytes=media.cache_mb * _MB,
        share_bytes=media.cache_mb_each * _MB,
        keep_s=media.keep_days * _DAY_S,
        folders=tuple(home / Path(one).expanduser() for one in media.folders),
        link_hosts=media.link_hosts,
        max_files=media.max_files,
    )
    return MediaCache(
        home / FOLDER,
        client,
        rules=rules,
        tenants=tenants_of(store),
        clock=clock,
        make_id=make_id,
    )


def tenants_of(store: Store) -> Tenants:
    """Return who knows whether a message's attachments are needed, and whether a person was
    erased.
    """

    async def needs(message_id: str) -> bool:
        state = await store.inbox.state(message_id)
        if state is None:
            # What an operator or a job sends has no message.
            sent = await store.outbox.of_message(message_id)
            return any(one.state not in _OVER for one in sent)
        if state is not MessageState.DONE:
            return True
        told = await store.timeline(message_id)
        deliveries = () if told is None else told.deliveries
        return any(one.state is not DeliveryState.SENT for one in deliveries)

    async def is_erased(person_id: str) -> bool:
        person = await store.people.get(person_id)
        return person is not None and person.is_erased

    return Tenants(needs, is_erased)


def forgetting_files(home: Path) -> Forget:
    """Return the function that removes an erased person's files while no gateway runs."""

    async def forget(person_id: str) -> None:
        await asyncio.to_thread(erase_files, home / FOLDER, person_id)
        await asyncio.to_thread(erase_work_folders, home, person_id)

    return forget
