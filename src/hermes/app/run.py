"""`hermes up` without the command line: logs, signals, the loop and the exit code."""

import asyncio
import faulthandler
import gc
import sys
from collections.abc import Callable

import structlog
import uvloop

from hermes.app.gateway import Gateway
from hermes.app.process_signals import ProcessSignals
from hermes.config import Loaded
from hermes.config.process import Supervisor
from hermes.errors import HermesError
from hermes.ops.logs import Logs, plan_of, secrets_in, set_up
from hermes.ops.supervision import Notifier
from hermes.ops.watchdog import Watchdog
from hermes.ops.welcome import Welcome
from hermes.ports.clock import SystemClock
from hermes.server.listen import raise_open_files

_log = structlog.get_logger(__name__)


def run_gateway(
    loaded: Loaded,
    *,
    on_ready: Callable[[Welcome], None],
    supervisor: Supervisor | None = None,
) -> int:
    """Run a gateway until a signal ends it; returns the exit code.

    Ctrl-C, `hermes stop` and a takeover are planned and give 0; a restart and any other SIGTERM
    give 75, so that a supervisor starts it again.
    """
    settings = loaded.settings
    clock = SystemClock()
    logs = set_up(plan_of(settings.logs, loaded.home), secrets_in(settings), clock=clock)
    notifier = Notifier(supervisor or Supervisor(), monotonic=clock.monotonic)
    # What a crash of native code, or systemd's watchdog, leaves behind.
    faulthandler.enable()
    raise_open_files()
    try:
        return uvloop.run(_run(loaded, on_ready, logs=logs, notifier=notifier))
    finally:
        logs.close()


async def _run(
    loaded: Loaded, on_ready: Callable[[Welcome], None], *, logs: Logs, notifier: Notifier
) -> int:
    orders = ProcessSignals(on_terminal=sys.stdin is not None and sys.stdin.isatty())
    orders.listen()
    gateway = Gateway(loaded, hide=logs.hide, logs=logs, restart=orders.restart)
    gateway.hurry = orders.hurry
    watchdog = Watchdog(
        stall_s=loaded.settings.process.stall_s,
        monotonic=SystemClock().monotonic,
        pet=notifier.pet,
    )
    reloads: set[asyncio.Task[None]] = set()
    async with gateway:
        orders.take_marker = gateway.take_marker
        orders.reload = lambda: reloads.add(asyncio.create_task(_reload(gateway)))
        on_ready(await gateway.welcome())
        _set_aside_what_stays()
        notifier.ready()
        watchdog.start()
        gateway.ending = await orders.end()
        notifier.stopping()
    watchdog.stop()
    await asyncio.gather(*reloads)
    if gateway.cut_off:
        _log.warning("turns_cut_off", count=gateway.cut_off)
    return gateway.ending.exit_code


async def _reload(gateway: Gateway) -> None:
    """Carry a SIGHUP out; there is nobody to tell but the log."""
    try:
        await gateway.reload()
    except HermesError as error:
        _log.error("not_reloaded", problem=str(error))


def _set_aside_what_stays() -> None:
    """Spare the modules and the wiring from every later search for cycles."""
    gc.collect()
    gc.freeze()
