"""Hands messages to the inbox; one rule for every channel while the inbox cannot take them.

The rule: wait and hand the same message in again, until it is kept or refused for good. Nothing that
came later overtakes it, and nothing is given up. A channel whose platform would not send the message
again wraps its `accept` in `patient`; one that fetches it again (a poll, a mailbox) pauses for
`pause_s` before it does.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from hermes.errors import HermesError, RateLimited, StoreError, StoreRejected, TryLater
from hermes.message.event import MessageEvent
from hermes.ports.channel import Accept, Acceptance

_SHORTEST_S: Final = 0.1
_LONGEST_S: Final = 30.0
_FIRST_S: Final = 1.0
# From here on the pause does not grow any more.
_MOST_DOUBLINGS: Final = 5

Sleep = Callable[[float], Awaitable[None]]


def is_passing(error: HermesError) -> bool:
    """Return True if the inbox may take the same message later.

    A sender with too many messages waiting is passed over: waiting would hold back everybody else.
    """
    if isinstance(error, StoreError):
        return not isinstance(error, StoreRejected)
    return isinstance(error, TryLater) and not isinstance(error, RateLimited)


def pause_s(error: HermesError, failures: int) -> float:
    """Return how long to wait after an error that is passing and that `failures` others preceded.

    The inbox says how long it is full; a database that fails is asked less and less often.
    """
    if isinstance(error, TryLater):
        return min(_LONGEST_S, max(_SHORTEST_S, error.retry_after))
    return min(_LONGEST_S, _FIRST_S * (1 << min(failures, _MOST_DOUBLINGS)))


def patient(accept: Accept, *, sleep: Sleep, on_wait: Callable[[HermesError], None]) -> Accept:
    """Return an `accept` that waits while the inbox cannot take a message, however long that is.

    It raises only what waiting would not help: `Refused`, `RateLimited`, `StoreRejected`.
    """

    async def keep(event: MessageEvent) -> Acceptance:
        failures = 0
        while True:
            try:
                return await accept(event)
            except HermesError as error:
                if not is_passing(error):
                    raise
                on_wait(error)
                seconds = pause_s(error, failures)
                failures += isinstance(error, StoreError)
            await sleep(seconds)

    return keep
