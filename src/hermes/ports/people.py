"""People over the store port: their channels, who was let in, and one-time codes.

A channel is a platform's user id, never a display name. The limits on codes are policy and come in
as `CodeRules`; the store asks them inside its transaction.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

Unknown = Literal["pair", "signup", "ignore", "allow"]
UserState = Literal["owner", "active", "guest", "blocked", "erased"]
ActivatedHow = Literal["paired", "linked", "operator"]
PairingState = Literal["waiting", "approved", "denied"]


class UserChannel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One id of a person on a platform; `was_person` is whose it was before it was linked."""

    platform: str
    user_id: str
    person_id: str
    added_at: float
    activated_at: float | None = None
    activated_how: ActivatedHow | None = None
    was_person: str | None = None
    name: str | None = None


class User(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person as operators see them; `left` are channels of theirs that others have by now."""

    id: str
    state: UserState
    created_at: float
    tier: str
    may_train: bool
    blocked_at: float | None = None
    erased_at: float | None = None
    channels: tuple[UserChannel, ...] = ()
    left: tuple[UserChannel, ...] = ()


class ChannelAccess(msgspec.Struct, frozen=True):
    """The state of a channel: its person (None if nobody has written from it), let in, blocked."""

    person_id: str | None = None
    is_active: bool = False
    is_blocked: bool = False


class ChannelMove(msgspec.Struct, frozen=True, kw_only=True):
    """A channel that went from one person to another; the same one twice if nothing changed.

    `credits` are those that went along, because their person had no channel left; `jobs` is how many
    scheduled jobs went along, or back.
    """

    platform: str
    user_id: str
    before: str
    after: str
    credits: int = 0
    jobs: int = 0


class OwnerJoin(msgspec.Struct, frozen=True, kw_only=True):
    """The person of the owner's channels, the channels that became theirs, and those of others.

    `apart` are channels of people whom only an operator may make one with the owner.
    """

    person_id: str
    moved: tuple[tuple[str, str], ...] = ()
    apart: tuple[tuple[str, str], ...] = ()


class PairingPaper(msgspec.Struct, frozen=True, kw_only=True):
    """The last request of a channel to be let in, and its outcome."""

    platform: str
    user_id: str
    asked_at: float
    expires_at: float
    state: PairingState


class LinkPaper(msgspec.Struct, frozen=True, kw_only=True):
    """A code with which a person could link another channel, and whether it was used."""

    made_at: float
    expires_at: float
    is_used: bool


class PersonHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a person beside their channels; `consent_at` is their last word on training."""

    consent_at: float | None = None
    pairings: tuple[PairingPaper, ...] = ()
    links: tuple[LinkPaper, ...] = ()


class UserStore(Protocol):
    """People and their channels."""

    async def channel_access(self, platform: str, user_id: str) -> ChannelAccess:
        """Return the state of a channel."""
        ...

    async def is_anybody_blocked(self) -> bool:
        """Return whether a block has to be looked for at all; answered from memory."""
        ...

    async def get(self, person_id: str) -> User | None:
        """Return one person with their channels."""
        ...

    async def page(self, *, state: UserState | None, limit: int) -> tuple[User, ...]:
        """Return people, the newest first; without a state all but the erased."""
        ...

    async def silent(self, before: float, limit: int, above: str = "") -> tuple[str, ...]:
        """Return people of whom nothing came since then, except those who are always kept.

        Always kept are the owner, who is blocked, and who has a key or a scheduled job. The people
        are ordered by id, from the first one above `above`.
        """
        ...

    async def paired(self, *, limit: int) -> tuple[UserChannel, ...]:
        """Return channels that were let in by a code."""
        ...

    async def add(self, platform: str, user_id: str, *, name: str | None, at: float) -> str:
        """Let a channel in, for a new person if it is new; return its person's id."""
        ...

    async def set_active(
        self, platform: str, user_id: str, *, how: ActivatedHow | None, at: float
    ) -> bool:
        """Let a channel in, or (`how` is None) no longer; false if that changes nothing."""
        ...

    async def set_blocked(self, person_id: str, *, blocked: bool, at: float) -> bool:
        """Block a person on all channels, or no longer; false if that changes nothing."""
        ...

    async def set_tier(self, person_id: str, tier: str) -> bool:
        """Give a person a tier; it counts from their next message on. False if it was theirs."""
        ...

    async def papers(self, person_id: str) -> PersonHistory:
        """Return what is kept of a person beside their channels, for them to take along."""
        ...

    async def link(self, platform: str, user_id: str, *, person_id: str, at: float) -> ChannelMove:
        """Give a channel to a person, and let it in; raises `NotFound` for who is not there."""
        ...

    async def unlink(self, platform: str, user_id: str, *, at: float) -> ChannelMove:
        """Give a channel back to whom it was before, or to a new person; it is no longer let in."""
        ...


class OwnerStore(Protocol):
    """The person who owns the gateway."""

    async def join(self, channels: Sequence[tuple[str, str]], *, at: float) -> OwnerJoin | None:
        """Make one person, the owner, of these channels, once; None if there is nothing to do."""
        ...


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote: one person over all their channels; `language` is the one they chose, if they did."""

    id: str
    created_at: float
    tier: str = "free"
    may_train: bool = False
    is_erased: bool = False
    language: str = ""


class PeopleStore(Protocol):
    """Who is who, and what they may spend."""

    async def find(self, platform: str, user_id: str) -> Person | None:
        """Return the person behind a channel id."""
        ...

    async def get(self, person_id: str) -> Person | None:
        """Return one person."""
        ...

    async def matching(self, part: str) -> tuple[str, ...]:
        """Return some ids of people that begin or end with a part, the newest first."""
        ...

    async def balance(self, person_id: str) -> int:
        """Return the ledger's sum minus open holds."""
        ...

    async def set_language(self, person_id: str, language: str) -> bool:
        """Set the language in which Hermes speaks with a person; "" leaves it to their platform.

        False if the id is unknown.
        """
        ...

    async def set_consent(self, person_id: str, *, may_train: bool, at: float) -> bool:
        """Say whether a person's conversations may be trained on; false if nobody has this id."""
        ...

    async def erase(self, person_id: str, *, at: float, silent_since: float | None = None) -> None:
        """Destroy the person's data key: every body of theirs is unreadable from then on.

        In the rows that stay, the platforms' ids of the person become keyed hashes, also in the names of
        sessions. With `silent_since`, raises `GuardFailed` unless `UserStore.silent` would still name them.
        """
        ...

    async def hide_erased(self, *, at: float) -> bool:
        """Do the same for sessions that were at work when their person was erased; False if one still is."""
        ...
