"""Alerts: told once per window with a count, kept in a file, sent to webhooks, never in the way."""

import asyncio
import json
import threading

import pytest
import structlog

from hermes.errors import NetError
from hermes.message.ids import make_id
from hermes.net.client import HttpClient, HttpSettings
from hermes.ops.alert_book import AlertBook, read_alerts
from hermes.ops.alert_rules import AlertCase, kinds, told_by
from hermes.ops.alert_sinks import webhook
from hermes.ops.alert_windows import Alert, Windows
from hermes.ops.alerts import AlertCases, Alerts
from hermes.testing.manual_time import ManualClock, ManualTime, settle
from tests.unit.ops.webhook_stand_in import webhooks

BREAKER = AlertCase(kind="breaker_open", severity="warning", text="telegram", about="telegram")
DISK = AlertCase(kind="store_failing", severity="critical", text="the disk is full")


@pytest.fixture(autouse=True)
def quiet():
    structlog.configure(processors=[structlog.testing.LogCapture()])
    yield
    structlog.reset_defaults()


def an_alert(*, name: str = "a_1", text: str = "full", count: int = 1) -> Alert:
    return Alert(id=name, at=1.0, kind="store_failing", severity="critical", text=text, count=count)


@pytest.mark.req("A31")
def test_the_same_alert_is_told_once_in_a_window_and_then_with_its_count():
    windows = Windows(900.0, make_id=make_id)

    first = windows.take(BREAKER, 0.0)
    again = [windows.take(BREAKER, at) for at in (1.0, 2.0, 899.0)]
    during = windows.due(899.0)
    after = windows.due(900.0)
    quiet = windows.due(1_800.0)
    new = windows.take(BREAKER, 1_801.0)

    assert first is not None
    assert (first.kind, first.count) == ("breaker_open", 1)
    assert again == [None, None, None]
    assert during == []
    assert [(alert.kind, alert.count) for alert in after] == [("breaker_open", 3)]
    assert quiet == []
    assert new is not None
    assert new.count == 1


@pytest.mark.req("A31")
def test_cases_are_told_apart_and_a_storm_of_them_is_folded():
    windows = Windows(900.0, make_id=make_id)

    alerts = [
        windows.take(AlertCase(kind="k", severity="critical", text="t", about=str(number)), 0.0)
        for number in range(10_000)
    ]

    assert len([alert for alert in alerts if alert is not None]) == 201
    assert sum(alert.count for alert in windows.due(900.0)) == 10_000 - 201


@pytest.mark.req("A31")
@pytest.mark.parametrize(
    ("fields", "kind", "severity", "words"),
    [
        (
            {"event": "soul_invalidation_failed", "person_id": "p_1", "exposure_s": 3600.0},
            "soul_invalidation_failed",
            "critical",
            ["p_1", "3600.0 s", "three tries"],
        ),
        (
            {"event": "outbox.breaker_opened", "platform": "telegram", "resets_after_s": 120},
            "breaker_open",
            "warning",
            ["telegram", "120 s"],
        ),
        (
            {"event": "kill_switch", "is_on": True, "by": "olga", "reason": "the bill"},
            "kill_switch",
            "warning",
            ["olga", "the bill"],
        ),
        (
            {"event": "commit_waits", "problem": "disk I/O error"},
            "store_failing",
            "critical",
            ["disk I/O error"],
        ),
        ({"event": "lane_failed", "error": "KeyError: 1"}, "task_failed", "critical", ["KeyError"]),
        (
            {"event": "kill_switch", "is_on": False, "by": "ann", "reason": ""},
            "kill_switch",
            "warning",
            ["The kill switch is off, by ann: -"],
        ),
        (
            {"event": "boot_loop", "problem": "it crashed 5 times"},
            "boot_loop",
            "critical",
            ["it crashed 5 times"],
        ),
        (
            {"event": "loop_stalled", "still_s": 12.0, "stack": ["a.py:1 f"]},
            "loop_stalled",
            "critical",
            ["12.0 s", "a.py:1 f"],
        ),
        (
            {"event": "hook_switched_off", "hook": "audit", "problem": "KeyError: 1"},
            "hook_off",
            "warning",
            ["audit", "KeyError: 1"],
        ),
    ],
)
def test_a_line_of_the_log_that_needs_an_operator_is_an_alert(fields, kind, severity, words):
    told = told_by(fields)

    assert told is not None
    assert (told.kind, told.severity) == (kind, severity)
    assert [word for word in words if word not in told.text] == []


@pytest.mark.req("A31")
def test_other_lines_are_none_and_every_rule_can_be_said():
    assert told_by({"event": "turn", "level": "info"}) is None
    assert told_by({}) is None
    assert "soul_invalidation_failed" in kinds()


@pytest.mark.req("A31")
async def test_what_any_thread_tells_is_kept_logged_and_sent(tmp_path):
    sent = []

    async def sink(alert):
        sent.append(alert)

    cases = AlertCases()
    alerts = Alerts(
        cases,
        AlertBook(tmp_path),
        sinks=[sink],
        window_s=900.0,
        least="warning",
        clock=ManualClock(),
        make_id=make_id,
        mask=lambda text: text.replace("hunter2", "****"),
        sleep=asyncio.sleep,
    )
    alerts.start()
    secret = AlertCase(kind="defect", severity="critical", text="key hunter2")

    def tell_often() -> None:
        for _ in range(5):
            cases.tell(secret)

    thread = threading.Thread(target=tell_often)
    thread.start()
    await asyncio.to_thread(thread.join)
    await alerts.stop()

    (kept,) = read_alerts(tmp_path)
    assert (kept.kind, kept.text, kept.at) == ("defect", "key ****", 1_700_000_000.0)
    assert sent == [kept]
    assert alerts.counts == {"defect": 1}
    (line,) = structlog.get_config()["processors"][0].entries
    assert (line["event"], line["kind"], line["log_level"]) == ("alert", "defect", "error")


@pytest.mark.req("A31")
async def test_only_what_is_severe_enough_is_sent_and_all_is_listed(tmp_path):
    sent = []

    async def sink(alert):
        sent.append(alert.kind)

    cases = AlertCases()
    alerts = Alerts(
        cases,
        AlertBook(tmp_path),
        sinks=[sink],
        window_s=9.0,
        least="critical",
        clock=ManualClock(),
        make_id=make_id,
    )
    alerts.start()
    cases.tell(BREAKER)
    cases.tell(DISK)
    await alerts.stop()

    assert sent == ["store_failing"]
    assert {alert.kind for alert in read_alerts(tmp_path)} == {"breaker_open", "store_failing"}


@pytest.mark.req("A31")
async def test_a_sink_that_fails_is_tried_again_and_checks_are_looked_at(tmp_path):
    time, tried = ManualTime(), []

    async def sink(alert):
        tried.append(time.monotonic())
        if len(tried) < 3:
            raise NetError("nobody there")

    alerts = Alerts(
        AlertCases(),
        AlertBook(tmp_path),
        sinks=[sink],
        checks=lambda: [DISK],
        window_s=900.0,
        least="warning",
        clock=time,
        make_id=make_id,
        sleep=time.sleep,
    )
    alerts.start()
    await settle()
    await time.pass_by(1.0)
    await time.pass_by(5.0)
    await time.pass_by(60.0)
    await alerts.stop()

    begin = tried[0]
    assert [at - begin for at in tried] == [0.0, 1.0, 6.0]


@pytest.mark.req("A31", "W35")
async def test_webhooks_get_what_they_read_and_no_mention_comes_from_elsewhere():
    client = HttpClient(HttpSettings())
    async with webhooks() as hooks:
        text = "<!channel> @everyone & more"
        alert = an_alert(text=text, count=3)
        await webhook(client, f"{hooks.url}/slack", style="slack")(alert)
        await webhook(client, f"{hooks.url}/discord", style="discord")(an_alert(text="x" * 3_000))
        await webhook(client, f"{hooks.url}/any")(alert)
        hooks.faults.append(500)
        with pytest.raises(NetError, match="status 500"):
            await webhook(client, f"{hooks.url}/secret-path", style="slack")(alert)
    await client.close()

    (_, slack), (_, discord), (_, other) = hooks.posted
    shown = "[Hermes critical] store_failing (3 times): &lt;!channel&gt; @everyone &amp; more"
    assert slack == {"text": shown}
    assert (len(discord["content"]), discord["allowed_mentions"]) == (2_000, {"parse": []})
    assert (other["kind"], other["count"], other["text"]) == ("store_failing", 3, text)


@pytest.mark.req("A31")
def test_the_book_keeps_what_it_can_and_reads_over_half_a_line(tmp_path):
    book = AlertBook(tmp_path)
    for number in range(3):
        book.add(an_alert(name=f"a_{number}"))
    book.close()
    path = tmp_path / "logs" / "alerts.jsonl"
    path.write_bytes(path.read_bytes() + b'{"id": "a_9", "ki')

    assert [alert.id for alert in read_alerts(tmp_path)] == ["a_2", "a_1", "a_0"]
    assert json.loads(path.read_bytes().splitlines()[0])["kind"] == "store_failing"
    assert path.stat().st_mode & 0o077 == 0
    assert read_alerts(tmp_path / "none") == []
