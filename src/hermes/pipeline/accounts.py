"""Who pays for the model calls of a turn, and how the turn waits while all places are taken."""

from typing import Protocol

import structlog

from hermes.calls.budgets import Payer
from hermes.calls.shares import ShareHolder
from hermes.errors import StorageFull, StoreError
from hermes.pipeline.needs import Lookup, ModelJournal, ModelServices, StageContext
from hermes.pipeline.turn import Turn
from hermes.ports.keys import CallerKey
from hermes.ports.shares import way_of
from hermes.ports.spend import PLATFORM, Account
from hermes.ports.steps import TimelineEvent
from hermes.ports.turns import WAITS_FOR_PLACE

_log = structlog.get_logger(__name__)
ModelContext = StageContext[ModelServices, ModelJournal]


def account_of(turn: Turn, *, pays_platform: bool = False) -> Account:
    """Return the account of a turn's calls; what was lost in a crash the platform pays."""
    return Account(
        person_id=PLATFORM if pays_platform else turn.person_id,
        agent=turn.agent.key,
        channel=turn.event.source.platform,
        key="" if pays_platform else turn.event.key or "",
    )


async def payer_of(turn: Turn, ctx: ModelContext) -> Payer:
    """Return who pays for a turn's calls, with the limits of their tier and of their key."""
    tier = None if turn.person is None else turn.person.tier
    return Payer(
        account=account_of(turn),
        tier=tier,
        key=await key_of(turn, ctx),
        agent_day_usd=turn.agent.settings.budget_day_usd,
    )


class HasKeys(Protocol):
    """A store that knows the keys of callers."""

    @property
    def keys(self) -> Lookup[CallerKey]: ...


async def may_read_history(turn: Turn, store: HasKeys) -> bool:
    """Return whether a turn may read the other sessions of its person: a key needs the right to."""
    if turn.event.key is None:
        return True
    key = await store.keys.get(turn.event.key)
    return key is not None and key.read_history


async def key_of(turn: Turn, ctx: ModelContext) -> CallerKey | None:
    """Return the caller's key that a turn runs on."""
    return None if turn.event.key is None else await ctx.services.store.keys.get(turn.event.key)


def asker_of(turn: Turn) -> ShareHolder:
    """Return as whose a turn's calls wait for a place: a key's, or a person's by the way they came."""
    return ShareHolder(way_of(turn.event), turn.event.key or turn.person_id)


def place_wait_s(turn: Turn, ctx: ModelContext) -> float:
    """Return how long a call of a turn waits for a place.

    A turn that waits for its first call has not started: it waits until its message expires.
    """
    expire_s = ctx.services.settings.inbox.expire_after_s
    if ctx.journal.begun:
        return expire_s
    return max(0.0, turn.received_at + expire_s - ctx.services.clock.now())


async def note_wait(turn: Turn, ctx: ModelContext) -> None:
    """Write at once that the turn waits for a place: `hermes why` has to know it now.

    The results of its tools are written too: they must outlive whatever ends this process meanwhile.
    """
    ctx.journal.waits_for_place = True
    if ctx.journal.begun:
        await ctx.journal.write_results(turn)
    event = TimelineEvent(WAITS_FOR_PLACE, ctx.services.clock.now())
    try:
        await ctx.services.store.inbox.note(turn.id, event)
    except (StoreError, StorageFull) as error:
        _log.warning("wait_not_noted", message_id=turn.id, problem=str(error))
