"""Alerts: collects cases from any thread, reports each once per window, and sends it on.

Off every hot path: reporting a case is one append. One task stores alerts, logs them and sends
them; an alert that cannot be sent is retried a few times and stays listed.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import structlog

from hermes.errors import HermesError
from hermes.message.ids import MakeId
from hermes.ops.alert_book import AlertBook
from hermes.ops.alert_rules import AlertCase, Severity, told_by
from hermes.ops.alert_sinks import Sink
from hermes.ops.alert_windows import Alert, Windows
from hermes.ports.clock import Clock

_log = structlog.get_logger(__name__)
_MOST_WAITING = 1_000
_LOOK_S = 30.0
_PAUSES_S = (1.0, 5.0, 30.0)
_LAST_WORDS_S = 5.0
Sleep = Callable[[float], Awaitable[None]]
Checks = Callable[[], Iterable[AlertCase]]


def _no_checks() -> Iterable[AlertCase]:
    return ()


class AlertCases:
    """Collects cases that need an operator, from any thread, until `Alerts` processes them."""

    def __init__(self) -> None:
        self.waiting: deque[AlertCase] = deque(maxlen=_MOST_WAITING)
        self.bell = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    # Any: log fields hold whatever the caller logged.
    def hear(self, fields: Mapping[str, Any]) -> None:
        """Take a log line; most are not alerts."""
        told = told_by(fields)
        if told is not None:
            self.tell(told)

    def tell(self, told: AlertCase) -> None:
        """Add a case that needs an operator; from any thread."""
        self.waiting.append(told)
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self.bell.set)

    def ring_in(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Set the loop to wake up for new cases, or None."""
        self._loop = loop


class Alerts:
    """The alerts of one gateway; `checks` run now and then."""

    def __init__(
        self,
        cases: AlertCases,
        book: AlertBook,
        *,
        sinks: Sequence[Sink] = (),
        checks: Checks = _no_checks,
        window_s: float,
        least: Severity,
        clock: Clock,
        make_id: MakeId,
        mask: Callable[[str], str] = str,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._book = book
        self._mask = mask
        self._least = least
        self._clock = clock
        self._sleep = sleep
        self._windows = Windows(window_s, make_id=make_id)
        self._cases = cases
        self._sinks = sinks
        self._checks = checks
        self._task: asyncio.Task[None] | None = None
        self._sending: set[asyncio.Task[None]] = set()
        self.counts: Counter[str] = Counter()

    def start(self) -> None:
        """Start processing cases."""
        self._cases.ring_in(asyncio.get_running_loop())
        self._task = asyncio.create_task(self._run(), name="alerts")

    async def stop(self) -> None:
        """Send what was not sent yet, for a few seconds at most."""
        if self._task is None:
            return
        self._cases.ring_in(None)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None
        self.look()
        if self._sending:
            await asyncio.wait(self._sending, timeout=_LAST_WORDS_S)
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        self._book.close()

    async def _run(self) -> None:
        while True:
            try:
                for told in self._checks():
                    self._cases.waiting.append(told)
                self.look()
            except Exception as error:  # noqa: BLE001  boundary: alerts outlive any failure of one look
                _log.warning("alerts_failed", error=f"{type(error).__name__}: {error}")
            await self._wait()

    async def _wait(self) -> None:
        bell = asyncio.ensure_future(self._cases.bell.wait())
        nap = asyncio.ensure_future(self._sleep(self._pause()))
        try:
            await asyncio.wait({bell, nap}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in (bell, nap):
                waiting.cancel()
            await asyncio.gather(bell, nap, return_exceptions=True)
        self._cases.bell.clear()

    def _pause(self) -> float:
        end = self._windows.next_end()
        return _LOOK_S if end is None else max(0.05, min(_LOOK_S, end - self._clock.monotonic()))

    def look(self) -> None:
        """Process new cases, and the counts of windows that are over."""
        now = self._clock.monotonic()
        for alert in self._windows.due(now):
            self._publish(alert)
        while self._cases.waiting:
            first = self._windows.take(self._cases.waiting.popleft(), now)
            if first is not None:
                self._publish(first)

    def _publish(self, alert: Alert) -> None:
        alert = _written(alert, self._mask(alert.text), at=self._clock.now())
        self.counts[alert.kind] += 1
        log = _log.error if alert.severity == "critical" else _log.warning
        log("alert", kind=alert.kind, about=alert.about, count=alert.count, text=alert.text)
        try:
            self._book.add(alert)
        except OSError as error:
            _log.warning("alert_not_kept", alert=alert.id, problem=str(error))
        if alert.severity == "warning" and self._least == "critical":
            return
        for sink in self._sinks:
            task = asyncio.create_task(self._send(sink, alert), name=f"alert {alert.id}")
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _send(self, sink: Sink, alert: Alert) -> None:
        for pause in (*_PAUSES_S, None):
            try:
                await sink(alert)
            except HermesError as error:
                _log.warning("alert_not_sent", alert=alert.id, problem=str(error))
                if pause is not None:
                    await self._sleep(pause)
            except Exception as error:  # noqa: BLE001  boundary: one sink, one alert
                _log.warning("alert_not_sent", alert=alert.id, error=type(error).__name__)
                return
            else:
                return


def _written(alert: Alert, text: str, *, at: float) -> Alert:
    """Windows use monotonic time; people read the clock."""
    return Alert(
        id=alert.id,
        at=at,
        kind=alert.kind,
        severity=alert.severity,
        text=text,
        about=alert.about,
        count=alert.count,
    )
