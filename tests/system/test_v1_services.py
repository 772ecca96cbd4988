"""Services in numbers behind `/v1`: several models and deployments, missing keys, rates of keys."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import openai
import pytest

from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp
from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.test_gateway import hermes
from tests.system.test_v1_gateway import HELLO, gateway, key_of, openai_client

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
async def test_a_deployment_that_is_rate_limited_is_asked_once_and_shown_as_resting(
    tmp_path: Path,
) -> None:
    async with two_deployments(tmp_path / "home") as (live, limited):
        secret, _ = await key_of(live)
        async with openai_client(live, secret) as client:
            for _ in range(6):
                told = await client.chat.completions.create(model="auto", messages=HELLO)
                assert told.choices[0].message.content == "#1 hello"
        _, shown, _ = await hermes(live, "models", "--json")
        _, status, _ = await hermes(live, "status", "--json")
        metrics = await metrics_of(live)

    assert len(limited.requests) == 1
    line = next(one for one in json.loads(shown)["models"] if one["provider"] == "openai")
    assert [one["deployment"] for one in line["resting"]] == ["east"]
    assert (line["available"], line["is_cooling"]) == (True, False)
    provider = next(one for one in json.loads(status)["providers"] if one["name"] == "openai")
    assert "gpt-4o-mini: east: not called until" in provider["note"]
    assert 'model_resting{backend="openai:gpt-4o-mini",deployment="east"} 1' in metrics
