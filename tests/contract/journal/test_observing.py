"""What watches turns sees them as they were, says nothing of what was said, and never breaks one."""

import io
import json
from contextlib import asynccontextmanager

import pytest
import structlog

from hermes.errors import FailureClass, NotDelivered
from hermes.message.ids import make_id
from hermes.message.reply import Usage
from hermes.net.client import HttpClient, HttpSettings
from hermes.ops.alert_book import AlertBook, read_alerts
from hermes.ops.alert_rules import AlertCase
from hermes.ops.alert_sinks import chats
from hermes.ops.alerts import AlertCases, Alerts
from hermes.ops.gateway_metrics import GatewayMetrics
from hermes.ops.logs import Fields, LogPlan, set_up
from hermes.ops.otel_export import OtelExport, TraceExportPlan
from hermes.ops.otel_spans import EndedTurn, SpanMaker
from hermes.ops.turn_observer import TurnObserver
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, ToolUse
from hermes.testing.otlp_collector import OtlpCollector, otlp_collector
from tests.contract.journal.rig import RunTool, open_rig
from tests.unit.ops.prometheus_text import parse

SECRET_WORDS = "meet me at the old mill"


class Watching:
    """An observer with everything, over one rig."""

    def __init__(
        self,
        home,
        *,
        endpoint: str,
        content: bool = False,
        queue: int = 100,
        exporter: type[OtelExport] = OtelExport,
    ) -> None:
        self.store: Store | None = None
        self.clock = ManualClock()
        self.client = HttpClient(HttpSettings())
        self.slept: list[float] = []
        plan = TraceExportPlan(
            endpoint=endpoint,
            headers={"x-key": "k"},
            resource={"service.name": "hermes"},
            version="1",
            queue=queue,
            every_s=5.0,
        )
        maker = SpanMaker(self.digest, kinds={"scripted": "gemini"}, content=content)
        self.metrics = GatewayMetrics()
        self.export = exporter(plan, maker, client=self.client, sleep=self.sleep)
        cases = AlertCases()
        self.alerts = Alerts(
            cases,
            AlertBook(home),
            window_s=900,
            least="warning",
            clock=self.clock,
            make_id=make_id,
        )
        self.observer = TurnObserver(self.metrics, cases, export=self.export, clock=self.clock)

    def digest(self, content: bytes) -> bytes:
        assert self.store is not None
        return self.store.digest(content)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    @asynccontextmanager
    async def rig(self, home, **options):
        async with open_rig(
            home, clock=self.clock, observer=self.observer, meter=self.metrics, **options
        ) as rig:
            self.store = rig.store
            yield rig
        await self.client.close()


@pytest.fixture
async def collector():
    async with otlp_collector() as running:
        yield running


def with_a_tool(seen, _number):
    if seen.tool_results:
        return ScriptedTurn(text="It was looked up.", tokens_in=30, tokens_out=7)
    return ScriptedTurn(tools=(ToolUse("look", '{"where": "x"}'),), tokens_in=20, tokens_out=5)


@pytest.mark.req("A29", "A30", "J7")
async def test_a_turn_is_one_trace_with_its_calls_and_tools_below_it(
    tmp_path, collector: OtlpCollector
):
    watching = Watching(tmp_path, endpoint=collector.url)
    async with watching.rig(tmp_path, script=with_a_tool, tools=(RunTool("look"),)) as rig:
        message_id = await rig.say(SECRET_WORDS, chat="+4915112345678")
        assert await rig.outcome(message_id) == "answered"
        await watching.export.flush()

    assert collector.rejections == []
    root, first, tool, second = collector.spans
    assert {span["traceId"] for span in collector.spans} == {root["traceId"]}
    assert {span.get("parentSpanId") for span in (first, tool, second)} == {root["spanId"]}
    assert [span["name"] for span in collector.spans] == [
        "invoke_agent main",
        "chat scripted-1",
        "execute_tool look",
        "chat scripted-1",
    ]
    told = root["attributes"]
    assert told["gen_ai.operation.name"] == "invoke_agent"
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (50, 12)
    assert (told["hermes.outcome"], told["hermes.message.id"]) == ("answered", message_id)
    call = first["attributes"]
    assert call["gen_ai.operation.name"] == "chat"
    assert call["gen_ai.provider.name"] == "gcp.gemini"
    assert call["gen_ai.request.model"] == "scripted-1"
    assert (call["gen_ai.usage.input_tokens"], call["gen_ai.usage.output_tokens"]) == (20, 5)
    assert (first["kind"], tool["kind"], root["kind"]) == (3, 1, 1)
    assert tool["attributes"]["gen_ai.tool.name"] == "look"
    assert tool["attributes"]["gen_ai.tool.call.id"]
    assert collector.headers[0]["x-key"] == "k"
    assert watching.export.counts == {"exported": 4, "dropped": 0, "rejected": 0}


@pytest.mark.req("A29", "W35")
async def test_traces_hold_nothing_personal_and_words_only_where_that_is_wanted(
    tmp_path, collector: OtlpCollector
):
    said: list[str] = []
    for content in (False, True):
        home = tmp_path / str(content)
        home.mkdir()
        watching = Watching(home, endpoint=collector.url, content=content)
        async with watching.rig(home) as rig:
            message_id = await rig.say(SECRET_WORDS, chat="+4915112345678", user_name="Ann")
            await rig.outcome(message_id)
            await watching.export.flush()
            person = (await rig.store.inbox.get(message_id)).person_id
        said.append(json.dumps(collector.spans))
        collector.spans.clear()
        assert "4915112345678" not in said[-1]
        assert "Ann" not in said[-1]
        assert person not in said[-1]

    assert [SECRET_WORDS in text for text in said] == [False, True]
    assert "gen_ai.input.messages" in said[1]


@pytest.mark.req("A29")
async def test_a_full_queue_drops_and_counts_and_no_turn_waits(tmp_path):
    watching = Watching(tmp_path, endpoint="http://127.0.0.1:9", queue=2)
    async with watching.rig(tmp_path) as rig:
        replies = [await rig.answer(f"hello {number}") for number in range(5)]
        dropped = watching.export.counts["dropped"]
        await watching.export.flush()

    assert replies == [f"#{number + 1} hello {number}" for number in range(5)]
    assert dropped == 3 * 2
    # Nobody is there: two more tries, then what waited is dropped as well.
    assert watching.slept == [1.0, 5.0]
    assert watching.export.counts == {"exported": 0, "dropped": 5 * 2, "rejected": 0}


@pytest.mark.req("A29")
async def test_a_busy_collector_is_waited_for_and_one_that_refuses_is_not(
    tmp_path, collector: OtlpCollector
):
    watching = Watching(tmp_path, endpoint=collector.url)
    async with watching.rig(tmp_path) as rig:
        collector.faults.extend([(503, {"Retry-After": "7"}), (429, {})])
        await rig.answer("one")
        await watching.export.flush()
        waited, taken = list(watching.slept), dict(watching.export.counts)
        collector.faults.append((401, {}))
        await rig.answer("two")
        await watching.export.flush()
        collector.partial = {"rejectedSpans": "1", "errorMessage": "no room"}
        await rig.answer("three")
        await watching.export.flush()

    assert waited == [7.0, 5.0]
    assert taken == {"exported": 2, "dropped": 0, "rejected": 0}
    assert watching.slept == waited
    assert watching.export.counts == {"exported": 3, "dropped": 2, "rejected": 1}


@pytest.mark.req("A29")
async def test_turns_calls_and_tools_are_counted_by_those_who_took_part(tmp_path):
    watching = Watching(tmp_path, endpoint="http://127.0.0.1:9")
    async with watching.rig(tmp_path, script=with_a_tool, tools=(RunTool("look"),)) as rig:
        await rig.answer(SECRET_WORDS)

    seen = parse(await watching.metrics.text())
    assert seen["llm_calls"].value(backend="scripted:scripted-1", tier="free") == 2
    assert seen["llm_tokens"].value(backend="scripted:scripted-1") == 62
    assert seen["turns"].value(platform="rest", outcome="answered") == 1
    assert seen["tool_calls"].value(tool="look", result="done") == 1


@pytest.mark.req("A29", "A31")
async def test_a_message_without_an_answer_is_counted_and_becomes_an_alert(tmp_path):
    watching = Watching(tmp_path, endpoint="http://127.0.0.1:9")
    async with watching.rig(tmp_path) as rig:
        watching.alerts.start()
        for _ in range(3):
            assert await rig.outcome(await rig.say("[[fail:500]]")) == "failed"
        await watching.alerts.stop()

    seen = parse(await watching.metrics.text())
    assert seen["turns"].value(platform="rest", outcome="failed") == 3
    assert seen["llm_failures"].value(backend="scripted:scripted-1", tier="free") == 3
    (alert,) = read_alerts(tmp_path)
    assert (alert.kind, alert.severity) == ("answer_failed", "critical")


class Broken(OtelExport):
    """An exporter with a defect."""

    def put(self, ended: EndedTurn) -> None:
        raise RuntimeError("a defect of ours")


@pytest.mark.req("A29")
async def test_a_watcher_that_breaks_breaks_no_turn(tmp_path):
    watching = Watching(tmp_path, endpoint="http://127.0.0.1:9", exporter=Broken)
    with structlog.testing.capture_logs() as lines:
        async with watching.rig(tmp_path) as rig:
            replies = [await rig.answer("one"), await rig.answer("two")]

    events = [line["event"] for line in lines]
    assert replies == ["#1 one", "#2 two"]
    assert events.count("observer_failed") == 2
    assert "turn_failed" not in events


@pytest.mark.req("A31")
async def test_alerts_reach_a_chat_that_nobody_has_written_in(tmp_path):
    async with open_rig(tmp_path, courier=True) as rig:

        async def sender() -> str:
            users = rig.store.users
            return await users.add("hermes", "alerts", name="alerts", at=rig.clock.now())

        cases = AlertCases()
        alerts = Alerts(
            cases,
            AlertBook(tmp_path),
            sinks=chats(rig.core.courier, ["push:ops-room"], sender=sender),
            window_s=900,
            least="warning",
            clock=rig.clock,
            make_id=make_id,
        )
        alerts.start()
        for _ in range(3):
            cases.tell(AlertCase(kind="breaker_open", severity="warning", text="it failed"))
        await alerts.stop()
        await rig.until(lambda: bool(rig.push.posts))

    assert rig.push.texts("ops-room") == ["[Hermes warning] breaker_open: it failed"]


@pytest.mark.req("A31")
async def test_a_breaker_that_opens_is_logged_and_heard_whatever_the_level(tmp_path):
    heard: list[Fields] = []
    out = io.BytesIO()
    logs = set_up(LogPlan(level="error"), (), clock=ManualClock(), stream=out)
    logs.listen(heard.append)
    one_is_enough = {"OUTBOX__BREAKER_FAILURES": "1"}
    try:
        async with open_rig(tmp_path, settings=one_is_enough) as rig:
            rig.push.fail("send", NotDelivered("away", FailureClass.NETWORK_TIMEOUT))
            await rig.say("hi", platform="push")
            await rig.until(lambda: rig.core.push.senders["push"].breaker.open_until is not None)
            await rig.until(lambda: bool(heard))
    finally:
        logs.close()
        structlog.reset_defaults()

    (line,) = [line for line in heard if line["event"] == "outbox.breaker_opened"]
    assert (line["platform"], line["resets_after_s"], line["level"]) == ("push", 120, "warning")
    assert b"breaker_opened" not in out.getvalue()


@pytest.mark.req("W35", "A30")
async def test_every_line_of_a_turn_carries_its_message(tmp_path):
    out = io.BytesIO()

    def look(_context) -> str:
        structlog.get_logger().info("looked")
        return "seen"

    logs = set_up(LogPlan(), (), clock=ManualClock(), stream=out)
    try:
        async with open_rig(tmp_path, script=with_a_tool, tools=(RunTool("look", look),)) as rig:
            message_id = await rig.say(SECRET_WORDS)
            await rig.outcome(message_id)
            structlog.get_logger().info("outside")
    finally:
        logs.close()
        structlog.reset_defaults()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]

    by_event = {line["event"]: line.get("message_id") for line in lines}
    assert (by_event["looked"], by_event["turn"]) == (message_id, message_id)
    assert by_event["outside"] is None


@pytest.mark.req("A30")
async def test_interactions_keep_what_a_turn_took(tmp_path):
    async with open_rig(tmp_path, script=with_a_tool, tools=(RunTool("look"),)) as rig:
        first, second = await rig.say("one"), None
        await rig.outcome(first)
        second = await rig.say("two", chat="bob")
        await rig.outcome(second)
        page = await rig.store.interactions.page(None, limit=10)
        older = await rig.store.interactions.page(second, limit=10)
        result = await rig.store.inbox.result(first)

    assert [row.message_id for row in page] == [second, first]
    assert [row.message_id for row in older] == [first]
    row = older[0]
    assert (row.tokens_in, row.tokens_out, row.tools) == (50, 12, ("look",))
    assert (row.llm_backend, row.llm_cache_hit) == ("scripted:scripted-1", False)
    assert row.cost_usd is None
    assert result is not None
    assert result.usage == Usage(50, 12, unpriced=62)
    assert [use.name for use in result.tool_calls] == ["look"]
