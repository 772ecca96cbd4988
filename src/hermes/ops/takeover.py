"""`hermes up --replace`: the running gateway finishes its turns and hands over its home.

The home belongs to the old process until it has ended; only then does the new one take the lock.
"""

import signal
from collections.abc import Callable
from pathlib import Path

from hermes.ops.instance import find_running, request_stop
from hermes.ports.clock import Clock

_GRACE_S = 15.0
_KILLED_S = 10.0

Tell = Callable[[str], None]


def take_over(
    home: Path, *, drain_s: float, clock: Clock, tell: Tell, grace_s: float = _GRACE_S
) -> None:
    """Return once no gateway runs in `home`; kill one that does not end.

    It has the drain time and a little more. Its turns lose nothing by being cut off: they continue
    in the new process.
    """
    running = find_running(home)
    if running is None:
        return
    pid = running.identity.pid
    tell(f"taking over from pid {pid}; it finishes its running turns first")
    handle = request_stop(home, running, now=clock.now(), wanted="takeover")
    try:
        if handle.wait(drain_s + grace_s, monotonic=clock.monotonic):
            return
        tell("it did not end in time; its running turns are cut off now and resume afterwards")
        handle.signal(signal.SIGTERM)
        if handle.wait(grace_s, monotonic=clock.monotonic):
            return
        tell("it does not respond; killing it")
        handle.signal(signal.SIGKILL)
        handle.wait(_KILLED_S, monotonic=clock.monotonic)
    finally:
        handle.close()
