"""The states of the circuit breakers of model services, behind a port so that processes can share them.

Every model of every deployment has a circuit of its own. Reads are answered from memory: an
implementation that several processes share keeps a copy here, and `swap` decides between them.
"""

from collections.abc import Mapping
from typing import Final, Protocol

import msgspec


class Circuit(msgspec.Struct, frozen=True, kw_only=True):
    """How the calls to one model of a deployment went lately; times are seconds since 1970.

    `failures` is how many calls in a row have failed, `causes` how many of them each person made (the
    name is empty if it does not matter who), and `opened` how often in a row it was opened.
    Closed while `open_until` is None; after that time one trial call may pass, which counts as
    lost at `trial_until`. `reason` and `status` are why it was opened.
    """

    failures: int = 0
    causes: tuple[tuple[str, int], ...] = ()
    opened: int = 0
    opened_at: float = 0.0
    open_until: float | None = None
    trial_until: float = 0.0
    reason: str = ""
    status: int | None = None


CLOSED: Final = Circuit()


class CircuitStates(Protocol):
    """Keeps circuits by the name of their deployment and model."""

    def get(self, name: str) -> Circuit:
        """Return a circuit; one that nobody has changed is `CLOSED`."""
        ...

    def swap(self, name: str, *, old: Circuit, new: Circuit) -> bool:
        """Replace a circuit if it is still `old`; return whether it was."""
        ...

    def changed(self) -> Mapping[str, Circuit]:
        """Return every circuit that is not `CLOSED`."""
        ...
