"""Money and tokens as values: on whose account a call goes, what it took, how much room is left.

The database ledger is the truth; counters are its fast copies, and may be lost at any time.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from hermes.message.reply import Usage

PLATFORM = "platform"
Whose = Literal["person", "agent", "key", "platform"]
Unit = Literal["tokens", "usd"]
CostBy = Literal["person", "agent", "channel", "key", "model", "day"]


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """On whose account a model call goes; `key` is the id of a caller's key, if one was shown.

    What the platform itself pays for (afterwork, maintenance) has the person `platform`.
    """

    person_id: str
    agent: str = ""
    channel: str = ""
    key: str = ""


class SpendEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One model call for the ledger; it counts on the day of its hold.

    `assumed_usd` is what budgets count for it while its price is unknown.
    """

    day: str
    account: Account
    model: str
    usage: Usage
    assumed_usd: float = 0.0
    is_cached: bool = False


class Meter(msgspec.Struct, frozen=True):
    """One thing that is counted: whose, which of them, in which unit, over which time.

    `period` is a day (2026-11-15), a month (2026-11) or empty for all time.
    """

    whose: Whose
    name: str
    unit: Unit
    period: str = ""


class MeterClaim(msgspec.Struct, frozen=True):
    """How much a call may take from a meter; `cap` is where the meter stops."""

    meter: Meter
    amount: float
    cap: float


class SpendCounters(Protocol):
    """Fast counters of what was spent; raises `CounterDown` when they cannot be reached."""

    async def take(self, claims: Sequence[MeterClaim]) -> MeterClaim | None:
        """Add every amount, or none of them: then returns the claim that has no room."""
        ...

    async def add(self, changes: Mapping[Meter, float]) -> None:
        """Correct meters by what a call really took; a change may be negative."""
        ...

    async def read(self, meters: Sequence[Meter]) -> tuple[float, ...]:
        """Return the current values of meters."""
        ...


class KillSwitch(msgspec.Struct, frozen=True, kw_only=True):
    """Whether every model call is stopped, since when, by whom and why."""

    is_on: bool
    at: float = 0.0
    by: str = ""
    reason: str = ""


class CallLine(msgspec.Struct, frozen=True, kw_only=True):
    """What `hermes why` shows of a call that is not a message: ids, names and numbers."""

    id: str
    at: float
    # Any: only ever printed, like the timeline of a message.
    data: dict[str, object]


class CostRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the cost report."""

    name: str
    calls: int
    cached_calls: int
    tokens_in: int
    tokens_out: int
    cached_in: int
    reasoning_out: int
    cost_usd: float
    unpriced_tokens: int
    assumed_usd: float


class SpendStore(Protocol):
    """The ledger of model calls, summed by day, person, agent, channel, key and model."""

    async def add(self, spent: Sequence[SpendEntry], *, lines: Sequence[CallLine] = ()) -> None:
        """Write calls that belong to no turn, and their data for `why`, in one unit."""
        ...

    async def total(self, meter: Meter) -> float:
        """Return a meter's value according to the ledger."""
        ...

    async def report(self, by: CostBy, *, first_day: str, last_day: str) -> tuple[CostRow, ...]:
        """Return what was spent on those days, the most expensive first."""
        ...

    async def kill_switch(self) -> KillSwitch:
        """Return the state of the kill switch."""
        ...

    async def set_kill_switch(self, switch: KillSwitch) -> None:
        """Turn the kill switch on or off."""
        ...
