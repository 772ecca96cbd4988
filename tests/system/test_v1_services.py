"""Services in numbers behind `/v1`: several models and deployments, missing keys, rates of keys."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import openai
import pytest

from hermes.testing.model_script import ScriptedTurn, SeenConversation
from hermes.testing.model_server import ModelServer
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp
from tests.system.live import Live, live_gateway, model_server, run_command, with_model
from tests.system.test_gateway import hermes
from tests.system.test_v1_gateway import HELLO, gateway, key_of, openai_client, why

GROQ = {"HERMES_PROVIDERS__GROQ__MODEL": "openai/gpt-oss-120b"}
MODELS = {"HERMES_PROVIDERS__OPENAI__MODELS": "gpt-4o,vendor/other-1"}


async def metrics_of(live: Live) -> str:
    async with (
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
        http.get("/metrics") as answer,
    ):
        return await answer.text()


@pytest.mark.req("M2", "P6")
@pytest.mark.parametrize("name", ["groq:any-1", "groq", "openai/gpt-oss-120b"])
async def test_a_known_name_without_a_key_is_not_found_and_no_client_retries_it(
    tmp_path: Path, name: str
) -> None:
    async with gateway(tmp_path / "home", **GROQ) as live:
        secret, _ = await key_of(live)
        async with openai.AsyncOpenAI(base_url=f"{live.url}/v1", api_key=secret) as client:
            with pytest.raises(openai.NotFoundError, match="GROQ_API_KEY") as absent:
                await client.chat.completions.create(model=name, messages=HELLO)
        async with anthropic.AsyncAnthropic(base_url=live.url, api_key=secret) as other:
            with pytest.raises(anthropic.NotFoundError):
                await other.messages.create(model=name, messages=HELLO, max_tokens=9)
        metrics = await metrics_of(live)

    assert absent.value.code == "model_not_found"
    # The clients retry twice by default; they did not.
    assert 'request_count{method="POST",route="/v1/chat/completions"} 1\n' in metrics
    assert 'request_count{method="POST",route="/v1/messages"} 1\n' in metrics


@pytest.mark.req("P6", "M1")
async def test_every_model_of_a_provider_is_listed_and_answers_by_its_name_alone(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path / "home", **MODELS) as live:
        secret, _ = await key_of(live)
        async with openai_client(live, secret) as client:
            listed = [model.id async for model in client.models.list()]
            served = {}
            for name in ("gpt-4o", "openai:gpt-4o", "vendor/other-1"):
                told = await client.chat.completions.with_raw_response.create(
                    model=name, messages=HELLO
                )
                served[name] = told.headers["x-hermes-model"]
            assert (await client.models.retrieve("gpt-4o")).owned_by == "openai"
        _, out, _ = await hermes(live, "models", "--json")

    both = {"gpt-4o", "openai:gpt-4o", "gpt-4o-mini", "openai:gpt-4o-mini", "vendor/other-1"}
    assert both <= set(listed)
    assert served == {
        "gpt-4o": "openai:gpt-4o",
        "openai:gpt-4o": "openai:gpt-4o",
        "vendor/other-1": "openai:vendor/other-1",
    }
    lines = [line["model"] for line in json.loads(out)["models"] if line["provider"] == "openai"]
    assert lines == ["gpt-4o-mini", "gpt-4o", "vendor/other-1"]


@pytest.mark.req("P6")
async def test_a_key_with_a_rate_is_told_how_much_of_it_is_left(tmp_path: Path) -> None:
    body: dict[str, Any] = {"model": "auto", "messages": HELLO, "max_tokens": 9}
    async with gateway(tmp_path / "home") as live:
        secret, _ = await key_of(live, "--rate", "4")
        free, _ = await key_of(live)
        async with aiohttp.ClientSession(live.url) as http:

            async def asked(path: str, key: str = secret, **more: object) -> Any:
                headers = {"authorization": f"Bearer {key}"}
                async with http.post(path, json=body | more, headers=headers) as answer:
                    await answer.read()
                    return answer

            whole = await asked("/v1/chat/completions")
            streamed = await asked("/v1/chat/completions", stream=True)
            refused = await asked("/v1/chat/completions", model="nobody-has-it")
            message = await asked("/v1/messages")
            late = await asked("/v1/chat/completions")
            late_message = await asked("/v1/messages")
            unlimited = await asked("/v1/chat/completions", free)

    name = "x-ratelimit-remaining-requests"
    assert [one.headers[name] for one in (whole, streamed, refused, late)] == ["3", "2", "1", "0"]
    assert whole.headers["x-ratelimit-limit-requests"] == "4"
    assert whole.headers["x-ratelimit-reset-requests"].endswith("s")
    assert message.headers["anthropic-ratelimit-requests-limit"] == "4"
    assert message.headers["anthropic-ratelimit-requests-reset"].endswith("Z")
    assert (late.status, late_message.status) == (429, 429)
    assert int(late.headers["retry-after"]) >= 1
    assert late_message.headers["anthropic-ratelimit-requests-remaining"] == "0"
    assert not [header for header in unlimited.headers if "ratelimit" in header.lower()]


@pytest.mark.req("P6")
async def test_several_answers_take_as_much_of_a_keys_rate(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret, _ = await key_of(live, "--rate", "5")
        async with openai_client(live, secret) as client:
            make = client.chat.completions.with_raw_response.create
            first = await make(model="auto", messages=HELLO, n=3)
            with pytest.raises(openai.RateLimitError, match="5 times a minute"):
                await make(model="auto", messages=HELLO, n=3)
            with pytest.raises(openai.BadRequestError, match="ask for fewer answers at once"):
                await make(model="auto", messages=HELLO, n=6)

    assert first.headers["x-ratelimit-remaining-requests"] == "2"


@pytest.mark.req("P6", "A23")
async def test_of_several_answers_one_that_fails_is_named_and_none_is_returned(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        asked.append(seen.last_text)
        fails = len(asked) == 2
        return ScriptedTurn(text="fine", fault="status" if fails else None, status=400)

    async with (
        ModelServer(script) as server,
        live_gateway(tmp_path / "home", with_model(server.base_url)) as live,
    ):
        secret, _ = await key_of(live)
        async with openai_client(live, secret) as client:
            with pytest.raises(openai.APIStatusError) as failed:
                await client.chat.completions.create(model="auto", messages=HELLO, n=3)

    assert "one of 3 answers failed, so none is returned" in str(failed.value)


@pytest.mark.req("A23")
@pytest.mark.parametrize("path", ["chat/completions", "responses", "messages"])
async def test_an_agent_says_that_a_prompt_is_too_long_as_a_model_does(
    tmp_path: Path, path: str
) -> None:
    long: list[Any] = [{"role": "user", "content": "word " * 20_000}]
    body = {"model": "agent:main", "messages": long, "input": long, "max_tokens": 9}
    kept = {"chat/completions": ("messages",), "responses": ("input",)}.get(
        path, ("messages", "max_tokens")
    )
    small = {"HERMES_PROVIDERS__OPENAI__CONTEXT_TOKENS": "8000"}
    async with gateway(tmp_path / "home", **small) as live:
        secret, _ = await key_of(live)
        headers = {"authorization": f"Bearer {secret}"}
        sent = {name: body[name] for name in ("model", *kept)}
        async with (
            aiohttp.ClientSession(live.url) as http,
            http.post(f"/v1/{path}", json=sent, headers=headers) as answer,
        ):
            told = await answer.json()

    assert answer.status == 400
    assert told["error"]["type"] == "invalid_request_error"
    assert told["error"].get("code", "context_length_exceeded") == "context_length_exceeded"


@asynccontextmanager
async def two_deployments(home: Path) -> AsyncIterator[tuple[Live, ScriptedHttp]]:
    """A gateway with a service that is rate limited and one that answers."""

    async def busy(_received: ReceivedRequest, out: Out) -> None:
        out.whole(429, b'{"error": {"message": "slow down"}}', retry_after="600")

    async with ScriptedHttp(busy) as limited, model_server() as url:
        names = {"EAST": f"{limited.origin}/v1", "WEST": url}
        settings = {
            f"HERMES_PROVIDERS__OPENAI__DEPLOYMENTS__{name}__BASE_URL": address
            for name, address in names.items()
        }
        heavy = {"HERMES_PROVIDERS__OPENAI__DEPLOYMENTS__EAST__WEIGHT": "1000"}
        async with live_gateway(home, {**with_model(url), **settings, **heavy}) as live:
            yield live, limited


@pytest.mark.req("M1", "P5", "A29")
async def test_a_deployment_that_is_rate_limited_is_asked_once_by_two_and_shown_as_resting(
    tmp_path: Path,
) -> None:
    async with two_deployments(tmp_path / "home") as (live, limited):
        for user in ("ann", "ben", "cleo"):
            secret, _ = await key_of(live, "--user", user)
            async with openai_client(live, secret) as client:
                for _ in range(3):
                    told = await client.chat.completions.create(model="auto", messages=HELLO)
                    assert told.choices[0].message.content == "#1 hello"
        _, shown, _ = await hermes(live, "models", "--json")
        _, status, _ = await hermes(live, "status", "--json")
        metrics = await metrics_of(live)

    assert len(limited.requests) == 2
    line = next(one for one in json.loads(shown)["models"] if one["provider"] == "openai")
    assert [one["deployment"] for one in line["resting"]] == ["east"]
    assert (line["available"], line["is_cooling"]) == (True, False)
    provider = next(one for one in json.loads(status)["providers"] if one["name"] == "openai")
    assert "gpt-4o-mini: east: not called until" in provider["note"]
    assert 'model_resting{backend="openai:gpt-4o-mini",deployment="east"} 1' in metrics


@pytest.mark.req("M1", "P5")
async def test_why_names_the_deployment_that_failed_and_the_one_that_answered(
    tmp_path: Path,
) -> None:
    async with two_deployments(tmp_path / "home") as (live, _limited):
        secret, _ = await key_of(live)
        async with openai_client(live, secret) as client:
            made = await client.chat.completions.with_raw_response.create(
                model="auto", messages=HELLO
            )
        call = json.loads(await why(live, made.headers["x-request-id"]))
        async with aiohttp.ClientSession() as session:
            sent = await live.post(session, text="hello", sender="ben", id="m-1")
        message = json.loads(await why(live, "m-1"))

    tries = [(one["deployment"], one.get("problem")) for one in call["call"]["attempts"]]
    assert tries == [("east", "provider_unavailable"), ("west", None)]
    assert call["deployment"] == "west"
    assert sent["outcome"] == "answered"
    assert message["deployment"] == "west"
    failed = [one["data"] for one in message["lines"] if one["what"] == "model_failed"]
    assert [one["deployment"] for one in failed] == ["east"]


LISTED = {
    "data": [
        {
            "id": "vendor/new-1",
            "context_length": 77_000,
            "pricing": {"prompt": "0.000002", "completion": "0.000004"},
        }
    ]
}


@asynccontextmanager
async def listing_service(found: object, status: int = 200) -> AsyncIterator[ScriptedHttp]:
    async def answer(received: ReceivedRequest, out: Out) -> None:
        assert received.path == "/v1/models"
        out.whole(status, json.dumps(found).encode())

    async with ScriptedHttp(answer) as server:
        yield server


@pytest.mark.req("P6", "A20")
async def test_a_refresh_brings_the_services_models_sizes_and_prices_and_outlasts_a_restart(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with listing_service(LISTED) as fine, listing_service({}, 500) as broken:
        settings = {
            "HERMES_PROVIDERS__FINE__BASE_URL": f"{fine.origin}/v1",
            "HERMES_PROVIDERS__FINE__MODEL": "own-1",
            "HERMES_PROVIDERS__BROKEN__BASE_URL": f"{broken.origin}/v1",
            "HERMES_PROVIDERS__BROKEN__MODEL": "own-2",
        }
        async with gateway(home, **settings) as live:
            code, out, err = await hermes(live, "models", "refresh", "fine", "broken", "--json")
            assert code == 0, err
            services = {one["provider"]: one for one in json.loads(out)["services"]}
            listed = await _line_of(live, "vendor/new-1")
            code, _, err = await hermes(live, "models", "refresh", "nobody")
            assert (code, "no provider 'nobody'" in err) == (1, True)
            _, audit, _ = await hermes(live, "audit", "--json")
        async with gateway(home, **settings) as live:
            again = await _line_of(live, "vendor/new-1")
            secret, _ = await key_of(live)
            async with openai_client(live, secret) as client:
                assert (await client.models.retrieve("vendor/new-1")).owned_by == "fine"

    counted = {key: services["fine"][key] for key in ("models", "sized", "priced", "added")}
    assert counted == {"models": 1, "sized": 1, "priced": 1, "added": 1}
    assert "broken: the service answered 500" in services["broken"]["problem"]
    assert listed == again
    # On this machine a model costs nothing, whatever its server says.
    assert (listed["context_tokens"], listed["context_source"]) == (77_000, "service")
    assert "models.refresh" in audit


async def _line_of(live: Live, model: str) -> Any:
    _, shown, _ = await hermes(live, "models", "--json")
    return next(one for one in json.loads(shown)["models"] if one["model"] == model)


@pytest.mark.req("P6", "A20")
async def test_without_a_gateway_the_services_are_asked_from_the_command(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with listing_service(LISTED) as fine:
        settings = {
            "HERMES_PROVIDERS__FINE__BASE_URL": f"{fine.origin}/v1",
            "HERMES_PROVIDERS__FINE__MODEL": "own-1",
        }
        told = await run_command(home, "models", "refresh", "fine", more=settings)
        shown = await run_command(home, "models", "--all", "--json", more=settings)

    assert (told.returncode, "+1 -0" in told.stdout) == (0, True), told.stderr
    lines = {line["model"]: line for line in json.loads(shown.stdout)["models"]}
    assert (lines["vendor/new-1"]["is_configured"], lines["own-1"]["is_configured"]) == (
        False,
        True,
    )


@pytest.mark.req("P5", "A23")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_hedged_call_is_answered_by_the_faster_one_and_why_shows_both(
    tmp_path: Path, *, stream: bool
) -> None:
    async def silent(_received: ReceivedRequest, _out: Out) -> None:
        await asyncio.Event().wait()

    async with ScriptedHttp(silent) as slow, model_server() as url:
        settings = {
            **with_model(f"{slow.origin}/v1"),
            "HERMES_PROVIDERS__HOUSE__BASE_URL": url,
            "HERMES_PROVIDERS__HOUSE__MODEL": "house-1",
            "HERMES_ROUTING__HEDGE_AFTER_S": "0.05",
        }
        async with live_gateway(tmp_path / "home", settings) as live:
            secret, _ = await key_of(live)
            async with aiohttp.ClientSession(live.url) as http:
                body = {"model": "auto", "messages": HELLO, "stream": stream}
                headers = {"authorization": f"Bearer {secret}"}
                async with http.post("/v1/chat/completions", json=body, headers=headers) as answer:
                    text = await answer.text()
            out = await why(live, answer.headers["x-request-id"])

    assert "#1 hello" in text
    assert len(slow.requests) == 1
    for told in ("openai:gpt-4o-mini", "house:house-1", "provider_timeout"):
        assert told in out
