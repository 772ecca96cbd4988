"""On whose account the model calls of a turn go, and as whose they wait for a place."""

from hermes.calls.budgets import Payer
from hermes.calls.shares import ShareHolder
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.keys import CallerKey
from hermes.ports.shares import way_of
from hermes.ports.spend import PLATFORM, Account


def account_of(turn: Turn, *, pays_platform: bool = False) -> Account:
    """Return the account of a turn's calls; what was lost in a crash the platform pays."""
    return Account(
        person_id=PLATFORM if pays_platform else turn.person_id,
        agent=turn.agent.key,
        channel=turn.event.source.platform,
        key="" if pays_platform else turn.event.key or "",
    )


def payer_of(turn: Turn, ctx: TurnContext) -> Payer:
    """Return who pays for a turn's calls, with the limits of their tier and of their key."""
    tier = None if turn.person is None else turn.person.tier
    return Payer(account=account_of(turn), tier=tier, key=key_of(turn, ctx))


def key_of(turn: Turn, ctx: TurnContext) -> CallerKey | None:
    """Return the caller's key that a turn runs on."""
    return None if turn.event.key is None else ctx.services.store.keys.get(turn.event.key)


def asker_of(turn: Turn) -> ShareHolder:
    """Return as whose a turn's calls wait for a place: a key's, or a person's by the way they came."""
    return ShareHolder(way_of(turn.event), turn.event.key or turn.person_id)


def place_wait_s(turn: Turn, ctx: TurnContext) -> float:
    """Return how long a call of a turn waits for a place.

    A turn that waits for its first call has not started: it waits until its message expires.
    """
    expire_s = ctx.services.settings.inbox.expire_after_s
    if ctx.journal.begun:
        return expire_s
    return max(0.0, turn.received_at + expire_s - ctx.services.clock.now())
