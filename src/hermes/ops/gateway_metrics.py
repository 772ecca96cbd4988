"""The metrics of a gateway, counted as events happen, under the names that dashboards use.

Fits `CallMeter` for model calls; requests and turns are reported to it too. The composition root
adds readers for numbers that other parts hold.
"""

from collections.abc import Sequence

from hermes.message.reply import Usage
from hermes.ops.metrics import Counter, Histogram, Labels, Metric, expose
from hermes.ports.turns import ToolUse

_CALL_S = (0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 13, 20, 30, 45, 60, 120, 300, 600)
_TURN_S = (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120, 300, 900, 3600)
_REQUEST_S = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NO_TIER = "none"


class GatewayMetrics:
    """Counts model calls, turns, tools and requests."""

    def __init__(self) -> None:
        self._metrics: list[Metric] = []
        by_call, by_backend = ("backend", "tier"), ("backend",)
        self._calls = self._counter("llm_calls", "Model calls that answered.", by_call)
        self._tokens = self._counter(
            "llm_tokens", "Tokens that model calls read and wrote.", by_backend
        )
        self._hits = self._counter(
            "llm_cache_hits", "Answers that were given again without a call.", by_call
        )
        self._failures = self._counter(
            "llm_failures", "Model calls that ended without an answer.", by_call
        )
        self._cost = self._counter(
            "llm_cost_usd", "Dollars that model calls cost, as far as known.", by_backend
        )
        self._call_seconds = self._histogram(
            "llm_latency", "Seconds of a model call.", by_backend, bounds=_CALL_S
        )
        self._turns = self._counter("turns", "Turns by their outcome.", ("platform", "outcome"))
        self._turn_seconds = self._histogram(
            "turn_latency",
            "Seconds from the acceptance of a message to its commit.",
            ("platform",),
            bounds=_TURN_S,
        )
        self._tools = self._counter("tool_calls", "Tool calls of models.", ("tool", "result"))
        by_route = ("method", "route")
        self._requests = self._counter("request_count", "HTTP requests.", by_route)
        self._errors = self._counter(
            "request_errors", "HTTP requests that Hermes failed (status 5xx).", by_route
        )
        self._refusals = self._counter(
            "request_refusals", "HTTP requests that were refused (status 4xx).", by_route
        )
        self._request_seconds = self._histogram(
            "request_latency", "Seconds of an HTTP request.", by_route, bounds=_REQUEST_S
        )

    def _counter(self, name: str, text: str, labels: Labels) -> Counter:
        counter = Counter(name, text, labels=labels)
        self._metrics.append(counter)
        return counter

    def _histogram(
        self, name: str, text: str, labels: Labels, *, bounds: Sequence[float]
    ) -> Histogram:
        histogram = Histogram(name, text, labels=labels, bounds=bounds)
        self._metrics.append(histogram)
        return histogram

    def include(self, *metrics: Metric) -> None:
        """Add these metrics."""
        self._metrics.extend(metrics)

    async def text(self) -> bytes:
        """Return all metrics in Prometheus text format."""
        return await expose(self._metrics)

    def called(self, backend: str, tier: str | None, *, usage: Usage, seconds: float) -> None:
        """A call has ended and was billed."""
        by_backend = (backend,)
        self._calls.add((backend, tier or _NO_TIER))
        self._tokens.add(by_backend, usage.tokens_in + usage.tokens_out)
        if usage.cost_usd:
            self._cost.add(by_backend, usage.cost_usd)
        self._call_seconds.observe(by_backend, seconds)

    def cached(self, backend: str, tier: str | None) -> None:
        """An answer came from the cache, without a model call."""
        self._hits.add((backend, tier or _NO_TIER))

    def failed(self, backend: str, tier: str | None) -> None:
        """A call has ended without an answer."""
        self._failures.add((backend, tier or _NO_TIER))

    def turn(self, platform: str, outcome: str, *, seconds: float) -> None:
        """A turn has ended."""
        self._turns.add((platform, outcome))
        self._turn_seconds.observe((platform,), seconds)

    def tool(self, use: ToolUse) -> None:
        """A tool was called."""
        self._tools.add((use.name, "failed" if use.failed else "done"))

    def request(self, method: str, route: str, *, status: int, seconds: float) -> None:
        """A request was answered."""
        labels = (method if method in _METHODS else "other", route)
        self._requests.add(labels)
        if status >= 400:
            (self._errors if status >= 500 else self._refusals).add(labels)
        self._request_seconds.observe(labels, seconds)
