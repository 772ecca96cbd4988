"""The people of this gateway, as the operator sees and orders them.

It words and checks the orders; what changes is a unit of the store. People are named by the id that
a platform gives them, or by their own; display names are only shown.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Literal, get_args

import msgspec
import structlog

from hermes.control.consent import find_person, unknown_person
from hermes.control.user_export import check_not_erased
from hermes.errors import BadRequest, Conflict
from hermes.ports.clock import Clock
from hermes.ports.people import ChannelMove, User, UserState
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store

_log = structlog.get_logger(__name__)
_MOST_LISTED = 10_000
_LONGEST_ID = 200
_STATES = get_args(UserState)
# Drops what is kept in memory of a person who is erased.
Forget = Callable[[str], Awaitable[None]]
Did = Literal["added", "activated", "blocked", "linked", "unlinked", "tiered", "erased"]


class UsersAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which people, the newest first; without a state all but the erased."""

    state: str | None = None
    limit: WholeNumber = 50


class UserAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Which person; `user` is `platform:user_id`, or the id of a person."""

    user: str


class UserOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An order about one person or one of their channels."""

    user: str
    name: str = ""
    by: str = ""


class LinkOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish that a channel (`platform:user_id`) belongs to a person."""

    user: str
    channel: str
    by: str = ""


class TierOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tier that a person is to have."""

    user: str
    tier: str
    by: str = ""


class UsersReport(msgspec.Struct, frozen=True, kw_only=True):
    """People, the newest first."""

    users: tuple[User, ...] = ()


class UserReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person, and what an order did; `moved` is the channel that changed hands."""

    user: User
    did: Did | None = None
    changed: bool = False
    moved: ChannelMove | None = None


class UserOperations:
    """Where operators' orders about people arrive."""

    def __init__(
        self, store: Store, *, clock: Clock, forget: Forget, tiers: Collection[str]
    ) -> None:
        self._store = store
        self._clock = clock
        self._forget = forget
        self._tiers = tiers

    async def list(self, ask: UsersAsk) -> UsersReport:
        """Return people."""
        if not 1 <= ask.limit <= _MOST_LISTED:
            raise BadRequest(f"{ask.limit} people: expected a number from 1 to {_MOST_LISTED:,}.")
        state = next((one for one in _STATES if one == ask.state), None)
        if ask.state is not None and state is None:
            raise BadRequest(f"{ask.state!r} is not a state: expected one of {', '.join(_STATES)}.")
        return UsersReport(users=await self._store.users.page(state=state, limit=ask.limit))

    async def show(self, ask: UserAsk) -> UserReport:
        """Return one person with their channels."""
        return UserReport(user=await self._user(await self._person_id(ask.user), ask.user))

    async def add(self, order: UserOrder) -> UserReport:
        """Let a person in before they have written."""
        platform, user_id = channel_of(order.user)
        was = await self._store.users.channel_access(platform, user_id)
        name = order.name.strip() or None
        at = self._clock.now()
        person_id = await self._store.users.add(platform, user_id, name=name, at=at)
        return await self._done(
            order.user, person_id, "added", changed=not was.is_active, by=order.by
        )

    async def activate(self, order: UserOrder) -> UserReport:
        """Let a person in on one channel, or on all of theirs; it also unblocks them."""
        person_id, at = await self._person_id(order.user), self._clock.now()
        changed = await self._store.users.set_blocked(person_id, blocked=False, at=at)
        for channel in (await self._user(person_id, order.user)).channels:
            name = f"{channel.platform}:{channel.user_id}"
            if order.user == name or ":" not in order.user:
                changed |= await self._store.users.set_active(
                    channel.platform, channel.user_id, how="operator", at=at
                )
        return await self._done(order.user, person_id, "activated", changed=changed, by=order.by)

    async def block(self, order: UserOrder) -> UserReport:
        """Answer a person on no channel any more."""
        person_id = await self._person_id(order.user)
        changed = await self._store.users.set_blocked(person_id, blocked=True, at=self._clock.now())
        return await self._done(order.user, person_id, "blocked", changed=changed, by=order.by)

    async def link(self, order: LinkOrder) -> UserReport:
        """Give a channel to a person, as their own code would."""
        person_id = await self._person_id(order.user)
        platform, user_id = channel_of(order.channel)
        moved = await self._store.users.link(
            platform, user_id, person_id=person_id, at=self._clock.now()
        )
        report = await self._done(
            order.user, person_id, "linked", changed=moved.before != moved.after, by=order.by
        )
        return msgspec.structs.replace(report, moved=moved)

    async def unlink(self, order: UserOrder) -> UserReport:
        """Take a channel from its person; it goes back to whom it was before."""
        platform, user_id = channel_of(order.user)
        moved = await self._store.users.unlink(platform, user_id, at=self._clock.now())
        report = await self._done(order.user, moved.after, "unlinked", changed=True, by=order.by)
        return msgspec.structs.replace(report, moved=moved)

    async def set_tier(self, order: TierOrder) -> UserReport:
        """Give a person a tier of the settings; it counts from their next message on."""
        person_id = await self._person_id(order.user)
        if order.tier not in self._tiers:
            raise BadRequest(
                f"{order.tier[:80]!r} is not a tier here: expected one of {', '.join(self._tiers)}. "
                "Add tiers in routing.tiers and credits.tiers of the configuration."
            )
        if (await self._user(person_id, order.user)).state == "erased":
            raise Conflict(f"{order.user[:80]} was erased, and has no tier any more.")
        changed = await self._store.users.set_tier(person_id, order.tier)
        return await self._done(order.user, person_id, "tiered", changed=changed, by=order.by)

    async def export(self, order: UserOrder) -> UserReport:
        """Put an export on record; the caller reads the data from the files."""
        person_id = await self._person_id(order.user)
        user = await self._user(person_id, order.user)
        check_not_erased(user.state, order.user)
        _log.info("user_exported", person_id=person_id, by=order.by)
        return UserReport(user=user)

    async def erase(self, order: UserOrder, *, silent_since: float | None = None) -> UserReport:
        """Destroy a person's data key; who they were before on linked channels is listed.

        With `silent_since`, raises `GuardFailed` if they are not silent since then any more.
        """
        person_id = await self._person_id(order.user)
        before = await self._user(person_id, order.user)
        if before.state != "erased":
            await self._store.people.erase(
                person_id, at=self._clock.now(), silent_since=silent_since
            )
        # Also if they are erased already: an erasure may have been cut off before its files were removed.
        await self._forget(person_id)
        await self._store.people.hide_erased(at=self._clock.now())
        changed = before.state != "erased"
        report = await self._done(order.user, person_id, "erased", changed=changed, by=order.by)
        # The channels are forgotten by now; the report still says which they were.
        user = msgspec.structs.replace(report.user, channels=before.channels)
        return msgspec.structs.replace(report, user=user)

    async def _person_id(self, user: str) -> str:
        return (await find_person(self._store.people, user)).id

    async def _user(self, person_id: str, name: str) -> User:
        user = await self._store.users.get(person_id)
        if user is None:
            raise unknown_person(name)
        return user

    async def _done(
        self, name: str, person_id: str, did: Did, *, changed: bool, by: str
    ) -> UserReport:
        if changed:
            _log.info(f"user_{did}", person_id=person_id, by=by)
        return UserReport(user=await self._user(person_id, name), did=did, changed=changed)


def channel_of(name: str) -> tuple[str, str]:
    """Return the platform and the user id in `platform:user_id`; raises what to write instead."""
    platform, _, user_id = name.partition(":")
    if not platform.strip() or not user_id.strip() or len(name) > _LONGEST_ID:
        raise BadRequest(
            f"{name[:80]!r} is not a channel: write PLATFORM:USER_ID as the platform names the "
            "person, such as telegram:4711, not a display name."
        )
    return platform, user_id
