"""Rare options of `/v1` on the real gateway: what reaches which service, and what is refused.

The official SDKs are the clients; the services are strict stand-ins that keep what they got.
"""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from hermes.testing import openai_frames as frames
from hermes.testing.anthropic_server import AnthropicServer
from hermes.testing.model_script import ScriptedTurn
from hermes.testing.openai_shape import ShapeError, read_request
from hermes.testing.responses_server import ResponsesServer
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp
from hermes.testing.turn_server import STREAM_END, STREAM_HEAD
from tests.system.live import Live, live_gateway
from tests.system.test_v1_gateway import anthropic_client, key_of, openai_client

# Any: the SDKs type a message as one of many shapes.
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
PDF = base64.b64encode(b"%PDF-1.4 a page").decode()
WAV = base64.b64encode(b"RIFF\x00\x00\x00\x00WAVEfmt ").decode()
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
    "WjR9awAAAABJRU5ErkJggg=="
)
STRICT: Any = {
    "type": "function",
    "function": {
        "name": "clock",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        "strict": True,
    },
}


CLOCK: Any = {"type": "function", "function": {"name": "clock"}}
MUST: Any = {"tool_choice": {"type": "function", "function": {"name": "clock"}}}


class RecordingModel(ScriptedHttp):
    """Chat completions as strict as OpenAI's; answers `text` and numbers its answers."""

    def __init__(self, text: str = "one two", *, has_json_mode: bool = True) -> None:
        super().__init__(self._answer)
        self._text = text
        self._has_json_mode = has_json_mode

    async def __aenter__(self) -> "RecordingModel":
        await super().__aenter__()
        return self

    @property
    # Any: the bodies that were sent.
    def bodies(self) -> list[Any]:
        return [one.json() for one in self.requests if one.method == "POST"]

    async def _answer(self, received: ReceivedRequest, out: Out) -> None:
        if received.method == "GET":
            out.whole(200, b'{"data": []}')
            return
        try:
            request = read_request(received.body)
        except ShapeError as error:
            out.raw(frames.error(400, str(error), param=error.param, code=error.code))
            return
        wanted = request.response_format
        if not self._has_json_mode and wanted is not None and wanted.type == "json_object":
            out.raw(frames.error(400, "response_format is not supported with this model"))
            return
        answer = frames.Answer(
            turn=ScriptedTurn(text=self._text, deltas=2),
            id="chatcmpl-1",
            model=request.model,
            created=1,
            tokens_in=3,
            top_logprobs=(request.top_logprobs or 0) if request.logprobs else None,
        )
        out.raw(STREAM_HEAD)
        for one in (frames.opening, frames.text, frames.closing):
            for frame in one(answer, usage=True):
                out.raw(frame)
        out.raw(STREAM_END)


def configure(home: Path, providers: dict[str, dict[str, str]]) -> None:
    home.mkdir()
    named = {name: {"api_key": "k", **fields} for name, fields in providers.items()}
    (home / "config.yaml").write_text(json.dumps({"providers": named}), encoding="utf-8")


@asynccontextmanager
async def gateway(
    home: Path, more: dict[str, str] | None = None, **providers: dict[str, str]
) -> AsyncIterator[tuple[Live, str]]:
    """Run a gateway with these providers, in this order; gives it and a key's secret."""
    configure(home, providers)
    async with live_gateway(home, more) as live:
        secret, _ = await key_of(live)
        yield live, secret


def chat(server: ScriptedHttp, model: str = "full-1", *, url: str = "") -> dict[str, str]:
    return {"kind": "openai", "base_url": url or f"{server.origin}/v1", "model": model}


def claude(server: AnthropicServer) -> dict[str, str]:
    return {"kind": "anthropic", "base_url": server.base_url, "model": "claude-sonnet-4-5"}


@pytest.mark.req("M1", "M7")
async def test_what_a_caller_asks_for_reaches_the_service(tmp_path: Path) -> None:
    async with (
        RecordingModel() as model,
        gateway(tmp_path / "home", full=chat(model)) as (live, secret),
        openai_client(live, secret) as client,
    ):
        raw = await client.chat.completions.with_raw_response.create(
            model="auto",
            messages=HELLO,
            seed=7,
            frequency_penalty=0.5,
            presence_penalty=-0.5,
            logit_bias={"50256": -100},
            tools=[STRICT],
        )
        assert "x-hermes-ignored" not in raw.headers
        (body,) = model.bodies
        assert {name: body[name] for name in ("seed", "frequency_penalty", "presence_penalty")} == {
            "seed": 7,
            "frequency_penalty": 0.5,
            "presence_penalty": -0.5,
        }
        assert body["logit_bias"] == {"50256": -100}
        assert body["tools"][0]["function"]["strict"] is True


@pytest.mark.req("M1", "M7")
async def test_an_effort_that_a_model_lacks_is_named_and_a_pictures_detail_passes(
    tmp_path: Path,
) -> None:
    picture: Any = [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
                {"type": "text", "text": "What is it?"},
            ],
        }
    ]
    async with (
        RecordingModel() as model,
        gateway(tmp_path / "home", full=chat(model)) as (live, secret),
        openai_client(live, secret) as client,
    ):
        raw = await client.chat.completions.with_raw_response.create(
            model="auto", messages=picture, reasoning_effort="minimal"
        )
        assert raw.headers["x-hermes-ignored"] == "reasoning_effort"
        (body,) = model.bodies
        assert body["reasoning_effort"] == "low"
        assert body["messages"][-1]["content"][0]["image_url"]["detail"] == "low"


@pytest.mark.req("M1", "P1")
async def test_a_service_without_it_gives_way_to_one_that_has_it(tmp_path: Path) -> None:
    async with (
        AnthropicServer() as plain,
        RecordingModel() as model,
        gateway(tmp_path / "home", plain=claude(plain), full=chat(model)) as (live, secret),
        openai_client(live, secret) as client,
    ):
        usual = await client.chat.completions.with_raw_response.create(
            model="auto", messages=HELLO, tools=[STRICT], verbosity="low"
        )
        assert usual.headers["x-hermes-model"] == "plain:claude-sonnet-4-5"
        assert usual.headers["x-hermes-ignored"] == "verbosity"
        seeded = await client.chat.completions.with_raw_response.create(
            model="auto", messages=HELLO, seed=7
        )
        assert seeded.headers["x-hermes-model"] == "full:full-1"
        with pytest.raises(openai.BadRequestError) as refused:
            await client.chat.completions.create(
                model="plain", messages=HELLO, logprobs=True, seed=7
            )
        assert "'plain' does not have seed, logprobs" in refused.value.message
        assert "ask for full:full-1" in refused.value.message
        async with anthropic_client(live, secret) as other:
            with pytest.raises(anthropic.BadRequestError, match="full-1' does not have"):
                await other.messages.create(
                    model="full:full-1",
                    max_tokens=9,
                    messages=[
                        {
                            "role": "user",
                            "content": [
                                {
                                    "type": "document",
                                    "source": {"type": "url", "url": "https://a.test/a.pdf"},
                                }
                            ],
                        }
                    ],
                )


@pytest.mark.req("M1")
async def test_no_reasoning_is_never_a_low_effort(tmp_path: Path) -> None:
    async with (
        AnthropicServer() as plain,
        RecordingModel() as model,
        gateway(tmp_path / "home", plain=claude(plain), full=chat(model)) as (live, secret),
        openai_client(live, secret) as client,
        anthropic_client(live, secret) as other,
    ):
        chats = client.chat.completions.with_raw_response
        off = await chats.create(model="plain", messages=HELLO, reasoning_effort="none")
        assert "x-hermes-ignored" not in off.headers
        vain = await chats.create(model="full", messages=HELLO, reasoning_effort="none")
        assert vain.headers["x-hermes-ignored"] == "reasoning_effort"
        response = await client.responses.with_raw_response.create(
            model="full", input="hello", store=False, reasoning={"effort": "none"}
        )
        assert response.headers["x-hermes-ignored"] == "reasoning.effort"
        message = await other.messages.with_raw_response.create(
            model="full", messages=HELLO, max_tokens=9, thinking={"type": "disabled"}
        )
        assert message.headers["x-hermes-ignored"] == "thinking"
        assert [body for body in model.bodies if "reasoning_effort" in body] == []


@pytest.mark.req("M1", "M7")
async def test_an_effort_for_a_model_that_cannot_be_told_is_named_on_every_api(
    tmp_path: Path,
) -> None:
    async with (
        RecordingModel() as model,
        gateway(tmp_path / "home", lmstudio=chat(model)) as (live, secret),
        openai_client(live, secret) as client,
        anthropic_client(live, secret) as other,
    ):
        chats = client.chat.completions.with_raw_response
        effort = await chats.create(model="auto", messages=HELLO, reasoning_effort="high")
        assert effort.headers["x-hermes-ignored"] == "reasoning_effort"
        response = await client.responses.with_raw_response.create(
            model="auto", input="hello", store=False, reasoning={"effort": "low"}
        )
        assert response.headers["x-hermes-ignored"] == "reasoning.effort"
        messages = other.messages.with_raw_response
        thinking = await messages.create(
            model="auto",
            messages=HELLO,
            max_tokens=2_000,
            thinking={"type": "enabled", "budget_tokens": 1_024},
        )
        assert thinking.headers["x-hermes-ignored"] == "thinking"
        config = await messages.create(
            model="auto", messages=HELLO, max_tokens=9, output_config={"effort": "low"}
        )
        assert config.headers["x-hermes-ignored"] == "output_config.effort"
        assert [body for body in model.bodies if "reasoning_effort" in body] == []


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "asked", "ignored"),
    [
        ("plain", {"temperature": 0.7}, None),
        ("plain", {"temperature": 1.5}, "temperature"),
        ("plain", {"temperature": 0.7, "top_p": 0.9}, "top_p"),
        ("plain", {"temperature": 0.7, "reasoning_effort": "high"}, "temperature"),
        ("plain:claude-opus-5-5", {"temperature": 0.7, "top_p": 0.9}, "temperature, top_p"),
        ("full", {"temperature": 1.5, "top_p": 0.9}, None),
        ("plain", {"reasoning_effort": "high", "tools": [CLOCK]}, None),
        ("plain", {"reasoning_effort": "high", "tools": [CLOCK], **MUST}, "reasoning_effort"),
        ("full", {"reasoning_effort": "high", "tools": [CLOCK], **MUST}, None),
    ],
)
async def test_sampling_that_is_changed_or_left_out_is_named(
    tmp_path: Path, model: str, asked: dict[str, Any], ignored: str | None
) -> None:
    async with (
        AnthropicServer() as plain,
        RecordingModel() as full,
        gateway(tmp_path / "home", plain=claude(plain), full=chat(full)) as (live, secret),
        openai_client(live, secret) as client,
    ):
        chats = client.chat.completions.with_raw_response
        raw = await chats.create(model=model, messages=HELLO, **asked)
        assert raw.headers.get("x-hermes-ignored") == ignored
        streamed = await chats.create(model=model, messages=HELLO, stream=True, **asked)
        assert streamed.headers.get("x-hermes-ignored") == ignored


@pytest.mark.req("M1")
async def test_nobody_has_it(tmp_path: Path) -> None:
    async with (
        AnthropicServer() as plain,
        gateway(tmp_path / "home", plain=claude(plain)) as (live, secret),
        openai_client(live, secret) as client,
    ):
        with pytest.raises(openai.BadRequestError, match="no configured model has it"):
            await client.chat.completions.create(model="auto", messages=HELLO, seed=7)
        assert plain.invocations == []


@pytest.mark.req("M1")
async def test_a_stop_sequence_of_white_space_is_not_lost_on_claude(tmp_path: Path) -> None:
    async with (
        AnthropicServer() as plain,
        RecordingModel() as full,
        gateway(tmp_path / "home", plain=claude(plain), full=chat(full)) as (live, secret),
        openai_client(live, secret) as client,
    ):
        with pytest.raises(openai.BadRequestError, match="stop of white space"):
            await client.chat.completions.create(model="plain", messages=HELLO, stop=["\n"])
        await client.chat.completions.create(model="auto", messages=HELLO, stop=["\n"])
        assert plain.invocations == []
        assert full.bodies[0]["stop"] == ["\n"]


@pytest.mark.req("M1")
async def test_log_probabilities_come_back_whole_and_streamed(tmp_path: Path) -> None:
    async with (
        RecordingModel() as model,
        ResponsesServer() as other,
        gateway(
            tmp_path / "home",
            full=chat(model),
            other={"kind": "openai-responses", "base_url": other.base_url, "model": "other-1"},
        ) as (live, secret),
        openai_client(live, secret) as client,
    ):
        for name in ("full", "other"):
            asked: Any = {
                "model": name,
                "messages": [{"role": "user", "content": "[[deltas:2]]"}],
                "logprobs": True,
                "top_logprobs": 1,
            }
            whole: Any = await client.chat.completions.create(**asked)
            tokens = whole.choices[0].logprobs.content or []
            assert "".join(one.token for one in tokens) == whole.choices[0].message.content
            assert [len(one.top_logprobs) for one in tokens] == [1, 1]
            stream = await client.chat.completions.create(**asked, stream=True)
            pieces = [chunk.choices[0].logprobs async for chunk in stream if chunk.choices]
            assert [one for piece in pieces if piece for one in piece.content or ()] == tokens

            response: Any = await client.responses.create(
                model=name, input="[[deltas:2]]", top_logprobs=1
            )
            part = response.output[-1].content[0]
            assert [one.token for one in part.logprobs] == [one.token for one in tokens]
            async with client.responses.stream(
                model=name, input="[[deltas:2]]", top_logprobs=1
            ) as events:
                deltas = [e async for e in events if e.type == "response.output_text.delta"]
            assert [one.token for e in deltas for one in e.logprobs] == [t.token for t in tokens]


@pytest.mark.req("M1")
async def test_several_answers_are_several_calls(tmp_path: Path) -> None:
    async with (
        RecordingModel() as model,
        gateway(tmp_path / "home", full=chat(model)) as (live, secret),
        openai_client(live, secret) as client,
    ):
        whole = await client.chat.completions.create(model="auto", messages=HELLO, n=3)
        assert [(one.index, one.message.content) for one in whole.choices] == [
            (0, "one two"),
            (1, "one two"),
            (2, "one two"),
        ]
        assert whole.usage is not None
        assert whole.usage.prompt_tokens == 9
        stream = await client.chat.completions.create(
            model="auto", messages=HELLO, n=2, stream=True, stream_options={"include_usage": True}
        )
        said = {0: "", 1: ""}
        async for chunk in stream:
            for choice in chunk.choices:
                said[choice.index] += choice.delta.content or ""
        assert said == {0: "one two", 1: "one two"}
        assert chunk.usage is not None
        assert chunk.usage.prompt_tokens == 6
        assert len(model.bodies) == 5
        with pytest.raises(openai.BadRequestError, match="<= 8"):
            await client.chat.completions.create(model="auto", messages=HELLO, n=9)


@pytest.mark.req("M6")
@pytest.mark.parametrize("has_json_mode", [True, False])
async def test_json_mode_goes_as_json_mode_and_in_words_where_it_is_refused(
    tmp_path: Path, has_json_mode: bool
) -> None:
    async with (
        RecordingModel('{"a": 1}', has_json_mode=has_json_mode) as model,
        gateway(tmp_path / "home", full=chat(model)) as (live, secret),
        openai_client(live, secret) as client,
    ):
        answer = await client.chat.completions.create(
            model="auto",
            messages=[{"role": "user", "content": "as JSON"}],
            response_format={"type": "json_object"},
        )
        assert json.loads(answer.choices[0].message.content or "") == {"a": 1}
        first, *others = model.bodies
        assert first["response_format"] == {"type": "json_object"}
        assert [("response_format" in one, "tools" in one) for one in others] == (
            [] if has_json_mode else [(False, False)]
        )


@pytest.mark.req("M6")
async def test_json_mode_is_asked_for_in_words_where_the_service_has_none(tmp_path: Path) -> None:
    async with (
        AnthropicServer(lambda _seen, _n: ScriptedTurn(text='Sure: {"a": 1}')) as plain,
        gateway(tmp_path / "home", plain=claude(plain)) as (live, secret),
        openai_client(live, secret) as client,
    ):
        answer = await client.chat.completions.create(
            model="auto", messages=HELLO, response_format={"type": "json_object"}
        )
        assert answer.choices[0].message.content == '{"a": 1}'


@pytest.mark.req("M7")
async def test_documents_and_sounds_reach_the_service(tmp_path: Path) -> None:
    url = f"data:application/pdf;base64,{PDF}"
    parts: Any = [
        {"type": "file", "file": {"filename": "a.pdf", "file_data": url}},
        {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
    ]
    async with (
        RecordingModel() as model,
        gateway(tmp_path / "home", full=chat(model)) as (live, secret),
        openai_client(live, secret) as client,
        anthropic_client(live, secret) as other,
    ):
        await client.chat.completions.create(
            model="auto", messages=[{"role": "user", "content": parts}]
        )
        await client.responses.create(
            model="auto",
            input=[
                {
                    "role": "user",
                    "content": [{"type": "input_file", "filename": "a.pdf", "file_data": url}],
                }
            ],
        )
        source: Any = {"type": "base64", "media_type": "application/pdf", "data": PDF}
        block: Any = {"type": "document", "source": source, "title": "a.pdf"}
        await other.messages.create(
            model="auto", max_tokens=9, messages=[{"role": "user", "content": [block]}]
        )
        sent = [one["messages"][-1]["content"] for one in model.bodies]
        assert sent == [parts, parts[:1], parts[:1]]
        with pytest.raises(openai.BadRequestError, match="a file of another type"):
            await client.chat.completions.create(
                model="auto",
                messages=[
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "file",
                                "file": {"file_data": "data:application/pdf;base64,QUJD"},
                            }
                        ],
                    }
                ],
            )


@pytest.mark.req("M7", "W34")
async def test_a_server_of_the_operators_fetches_no_picture_for_a_stranger(
    tmp_path: Path,
) -> None:
    asked: list[Any] = [
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "http://10.0.0.7/admin.png"}}],
        }
    ]
    async with (
        RecordingModel() as model,
        gateway(tmp_path / "home", vllm=chat(model, "full-1")) as (live, secret),
        openai_client(live, secret) as client,
    ):
        with pytest.raises(openai.BadRequestError, match=r"the picture at 10.0.0.7"):
            await client.chat.completions.create(model="vllm:full-1", messages=asked)
        assert model.bodies == []


@pytest.mark.req("W34")
async def test_no_service_is_handed_an_address_that_hermes_would_not_fetch(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest"}}
    asked: list[Any] = [{"role": "user", "content": [picture]}]
    async with (
        RecordingModel() as model,
        gateway(tmp_path / "home", own=chat(model, "full-1")) as (live, secret),
        openai_client(live, secret) as client,
    ):
        with pytest.raises(openai.BadRequestError, match=r"169\.254\.169\.254 leads to an address"):
            await client.chat.completions.create(model="own:full-1", messages=asked)
        assert model.bodies == []


class RecordingEmbedder(ScriptedHttp):
    """Embeddings: a vector of zeros for each input, as long as was asked for."""

    def __init__(self) -> None:
        super().__init__(self._answer)

    async def _answer(self, received: ReceivedRequest, out: Out) -> None:
        if received.method == "GET":
            out.whole(200, b'{"data": []}')
            return
        body = received.json()
        data = [
            {"index": n, "embedding": [0.5] * body.get("dimensions", 3)}
            for n, _ in enumerate(body["input"])
        ]
        out.whole(200, json.dumps({"data": data, "model": body["model"]}).encode())


@pytest.mark.req("M1", "A12")
async def test_dimensions_and_token_numbers_reach_the_service(tmp_path: Path) -> None:
    async with (
        RecordingEmbedder() as model,
        AnthropicServer() as plain,
        gateway(
            tmp_path / "home",
            vllm=chat(model),
            plain=claude(plain),
        ) as (live, secret),
        openai_client(live, secret) as client,
    ):
        made = await client.embeddings.create(
            model="vllm:small-1", input=[[1, 2], [3]], dimensions=2, encoding_format="float"
        )
        assert [one.embedding for one in made.data] == [[0.5, 0.5], [0.5, 0.5]]
        assert made.usage.prompt_tokens == 3
        (sent,) = [one.json() for one in model.requests if one.method == "POST"]
        assert (sent["input"], sent["dimensions"]) == ([[1, 2], [3]], 2)
        with pytest.raises(openai.BadRequestError, match="makes no embeddings"):
            await client.embeddings.create(model="plain", input="x", dimensions=2)


@pytest.mark.req("M7", "W34")
async def test_an_operator_may_forbid_to_fetch_pictures(tmp_path: Path) -> None:
    asked: list[Any] = [
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "http://a.test/cat.png"}}],
        }
    ]
    off = {"HERMES_V1__FETCH_PICTURES": "false"}
    async with (
        RecordingModel() as own,
        RecordingModel() as model,
        gateway(tmp_path / "home", off, vllm=chat(own), full=chat(model)) as (live, secret),
        openai_client(live, secret) as client,
    ):
        with pytest.raises(openai.BadRequestError, match="does not have pictures by address"):
            await client.chat.completions.create(model="vllm", messages=asked)
        await client.chat.completions.create(model="auto", messages=asked)
        assert own.bodies == []
        assert [one["messages"] for one in model.bodies] == [asked]
