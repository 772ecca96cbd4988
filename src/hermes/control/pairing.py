"""Pairing for operators: who waits to be let in, and approving or denying them."""

from collections.abc import Callable

import msgspec
import structlog

from hermes.control.users import channel_of
from hermes.control.why_answer import clock_time
from hermes.errors import BadRequest, NotFound, RateLimited
from hermes.people.pairing import LET_IN, PAIRING, CodeLimits, read_code
from hermes.people.reception import how_long
from hermes.ports.clock import Clock
from hermes.ports.pairing import PairingCodeResult, PairingRequest
from hermes.ports.people import UserChannel
from hermes.ports.store import Store

_log = structlog.get_logger(__name__)
_MOST_SHOWN = 1_000
# Tells who sends the replies of a platform that there is one.
Wake = Callable[[str], None]


class PairApproval(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pairing code, and the platform where its owner wrote."""

    platform: str
    code: str
    by: str = ""


class PairOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An order about a person who waits or was let in: `user` is `platform:user_id`."""

    user: str
    by: str = ""


class PairingReport(msgspec.Struct, frozen=True, kw_only=True):
    """Who waits, who was let in by a code, and until when which platforms accept no approvals."""

    waiting: tuple[PairingRequest, ...] = ()
    paired: tuple[UserChannel, ...] = ()
    locked: dict[str, float] = {}


class PairReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an order did; `changed` is false when it was so before.

    `is_told` says that a message to them is on its way, in the chat in which they asked.
    """

    platform: str
    user_id: str
    person_id: str = ""
    changed: bool = True
    is_told: bool = False


def wake_nobody(_platform: str) -> None:
    """Where no gateway runs nobody sends; the next one does."""


class PairingOperations:
    """Where operators' orders about pairing arrive."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        wake: Wake = wake_nobody,
        limits: CodeLimits = PAIRING,
    ) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._wake = wake

    async def list(self) -> PairingReport:
        """Return who waits, who was paired, and what is locked."""
        now = self._clock.now()
        return PairingReport(
            waiting=await self._store.pairing.waiting(now),
            paired=await self._store.users.paired(limit=_MOST_SHOWN),
            locked=await self._store.pairing.locks(now),
        )

    async def approve(self, order: PairApproval) -> PairReport:
        """Let in the person who received this code."""
        limits = self._limits
        code = read_code(order.code, limits.length)
        if code is None:
            raise BadRequest(
                f"{order.code[:40]!r} is not a pairing code: a code has {limits.length} letters and "
                "digits, such as K7QM-4XWP. The person received it as the answer to their first message."
            )
        now = self._clock.now()
        settled = await self._store.pairing.approve(
            order.platform, code, at=now, rules=limits, tell=LET_IN
        )
        if settled.verdict != "right":
            raise _refusal(order.platform, settled, now=now, limits=limits)
        if settled.told_on:
            self._wake(settled.told_on)
        _log.info("pair_approved", person_id=settled.person_id, by=order.by)
        return PairReport(
            platform=settled.platform,
            user_id=settled.user_id,
            person_id=settled.person_id,
            is_told=bool(settled.told_on),
        )

    async def deny(self, order: PairOrder) -> PairReport:
        """Cancel the code of a person who waits."""
        platform, user_id = channel_of(order.user)
        if not await self._store.pairing.deny(platform, user_id):
            raise NotFound(
                f"{order.user} does not wait for approval. `hermes pair list` shows who does; `hermes "
                "pair revoke` takes back an approval."
            )
        person_id = (await self._store.users.channel_access(platform, user_id)).person_id or ""
        _log.info("pair_denied", person_id=person_id, by=order.by)
        return PairReport(platform=platform, user_id=user_id, person_id=person_id)

    async def revoke(self, order: PairOrder) -> PairReport:
        """Stop letting a channel in, however it was let in."""
        platform, user_id = channel_of(order.user)
        channel_access = await self._store.users.channel_access(platform, user_id)
        if channel_access.person_id is None:
            raise NotFound(
                f"Nobody has written as {order.user[:80]}. `hermes users list` shows who has."
            )
        changed = await self._store.users.set_active(
            platform, user_id, how=None, at=self._clock.now()
        )
        if changed:
            _log.info("pair_revoked", person_id=channel_access.person_id, by=order.by)
        return PairReport(
            platform=platform, user_id=user_id, person_id=channel_access.person_id, changed=changed
        )


def _refusal(
    platform: str, settled: PairingCodeResult, *, now: float, limits: CodeLimits
) -> NotFound | RateLimited:
    if settled.until > now:
        many = "There were" if settled.verdict == "locked" else "That was one of"
        return RateLimited(
            f"{many} {limits.most_failures} wrong codes for {platform}: no code is taken there "
            f"until {clock_time(settled.until)}. `hermes users activate` needs none.",
            settled.until - now,
        )
    left = limits.most_failures - settled.failures
    return NotFound(
        f"Nobody on {platform} was told this code, or it is too old or used. {left} more wrong "
        f"ones lock approvals for {platform} for {how_long(limits.lock_s)}. `hermes pair list` shows who waits."
    )
