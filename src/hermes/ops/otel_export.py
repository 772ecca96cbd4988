"""Sends traces of turns to a collector: OTLP over HTTP, in JSON, in batches, off the hot path.

A turn costs one append here. The queue is limited; what does not fit is dropped and counted. Calls
to an unreachable collector are retried for a short time, and never delay a turn or a stop.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping

import msgspec
import structlog

from hermes.errors import NetError
from hermes.net.client import HttpClient
from hermes.ops.otel_spans import EndedTurn, Span, SpanMaker, Value, payload

_log = structlog.get_logger(__name__)
_BATCH = 128
_ANSWER_BYTES = 1_048_576
_TIMEOUT_S = 10.0
_AGAIN = frozenset({429, 502, 503, 504})
_PAUSES_S = (1.0, 5.0)
_LONGEST_PAUSE_S = 60.0
_LAST_WORDS_S = 5.0
Sleep = Callable[[float], Awaitable[None]]


class TraceExportPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Where traces are sent, and how often."""

    endpoint: str
    headers: Mapping[str, str]
    resource: Mapping[str, Value]
    version: str
    queue: int
    every_s: float

    @property
    def address(self) -> str:
        """The address for traces below the endpoint."""
        return f"{self.endpoint.rstrip('/')}/v1/traces"


class _PartialSuccess(msgspec.Struct, rename="camel"):
    # Collectors write 64-bit numbers as text or as a number.
    rejected_spans: int | str = 0
    error_message: str = ""


class _Answer(msgspec.Struct, rename="camel"):
    partial_success: _PartialSuccess | None = None


class OtelExport:
    """Owns the queue and the task that empties it."""

    def __init__(
        self,
        plan: TraceExportPlan,
        maker: SpanMaker,
        *,
        client: HttpClient,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._plan = plan
        self._maker = maker
        self._client = client
        self._sleep = sleep
        self._queue: deque[EndedTurn] = deque()
        self._task: asyncio.Task[None] | None = None
        self.counts: Counter[str] = Counter(exported=0, dropped=0, rejected=0)

    def put(self, ended: EndedTurn) -> None:
        """Queue a turn; drop it if too many wait."""
        if len(self._queue) >= self._plan.queue:
            self.counts["dropped"] += 1 + len(ended.trace)
        else:
            self._queue.append(ended)

    def start(self) -> None:
        """Start sending."""
        self._task = asyncio.create_task(self._run(), name="otel")

    async def stop(self) -> None:
        """Send what is queued, for a few seconds at most."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        try:
            async with asyncio.timeout(_LAST_WORDS_S):
                await self.flush()
        except TimeoutError:
            _log.warning("traces_not_sent", turns=len(self._queue))

    async def _run(self) -> None:
        while True:
            await self._sleep(self._plan.every_s)
            try:
                await self.flush()
            except Exception as error:  # noqa: BLE001  boundary: the exporter outlives any batch
                _log.warning("otel_failed", error=f"{type(error).__name__}: {error}")

    async def flush(self) -> None:
        """Send everything queued."""
        while self._queue:
            turns = [self._queue.popleft() for _ in range(min(_BATCH, len(self._queue)))]
            spans = [span for ended in turns for span in self._maker.spans(ended)]
            await self._export(spans)

    async def _export(self, spans: list[Span]) -> None:
        plan = self._plan
        body = payload(spans, resource=plan.resource, version=plan.version)
        problem = ""
        for pause in (*_PAUSES_S, None):
            try:
                problem, wait = await self._post(body, count=len(spans))
            except NetError as error:
                problem, wait = str(error), 0.0
            if not problem:
                return
            if wait is None or pause is None:
                break
            await self._sleep(min(max(pause, wait), _LONGEST_PAUSE_S))
        self.counts["dropped"] += len(spans)
        _log.warning("traces_dropped", spans=len(spans), problem=problem)

    async def _post(self, body: bytes, *, count: int) -> tuple[str, float | None]:
        """Return what went wrong, and how long to wait before a retry; None for no retry."""
        async with self._client.request(
            "otel",
            "POST",
            self._plan.address,
            headers={**self._plan.headers, "Content-Type": "application/json"},
            body=body,
            timeout_s=_TIMEOUT_S,
            trusted=True,
        ) as answer:
            content = await answer.read(_ANSWER_BYTES)
            if answer.status == 200:
                self._taken(content, count)
                return "", None
            wait = _seconds(answer.headers.get("Retry-After", ""))
            return f"status {answer.status}", wait if answer.status in _AGAIN else None

    def _taken(self, content: bytes, count: int) -> None:
        rejected, told = _rejected(content)
        self.counts["exported"] += max(0, count - rejected)
        if rejected:
            self.counts["rejected"] += rejected
            _log.warning("traces_rejected", spans=rejected, problem=told[:300])


def _rejected(content: bytes) -> tuple[int, str]:
    """Return how many spans the collector rejected, and why; an unreadable answer counts as
    none.
    """
    try:
        partial = msgspec.json.decode(content or b"{}", type=_Answer).partial_success
        return (0, "") if partial is None else (int(partial.rejected_spans), partial.error_message)
    except (msgspec.DecodeError, ValueError):
        return 0, ""


def _seconds(text: str) -> float:
    return float(text) if text.isdigit() else 0.0
