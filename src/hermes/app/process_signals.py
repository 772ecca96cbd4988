"""What a running gateway is told by signals and by `/restart`: end, hurry, restart or reload."""

import asyncio
import signal
from collections.abc import Callable

import structlog

from hermes.app.run_state import EXIT_RESTART, Ending
from hermes.ops.instance import Wanted

_log = structlog.get_logger(__name__)
_REASONS: dict[Wanted, str] = {
    "stop": "hermes stop asked for it",
    "takeover": "another gateway takes over (hermes up --replace)",
}


class ProcessSignals:
    """Collects what comes; the first order to end counts, a second one hurries."""

    def __init__(self, *, on_terminal: bool) -> None:
        self._ending: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._on_terminal = on_terminal
        self.hurry = asyncio.Event()
        self.take_marker: Callable[[], Wanted | None] = lambda: None
        self.reload: Callable[[], None] = lambda: None

    def listen(self) -> None:
        """Take signals from now on."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
            loop.add_signal_handler(number, self.received, number)

    def received(self, number: signal.Signals) -> None:
        """Take one signal."""
        if number is signal.SIGHUP and not self._on_terminal:
            self.reload()
            return
        wanted = self.take_marker() if number is signal.SIGTERM else None
        if not self._ending.done():
            _log.info("stopping", signal=number.name, wanted=wanted)
            self._ending.set_result(_ending(number, wanted))
        elif wanted is None:
            # A marked one comes from a command that only waits, too.
            _log.warning("hurrying", signal=number.name)
            self.hurry.set()

    def restart(self, reason: str) -> bool:
        """Take a request to restart."""
        if not self._ending.done():
            _log.info("restarting", reason=reason)
            self._ending.set_result(Ending(reason=reason, exit_code=EXIT_RESTART))
        return True

    async def end(self) -> Ending:
        """Wait for the order to end."""
        return await self._ending


def _ending(number: signal.Signals, wanted: Wanted | None) -> Ending:
    if number is signal.SIGUSR1:
        return Ending(reason="a restart was asked for", exit_code=EXIT_RESTART, signal=number.name)
    if number in (signal.SIGINT, signal.SIGHUP):
        return Ending(reason="its terminal ended it", signal=number.name)
    if wanted is not None:
        return Ending(reason=_REASONS[wanted], signal=number.name)
    return Ending(
        reason="a signal that nobody announced",
        exit_code=EXIT_RESTART,
        signal=number.name,
        is_expected=False,
    )
