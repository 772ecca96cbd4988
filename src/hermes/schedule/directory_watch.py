"""Keeps the directory of chats: every five minutes or so it lists the chats of platforms that can.

Between the rounds it notes the names of chats in which somebody writes; that costs one dictionary
lookup, and the next round writes it. A crash loses only what will be seen again.
"""

import asyncio
from collections.abc import Callable, Iterable
from itertools import groupby

import msgspec
import structlog

from hermes.errors import HermesError
from hermes.message.channel_name import platform_of
from hermes.message.event import MessageEvent
from hermes.ports.channel import Accept, Acceptance, Channel, ListingChannel
from hermes.ports.clock import Clock
from hermes.ports.directory import ChatEntry, DirectoryStore
from hermes.schedule.rounds import Rounds

_LIST_S = 30.0
_MOST_SEEN = 10_000
_LONGEST_NAME = 200
_log = structlog.get_logger(__name__)


class DirectoryWatch:
    """One task; `connected` are the channels that can be asked now."""

    def __init__(
        self,
        store: DirectoryStore,
        *,
        connected: Callable[[], Iterable[Channel]],
        clock: Clock,
        every_s: float,
    ) -> None:
        self._store = store
        self._connected = connected
        self._clock = clock
        self._names: dict[tuple[str, str], str] = {}
        self._seen: dict[tuple[str, str], ChatEntry] = {}
        self._rounds = Rounds("directory", self.round, every_s=every_s)

    def start(self) -> None:
        """Start the rounds."""
        self._rounds.start()

    async def stop(self) -> None:
        """Stop the rounds."""
        await self._rounds.stop()

    def noticing(self, accept: Accept) -> Accept:
        """Wrap `accept` for channels so that it also notes the names of chats."""

        async def noticed(event: MessageEvent) -> Acceptance:
            accepted = await accept(event)
            self.notice(event)
            return accepted

        return noticed

    def notice(self, event: MessageEvent) -> None:
        """Note the name of the chat of an accepted message."""
        source = event.source
        is_direct = source.chat_type == "dm"
        name = (source.chat_name or source.user_name) if is_direct else source.chat_name
        place = (source.platform, source.chat_id)
        if not name or self._names.get(place) == name or source.thread_id is not None:
            return
        if len(self._names) >= _MOST_SEEN:
            self._names.clear()
        self._names[place] = name
        self._seen[place] = ChatEntry(
            platform=source.platform,
            chat_id=source.chat_id,
            kind=source.chat_type,
            name=name[:_LONGEST_NAME],
            guild=source.guild_id,
            user_id=source.user_id if is_direct and source.user_id != source.chat_id else None,
        )

    async def round(self) -> int:
        """Ask and write; return how many chats are new or changed."""
        count = await self._write_seen()
        for channel in self._connected():
            if isinstance(channel, ListingChannel):
                count += await self._list(channel)
        if count:
            _log.info("directory_changed", count=count)
        return count

    async def _write_seen(self) -> int:
        listed = {(one.platform, one.chat_id): one for one in await self._store.chats()}
        seen, self._seen = self._seen, {}
        # A platform's list says more about a chat than a message does.
        news = [_beside(entry, listed.get(place)) for place, entry in seen.items()]
        count = 0
        for platform, entries in groupby(sorted(news, key=_platform), key=_platform):
            found = tuple(entries)
            count += await self._store.keep(platform, found, is_listing=False, at=self._clock.now())
        return count

    async def _list(self, channel: ListingChannel) -> int:
        try:
            async with asyncio.timeout(_LIST_S):
                chats = await channel.directory()
        except (HermesError, TimeoutError) as error:
            _log.warning("directory_not_listed", platform=channel.name, problem=str(error))
            return 0
        name, platform = channel.name, platform_of(channel.name)
        own = {
            one.chat_id: msgspec.structs.replace(one, platform=name)
            for one in chats
            if one.platform in (name, platform) and one.name
        }
        return await self._store.keep(
            channel.name, tuple(own.values()), is_listing=True, at=self._clock.now()
        )


def _platform(entry: ChatEntry) -> str:
    return entry.platform


def _beside(seen: ChatEntry, known: ChatEntry | None) -> ChatEntry:
    """Return a chat as a message names it, with the guild from the listing."""
    if known is None or known.guild is None or known.kind == "dm":
        return seen
    return ChatEntry(
        platform=seen.platform,
        chat_id=seen.chat_id,
        kind=known.kind,
        name=seen.name,
        guild=known.guild,
        user_id=seen.user_id,
    )
