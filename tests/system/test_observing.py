"""What an operator sees of a running gateway: metrics, logs, alerts, interactions and traces."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest

from hermes.testing.otlp_collector import otlp_collector
from tests.system.live import (
    Live,
    environment,
    live_gateway,
    model_server,
    run_command,
    with_model,
)
from tests.unit.ops.prometheus_text import Family, parse
from tests.unit.ops.webhook_stand_in import webhooks


async def hermes(home: Path, *arguments: str) -> str:
    """Run a command that has to succeed; returns what it printed."""
    done = await run_command(home, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def scrape(live: Live, http: aiohttp.ClientSession) -> dict[str, Family]:
    """Return the metrics as a strict reader sees them."""
    async with http.get(f"{live.url}/metrics", headers=live.bearer) as answer:
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        return parse(await answer.read())


async def until(claim: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    async with asyncio.timeout(30):
        while not claim():  # noqa: ASYNC110  another process makes it true
            await asyncio.sleep(0.02)


@pytest.mark.req("A29", "A30")
async def test_metrics_and_interactions_of_what_was_asked_and_answered(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession() as http,
    ):
        reply = await live.post(http, sender="ann", text="tell me about doors")
        async with http.get(f"{live.url}/api/messages/{reply['id']}", headers=live.bearer):
            pass
        async with http.get(f"{live.url}/never/seen/{'x' * 50}") as answer:
            assert answer.status == 404
        async with http.get(f"{live.url}/metrics") as answer:
            assert answer.status == 401
        async with http.get(f"{live.url}/metrics?token=abc", headers=live.bearer) as answer:
            assert answer.status == 400
        seen = await scrape(live, http)
        listed = json.loads(await hermes(home, "interactions", "--user", "rest:ann", "--json"))
        nobody = await hermes(home, "interactions", "--platform", "telegram")

    model = "openai:gpt-4o-mini"
    assert seen["llm_calls"].value(backend=model, tier="free") == 1
    tokens = int(str(reply["tokens_in"])) + int(str(reply["tokens_out"]))
    assert seen["llm_tokens"].value(backend=model) == tokens
    assert seen["semantic_recall_skipped_trivial"].value() == 0
    assert seen["request_count"].value(method="POST", route="/api/messages") == 1
    assert seen["request_count"].value(method="GET", route="/api/messages/{id}") == 1
    assert seen["request_count"].value(method="GET", route="unmatched") == 1
    assert seen["request_refusals"].value(method="GET", route="unmatched") == 1
    assert seen["request_latency"].value("_count", method="POST", route="/api/messages") == 1
    assert seen["queue_waiting"].value(queue="inbox") == 0
    assert seen["kill_switch"].value() == 0
    assert seen["store_writable"].value() == 1
    assert not [name for name in seen["request_count"].samples if "metrics" in str(name)]
    (row,) = listed["interactions"]
    assert (row["message_id"], row["llm_backend"]) == (reply["id"], model)
    assert (row["tokens_in"], row["tokens_out"]) == (reply["tokens_in"], reply["tokens_out"])
    assert nobody == "No turns were found.\n"


@pytest.mark.req("A29")
async def test_metrics_are_public_only_where_that_is_set(tmp_path: Path) -> None:
    async with (
        live_gateway(tmp_path / "home", {"HERMES_METRICS__PUBLIC": "true"}) as live,
        aiohttp.ClientSession() as http,
        http.get(f"{live.url}/metrics") as answer,
    ):
        assert answer.status == 200
        assert "hermes_info" in parse(await answer.read())


@pytest.mark.req("A31", "W35")
async def test_the_kill_switch_reaches_the_webhook_the_log_and_the_list_once(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with webhooks() as hooks:
        address = f"{hooks.url}/secret-path"
        (home / "config.yaml").write_text(
            f"alerts: {{webhooks: ['{address}'], to: [local]}}\nlogs: {{level: error}}\n"
        )
        async with live_gateway(home):
            hooks.faults.append(503)
            for _ in range(3):
                await hermes(home, "kill-switch", "on", "--reason", "the bill")
                await hermes(home, "kill-switch", "off")
            await until(lambda: len(hooks.posted) >= 2)
        listed = json.loads(await hermes(home, "alerts", "--json"))["alerts"]
        shown = await hermes(home, "alerts", "--kind", "kill_switch", "--limit", "1")
        logged = (home / "logs" / "hermes.log").read_text()

    assert hooks.refused == 1
    assert {body["kind"] for _, body in hooks.posted} == {"kill_switch"}
    assert len(hooks.posted) == 2
    assert [(alert["kind"], alert["about"]) for alert in listed] == [
        ("kill_switch", "off"),
        ("kill_switch", "on"),
    ]
    assert "The kill switch is off, by " in shown
    assert "secret-path" not in logged


@pytest.mark.req("W35", "A30")
async def test_logs_are_read_back_by_message_and_level_and_followed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession() as http,
    ):
        first = await live.post(http, sender="ann", text="[[fail:500]]")
        following = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "hermes", "logs", "--follow", "--json",
            env=environment(home), stdout=PIPE, stderr=PIPE,
        )  # fmt: skip
        assert following.stdout is not None
        async with asyncio.timeout(30):
            # It has begun to follow once it has shown what stood there.
            while str(first["id"]).encode() not in await following.stdout.readline():
                pass
            second = await live.post(http, sender="ann", text="and now a good one")
            seen = b""
            while str(second["id"]).encode() not in seen:
                seen = await following.stdout.readline()
        following.terminate()
        await following.wait()
        of_first = await hermes(home, "logs", "--message", str(first["id"]), "--json")
        warnings = await hermes(home, "logs", "--level", "warning")
        last = await hermes(home, "logs", "--limit", "1")

    lines = [json.loads(line) for line in of_first.splitlines()]
    assert {line["message_id"] for line in lines} == {first["id"]}
    assert {"model_failed", "turn"} <= {line["event"] for line in lines}
    assert json.loads(seen)["message_id"] == second["id"]
    assert str(second["id"]) not in warnings
    assert "model_failed" in warnings
    assert str(second["id"]) in last


@pytest.mark.req("A29", "W35")
async def test_traces_leave_only_where_that_is_configured(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with otlp_collector() as collector, model_server() as url:
        otel = {
            "HERMES_OTEL__ENDPOINT": collector.url,
            "HERMES_OTEL__EVERY_S": "0.1",
            "HERMES_OTEL__SERVICE_NAME": "kitchen",
        }
        async with (
            live_gateway(home, with_model(url) | otel) as live,
            aiohttp.ClientSession() as http,
        ):
            reply = await live.post(http, sender="ann", text="tell me about doors")
            await until(lambda: len(collector.spans) >= 2)
            seen = await scrape(live, http)

    assert collector.rejections == []
    assert [span["name"] for span in collector.spans] == ["invoke_agent main", "chat gpt-4o-mini"]
    root, call = (span["attributes"] for span in collector.spans)
    assert root["hermes.message.id"] == reply["id"]
    assert call["gen_ai.provider.name"] == "openai"
    assert call["gen_ai.usage.input_tokens"] == reply["tokens_in"]
    assert collector.resources[0]["service.name"] == "kitchen"
    assert seen["otel_spans"].value(result="exported") == 2
    assert "doors" not in json.dumps(collector.spans)
