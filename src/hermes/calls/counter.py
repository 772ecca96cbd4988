"""Counters in this process, read off the ledger when they are first asked for.

The twin of counters that a fleet shares; losing them never resets a limit.
"""

from collections.abc import Callable, Mapping, Sequence

from hermes.errors import CounterDown, StoreError
from hermes.ports.spend import Meter, MeterClaim

_MOST_METERS = 100_000


class LedgerCounter:
    """Fits `ports.spend.Counter`; `total` is the ledger's word on a meter."""

    def __init__(self, total: Callable[[Meter], float]) -> None:
        self._total = total
        self._stands: dict[Meter, float] = {}

    async def take(self, claims: Sequence[MeterClaim]) -> MeterClaim | None:
        """Add every amount, or none of them: then returns the claim that has no room."""
        if len(self._stands) >= _MOST_METERS:
            self._forget_what_is_over()
        for claim in claims:
            if self._read(claim.meter) + claim.amount > claim.cap:
                return claim
        for claim in claims:
            self._stands[claim.meter] += claim.amount
        return None

    async def add(self, changes: Mapping[Meter, float]) -> None:
        """Correct meters by what a call really took; one that is not counted stays so."""
        for meter, change in changes.items():
            if meter in self._stands:
                self._stands[meter] += change

    async def read(self, meters: Sequence[Meter]) -> tuple[float, ...]:
        """Return where meters stand."""
        return tuple(self._read(meter) for meter in meters)

    def _read(self, meter: Meter) -> float:
        stands = self._stands.get(meter)
        if stands is None:
            try:
                stands = self._stands[meter] = self._total(meter)
            except StoreError as error:
                raise CounterDown(f"the ledger cannot be read: {error}") from error
        return stands

    def _forget_what_is_over(self) -> None:
        """Drop the meters of earlier months; what counts for ever or now stays."""
        month = max((meter.period[:7] for meter in self._stands), default="")
        for old in [one for one in self._stands if one.period and one.period[:7] < month]:
            del self._stands[old]
