"""Metrics, traces and alerts of a gateway, connected to what they watch."""

import os
import resource
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from hermes import __version__
from hermes.app.core import Core
from hermes.app.lifecycle import Component
from hermes.app.store_files import DATABASE
from hermes.config import Settings
from hermes.errors import StoreError
from hermes.message.ids import MakeId, make_id
from hermes.net.client import HttpClient
from hermes.ops.alert_book import AlertBook
from hermes.ops.alert_rules import AlertCase
from hermes.ops.alert_sinks import Sink, chats, webhook
from hermes.ops.alerts import AlertCases, Alerts
from hermes.ops.gateway_metrics import GatewayMetrics
from hermes.ops.logs import Logs
from hermes.ops.metrics import Metric, MetricReader, Reading
from hermes.ops.otel_export import OtelExport, TraceExportPlan
from hermes.ops.otel_spans import SpanMaker
from hermes.ops.turn_observer import TurnObserver
from hermes.ports.clock import Clock
from hermes.ports.sends import Courier
from hermes.ports.spend import Meter
from hermes.ports.store import Store

Count = Callable[[], float]
# Callers may name any model: what they can make fail must not make the metrics grow.
_MOST_RESTING = 64
# The person who owns the deliveries of alerts.
_SENDER = ("hermes", "alerts")


class Observability(msgspec.Struct, frozen=True, kw_only=True):
    """The observers of a gateway."""

    metrics: GatewayMetrics
    cases: AlertCases
    export: OtelExport | None
    observer: TurnObserver

    def components(self, alerts: Alerts) -> tuple[Component, ...]:
        """Return the parts with a lifecycle; their stop sends what is queued, for a few seconds."""
        told = Component(name="alerts", start=alerts.start, stop=alerts.stop)
        export = self.export
        if export is None:
            return (told,)
        return (told, Component(name="traces", start=export.start, stop=export.stop))


def make_observing(
    settings: Settings,
    store: Store,
    *,
    client: HttpClient,
    clock: Clock,
    cases: AlertCases,
    logs: Logs | None = None,
) -> Observability:
    """Return the observers of a gateway; without logs only failed turns become alerts."""
    metrics = GatewayMetrics()
    if logs is not None:
        metrics.include(
            _counter("log_lines_lost", "Log lines that could not be written.", lambda: logs.lost)
        )
    export = _export(settings, store, client=client)
    observer = TurnObserver(metrics, cases, export=export, clock=clock)
    return Observability(metrics=metrics, cases=cases, export=export, observer=observer)


def keep_alerts(
    cases: AlertCases, home: Path, settings: Settings, *, clock: Clock, mask: Callable[[str], str]
) -> None:
    """Store the alerts of a start that failed, which nothing can send any more."""
    book = AlertBook(home)
    alerts = Alerts(
        cases,
        book,
        window_s=settings.alerts.window_s,
        least=settings.alerts.least,
        clock=clock,
        make_id=make_id,
        mask=mask,
    )
    alerts.look()
    book.close()


def watch_core(
    observing: Observability,
    core: Core,
    *,
    settings: Settings,
    home: Path,
    client: HttpClient,
    clock: Clock,
    make_id: MakeId,
    mask: Callable[[str], str],
    started_at: float,
) -> Alerts:
    """Add the readers of a core; return the alerts, which are sent through it."""
    metrics = observing.metrics
    alerts = Alerts(
        observing.cases,
        AlertBook(home),
        sinks=_sinks(settings, core, client=client, courier=core.courier, clock=clock),
        checks=lambda: _checks(core.store),
        window_s=settings.alerts.window_s,
        least=settings.alerts.least,
        clock=clock,
        make_id=make_id,
        mask=mask,
    )
    metrics.include(
        *_core_readers(core, settings, clock=clock),
        *store_readers(home / DATABASE, core.store),
        *process_readers(started_at),
        MetricReader(
            "alerts",
            "Alerts that were reported.",
            labels=("kind",),
            read=lambda: [((kind,), count) for kind, count in alerts.counts.items()],
            kind="counter",
        ),
    )
    export = observing.export
    if export is not None:
        metrics.include(
            MetricReader(
                "otel_spans",
                "Spans by their outcome.",
                labels=("result",),
                read=lambda: [((name,), count) for name, count in export.counts.items()],
                kind="counter",
            )
        )
    return alerts


def _sinks(
    settings: Settings, core: Core, *, client: HttpClient, courier: Courier, clock: Clock
) -> list[Sink]:
    chosen = settings.alerts

    async def sender() -> str:
        return await core.store.users.add(*_SENDER, name="alerts of Hermes", at=clock.now())

    return [
        *(webhook(client, one.get_secret_value(), style=chosen.format) for one in chosen.webhooks),
        *chats(courier, chosen.to, sender=sender),
    ]


def _checks(store: Store) -> Iterable[AlertCase]:
    problem = store.writable()
    if problem is not None:
        yield AlertCase(kind="store_failing", severity="critical", text=f"The store: {problem}")


def _export(settings: Settings, store: Store, *, client: HttpClient) -> OtelExport | None:
    otel = settings.otel
    if otel.endpoint is None:
        return None
    kinds = {name: table.kind for name, table in settings.providers.items()}
    plan = TraceExportPlan(
        endpoint=otel.endpoint,
        headers={name: secret.get_secret_value() for name, secret in otel.headers.items()},
        resource={
            "service.name": otel.service_name,
            "service.version": __version__,
            "telemetry.sdk.name": "hermes",
            "telemetry.sdk.language": "python",
            "telemetry.sdk.version": __version__,
        },
        version=__version__,
        queue=otel.queue,
        every_s=otel.every_s,
    )
    return OtelExport(
        plan, SpanMaker(store.digest, kinds=kinds, content=otel.content), client=client
    )


def _core_readers(core: Core, settings: Settings, *, clock: Clock) -> list[Metric]:
    recall, store = core.memory.recall, core.store
    limits = (
        (("inbox",), settings.inbox.max_waiting),
        (("outbox",), settings.outbox.max_waiting),
    )
    by_queue = ("queue",)

    def counted(name: str, text: str) -> MetricReader:
        return _counter(name, text, lambda: recall.counts[name])

    return [
        counted("semantic_recall_used", "Messages for which facts were looked up."),
        counted("semantic_recall_skipped_trivial", "Messages too trivial to look up facts for."),
        MetricReader(
            "queue_waiting",
            "Messages and replies that wait.",
            labels=by_queue,
            read=lambda: _waiting(store),
        ),
        MetricReader(
            "queue_limit",
            "The queue length at which new messages are refused.",
            labels=by_queue,
            read=lambda: limits,
        ),
        MetricReader(
            "turns_running", "Turns running now.", read=lambda: [((), core.lanes.running())]
        ),
        *_breaker_readers(core),
        MetricReader(
            "budget_spent_usd",
            "What the calls of today cost, as budgets count it.",
            labels=("budget",),
            read=lambda: _spent(core, clock),
        ),
        MetricReader(
            "budget_limit_usd",
            "What they may cost; absent if there is no limit.",
            labels=("budget",),
            read=lambda: _limits(settings),
        ),
        MetricReader(
            "kill_switch", "Whether all model calls are stopped.", read=lambda: _switch(store)
        ),
    ]


def _breaker_readers(core: Core) -> list[Metric]:
    return [
        MetricReader(
            "breaker_open",
            "Whether sending to a platform is paused because it kept failing.",
            labels=("platform",),
            read=lambda: _breakers(core),
        ),
        MetricReader(
            "model_resting",
            "Whether a model of a deployment is left alone because it failed; absent if not.",
            labels=("backend", "deployment"),
            read=lambda: _resting(core),
        ),
    ]


def _counter(name: str, text: str, count: Count) -> MetricReader:
    return MetricReader(name, text, read=lambda: [((), count())], kind="counter")


def _breakers(core: Core) -> Reading:
    return [
        ((name,), float(sender.breaker.open_until is not None))
        for name, sender in core.push.senders.items()
    ]


def _resting(core: Core) -> Reading:
    resting = [one for one in core.models.deployments.resting() if not one.people]
    return [
        ((f"{one.provider}:{one.model}", one.deployment), 1.0) for one in resting[:_MOST_RESTING]
    ]


async def _waiting(store: Store) -> Reading:
    return [(("inbox",), store.inbox.waiting()), (("outbox",), await store.outbox.waiting())]


async def _spent(core: Core, clock: Clock) -> Reading:
    day = core.models.calendar.day(clock.now())
    spent = await core.store.spend.total(Meter("platform", "", "usd", day))
    return [(("platform_day",), spent)]


def _limits(settings: Settings) -> Reading:
    limit = settings.budgets.platform_day_usd
    return [] if limit is None else [(("platform_day",), limit)]


async def _switch(store: Store) -> Reading:
    try:
        return [((), float((await store.spend.kill_switch()).is_on))]
    except StoreError:
        # If it cannot be read, it counts as on: the budgets do the same.
        return [((), 1.0)]


def process_readers(started_at: float) -> list[Metric]:
    """Return the readers of this process, by the names that Prometheus' own clients use."""
    return [
        MetricReader(
            "hermes_info",
            "The running version.",
            labels=("version",),
            read=lambda: [((__version__,), 1.0)],
        ),
        MetricReader(
            "process_start_time_seconds",
            "When the gateway started, in seconds since 1970.",
            read=lambda: [((), started_at)],
        ),
        MetricReader(
            "process_cpu_seconds_total",
            "CPU seconds that the process used.",
            read=lambda: [((), sum(os.times()[:2]))],
            kind="counter",
        ),
        MetricReader(
            "process_resident_memory_bytes", "Memory that the process uses.", read=_resident
        ),
        MetricReader("process_open_fds", "Files and connections that are open.", read=_open_files),
    ]


def store_readers(database: Path, store: Store) -> list[Metric]:
    """Return the readers of the database and its disk."""
    return [
        MetricReader("store_bytes", "Size of the database.", read=lambda: [((), _size(database))]),
        MetricReader(
            "store_free_bytes",
            "Free space on the disk of the database.",
            read=lambda: [((), float(shutil.disk_usage(database.parent).free))],
        ),
        MetricReader(
            "store_writable",
            "Whether the database accepts new messages.",
            read=lambda: [((), float(store.writable() is None))],
        ),
    ]


def _resident() -> Reading:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        # No /proc: only the peak value is known.
        return [((), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0)]
    return [((), float(pages * resource.getpagesize()))]


def _open_files() -> Reading:
    try:
        return [((), float(sum(1 for _ in Path("/proc/self/fd").iterdir())))]
    except OSError:
        return []


def _size(database: Path) -> float:
    files = (database, database.with_name(f"{database.name}-wal"))
    return float(sum(file.stat().st_size for file in files if file.exists()))
