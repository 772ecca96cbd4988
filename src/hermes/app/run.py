"""`hermes up` without the command line: logs, signals, the loop and the exit code."""

import asyncio
import faulthandler
import gc
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

import msgspec
import structlog
import uvloop

from hermes.app.gateway import Gateway
from hermes.app.run_state import EXIT_RESTART, ShutdownCause
from hermes.config import LoadedConfig
from hermes.config.machine import Supervisor
from hermes.errors import ConfigurationError, Conflict, HermesError
from hermes.net.open_files import raise_open_files
from hermes.ops.instance import Wanted
from hermes.ops.logs import Logs, plan_of, secrets_in, set_up
from hermes.ops.supervision import Notifier
from hermes.ops.watchdog import Watchdog
from hermes.ops.welcome import Welcome
from hermes.ports.clock import SystemClock

_log = structlog.get_logger(__name__)


class GatewayExit(msgspec.Struct, frozen=True, kw_only=True):
    """How a gateway ended: the exit code, or the lock with which the process starts another one."""

    code: int
    kept_lock: int | None = None


def run_gateway(
    loaded: LoadedConfig,
    *,
    on_ready: Callable[[Welcome], None],
    supervisor: Supervisor | None = None,
    inherited_lock: int | None = None,
) -> GatewayExit:
    """Run a gateway until a signal ends it; return how it ended.

    Ctrl-C, `hermes stop` and a takeover are planned and give 0; a restart and any other SIGTERM
    give 75, so that a supervisor starts it again. Without a supervisor, a restart keeps the lock of
    the home open for the gateway that the caller starts next, in the same process.
    """
    settings = loaded.settings
    clock = SystemClock()
    logs = set_up(plan_of(settings.logs, loaded.home), secrets_in(settings), clock=clock)
    notifier = Notifier(supervisor or Supervisor(), monotonic=clock.monotonic)
    # The stack traces of a crash in native code or of systemd's watchdog.
    faulthandler.enable()
    raise_open_files()
    try:
        return uvloop.run(
            _run(
                loaded,
                on_ready,
                logs=logs,
                notifier=notifier,
                replaces=_replaces(settings.process.restart, supervisor),
                inherited_lock=inherited_lock,
            )
        )
    finally:
        logs.close()


def _replaces(wanted: Literal["auto", "replace", "exit"], supervisor: Supervisor | None) -> bool:
    """Return whether a restart replaces the process, rather than leaving it to a supervisor."""
    is_supervised = supervisor is not None and supervisor.restarts
    return not is_supervised if wanted == "auto" else wanted == "replace"


async def _run(
    loaded: LoadedConfig,
    on_ready: Callable[[Welcome], None],
    *,
    logs: Logs,
    notifier: Notifier,
    replaces: bool,
    inherited_lock: int | None,
) -> GatewayExit:
    request = EndRequest(replaces=replaces, check=loaded.reread)
    gateway = Gateway(
        loaded,
        hide=logs.hide,
        logs=logs,
        restart=request.restart,
        hurry=request.hurry,
        inherited_lock=inherited_lock,
    )

    def stop_instead(ending: ShutdownCause) -> None:
        gateway.ending = ending

    request.on_stop_instead = stop_instead
    reloads: set[asyncio.Task[None]] = set()

    def reload() -> None:
        if gateway.is_running:
            task = asyncio.create_task(_reload(gateway))
            reloads.add(task)
            task.add_done_callback(reloads.discard)

    signals = ProcessSignals(
        request,
        on_terminal=sys.stdin is not None and sys.stdin.isatty(),
        take_marker=gateway.take_marker,
        reload=reload,
    )
    signals.listen()
    watchdog = Watchdog(
        stall_s=loaded.settings.process.stall_s,
        monotonic=SystemClock().monotonic,
        pet=notifier.pet,
    )
    async with gateway:
        on_ready(await gateway.welcome())
        _set_aside_what_stays()
        notifier.ready()
        watchdog.start()
        gateway.ending = await request.wait()
        notifier.stopping()
    watchdog.stop()
    await asyncio.gather(*reloads)
    if gateway.cut_off:
        _log.warning("turns_cut_off", count=gateway.cut_off)
    return GatewayExit(code=gateway.ending.exit_code, kept_lock=gateway.kept_lock)


async def _reload(gateway: Gateway) -> None:
    """Run the reload of a SIGHUP; only the log reports it."""
    try:
        await gateway.reload()
    except HermesError as error:
        _log.error("not_reloaded", problem=str(error))
    # Boundary of one reload: whatever broke, the gateway goes on and its exit code is its own.
    except Exception:  # noqa: BLE001
        _log.exception("not_reloaded")


def _set_aside_what_stays() -> None:
    """Exempt modules and wiring from later garbage collections."""
    gc.collect()
    gc.freeze()


_WOULD_NOT_START = (
    "I do not restart: the configuration has a problem now, and I would not start again.\n{}"
)
_MOST_PROBLEM_CHARS = 2000
_REASONS: dict[Wanted, str] = {
    "stop": "hermes stop asked for it",
    "takeover": "another gateway takes over (hermes up --replace)",
}


class EndRequest:
    """The request to end a gateway: only the first counts; a second one sets `hurry`.

    One exception: whoever stops a gateway that is about to replace itself means the next one, too.
    `check` raises `ConfigurationError` if a gateway could not start now: then it does not restart.
    """

    def __init__(
        self, *, replaces: bool = False, check: Callable[[], object] | None = None
    ) -> None:
        self._ending: asyncio.Future[ShutdownCause] = asyncio.get_running_loop().create_future()
        self._replaces = replaces
        self._check = check
        self._instead: ShutdownCause | None = None
        self.hurry = asyncio.Event()
        self.on_stop_instead: Callable[[ShutdownCause], None] = _ignore

    def make(self, ending: ShutdownCause) -> bool:
        """Request the end; return False if it was already requested."""
        if self._ending.done():
            return False
        self._ending.set_result(ending)
        return True

    def restart(self, reason: str, *, by_signal: str | None = None) -> bool:
        """Accept a request to restart; raise `Conflict` if the next gateway would not start."""
        if self.is_made:
            return True
        self._check_start()
        ending = ShutdownCause(
            reason=reason, exit_code=EXIT_RESTART, signal=by_signal, replaces=self._replaces
        )
        self.make(ending)
        _log.info("restarting", reason=reason)
        return True

    def _check_start(self) -> None:
        try:
            if self._check is not None:
                self._check()
        except ConfigurationError as error:
            _log.error("not_restarting", problem=str(error))
            problem = str(error)[:_MOST_PROBLEM_CHARS]
            raise Conflict(_WOULD_NOT_START.format(problem)) from error

    def stop_instead(self, ending: ShutdownCause) -> None:
        """End the process after all if it is about to replace itself."""
        if self._ending.done() and self._ending.result().replaces:
            self._instead = ending
            self.on_stop_instead(ending)

    @property
    def is_made(self) -> bool:
        """Whether an end was asked for."""
        return self._ending.done()

    async def wait(self) -> ShutdownCause:
        """Wait for the request to end."""
        ending = await self._ending
        return self._instead or ending


class ProcessSignals:
    """Turns signals into requests."""

    def __init__(
        self,
        request: EndRequest,
        *,
        on_terminal: bool,
        take_marker: Callable[[], Wanted | None],
        reload: Callable[[], None],
    ) -> None:
        self._request = request
        self._on_terminal = on_terminal
        self._take_marker = take_marker
        self._reload = reload

    def listen(self) -> None:
        """Handle signals from now on."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
            loop.add_signal_handler(number, self.received, number)

    def received(self, number: signal.Signals) -> None:
        """Handle one signal."""
        if number is signal.SIGHUP and not self._on_terminal:
            if not self._request.is_made:
                self._reload()
            return
        if number is signal.SIGUSR1 and not self._request.is_made:
            # What would not start again stays as it is; the log says why.
            with suppress(Conflict):
                self._request.restart("a restart was asked for", by_signal=number.name)
            return
        wanted = self._take_marker() if number is signal.SIGTERM else None
        ending = _ending(number, wanted)
        if self._request.make(ending):
            _log.info("stopping", signal=number.name, wanted=wanted)
            return
        if number is not signal.SIGUSR1:
            self._request.stop_instead(ending)
        if wanted is None:
            # A planned signal comes from a command that only waits.
            _log.warning("hurrying", signal=number.name)
            self._request.hurry.set()


def _ignore(_ending: ShutdownCause) -> None:
    """Nothing runs yet that could replace itself."""


def _ending(number: signal.Signals, wanted: Wanted | None) -> ShutdownCause:
    if number in (signal.SIGINT, signal.SIGHUP):
        return ShutdownCause(reason="its terminal ended it", signal=number.name)
    if wanted is not None:
        return ShutdownCause(reason=_REASONS[wanted], signal=number.name)
    return ShutdownCause(
        reason="a signal that nobody announced",
        exit_code=EXIT_RESTART,
        signal=number.name,
        is_expected=False,
    )
