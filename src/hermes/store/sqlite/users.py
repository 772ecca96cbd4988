"""People and their channels as operators and the access rules see them.

A channel that goes to another person takes no words along: what was said stays sealed for whom it
was said by, and the conversations of that channel begin again.
"""

from typing import Any

import msgspec

from hermes.errors import Conflict, NotFound
from hermes.message.ids import MakeId
from hermes.message.session_key import base_lane, depth_of
from hermes.ports.people import (
    ActivatedHow,
    LinkPaper,
    Moved,
    PairingPaper,
    Papers,
    Standing,
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
_NOBODY = Standing()


class SqliteUsers:
    """Implements `ports.people.UserStore`."""

    def __init__(self, engine: Engine, *, keys: SqliteKeys, make_id: MakeId) -> None:
        self._engine = engine
        self._keys = keys
        self._make_id = make_id
        self._any_blocked = self._read_blocked()

    def standing(self, platform: str, user_id: str) -> Standing:
        """Return how a channel stands."""
        row = self._engine.reader.row(_SQL["standing"], (platform, user_id))
        return _NOBODY if row is None else Standing(row[0], bool(row[1]), bool(row[2]))

    def is_anybody_blocked(self) -> bool:
        """Return whether a block has to be looked for at all; answered from memory."""
        return self._any_blocked

    def get(self, person_id: str) -> User | None:
        """Return one person with their channels."""
        row = self._engine.reader.row(_SQL["get"], (person_id,))
        return None if row is None else self._user(row)

    def page(self, *, state: UserState | None, limit: int) -> tuple[User, ...]:
        """Return people, newest first; without a state all but the erased."""
        rows = self._engine.reader.rows(_PAGES[state], (limit,))
        return tuple(self._user(row) for row in rows)

    def paired(self, *, limit: int) -> tuple[UserChannel, ...]:
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
        """Let a channel in, or (`how` is None) no longer; false if that changes nothing."""

        def unit(db: Database) -> bool:
            if how is None:
                db.execute(_SQL["deactivate"], (platform, user_id))
            else:
                db.execute(_SQL["activate"], (platform, user_id, how, at))
            return db.changes() == 1

        return await self._engine.writer.run("set_active", unit)

    async def set_blocked(self, person_id: str, *, blocked: bool, at: float) -> bool:
        """Block a person on all channels, or no longer; false if that changes nothing."""

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
        """Give a person a tier; it counts from their next message on. False if it was theirs."""

        def unit(db: Database) -> bool:
            db.execute(_SQL["set_tier"], (person_id, tier))
            return db.changes() == 1

        return await self._engine.writer.run("set_tier", unit, after=self.moved)

    def papers(self, person_id: str) -> Papers:
        """Return what is kept of a person beside their channels, for them to take along."""
        reader = self._engine.reader
        row = reader.row(_SQL["consent_at"], (person_id,))
        pairings = reader.rows(_SQL["pairings_of"], (person_id,))
        return Papers(
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

    async def link(self, platform: str, user_id: str, *, person_id: str, at: float) -> Moved:
        """Give a channel to a person, and let it in; raises `NotFound` for who is not there."""

        def unit(db: Database) -> Moved:
            if db.row(_SQL["is_there"], (person_id,)) is None:
                raise NotFound(f"There is no person {person_id} to link a channel to.")
            return link_channel(db, platform, user_id, person_id=person_id, lets_in=True, at=at)

        return await self._engine.writer.run("link_channel", unit, after=self.moved)

    async def unlink(self, platform: str, user_id: str, *, at: float) -> Moved:
        """Give a channel back to whom it was before, or to a new person; it is no longer let in."""

        def unit(db: Database) -> Moved:
            before, was = _owner(db, platform, user_id)
            if was is None and len(db.rows(_SQL["channels"], (before,))) == 1:
                raise Conflict(
                    f"{platform}:{user_id} is the only channel of {before}, and was nobody else's: "
                    "there is nothing to unlink."
                )
            if was is None or db.row(_SQL["is_there"], (was,)) is None:
                was = add_person(db, sealer=self._engine.sealer, make_id=self._make_id, at=at)
            moved = Moved(platform=platform, user_id=user_id, before=before, after=was)
            db.execute(_SQL["unlink"], (platform, user_id, was))
            _hand_over(db, moved)
            return moved

        return await self._engine.writer.run("unlink_channel", unit, after=self.moved)

    def moved(self, _moved: object) -> None:
        """Drop what is kept in memory of whose channels and keys are whose, and of tiers."""
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
    """Return the name that a platform shows of a person, if there is one."""
    if sealed is None:
        return None
    content = engine.sealer.open(engine.reader, person_id, sealed)
    return None if content is None else content.decode()


def link_channel(
    db: Database, platform: str, user_id: str, *, person_id: str, lets_in: bool, at: float
) -> Moved:
    """Give a channel to a person inside the unit at hand; it remembers whose it was at first."""
    before, was = _owner(db, platform, user_id)
    moved = Moved(platform=platform, user_id=user_id, before=before, after=person_id)
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
    # Nobody could spend them any more.
    name = f"{before}:{person_id}:{at:.6f}"
    amount = move_credits(db, before, person_id, name=name, at=at)
    return msgspec.structs.replace(moved, credits=amount)


def forget_codes(db: Database, person_id: str) -> None:
    """Drop the codes and requests of somebody who is erased, inside that transaction."""
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


def _hand_over(db: Database, moved: Moved) -> None:
    """Let what belongs to the channel go with it: its keys, and its lanes without what was said."""
    if moved.platform == KEYS_PLATFORM:
        db.execute(_SQL["move_keys"], (moved.user_id, moved.after))
    for (lane,) in db.rows(_SQL["lanes_of"], (moved.platform, moved.before)):
        if _is_personal(lane):
            db.execute(_SQL["hand_over_lane"], (lane, moved.after))


def _is_personal(lane: str) -> bool:
    """Return whether a lane is one person's session: threads are everybody's."""
    is_base = base_lane(lane) == lane and depth_of(lane) == 0
    return is_base and lane.split(":")[3:4] != ["thread"]
