"""The circuit breaker of one model at one deployment: pure changes of its state, and the states of
this process.

A failing service is not called for a while, then by one trial call. A service that says when to come
back is believed, within limits. Requests can make a service fail, so the circuit that all people share
opens by failures of two of them; each has a circuit of their own beside it.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from hermes.config import BreakerSettings
from hermes.errors import AnswerTooLong, ProviderError, ProviderRejected, ProviderUnavailable
from hermes.ports.circuits import CLOSED, Circuit

_TOO_MANY = 429
_WRONG_KEY = 401
_MOST_CIRCUITS = 4096
_MOST_DOUBLINGS = 16


class MemoryCircuits:
    """Fits `CircuitStates` for one process."""

    def __init__(self) -> None:
        self._circuits: dict[str, Circuit] = {}

    def get(self, name: str) -> Circuit:
        """Return a circuit; one that nobody has changed is `CLOSED`."""
        return self._circuits.get(name, CLOSED)

    def swap(self, name: str, *, old: Circuit, new: Circuit) -> bool:
        """Replace a circuit if it is still `old`; return whether it was."""
        if self._circuits.get(name, CLOSED) != old:
            return False
        self._circuits.pop(name, None)
        if new != CLOSED:
            # Callers may name any model, so the circuits that are kept are limited.
            if len(self._circuits) >= _MOST_CIRCUITS:
                del self._circuits[next(iter(self._circuits))]
            self._circuits[name] = new
        return True

    def changed(self) -> Mapping[str, Circuit]:
        """Return every circuit that is not `CLOSED`."""
        return MappingProxyType(self._circuits)


def is_blocked(circuit: Circuit, now: float) -> bool:
    """Return True if no call may be made now."""
    if circuit.open_until is None:
        return False
    # Before it was opened: the clock was set back, which would keep it open for as long.
    return circuit.opened_at <= now < max(circuit.open_until, circuit.trial_until)


def free_at(circuit: Circuit, now: float, *, rules: BreakerSettings) -> float:
    """Return when the next call may be made; while a trial call runs, when it may have told more."""
    if circuit.open_until is not None and now < circuit.open_until:
        return circuit.open_until
    return min(circuit.trial_until, now + rules.open_s)


def on_trial(circuit: Circuit, now: float, *, trial_s: float) -> Circuit:
    """Return the state while the trial call of an open circuit runs."""
    return msgspec.structs.replace(circuit, trial_until=now + trial_s)


def after_trial(circuit: Circuit) -> Circuit:
    """Return the state after a trial call that said nothing about the service."""
    return msgspec.structs.replace(circuit, trial_until=0.0)


def counts(error: ProviderError, *, is_shared: bool) -> bool:
    """Return whether a failure is the deployment's: a request that is refused says nothing of it.

    A wrong key counts where another deployment may have a right one (`is_shared`).
    """
    if isinstance(error, AnswerTooLong):
        # Anybody can ask for that, and others are served all the same.
        return False
    if isinstance(error, ProviderRejected):
        return is_shared and error.status == _WRONG_KEY
    return True


def concerns_all(error: ProviderError) -> bool:
    """Return whether any other request would have failed, too: no connection, or a wrong key."""
    if error.status == _WRONG_KEY:
        return True
    return isinstance(error, ProviderUnavailable) and error.is_unreached


def after_failure(
    circuit: Circuit,
    now: float,
    *,
    error: ProviderError,
    trial: bool,
    rules: BreakerSettings,
    payer: str = "",
) -> Circuit:
    """Return the state after a failed call.

    While every failure in a row is of the same `payer`, the circuit stays as it is, and counts. Then
    nobody's failures count for more than half of those that open it.
    """
    wait = _asked_wait(error, rules, opened=circuit.opened)
    if circuit.open_until is not None and not trial and wait is None:
        return circuit  # the call had started before it was opened, and says nothing new
    failures, causes = circuit.failures + 1, _with_cause(circuit.causes, payer)
    if payer and all(one == payer for one, _ in causes):
        return msgspec.structs.replace(circuit, failures=failures, causes=causes, trial_until=0.0)
    if wait is None and not trial and _counted(causes, rules) < rules.failures:
        return msgspec.structs.replace(circuit, failures=failures, causes=causes)
    return Circuit(
        failures=failures,
        causes=(("", failures),),
        opened=circuit.opened + 1,
        opened_at=now,
        open_until=now + (_doubled(rules.open_s, circuit, rules) if wait is None else wait),
        reason=str(error),
        status=error.status,
    )


def _with_cause(causes: tuple[tuple[str, int], ...], payer: str) -> tuple[tuple[str, int], ...]:
    made = dict(causes)
    made[payer] = made.get(payer, 0) + 1
    return tuple(made.items())


def _counted(causes: tuple[tuple[str, int], ...], rules: BreakerSettings) -> int:
    most = -(-rules.failures // 2)
    return sum(min(made, most) if payer else made for payer, made in causes)


def after_success(circuit: Circuit, *, trial: bool) -> Circuit:
    """Return the state after an answer; one that began before the circuit opened does not close it."""
    return CLOSED if trial or circuit.open_until is None else circuit


def resting(circuit: Circuit, now: float, *, rest_s: float, rules: BreakerSettings) -> Circuit:
    """Return the state after an answer whose service says that it was the last one for a while."""
    until = now + min(rest_s, rules.most_open_s)
    if circuit.open_until is not None and circuit.open_until >= until:
        return circuit
    return Circuit(
        opened_at=now,
        open_until=until,
        reason="the service says that its rate limit is used up",
        status=_TOO_MANY,
    )


def _asked_wait(error: ProviderError, rules: BreakerSettings, *, opened: int) -> float | None:
    """Return how long a service wants to be left alone, or None if it does not say so."""
    if not isinstance(error, ProviderUnavailable):
        return rules.open_s if error.status == _WRONG_KEY else None
    if error.retry_after is not None:
        return min(error.retry_after, rules.most_open_s)
    if error.status == _TOO_MANY:
        wait: float = rules.rate_limit_s * 2 ** min(opened, _MOST_DOUBLINGS)
        return min(wait, rules.most_open_s)
    return None


def _doubled(seconds: float, circuit: Circuit, rules: BreakerSettings) -> float:
    doubled: float = seconds * 2 ** min(circuit.opened, _MOST_DOUBLINGS)
    return min(doubled, rules.most_open_s)
