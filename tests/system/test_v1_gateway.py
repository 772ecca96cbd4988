"""`/v1` of the real gateway: the official SDKs as clients, keys with budgets, agents, the ledger."""

import asyncio
import base64
import json
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import openai
import pytest
from pydantic import BaseModel

from hermes.testing.model_server import ModelServer
from tests.system.live import START_S, Live, live_gateway, model_server, with_model
from tests.system.test_gateway import hermes

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CALLS_A_TOOL = '[[tool:get_weather {"city": "Oslo"}]] hello'
# Any: the SDKs type a message as one of many shapes.
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
COUNTED = {
    "HERMES_PROVIDERS__OPENAI__PRICE_IN_PER_MILLION": "1000000",
    "HERMES_PROVIDERS__OPENAI__PRICE_OUT_PER_MILLION": "1000000",
}


# A picture of 3.6 gigapixels, by its own word.
_HUGE = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 60_000, 60_000) + bytes(9)


class Answer(BaseModel):
    number: int


@asynccontextmanager
async def gateway(home: Path, **more: str) -> AsyncIterator[Live]:
    async with (
        model_server() as url,
        live_gateway(home, {**with_model(url), **COUNTED, **more}) as live,
    ):
        yield live


async def key_of(live: Live, *options: str) -> tuple[str, str]:
    """Make a key by the command line; returns its secret and its id."""
    code, out, err = await hermes(live, "keys", "create", "--user", "ann", "--json", *options)
    assert code == 0, err
    made = json.loads(out)
    return made["secret"], made["key"]["id"]


def openai_client(live: Live, key: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{live.url}/v1", api_key=key, max_retries=0)


def anthropic_client(live: Live, key: str) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=live.url, api_key=key, max_retries=0)


@pytest.mark.req("M1", "M7", "P6")
async def test_openais_client_gets_text_streams_tools_and_usage(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret, _ = await key_of(live)
        async with openai_client(live, secret) as client:
            whole = await client.chat.completions.create(model="auto", messages=HELLO)
            assert whole.choices[0].message.content == "#1 hello"
            assert whole.choices[0].finish_reason == "stop"
            assert whole.usage is not None

            stream = await client.chat.completions.create(
                model="openai:gpt-4o-mini",
                messages=[{"role": "user", "content": "[[deltas:5]] hello"}],
                stream=True,
            )
            chunks = [chunk async for chunk in stream]
            text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
            assert text == "#1 [[deltas:5]] hello"
            assert sum(bool(c.choices and c.choices[0].delta.content) for c in chunks) == 5
            assert all(chunk.usage is None for chunk in chunks)

            asked = await client.chat.completions.create(
                model="auto",
                messages=[{"role": "user", "content": CALLS_A_TOOL}],
                tools=[WEATHER],
            )
            (call,) = asked.choices[0].message.tool_calls or []
            assert call.type == "function"
            assert (call.function.name, json.loads(call.function.arguments)) == (
                "get_weather",
                {"city": "Oslo"},
            )
            answered = await client.chat.completions.create(
                model="auto",
                tools=[WEATHER],
                messages=[
                    {"role": "user", "content": CALLS_A_TOOL},
                    asked.choices[0].message.model_dump(),  # type: ignore[list-item]
                    {"role": "tool", "tool_call_id": call.id, "content": "2 degrees"},
                ],
            )
            assert (answered.choices[0].message.content or "").endswith("-> 2 degrees")

            response = await client.responses.create(model="auto", input="hello")
            assert response.output_text == "#1 hello"


@pytest.mark.req("M1", "M5", "M7")
async def test_who_takes_one_call_at_a_time_gets_the_first_and_hears_of_the_others(
    tmp_path: Path,
) -> None:
    twice = [{"role": "user", "content": CALLS_A_TOOL * 2}]
    body = {"model": "auto", "messages": twice, "tools": [WEATHER], "parallel_tool_calls": False}
    flat: Any = {"type": "function", **WEATHER["function"], "strict": False}
    async with gateway(tmp_path / "home") as live:
        secret, _ = await key_of(live)
        async with aiohttp.ClientSession(
            live.url, headers={"authorization": f"Bearer {secret}"}
        ) as http:
            async with http.post("/v1/chat/completions", json=body) as answer:
                message = (await answer.json())["choices"][0]["message"]
                assert len(message["tool_calls"]) == 1
                assert answer.headers["x-hermes-dropped-calls"] == "1"
                assert "x-hermes-ignored" not in answer.headers
            async with http.post("/v1/chat/completions", json=body | {"stream": True}) as answer:
                frames = (await answer.read()).decode()
                assert ": x-hermes-dropped-calls: 1\n\n" in frames
                assert frames.count('"name":"get_weather"') == 1
        async with openai_client(live, secret) as client:
            response = await client.responses.create(
                model="auto",
                input=CALLS_A_TOOL * 2,
                tools=[flat],
                parallel_tool_calls=False,
            )
            assert [item.type for item in response.output] == ["function_call"]
        schema = WEATHER["function"]["parameters"]
        async with anthropic_client(live, secret) as claude:
            async with claude.messages.stream(
                model="auto",
                max_tokens=99,
                messages=twice,  # type: ignore[arg-type]
                tools=[{"name": "get_weather", "input_schema": schema}],
                tool_choice={"type": "auto", "disable_parallel_tool_use": True},
            ) as stream:
                told = await stream.get_final_message()
            assert [block.type for block in told.content] == ["tool_use"]


@pytest.mark.req("M6")
async def test_an_answer_that_does_not_fit_its_schema_is_an_error_and_never_passes(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path / "home") as live:
        secret, _ = await key_of(live)
        async with openai_client(live, secret) as client:
            with pytest.raises(openai.APIStatusError) as caught:
                await client.chat.completions.parse(
                    model="auto", messages=HELLO, response_format=Answer
                )
            assert caught.value.status_code == 502
            assert "schema" in str(caught.value)


@pytest.mark.req("M1", "M7")
async def test_anthropics_client_gets_text_and_streams(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret, _ = await key_of(live)
        async with anthropic_client(live, secret) as client:
            whole = await client.messages.create(model="auto", max_tokens=50, messages=HELLO)
            assert [block.model_dump()["text"] for block in whole.content] == ["#1 hello"]
            assert whole.stop_reason == "end_turn"
            async with client.messages.stream(
                model="auto",
                max_tokens=50,
                messages=[{"role": "user", "content": "[[deltas:4]] x"}],
            ) as stream:
                assert "".join([text async for text in stream.text_stream]) == "#1 [[deltas:4]] x"
            counted = await client.messages.count_tokens(model="auto", messages=HELLO)
            assert counted.input_tokens > 0
            listed = [model.id async for model in client.models.list()]
            assert {"auto", "openai:gpt-4o-mini", "agent:main"} <= set(listed)


@pytest.mark.req("A20", "A22", "J21")
async def test_a_key_has_a_budget_of_its_own_which_a_restart_does_not_reset(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with gateway(home) as live:
        secret, key_id = await key_of(live, "--budget", "30", "--max-output", "10")
        async with openai_client(live, secret) as client:
            await client.chat.completions.create(model="auto", messages=HELLO)
            long: list[Any] = [{"role": "user", "content": "x" * 200}]
            with pytest.raises(openai.RateLimitError) as caught:
                await client.chat.completions.create(model="auto", messages=long)
            assert caught.value.code == "insufficient_quota"
        await hermes(live, "stop")

    async with gateway(home) as live:
        async with openai_client(live, secret) as client:
            with pytest.raises(openai.RateLimitError):
                await client.chat.completions.create(model="auto", messages=long)
        code, out, _ = await hermes(live, "costs", "--by", "key", "--json")
        assert code == 0
        assert key_id in out


@pytest.mark.req("A22")
async def test_keys_are_checked_by_model_life_and_kill_switch(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret, key_id = await key_of(live, "--models", "agent:*,openai:gpt-4o-mini")
        async with openai_client(live, secret) as client:
            await client.chat.completions.create(model="auto", messages=HELLO)
            with pytest.raises(openai.PermissionDeniedError, match="may use"):
                await client.chat.completions.create(model="openai:gpt-4o", messages=HELLO)
            await hermes(live, "kill-switch", "on", "--reason", "a test")
            with pytest.raises(openai.InternalServerError, match="a test"):
                await client.chat.completions.create(model="auto", messages=HELLO)
            await hermes(live, "kill-switch", "off")
            await client.chat.completions.create(model="auto", messages=HELLO)
            await hermes(live, "keys", "revoke", key_id)
            with pytest.raises(openai.AuthenticationError, match="revoked"):
                await client.chat.completions.create(model="auto", messages=HELLO)
        async with openai_client(live, "hk_unknown") as client:
            with pytest.raises(openai.AuthenticationError):
                await client.models.list()
        secrets = [secret, "hk_unknown"]
        log = live.said()
        assert not any(one in log for one in secrets)


@pytest.mark.req("J1", "J22")
async def test_an_agent_runs_a_whole_turn_through_the_journal(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret, _ = await key_of(live)
        once = {"idempotency-key": "order-17"}
        async with openai_client(live, secret) as client:
            turn = await client.chat.completions.create(
                model="agent:main", messages=HELLO, extra_headers=once
            )
            again = await client.chat.completions.create(
                model="agent:main", messages=HELLO, extra_headers=once
            )
            assert turn.choices[0].message.content == again.choices[0].message.content == "#1 hello"

            told: list[Any] = [*HELLO, {"role": "assistant", "content": "hi"}, *HELLO]
            longer = await client.chat.completions.create(model="agent:main", messages=told)
            assert longer.choices[0].message.content == "#2 hello"

            kept = {"x-hermes-conversation": "kitchen"}
            for number in (1, 2):
                stream = await client.chat.completions.create(
                    model="agent:main", messages=HELLO, extra_headers=kept, stream=True
                )
                text = "".join(
                    [c.choices[0].delta.content or "" async for c in stream if c.choices]
                )
                assert text == f"#{number} hello"
            with pytest.raises(openai.NotFoundError):
                await client.chat.completions.create(model="agent:nobody", messages=HELLO)
            with pytest.raises(openai.BadRequestError, match="its own tools"):
                await client.chat.completions.create(
                    model="agent:main", messages=HELLO, tools=[WEATHER]
                )


@pytest.mark.req("A22", "J21")
async def test_an_agents_turn_is_paid_by_the_key(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        poor, _ = await key_of(live, "--tokens", "1")
        rich, key_id = await key_of(live, "--budget", "100000")
        async with openai_client(live, poor) as client:
            with pytest.raises(openai.RateLimitError):
                await client.chat.completions.create(model="agent:main", messages=HELLO)
        async with openai_client(live, rich) as client:
            await client.chat.completions.create(model="agent:main", messages=HELLO)
            with pytest.raises(openai.NotFoundError):
                await client.chat.completions.create(model="nobody:knows", messages=HELLO)
            with pytest.raises(openai.BadRequestError):
                await client.chat.completions.create(model="openai:a\r\nb", messages=HELLO)
            bad: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": 7}}}
            with pytest.raises(openai.BadRequestError, match="schema"):
                await client.chat.completions.create(
                    model="auto", messages=HELLO, response_format=bad
                )
            picture: Any = {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
            with pytest.raises(openai.BadRequestError, match="cannot read images"):
                await client.chat.completions.create(
                    model="local", messages=[{"role": "user", "content": [picture]}]
                )
            huge = base64.b64encode(_HUGE).decode()
            bomb: Any = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{huge}"}}
            for model in ("auto", "agent:main"):
                with pytest.raises(openai.BadRequestError, match="60000 x 60000 pixels"):
                    await client.chat.completions.create(
                        model=model, messages=[{"role": "user", "content": [bomb]}]
                    )
        hurried, _ = await key_of(live, "--rate", "1")
        async with openai_client(live, hurried) as client:
            await client.models.list()
            with pytest.raises(openai.RateLimitError) as caught:
                await client.models.list()
            assert caught.value.code == "rate_limit_exceeded"
        _, out, _ = await hermes(live, "costs", "--by", "key", "--json")
        assert [row["name"] for row in json.loads(out)["rows"]] == [key_id]


async def _read(http: aiohttp.ClientSession, body: dict[str, Any]) -> bytes:
    async with http.post("/v1/chat/completions", json=body) as answer:
        return await answer.read()


@pytest.mark.req("A21")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_caller_who_leaves_before_the_first_word_gives_its_place_back(
    tmp_path: Path, *, stream: bool
) -> None:
    one_place = {"HERMES_TURNS__MAX_CONCURRENT_CALLS": "1", "HERMES_TURNS__CALL_WAIT_S": "30"}
    async with (
        ModelServer() as models,
        live_gateway(tmp_path / "home", {**with_model(models.base_url), **one_place}) as live,
    ):
        secret, _ = await key_of(live)
        slow: dict[str, Any] = {"model": "auto", "stream": stream}
        slow["messages"] = [{"role": "user", "content": "[[hang]] hello"}]
        headers = {"authorization": f"Bearer {secret}"}
        async with aiohttp.ClientSession(live.url, headers=headers) as http:
            call = asyncio.create_task(_read(http, slow))
            async with asyncio.timeout(START_S):
                while not models.invocations:  # noqa: ASYNC110  another process calls
                    await asyncio.sleep(0.02)
            call.cancel()
            await asyncio.wait({call})
            assert call.cancelled()
        async with openai_client(live, secret) as client:
            await client.chat.completions.create(model="auto", messages=HELLO)


@pytest.mark.req("P7", "J22", "A24")
async def test_why_tells_every_attempt_of_a_call_and_memory_is_per_key(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home") as live:
        secret, _ = await key_of(live)
        async with aiohttp.ClientSession(
            live.url, headers={"authorization": f"Bearer {secret}", "x-hermes-cache": "on"}
        ) as http:
            body = {"model": "auto", "messages": HELLO, "user": 7}
            async with http.post("/v1/chat/completions", json=body) as answer:
                assert answer.status == 200
                assert answer.headers["x-hermes-ignored"] == "user"
                first = answer.headers["x-request-id"]
            async with http.post("/v1/chat/completions", json=body) as answer:
                assert answer.headers["x-hermes-cached-from"] == first
            broken = {"model": "auto", "messages": [{"role": "user", "content": "[[fail:503]]"}]}
            async with http.post("/v1/chat/completions", json=broken) as answer:
                assert answer.status == 502
                failed = answer.headers["x-request-id"]
            async with http.post("/v1/chat/completions", data=b"{") as answer:
                assert answer.status == 400
                assert (await answer.json())["error"]["type"] == "invalid_request_error"
        assert "openai:gpt-4o-mini" in await why(live, first)
        assert "provider_unavailable" in await why(live, failed)


async def why(live: Live, name: str) -> str:
    """Return the story of a call; it is recorded a moment after its answer."""
    async with asyncio.timeout(20):
        while True:
            code, out, _ = await hermes(live, "why", name, "--json")
            if code == 0:
                return out


@pytest.mark.req("M7")
async def test_a_stream_that_breaks_off_says_so_and_never_ends_as_a_success(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path / "home") as live:
        secret, _ = await key_of(live)
        async with openai_client(live, secret) as client:
            stream = await client.chat.completions.create(
                model="auto",
                messages=[{"role": "user", "content": "[[deltas:6]] [[truncate:3]] hello"}],
                stream=True,
            )
            seen: list[openai.types.chat.ChatCompletionChunk] = []

            async def read() -> None:
                async for chunk in stream:
                    seen.append(chunk)  # noqa: PERF401  the chunks before the error count

            with pytest.raises(openai.APIError):
                await read()
        assert len(seen) >= 3
        assert all(c.choices[0].finish_reason is None for c in seen if c.choices)


@pytest.mark.req("M6", "M7")
async def test_the_built_in_model_answers_both_clients_with_real_tokens(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    async with live_gateway(tmp_path / "home") as live:
        secret, _ = await key_of(live, "--max-output", "60")
        async with openai_client(live, secret) as client:
            whole = await client.chat.completions.create(
                model="auto", messages=[{"role": "user", "content": "Say hello."}]
            )
            assert whole.choices[0].message.content
            assert whole.usage is not None
            assert whole.usage.completion_tokens > 0
            fitting = await client.chat.completions.parse(
                model="auto",
                messages=[{"role": "user", "content": "Which number comes after 6?"}],
                response_format=Answer,
                temperature=0,
            )
            assert fitting.choices[0].message.parsed is not None
        async with (
            anthropic_client(live, secret) as other,
            other.messages.stream(
                model="auto", max_tokens=8, messages=[{"role": "user", "content": "Count to 3."}]
            ) as stream,
        ):
            assert "".join([text async for text in stream.text_stream])


@pytest.mark.req("A20", "M1")
async def test_what_cut_an_answer_is_passed_on_as_it_is_and_told_over_rest(tmp_path: Path) -> None:
    async with gateway(tmp_path / "home", HERMES_TURNS__CONTINUATIONS="0") as live:
        secret, _ = await key_of(live)
        found: list[str | None] = []
        async with openai_client(live, secret) as client:
            for stop in ("length", "refusal"):
                asked: list[Any] = [{"role": "user", "content": f"[[stops:{stop}]] hello"}]
                whole = await client.chat.completions.create(model="auto", messages=asked)
                stream = await client.chat.completions.create(
                    model="auto", messages=asked, stream=True
                )
                ends = [one.choices[0].finish_reason async for one in stream if one.choices]
                found += [whole.choices[0].finish_reason, ends[-1]]
            turn: list[Any] = [{"role": "user", "content": "[[stops:length]] hello"}]
            agent = await client.chat.completions.create(model="agent:main", messages=turn)
            found.append(agent.choices[0].finish_reason)
        assert found == ["length", "length", "content_filter", "content_filter", "length"]

        async with aiohttp.ClientSession() as session:
            told = await live.post(session, sender="ann", text="[[stops:length]] hello")
        assert (told["outcome"], told["stop_reason"]) == ("answered", "length")
        assert str(told["reply"]).endswith('Say "continue" and I go on.)')


@pytest.mark.req("P3")
async def test_p3_a_call_may_ask_for_the_route_of_a_task_type(tmp_path: Path) -> None:
    route = {"HERMES_ROUTING__TASK_ROUTES__LARGE_REASONING__PRIMARY": "openai:big-1"}
    async with gateway(tmp_path / "home", **route) as live:
        secret, _ = await key_of(live)
        async with openai_client(live, secret) as client:
            large = await client.chat.completions.create(
                model="auto:large_reasoning", messages=HELLO
            )
            with pytest.raises(openai.NotFoundError, match="no task type"):
                await client.chat.completions.create(model="auto:huge", messages=HELLO)
        async with aiohttp.ClientSession() as session:
            told = await live.post(session, sender="ann", text="hello", task="large_reasoning")

    assert large.model.endswith("big-1")
    assert told["model"] == "openai:big-1"
