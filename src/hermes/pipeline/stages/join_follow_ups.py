"""Stage: messages that follow each other closely become one event, which is answered once.

A photo waits here until no other has come for a while, and so does a message that has stopped a
turn; all others take along what waits behind them and pass at once. Nothing is written yet: those
that joined are claimed in the write that leases the lane, so a crash before it leaves every message
as it was.
"""

import asyncio
from typing import Protocol

from hermes.errors import TurnInterrupted
from hermes.message.reply import Reply
from hermes.pipeline.follow_ups import (
    FollowUpServices,
    belong_together,
    is_photo,
    may_join,
    rejoined,
    starts_burst,
    with_joined,
)
from hermes.pipeline.interrupts import Arrivals
from hermes.pipeline.needs import HasClock, Lookup, StoppableContext, TimelineWriter
from hermes.pipeline.turn import Turn
from hermes.ports.steps import Step
from hermes.ports.turns import MessageRecord


class WaitingMessages(Protocol):
    """Lists the messages that wait on a lane."""

    async def waiting(self, lane: str) -> tuple[MessageRecord, ...]: ...


class JoinStore(Protocol):
    """A store that knows messages which wait, or had joined a turn before a crash."""

    @property
    def turns(self) -> WaitingMessages: ...
    @property
    def inbox(self) -> Lookup[MessageRecord]: ...


class JoinServices(FollowUpServices, HasClock, Protocol):
    """What `join_follow_ups` uses: which messages are meant as one, and those that wait."""

    @property
    def store(self) -> JoinStore: ...


class JoinJournal(TimelineWriter, Protocol):
    """What joined before a crash, and what joins now."""

    @property
    def steps(self) -> tuple[Step, ...]: ...
    @property
    def is_followed(self) -> bool: ...
    def join(self, message_ids: tuple[str, ...]) -> None: ...


_Context = StoppableContext[JoinServices, JoinJournal]


async def join_follow_ups(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Return the turn with the messages that were sent along with its own."""
    arrivals = ctx.interrupt.gathering
    if arrivals is None:
        steps = ctx.journal.steps
        return await rejoined(turn, steps, ctx.services.store.inbox) if steps else turn
    is_alone = not (ctx.journal.is_followed or arrivals.ids)
    if is_alone and not arrivals.is_after_stop and not is_photo(turn.event):
        return turn
    if not may_join(turn.event, ctx.services):
        return turn
    joined = await gather(turn, ctx, arrivals)
    if not joined:
        return turn
    names = tuple(record.id for record in joined)
    ctx.interrupt.joined = frozenset(names)
    ctx.interrupt.last_at = joined[-1].received_at
    ctx.journal.join(names)
    ctx.journal.note("joined", messages=list(names))
    return with_joined(turn, joined)


async def has_company(turn: Turn, prepared: Turn, ctx: _Context) -> bool:
    """Return whether messages arrived while a turn was prepared, so that it is prepared again.

    Otherwise no message joins it any more; one that may not join stops it if it should.
    """
    arrivals, ctx.interrupt.gathering = ctx.interrupt.gathering, None
    if arrivals is None or not arrivals.ids:
        return False
    services, joined = ctx.services, prepared.joined
    if may_join(turn.event, services):
        waiting = await services.store.turns.waiting(turn.lane)
        joined = tuple(one.id for one in belong_together(turn, waiting, services)[0])
        if len(joined) > len(prepared.joined):
            ctx.interrupt.gathering = arrivals
            return True
    for message_id in arrivals.stopping:
        if message_id not in joined:
            ctx.interrupt.press(message_id)
    return False


async def gather(
    turn: Turn, ctx: StoppableContext[JoinServices, object], arrivals: Arrivals
) -> tuple[MessageRecord, ...]:
    """Return the messages that belong to a turn's own, once nothing more follows them.

    What else arrives ends the waiting.
    """
    services = ctx.services
    while True:
        arrivals.clear()
        waiting = await services.store.turns.waiting(turn.lane)
        joined, other = belong_together(turn, waiting, services)
        window_s = _window_s(turn, joined, ctx)
        if other is not None or not window_s:
            return joined
        newest = joined[-1].received_at if joined else turn.received_at
        # A clock that was put back must not make anybody wait longer.
        rest_s = min(newest + window_s - services.clock.now(), window_s)
        if rest_s <= 0 or not await _has_arrived(ctx, arrivals, within_s=rest_s):
            return joined


def _window_s(
    turn: Turn,
    joined: tuple[MessageRecord, ...],
    ctx: StoppableContext[JoinServices, object],
) -> float:
    """Return how long the next message may take; 0 if none is awaited."""
    busy = ctx.services.settings.busy
    if 1 + len(turn.joined) + len(joined) >= busy.max_merged:
        return 0.0
    newest = joined[-1].event if joined else turn.event
    assert newest is not None
    burst_s = busy.photo_burst_s if starts_burst(newest, ctx.services) else 0.0
    arrivals = ctx.interrupt.gathering
    is_after_stop = arrivals is not None and arrivals.is_after_stop
    return max(burst_s, busy.follow_up_s if is_after_stop else 0.0)


async def _has_arrived(
    ctx: StoppableContext[JoinServices, object], arrivals: Arrivals, *, within_s: float
) -> bool:
    """Wait for another message; false when none came in time, or the turn is to stop."""
    try:
        with ctx.interrupt.scope():
            async with asyncio.timeout(within_s):
                await arrivals.wait()
    except (TimeoutError, TurnInterrupted):
        return False
    return True
