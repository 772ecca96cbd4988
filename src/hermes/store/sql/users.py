"""People and their channels as operators and the access rules see them.

When a channel passes to another person, no messages pass with it: they stay encrypted for their
author, and the channel starts new conversations.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from hermes.errors import Conflict, NotFound
from hermes.message.channel_name import platform_of
from hermes.message.ids import MakeId
from hermes.message.session_key import base_lane, depth_of, is_shared, unescape
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
from hermes.store.sql.access import end_sign_ins
from hermes.store.sql.cron import hand_over_jobs, return_jobs
from hermes.store.sql.engine import Engine, decode_event
from hermes.store.sql.keys import KEYS_PLATFORM
from hermes.store.sql.newcomers import add_person, find_or_add_person
from hermes.store.sql.places import Place, event_place, name_place
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Row, Tx
from hermes.store.sql.wallet import move_credits

_SQL = load("users")
_PAGES = {
    None: _SQL["page_all"],
    "owner": _SQL["page_owner"],
    "active": _SQL["page_active"],
    "guest": _SQL["page_guest"],
    "blocked": _SQL["page_blocked"],
    "erased": _SQL["page_erased"],
}
_NOBODY = ChannelAccess()


class SqlUsers:
    """Implements `ports.people.UserStore`."""

    def __init__(self, engine: Engine, *, make_id: MakeId) -> None:
        self._engine = engine
        self._make_id = make_id
        engine.feed.on("blocks", lambda _key: self._forget_blocked())
        # None until it was read.
        self._any_blocked: bool | None = None

    async def channel_access(self, platform: str, user_id: str) -> ChannelAccess:
        """Return the access state of a channel."""
        row = await self._engine.reads.row(_SQL["standing"], platform_of(platform), user_id)
        return _NOBODY if row is None else ChannelAccess(row[0], bool(row[1]), bool(row[2]))

    async def is_anybody_blocked(self) -> bool:
        """Return whether anybody is blocked at all; from memory."""
        if self._any_blocked is not None:
            return self._any_blocked
        stamp = self._engine.feed.stamp
        found = await self._engine.reads.row(_SQL["any_blocked"]) is not None
        if stamp == self._engine.feed.stamp:
            self._any_blocked = found
        return found

    def _forget_blocked(self) -> None:
        self._any_blocked = None

    async def get(self, person_id: str) -> User | None:
        """Return one person with their channels."""
        row = await self._engine.reads.row(_SQL["get"], person_id)
        return None if row is None else await self._user(row)

    async def page(self, *, state: UserState | None, limit: int) -> tuple[User, ...]:
        """Return people, newest first; without a state all but the erased."""
        rows = await self._engine.reads.rows(_PAGES[state], limit)
        return tuple([await self._user(row) for row in rows])

    async def silent(self, before: float, limit: int, above: str = "") -> tuple[str, ...]:
        """Return people of whom nothing came since then, except those who are always kept.

        They are ordered by id, from the first one above `above`.
        """
        rows = await self._engine.reads.rows(_SQL["silent"], before, limit, above, "")
        return tuple(str(row[0]) for row in rows)

    async def paired(self, *, limit: int) -> tuple[UserChannel, ...]:
        """Return channels that were let in by a code."""
        rows = await self._engine.reads.rows(_SQL["paired"], limit)
        return await self._channels(rows)

    async def add(self, platform: str, user_id: str, *, name: str | None, at: float) -> str:
        """Let a channel in, for a new person if it is new; return its person's id."""

        async def unit(tx: Tx) -> str:
            person_id = await find_or_add_person(
                tx,
                platform,
                user_id,
                sealer=self._engine.sealer,
                make_id=self._make_id,
                at=at,
                name=name,
            )
            tx.put(_SQL["activate"], platform_of(platform), user_id, "operator", at)
            return person_id

        return await self._engine.writer.run("add_user", unit)

    async def set_active(
        self, platform: str, user_id: str, *, how: ActivatedHow | None, at: float
    ) -> bool:
        """Let a channel in, or (`how` is None) no longer; False if nothing changes."""

        async def unit(tx: Tx) -> bool:
            if how is None:
                return await tx.changed(_SQL["deactivate"], platform_of(platform), user_id) == 1
            return await tx.changed(_SQL["activate"], platform_of(platform), user_id, how, at) == 1

        return await self._engine.writer.run("set_active", unit)

    async def set_blocked(self, person_id: str, *, blocked: bool, at: float) -> bool:
        """Block or unblock a person on all channels; False if nothing changes."""

        async def unit(tx: Tx) -> bool:
            self._engine.feed.put(tx, "blocks", person_id)
            if blocked:
                end_sign_ins(tx, person_id)
                return await tx.changed(_SQL["block"], person_id, at) == 1
            return await tx.changed(_SQL["unblock"], person_id) == 1

        after = self._engine.feed.telling("blocks", person_id)
        return await self._engine.writer.run("set_blocked", unit, after=after)

    async def set_tier(self, person_id: str, tier: str) -> bool:
        """Set a person's tier from their next message on; False if nothing changes."""

        async def unit(tx: Tx) -> bool:
            self._engine.feed.put(tx, "people", person_id)
            return await tx.changed(_SQL["set_tier"], person_id, tier) == 1

        return await self._engine.writer.run("set_tier", unit, after=self.moved)

    async def papers(self, person_id: str) -> PersonHistory:
        """Return what is stored about a person besides their channels, for their export."""
        reads = self._engine.reads
        row = await reads.row(_SQL["consent_at"], person_id)
        pairings = await reads.rows(_SQL["pairings_of"], person_id)
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
                for one in await reads.rows(_SQL["links_of"], person_id)
            ),
        )

    async def link(self, platform: str, user_id: str, *, person_id: str, at: float) -> ChannelMove:
        """Give a channel to a person, and let it in; raises `NotFound` for an unknown one."""

        async def unit(tx: Tx) -> ChannelMove:
            if await tx.row(_SQL["is_there"], person_id) is None:
                raise NotFound(f"There is no person {person_id} to link a channel to.")
            return await link_channel(
                tx,
                platform,
                user_id,
                person_id=person_id,
                sealer=self._engine.sealer,
                lets_in=True,
                at=at,
            )

        return await self._engine.writer.run("link_channel", unit, after=self.moved)

    async def unlink(self, platform: str, user_id: str, *, at: float) -> ChannelMove:
        """Return a channel to its first person, or to a new one; it is no longer let in."""

        platform = platform_of(platform)

        async def unit(tx: Tx) -> ChannelMove:
            before, was = await _owner(tx, platform, user_id)
            if was is None and len(await tx.rows(_SQL["channels"], before)) == 1:
                raise Conflict(
                    f"{platform}:{user_id} is the only channel of {before}, and was nobody else's: "
                    "there is nothing to unlink."
                )
            if was is None or await tx.row(_SQL["is_there"], was) is None:
                was = await add_person(tx, sealer=self._engine.sealer, make_id=self._make_id, at=at)
            moved = ChannelMove(platform=platform, user_id=user_id, before=before, after=was)
            tx.put(_SQL["unlink"], platform, user_id, was)
            self._engine.feed.put(tx, "people", before)
            return await _hand_over(tx, moved, sealer=self._engine.sealer)

        return await self._engine.writer.run("unlink_channel", unit, after=self.moved)

    def moved(self, _moved: object) -> None:
        """Tell the caches of channels, keys and tiers."""
        self._engine.feed.tell("people")

    # Any: SQLite's values, in the order of the columns that `get` and `page` name.
    async def _user(self, row: tuple[Any, ...]) -> User:
        person_id, created_at, tier, may_train, blocked_at, erased_at, is_active = row
        reads = self._engine.reads
        owner = await reads.row(_SQL["owner_person"])
        state: UserState = "active" if is_active else "guest"
        if owner is not None and owner[0] == person_id:
            state = "owner"
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
            channels=await self._channels(await reads.rows(_SQL["channels"], person_id)),
            left=await self._channels(await reads.rows(_SQL["channels_left"], person_id)),
        )

    async def _channels(self, rows: Sequence[Row]) -> tuple[UserChannel, ...]:
        return tuple([await self._channel(row) for row in rows])

    async def _channel(self, row: tuple[Any, ...]) -> UserChannel:
        return UserChannel(
            platform=row[0],
            user_id=row[1],
            person_id=row[2],
            added_at=row[3],
            activated_at=row[4],
            activated_how=row[5],
            was_person=row[6],
            name=await shown_name(self._engine, row[2], row[7], place=name_place(*row[:2])),
        )


async def shown_name(
    engine: Engine, person_id: str, sealed: bytes | None, *, place: Place
) -> str | None:
    """Return the display name of a person, if there is one."""
    if sealed is None:
        return None
    content = await engine.sealer.open(engine.reads, person_id, sealed, place=place)
    return None if content is None else content.decode()


async def link_channel(
    tx: Tx,
    platform: str,
    user_id: str,
    *,
    person_id: str,
    sealer: Sealer,
    lets_in: bool,
    at: float,
) -> ChannelMove:
    """Give a channel to a person inside a transaction; it remembers its first person."""
    platform = platform_of(platform)
    before, was = await _owner(tx, platform, user_id)
    moved = ChannelMove(platform=platform, user_id=user_id, before=before, after=person_id)
    if before == person_id:
        return moved
    first = was or before
    kept = None if first == person_id else first
    tx.put(_SQL["link"], platform, user_id, person_id, kept)
    if lets_in:
        tx.put(_SQL["activate"], platform, user_id, "linked", at)
    moved = await _hand_over(tx, moved, sealer=sealer)
    if await tx.rows(_SQL["channels"], before):
        return moved
    # Nobody could use them any more.
    jobs = await hand_over_jobs(tx, before, person_id, sealer=sealer)
    tx.put(_SQL["move_link_codes"], before, person_id)
    name = f"{before}:{person_id}:{at:.6f}"
    amount = await move_credits(tx, before, person_id, name=name, at=at)
    return msgspec.structs.replace(moved, credits=amount, jobs=moved.jobs + jobs)


def forget_codes(tx: Tx, person_id: str) -> None:
    """Delete the codes and requests of an erased person, inside that transaction."""
    tx.put(_SQL["drop_link_codes"], person_id)
    tx.put(_SQL["drop_pairings"], person_id)


async def _owner(tx: Tx, platform: str, user_id: str) -> tuple[str, str | None]:
    row = await tx.row(_SQL["owner"], platform, user_id)
    if row is None:
        raise NotFound(
            f"Nobody has written as {platform}:{user_id}. `hermes users add {platform}:{user_id}` "
            "makes the person."
        )
    return row[0], row[1]


async def _hand_over(tx: Tx, moved: ChannelMove, *, sealer: Sealer) -> ChannelMove:
    """Move what belongs to the channel: its keys, its lanes without their messages, and jobs that had
    come with it from the person to whom it returns."""
    if moved.platform == KEYS_PLATFORM:
        tx.put(_SQL["move_keys"], moved.user_id, moved.after)
    kept = await tx.rows(_SQL["channels"], moved.before)
    others = {row[1] for row in kept if row[0] == moved.platform}
    for (lane,) in await tx.rows(_SQL["lanes_of"], moved.platform, moved.before):
        if not _is_personal(lane):
            continue
        if others and await _writer_of(tx, lane, moved.before, sealer=sealer) in others:
            continue
        tx.put(_SQL["hand_over_lane"], lane, moved.after)
    channel = (moved.platform, moved.user_id)
    jobs = await return_jobs(tx, channel, before=moved.before, after=moved.after, sealer=sealer)
    return msgspec.structs.replace(moved, jobs=jobs)


async def _writer_of(tx: Tx, lane: str, person_id: str, *, sealer: Sealer) -> str:
    """Return the user id with which a person writes in a lane of theirs, as far as it is known."""
    row = await tx.row(_SQL["last_said"], lane, person_id)
    if row is not None:
        content = await sealer.get(tx, row[1], owner=person_id, place=event_place(row[0]))
        if content is not None:
            return decode_event(content).source.user_id
    # The lane of a person in a group or thread ends with its user, and most direct chats have the name of their person.
    return unescape(lane.rpartition(":")[2])


def _is_personal(lane: str) -> bool:
    """Return whether a lane is one person's session; those of everybody in a chat are not."""
    return base_lane(lane) == lane and depth_of(lane) == 0 and not is_shared(lane)
