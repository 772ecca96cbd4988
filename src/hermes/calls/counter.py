"""Spend counters of this process, read from the ledger when they are first used.

The in-process implementation of counters that a fleet would share; losing them never resets a
limit.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from hermes.errors import CounterDown, StoreError
from hermes.ports.spend import Meter, MeterClaim

_MOST_METERS = 100_000


class LedgerCounter:
    """Implements `ports.spend.SpendCounters`; `total` reads a meter from the ledger."""

    def __init__(self, total: Callable[[Meter], Awaitable[float]]) -> None:
        self._total = total
        self._stands: dict[Meter, float] = {}

    async def take(self, claims: Sequence[MeterClaim]) -> MeterClaim | None:
        """Add all amounts or none; if one does not fit, return its claim."""
        if len(self._stands) >= _MOST_METERS:
            self._forget_what_is_over()
        totals = {claim.meter: await self._read(claim.meter) for claim in claims}
        # From here on nothing waits: two callers cannot both take what is left.
        for claim in claims:
            stands = self._stands.setdefault(claim.meter, totals[claim.meter])
            if stands + claim.amount > claim.cap:
                return claim
        for claim in claims:
            self._stands[claim.meter] += claim.amount
        return None

    async def add(self, changes: Mapping[Meter, float]) -> None:
        """Correct meters by what a call really used; meters not counted here stay so."""
        for meter, change in changes.items():
            if meter in self._stands:
                self._stands[meter] += change

    async def read(self, meters: Sequence[Meter]) -> tuple[float, ...]:
        """Return the values of meters."""
        return tuple([await self._read(meter) for meter in meters])

    async def _read(self, meter: Meter) -> float:
        stands = self._stands.get(meter)
        if stands is None:
            try:
                total = await self._total(meter)
            except StoreError as error:
                raise CounterDown(f"the ledger cannot be read: {error}") from error
            # Somebody else may have read it meanwhile, and taken from it.
            stands = self._stands.setdefault(meter, total)
        return stands

    def _forget_what_is_over(self) -> None:
        """Drop the meters of earlier months; permanent and current ones stay."""
        month = max((meter.period[:7] for meter in self._stands), default="")
        for old in [one for one in self._stands if one.period and one.period[:7] < month]:
            del self._stands[old]
