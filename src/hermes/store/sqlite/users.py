"""People and their channels as operators and the access rules see them.

When a channel passes to another person, no messages pass with it: they stay encrypted for their
author, and the channel starts new conversations.
"""

from typing import Any

import msgspec

from hermes.errors import Conflict, NotFound
from hermes.message.ids import MakeId
from hermes.message.session_key import base_lane, depth_of
from hermes.ports.people import (
    ActivatedHow,
    ChannelAccess,
    ChannelMove,
    LinkPaper,
    PairingPaper,
    PersonHistory,
    User,
    UserChannel,
    UserState,
)
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.engine import Engine
from hermes.store.sqlite.keys import KEYS_PLATFORM, SqliteKeys
from hermes.store.sqlite.newcomers import add_person, find_or_add_person
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.wallet import move_credits

_SQL = load("users")
_PAGES = {
    None: _SQL["page_all"],
    "active": _SQL["page_active"],
    "guest": _SQL["page_guest"],
    "blocked": _SQL["page_blocked"],
    "erased": _SQL["page_erased"],
}
_NOBODY = ChannelAccess()


class SqliteUsers:
    """Implements `ports.people.UserStore`."""

    def __init__(self, engine: Engine, *, keys: SqliteKeys, make_id: MakeId) -> None:
        self._engine = engine
        self._keys = keys
        self._make_id = make_id
        self._any_blocked = self._read_blocked()

    async def channel_access(self, platform: str, user_id: str) -> ChannelAccess:
        """Return the access state of a channel."""
        row = self._engine.reader.row(_SQL["standing"], (platform, user_id))
        return _NOBODY if row is None else ChannelAccess(row[0], bool(row[1]), bool(row[2]))

    async def is_anybody_blocked(self) -> bool:
        """Return whether anybody is blocked at all; from memory."""
        return self._any_blocked

    async def get(self, person_id: str) -> User | None:
        """Return one person with their channels."""
        row = self._engine.reader.row(_SQL["get"], (person_id,))
        return None if row is None else self._user(row)

    async def page(self, *, state: UserState | None, limit: int) -> tuple[User, ...]:
        """Return people, newest first; without a state all but the erased."""
        rows = self._engine.reader.rows(_PAGES[state], (limit,))
        return tuple(self._user(row) for row in rows)

    async def paired(self, *, limit: int) -> tuple[UserChannel, ...]:
        """Return channels that were let in by a code."""
        rows = self._engine.reader.rows(_SQL["paired"], (limit,))
        return tuple(map(self._channel, rows))

    async def add(self, platform: str, user_id: str, *, name: str | None, at: float) -> str:
        """Let a channel in, for a new person if it is new; return its person's id."""

        def unit(db: Database) -> str:
            person_id = find_or_add_person(
                db,
                platform,
                user_id,
                sealer=self._engine.sealer,
                make_id=self._make_id,
                at=at,
                name=name,
            )
            db.execute(_SQL["activate"], (platform, user_id, "operator", at))
            return person_id

        return await self._engine.writer.run("add_user", unit)

    async def set_active(
        self, platform: str, user_id: str, *, how: ActivatedHow | None, at: float
    ) -> bool:
        """Let a channel in, or (`how` is None) no longer; False if nothing changes."""

        def unit(db: Database) -> bool:
            if how is None:
                db.execute(_SQL["deactivate"], (platform, user_id))
            else:
                db.execute(_SQL["activate"], (platform, user_id, how, at))
            return db.changes() == 1

        return await self._engine.writer.run("set_active", unit)

    async def set_blocked(self, person_id: str, *, blocked: bool, at: float) -> bool:
        """Block or unblock a person on all channels; False if nothing changes."""

        def unit(db: Database) -> bool:
            if blocked:
                db.execute(_SQL["block"], (person_id, at))
            else:
                db.execute(_SQL["unblock"], (person_id,))
            return db.changes() == 1

        def after(_changed: bool) -> None:
            self._any_blocked = self._read_blocked()

        return await self._engine.writer.run("set_blocked", unit, after=after)

    async def set_tier(self, person_id: str, tier: str) -> bool:
        """Set a person's tier from their next message on; False if nothing changes."""

        def unit(db: Database) -> bool:
            db.execute(_SQL["set_tier"], (person_id, tier))
            return db.changes() == 1

        return await self._engine.writer.run("set_tier", unit, after=self.moved)

    async def papers(self, person_id: str) -> PersonHistory:
        """Return what is stored about a person besides their channels, for their export."""
        reader = self._engine.reader
        row = reader.row(_SQL["consent_at"], (person_id,))
        pairings = reader.rows(_SQL["pairings_of"], (person_id,))
        return PersonHistory(
            consent_at=None if row is None else row[0],
            pairings=tuple(
                PairingPaper(
                    platform=one[0],
                    user_id=one[1],
                    asked_at=one[2],
                    expires_at=one[3],
                    state=one[4],
                )
                for one in pairings
            ),
            links=tuple(
                LinkPaper(made_at=one[0], expires_at=one[1], is_used=bool(one[2]))
                for one in reader.rows(_SQL["links_of"], (person_id,))
            ),
        )

    async def link(self, platform: str, user_id: str, *, person_id: str, at: float) -> ChannelMove:
        """Give a channel to a person, and let it in; raises `NotFound` for an unknown one."""

        def unit(db: Database) -> ChannelMove:
            if db.row(_SQL["is_there"], (person_id,)) is None:
                raise NotFound(f"There is no person {person_id} to link a channel to.")
            return link_channel(db, platform, user_id, person_id=person_id, lets_in=True, at=at)

        return await self._engine.writer.run("link_channel", unit, after=self.moved)

    async def unlink(self, platform: str, user_id: str, *, at: float) -> ChannelMove:
        """Return a channel to its first person, or to a new one; it is no longer let in."""

        def unit(db: Database) -> ChannelMove:
            before, was = _owner(db, platform, user_id)
            if was is None and len(db.rows(_SQL["channels"], (before,))) == 1:
                raise Conflict(
                    f"{platform}:{user_id} is the only channel of {before}, and was nobody else's: "
                    "there is nothing to unlink."
                )
            if was is None or db.row(_SQL["is_there"], (was,)) is None:
                was = add_person(db, sealer=self._engine.sealer, make_id=self._make_id, at=at)
            moved = ChannelMove(platform=platform, user_id=user_id, before=before, after=was)
            db.execute(_SQL["unlink"], (platform, user_id, was))
            _hand_over(db, moved)
            return moved

        return await self._engine.writer.run("unlink_channel", unit, after=self.moved)

    def moved(self, _moved: object) -> None:
        """Drop the caches of channels, keys and tiers."""
        self._engine.known_people.clear()
        self._engine.fresh.clear()
        self._keys.forget()

    def _read_blocked(self) -> bool:
        return self._engine.reader.row(_SQL["any_blocked"]) is not None

    # Any: SQLite's values, in the order of the columns that `get` and `page` name.
    def _user(self, row: tuple[Any, ...]) -> User:
        person_id, created_at, tier, may_train, blocked_at, erased_at, is_active = row
        reader = self._engine.reader
        state: UserState = "active" if is_active else "guest"
        if blocked_at is not None:
            state = "blocked"
        if erased_at is not None:
            state = "erased"
        return User(
            id=person_id,
            state=state,
            created_at=created_at,
            tier=tier,
            may_train=bool(may_train),
            blocked_at=blocked_at,
            erased_at=erased_at,
            channels=tuple(map(self._channel, reader.rows(_SQL["channels"], (person_id,)))),
            left=tuple(map(self._channel, reader.rows(_SQL["channels_left"], (person_id,)))),
        )

    def _channel(self, row: tuple[Any, ...]) -> UserChannel:
        return UserChannel(
            platform=row[0],
            user_id=row[1],
            person_id=row[2],
            added_at=row[3],
            activated_at=row[4],
            activated_how=row[5],
            was_person=row[6],
            name=shown_name(self._engine, row[2], row[7]),
        )


def shown_name(engine: Engine, person_id: str, sealed: bytes | None) -> str | None:
    """Return the display name of a person, if there is one."""
    if sealed is None:
        return None
    content = engine.sealer.open(engine.reader, person_id, sealed)
    return None if content is None else content.decode()


def link_channel(
    db: Database, platform: str, user_id: str, *, person_id: str, lets_in: bool, at: float
) -> ChannelMove:
    """Give a channel to a person inside a transaction; it remembers its first person."""
    before, was = _owner(db, platform, user_id)
    moved = ChannelMove(platform=platform, user_id=user_id, before=before, after=person_id)
    if before == person_id:
        return moved
    first = was or before
    kept = None if first == person_id else first
    db.execute(_SQL["link"], (platform, user_id, person_id, kept))
    if lets_in:
        db.execute(_SQL["activate"], (platform, user_id, "linked", at))
    _hand_over(db, moved)
    if db.rows(_SQL["channels"], (before,)):
        return moved
    # Nobody could use them any more.
    name = f"{before}:{person_id}:{at:.6f}"
    amount = move_credits(db, before, person_id, name=name, at=at)
    return msgspec.structs.replace(moved, credits=amount)


def forget_codes(db: Database, person_id: str) -> None:
    """Delete the codes and requests of an erased person, inside that transaction."""
    db.execute(_SQL["drop_link_codes"], (person_id,))
    db.execute(_SQL["drop_pairings"], (person_id,))


def _owner(db: Database, platform: str, user_id: str) -> tuple[str, str | None]:
    row = db.row(_SQL["owner"], (platform, user_id))
    if row is None:
        raise NotFound(
            f"Nobody has written as {platform}:{user_id}. `hermes users add {platform}:{user_id}` "
            "makes the person."
        )
    return row[0], row[1]


def _hand_over(db: Database, moved: ChannelMove) -> None:
    """Move what belongs to the channel: its keys, and its lanes without their messages."""
    if moved.platform == KEYS_PLATFORM:
        db.execute(_SQL["move_keys"], (moved.user_id, moved.after))
    for (lane,) in db.rows(_SQL["lanes_of"], (moved.platform, moved.before)):
        if _is_personal(lane):
            db.execute(_SQL["hand_over_lane"], (lane, moved.after))


def _is_personal(lane: str) -> bool:
    """Return whether a lane is one person's session; threads belong to everyone."""
    is_base = base_lane(lane) == lane and depth_of(lane) == 0
    return is_base and lane.split(":")[3:4] != ["thread"]
