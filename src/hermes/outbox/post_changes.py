"""Changes messages that are posted already: a question shows how it ended, a notice is taken back.

What is to be changed follows from the store, so nothing is lost with the process, and a change may be
made twice. Beside the path of the reply: nothing waits for it.
"""

from typing import Protocol

import msgspec
import structlog

from hermes.errors import DeliveryError, DeliveryRejected
from hermes.outbox.alarm import Sleep
from hermes.outbox.channel_calls import ChannelCalls
from hermes.outbox.chunk_sends import repeated
from hermes.outbox.rates import RateGate
from hermes.ports.clock import Clock
from hermes.ports.offers import OfferEnd, PostChange
from hermes.texts.say import say, speaking, words

log = structlog.get_logger(__name__)

_AT_ONCE = 20
_AGAIN_S = (2.0, 10.0, 60.0, 300.0)
_ENDS: dict[OfferEnd, str] = {
    "chosen": words("Answered."),
    "approved": words("Approved."),
    "denied": words("Denied."),
    "expired": words("Nobody answered in time."),
}


class DueChanges(Protocol):
    """A store with the changes that are due."""

    async def changes(self, platform: str, now: float, *, limit: int) -> tuple[PostChange, ...]: ...
    async def changed(self, change: PostChange) -> None: ...


class _Tries(msgspec.Struct):
    count: int
    again_at: float


def ended_text(change: PostChange, wire: ChannelCalls) -> str:
    """Return what a question says once it has ended; only its end if both do not fit."""
    end = f"→ {change.chosen or say(_ENDS[change.ended or 'chosen'])}"
    said = repeated(change.text) if change.is_repeat and change.text else change.text
    whole = f"{said}\n\n{end}" if said else end
    return whole if wire.measure(whole) <= wire.capabilities.max_chars else end


class PostChanges:
    """Makes the changes of one platform."""

    def __init__(self, offers: DueChanges, *, rates: RateGate, clock: Clock, sleep: Sleep) -> None:
        self._offers = offers
        self._rates = rates
        self._clock = clock
        self._sleep = sleep
        self._tries: dict[tuple[str, str], _Tries] = {}

    async def make(self, wire: ChannelCalls) -> None:
        """Make the changes that are due."""
        now = self._clock.now()
        due = await self._offers.changes(wire.platform, now, limit=_AT_ONCE + len(self._tries))
        keys = {_key(change) for change in due}
        self._tries = {key: tries for key, tries in self._tries.items() if key in keys}
        for change in due:
            tries = self._tries.get(_key(change))
            if tries is None or tries.again_at <= now:
                await self._make_one(wire, change)

    async def _make_one(self, wire: ChannelCalls, change: PostChange) -> None:
        try:
            await self._call(wire, change)
        except DeliveryError as error:
            if self._is_tried_again(change, error):
                return
            log.warning(
                "outbox.post_not_changed",
                delivery=change.delivery,
                kind=change.kind,
                failure=error.failure,
            )
        self._tries.pop(_key(change), None)
        await self._offers.changed(change)

    async def _call(self, wire: ChannelCalls, change: PostChange) -> None:
        able, posted = wire.capabilities, change.platform_message_id
        is_end = change.kind == "end"
        # A platform that takes a notice back itself was told when it was sent.
        can = able.edit if is_end else (wire.can_delete and not able.vanishes)
        if not posted or not can:
            return
        await self._sleep(self._rates.take(change.target))
        if is_end:
            with speaking(change.target.language):
                text = ended_text(change, wire)
            await wire.edit(change.target, posted, text=text)
        else:
            await wire.take_back(change.target, posted)

    def _is_tried_again(self, change: PostChange, error: DeliveryError) -> bool:
        """Remember when a change is made again; False if it is left as it is."""
        self._rates.failed(change.target, error)
        before = self._tries.get(_key(change))
        count = 0 if before is None else before.count
        if isinstance(error, DeliveryRejected) or count >= len(_AGAIN_S):
            return False
        wait = max(_AGAIN_S[count], error.retry_after or 0.0)
        self._tries[_key(change)] = _Tries(count + 1, self._clock.now() + wait)
        return True


def _key(change: PostChange) -> tuple[str, str]:
    return change.delivery, change.kind
