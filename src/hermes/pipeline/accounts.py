"""On whose account the model calls of a turn go."""

from hermes.calls.budgets import Purse
from hermes.pipeline.turn import Turn
from hermes.ports.spend import PLATFORM, Account


def account_of(turn: Turn, *, pays_platform: bool = False) -> Account:
    """Return the account of a turn's calls; what was lost in a crash the platform pays."""
    return Account(
        person_id=PLATFORM if pays_platform else turn.person_id,
        agent=turn.agent.key,
        channel=turn.event.source.platform,
    )


def purse_of(turn: Turn) -> Purse:
    """Return who pays for a turn's calls, with the limits of their tier."""
    tier = None if turn.person is None else turn.person.tier
    return Purse(account=account_of(turn), tier=tier)
