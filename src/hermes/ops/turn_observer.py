"""Receives the results of turns: counts them, traces them if configured, and reports failures."""

import structlog

from hermes.message.outcome import Outcome
from hermes.message.reply import Reply
from hermes.ops.alert_rules import AlertCase
from hermes.ops.alerts import AlertCases
from hermes.ops.gateway_metrics import GatewayMetrics
from hermes.ops.otel_export import OtelExport
from hermes.ops.otel_spans import EndedTurn
from hermes.pipeline.observer import Trace
from hermes.pipeline.turn import Turn
from hermes.ports.clock import Clock
from hermes.ports.turns import TurnResult

_log = structlog.get_logger(__name__)


class TurnObserver:
    """Fits `pipeline.observer.Observer`."""

    def __init__(
        self, metrics: GatewayMetrics, cases: AlertCases, *, export: OtelExport | None, clock: Clock
    ) -> None:
        self._metrics = metrics
        self._cases = cases
        self._export = export
        self._now = clock.now
        self.traces = export is not None

    def ended(self, turn: Turn, reply: Reply, *, result: TurnResult, trace: Trace) -> None:
        """Count, trace and report a committed turn."""
        try:
            self._note(turn, reply, result=result, trace=trace)
        # Boundary: an observer must never break a turn.
        except Exception:  # noqa: BLE001
            _log.exception("observer_failed", message_id=turn.id)

    def _note(self, turn: Turn, reply: Reply, *, result: TurnResult, trace: Trace) -> None:
        now = self._now()
        platform = turn.event.source.platform
        self._metrics.turn(platform, reply.outcome.value, seconds=now - turn.received_at)
        for use in turn.tool_uses:
            self._metrics.tool(use)
        if reply.outcome is Outcome.FAILED:
            self._cases.tell(_failure(turn, reply))
        if self._export is not None:
            # The trace no longer grows: a committed turn has no more steps.
            ended = EndedTurn(turn=turn, reply=reply, result=result, trace=trace, ended_at=now)
            self._export.put(ended)


def _failure(turn: Turn, reply: Reply) -> AlertCase:
    about = reply.code or turn.model or ""
    return AlertCase(
        kind="answer_failed",
        severity="critical",
        text=f"A message of {turn.event.source.platform} got no answer ({turn.id}): {reply.reason}",
        about=about,
    )
