"""What operators see and change outside of turns: sessions, paused channels, dead letters, models."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import msgspec

from hermes.ports.outbox import DeliveryRecord

_Result = TypeVar("_Result")


class OnRecord(Protocol):
    """Carries out an order that a person gives in a chat, and keeps that they did."""

    async def __call__(
        self, action: str, person_id: str, *, work: Callable[[], Awaitable[_Result]]
    ) -> _Result:
        """Return what the work gives, or raise what it raises."""
        ...


async def off_record(
    action: str, person_id: str, *, work: Callable[[], Awaitable[_Result]]
) -> _Result:
    """Run an order without an audit log."""
    del action, person_id
    return await work()


class PausedPlatform(msgspec.Struct, frozen=True, kw_only=True):
    """A platform on which nothing is accepted and nothing sent."""

    platform: str
    at: float


class LastTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """When a platform last delivered a message to us, and when it last accepted one."""

    came: float | None = None
    went: float | None = None


class PausedStore(Protocol):
    """What is stored about platforms across restarts: the paused ones, and their last traffic."""

    async def all(self) -> tuple[PausedPlatform, ...]:
        """Return the paused platforms."""
        ...

    async def pause(self, platform: str, *, at: float) -> bool:
        """Pause a platform; false if it is paused already."""
        ...

    async def resume(self, platform: str, *, at: float) -> bool:
        """End the rest; its replies are no older than when it began. False if there was none."""
        ...

    async def last_traffic(self, platform: str) -> LastTraffic:
        """Return when a platform last delivered and accepted a message, as far as it is stored."""
        ...


class ModelSwap(msgspec.Struct, frozen=True, kw_only=True):
    """The default model that an operator chose in place of `models.default`."""

    model: str
    at: float


class ModelSwapStore(Protocol):
    """The choice of a default model, over restarts."""

    async def get(self) -> ModelSwap | None:
        """Return the choice, or None if nobody made one."""
        ...

    async def set(self, swap: ModelSwap | None) -> None:
        """Store a choice in place of the one before; None deletes it."""
        ...


class DeadLetterStore(Protocol):
    """Replies that were given up, and those that are held for the operator's word."""

    async def page(self, *, platform: str, limit: int) -> tuple[DeliveryRecord, ...]:
        """Return them, the newest first; an empty platform means any."""
        ...

    async def get(self, delivery_id: str) -> DeliveryRecord | None:
        """Return one of them."""
        ...

    async def replay(self, delivery_id: str, *, at: float) -> bool:
        """Let one be sent again, as if it were new; false if it cannot be."""
        ...

    async def drop(self, delivery_id: str, *, at: float) -> bool:
        """Forget about one; false if there is none."""
        ...

    async def lapse(self, before: float, *, at: float, limit: int) -> int:
        """Drop those that became so before then, at most `limit`; how many."""
        ...


class OpenSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that has not ended; `messages` were answered since it began, busy is what runs."""

    key: str
    epoch: int
    platform: str
    person_id: str
    messages: int
    used_at: float
    is_busy: bool


class OpenSessionStore(Protocol):
    """Sessions that have not ended."""

    async def page(self, *, platform: str, limit: int) -> tuple[OpenSession, ...]:
        """Return them, the most recently used first; an empty platform means any."""
        ...

    async def of_person(self, person_id: str, *, limit: int) -> tuple[OpenSession, ...]:
        """Return those of a person, the most recently used first."""
        ...

    async def get(self, key: str) -> OpenSession | None:
        """Return the one of a key."""
        ...
