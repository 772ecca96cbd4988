"""Metrics: what is counted, that nobody can make it grow, and that Prometheus can read it."""

import pytest

from hermes.errors import StoreError
from hermes.message.reply import Usage
from hermes.ops.gateway_metrics import GatewayMetrics
from hermes.ops.metrics import OTHER, Counter, Histogram, MetricReader, expose
from hermes.ports.turns import ToolUse
from tests.unit.ops.prometheus_text import Malformed, parse

USAGE = Usage(100, 20, cost_usd=0.25)


@pytest.mark.req("A29")
async def test_model_calls_are_counted_by_backend_and_tier_with_tokens_and_cost():
    metrics = GatewayMetrics()

    metrics.called("openai:gpt", "pro", usage=USAGE, seconds=1.5)
    metrics.called("openai:gpt", None, usage=USAGE, seconds=0.2)
    metrics.cached("openai:gpt", "pro")
    metrics.failed("local:small", "free")

    seen = parse(await metrics.text())
    assert seen["llm_calls"].value(backend="openai:gpt", tier="pro") == 1
    assert seen["llm_calls"].value(backend="openai:gpt", tier="none") == 1
    assert seen["llm_tokens"].value(backend="openai:gpt") == 240
    assert seen["llm_cost_usd"].value(backend="openai:gpt") == 0.5
    assert seen["llm_cache_hits"].value(backend="openai:gpt", tier="pro") == 1
    assert seen["llm_failures"].value(backend="local:small", tier="free") == 1
    assert seen["llm_latency"].value("_bucket", backend="openai:gpt", le="1") == 1
    assert seen["llm_latency"].value("_bucket", backend="openai:gpt", le="2") == 2
    assert seen["llm_latency"].value("_sum", backend="openai:gpt") == 1.7


@pytest.mark.req("A29")
async def test_requests_are_counted_by_method_and_route_and_failures_beside():
    metrics = GatewayMetrics()

    metrics.request("POST", "/api/messages", status=200, seconds=0.004)
    metrics.request("POST", "/api/messages", status=429, seconds=0.001)
    metrics.request("POST", "/api/messages", status=500, seconds=0.001)
    metrics.request("BREW", "unmatched", status=404, seconds=0.001)

    seen = parse(await metrics.text())
    where = {"method": "POST", "route": "/api/messages"}
    assert seen["request_count"].value(**where) == 3
    assert seen["request_errors"].value(**where) == 1
    assert seen["request_refusals"].value(**where) == 1
    assert seen["request_latency"].value("_count", **where) == 3
    assert seen["request_count"].value(method="other", route="unmatched") == 1


@pytest.mark.req("A29")
async def test_turns_and_tools_are_counted():
    metrics = GatewayMetrics()

    metrics.turn("telegram", "answered", seconds=2.5)
    metrics.tool(ToolUse("web_fetch", "{}"))
    metrics.tool(ToolUse("web_fetch", "{}", True))

    seen = parse(await metrics.text())
    assert seen["turns"].value(platform="telegram", outcome="answered") == 1
    assert seen["turn_latency"].value("_bucket", platform="telegram", le="3") == 1
    assert seen["turn_latency"].value("_bucket", platform="telegram", le="2") == 0
    assert seen["tool_calls"].value(tool="web_fetch", result="done") == 1
    assert seen["tool_calls"].value(tool="web_fetch", result="failed") == 1


@pytest.mark.req("A29")
async def test_ten_thousand_made_up_names_make_no_more_series_than_the_limit():
    metrics = GatewayMetrics()

    for number in range(10_000):
        metrics.called(f"made:up-{number}", f"tier-{number}", usage=USAGE, seconds=1.0)
        metrics.turn(f"platform-{number}", "answered", seconds=1.0)
        metrics.tool(ToolUse(f"tool-{number}", "{}"))

    seen = parse(await metrics.text())
    assert sum(seen["llm_calls"].samples.values()) == 10_000
    assert sum(seen["turns"].samples.values()) == 10_000
    assert seen["llm_calls"].value(backend=OTHER, tier=OTHER) == 10_000 - 64
    assert seen["turns"].value(platform=OTHER, outcome="answered") == 10_000 - 64
    assert seen["turn_latency"].value("_count", platform=OTHER) == 10_000 - 64
    assert {len(seen[name].samples) for name in ("llm_calls", "turns", "tool_calls")} == {65}
    assert len(await metrics.text()) < 500_000


@pytest.mark.req("A29")
async def test_combinations_of_known_labels_are_bounded_too():
    counter = Counter("c", "Text.", labels=("a", "b"), most_values=100)

    for a in range(100):
        for b in range(100):
            counter.add((str(a), str(b)))

    samples = parse(await expose([counter]))["c"].samples
    assert len(samples) == 2_001
    assert sum(samples.values()) == 10_000


@pytest.mark.req("A29")
async def test_labels_of_any_text_are_escaped_and_read_back():
    counter, odd = Counter("c", "One\nline \\ here.", labels=("a",)), 'x"\\\ny}{,= \U0001f600'

    counter.add((odd,), 2.5)
    counter.add(("\ud800",))

    family = parse(await expose([counter]))["c"]
    assert family.text == "One\\nline \\\\ here."
    assert family.value(a=odd) == 2.5
    assert family.value(a="?") == 1


@pytest.mark.req("A29")
async def test_a_value_on_a_bound_belongs_to_it_and_one_beyond_all_to_infinity():
    histogram = Histogram("h", "Text.", bounds=(1, 2))

    for value in (1, 1.5, 7):
        histogram.observe((), value)

    family = parse(await expose([histogram]))["h"]
    assert [family.value("_bucket", le=le) for le in ("1", "2", "+Inf")] == [1, 2, 3]
    assert family.value("_sum") == 9.5


@pytest.mark.req("A29")
async def test_a_number_that_cannot_be_read_hides_no_other():
    def broken():
        raise StoreError("the disk is gone")

    readers = [
        MetricReader("gone", "Text.", read=broken),
        MetricReader("here", "Text.", labels=("a",), read=lambda: [(("x",), 1), (("x",), 2)]),
    ]

    seen = parse(await expose(readers))
    assert seen["gone"].samples == {}
    assert seen["here"].value(a="x") == 3


@pytest.mark.parametrize(
    "text",
    [
        "# HELP a Text.\n# TYPE a counter\na 1",
        "# HELP a Text.\n# TYPE a counter\nb 1\n",
        "# HELP a Text.\n# TYPE a counter\na 1\na 2\n",
        "# HELP a Text.\n# TYPE a counter\na -1\n",
        '# HELP a Text.\n# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1\n',
    ],
)
def test_the_reader_of_these_tests_is_strict(text):
    with pytest.raises(Malformed):
        parse(text.encode())
