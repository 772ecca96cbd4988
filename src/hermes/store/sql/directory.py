"""The directory of chats by name; the names are encrypted."""

from collections.abc import Sequence

import msgspec

from hermes.message.channel_name import platform_of
from hermes.ports.directory import ChatEntry
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.places import chat_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Reads, Tx

_SQL = load("directory")
_PEOPLE = load("people")
# The owner of names without a person: a separate key beside those of people.
_NOBODY = "directory"
_decode = msgspec.json.Decoder(ChatEntry).decode


class SqlDirectory:
    """Implements `ports.directory.DirectoryStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def chats(self, platform: str | None = None) -> tuple[ChatEntry, ...]:
        """Return the chats of a platform, or of all, by platform and name."""
        known = await self._known(self._engine.reads, platform)
        return tuple(sorted((one for one, _, _ in known.values()), key=_order))

    async def _known(
        self, db: Reads, platform: str | None
    ) -> dict[tuple[str, str], tuple[ChatEntry, str, bool]]:
        found = {}
        for name, chat_id, owner, sealed, is_listed in await db.rows(_SQL["chats"], platform):
            place = chat_place(name, chat_id)
            content = await self._engine.sealer.open(db, owner, sealed, place=place)
            if content is not None:
                found[name, chat_id] = (_decode(content), str(owner), bool(is_listed))
        return found

    async def keep(
        self, platform: str, entries: Sequence[ChatEntry], *, is_listing: bool, at: float
    ) -> int:
        """Save chats; return how many are new or have changed."""
        known = await self._known(self._engine.reads, platform)
        names = {entry.chat_id for entry in entries}
        gone = [
            chat_id
            for (_, chat_id), (_, _, was_listed) in known.items()
            if is_listing and was_listed and chat_id not in names
        ]
        news = [
            entry
            for entry in entries
            if not _is_known(known, entry, is_listing=is_listing)
            and (entry.kind != "dm" or await self._person(self._engine.reads, entry) is not None)
        ]
        if not news and not gone:
            return 0

        async def unit(tx: Tx) -> int:
            for chat_id in gone:
                tx.put(_SQL["drop"], platform, chat_id)
            return sum([await self._put(tx, entry, is_listed=is_listing, at=at) for entry in news])

        return await self._engine.writer.run("keep_directory", unit)

    async def _put(self, tx: Tx, entry: ChatEntry, *, is_listed: bool, at: float) -> bool:
        owner = await self._owner(tx, entry)
        if owner is None:
            return False
        place = chat_place(entry.platform, entry.chat_id)
        sealed = await self._engine.sealer.seal(tx, owner, encode(entry), place=place)
        tx.put(_SQL["put"], entry.platform, entry.chat_id, owner, sealed, int(is_listed), at)
        return True

    async def _owner(self, tx: Tx, entry: ChatEntry) -> str | None:
        """Return whose key encrypts a name; None for a direct chat with an unknown person."""
        if entry.kind == "dm":
            return await self._person(tx, entry)
        if await tx.row(_SQL["has_key"], _NOBODY) is None:
            self._engine.sealer.make_key(tx, _NOBODY)
        return _NOBODY

    async def _person(self, db: Reads, entry: ChatEntry) -> str | None:
        """Return the person of a direct chat, unless unknown or erased."""
        platform = platform_of(entry.platform)
        row = await db.row(_PEOPLE["find"], platform, entry.user_id or entry.chat_id)
        owner = None if row is None else str(row[0])
        is_there = owner is not None and await db.row(_SQL["has_key"], owner) is not None
        return owner if is_there else None


def forget_chats(tx: Tx, person_id: str) -> None:
    """Delete the direct chats of an erased person, inside the current transaction."""
    tx.put(_SQL["forget_person"], person_id)


def _is_known(
    known: dict[tuple[str, str], tuple[ChatEntry, str, bool]],
    entry: ChatEntry,
    *,
    is_listing: bool,
) -> bool:
    before, _, was_listed = known.get((entry.platform, entry.chat_id), (None, "", False))
    return before == entry and (was_listed or not is_listing)


def _order(entry: ChatEntry) -> tuple[str, str, str]:
    return (entry.platform, entry.name.casefold(), entry.chat_id)
