"""`hermes up` without the command line: logs, signals, the loop and the exit code."""

import asyncio
import gc
import signal
from collections.abc import Callable

import structlog
import uvloop

from hermes.app.gateway import Gateway
from hermes.config import Loaded
from hermes.ops.logs import plan_of, secrets_in, set_up
from hermes.ops.welcome import Welcome
from hermes.ports.clock import SystemClock

EXIT_PLANNED = 0
EXIT_RESTART = 75
_log = structlog.get_logger(__name__)


def run_gateway(loaded: Loaded, *, on_ready: Callable[[Welcome], None]) -> int:
    """Run a gateway until a signal ends it; returns the exit code.

    Ctrl-C and `hermes stop` are planned and give 0; any other SIGTERM gives 75, so that a
    supervisor starts it again.
    """
    settings = loaded.settings
    logs = set_up(plan_of(settings.logs, loaded.home), secrets_in(settings), clock=SystemClock())
    try:
        return uvloop.run(_run(loaded, on_ready))
    finally:
        logs.close()


async def _run(loaded: Loaded, on_ready: Callable[[Welcome], None]) -> int:
    stop: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()
    _listen_for_signals(stop)
    async with Gateway(loaded) as gateway:
        on_ready(await gateway.welcome())
        _set_aside_what_stays()
        received = await stop
        _log.info("stopping", signal=received.name)
        is_planned = received is signal.SIGINT or gateway.planned_stop()
    if gateway.cut_off:
        _log.warning("turns_cut_off", count=gateway.cut_off)
    return EXIT_PLANNED if is_planned else EXIT_RESTART


def _set_aside_what_stays() -> None:
    """Spare the modules and the wiring from every later search for cycles."""
    gc.collect()
    gc.freeze()


def _listen_for_signals(stop: "asyncio.Future[signal.Signals]") -> None:
    loop = asyncio.get_running_loop()

    def received(number: signal.Signals) -> None:
        if not stop.done():
            stop.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, received, number)
