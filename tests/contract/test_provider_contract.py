"""What every model provider does alike: the twin, the OpenAI wire, and the built-in model.

The built-in model takes part in shape only (its words are not ours to predict); whatever a script
has to provoke runs over the two that can be scripted.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import msgspec
import pytest

from hermes.errors import ProviderRejected, ProviderUnavailable, StreamTruncated
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    ImagePart,
    Media,
    TextPart,
    ToolResultPart,
    text_of,
    tool_calls_of,
)
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.provider import (
    CallEnd,
    ModelEvent,
    ModelRequest,
    Provider,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolSpec,
)
from hermes.providers.anthropic.provider import AnthropicProvider
from hermes.providers.anthropic.settings import AnthropicSettings
from hermes.providers.gemini.provider import GeminiProvider
from hermes.providers.gemini.settings import GeminiSettings
from hermes.providers.local.provider import LocalProvider
from hermes.providers.local.settings import LocalSettings
from hermes.providers.ollama.provider import OllamaProvider
from hermes.providers.ollama.settings import OllamaSettings
from hermes.providers.openai.provider import OpenAIProvider
from hermes.providers.openai.settings import OpenAISettings
from hermes.providers.openai_responses.provider import ResponsesProvider
from hermes.providers.openai_responses.settings import ResponsesSettings
from hermes.testing.anthropic_server import AnthropicServer
from hermes.testing.gemini_server import GeminiServer
from hermes.testing.model_server import ModelServer
from hermes.testing.ollama_server import OllamaServer
from hermes.testing.responses_server import ResponsesServer
from hermes.testing.scripted_model import ScriptedProvider

SCRIPTED = ("scripted", "openai", "responses", "ollama", "gemini", "anthropic")
EVERY = (*SCRIPTED, "local")
TOOLS = (ToolSpec("clock", "Tells the time.", msgspec.Raw(b'{"type":"object"}')),)


async def no_sleep(_seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(sleep=no_sleep) as running:
        yield running


@pytest.fixture
async def gemini_server() -> AsyncIterator[GeminiServer]:
    async with GeminiServer(sleep=no_sleep) as running:
        yield running


@pytest.fixture
async def anthropic_server() -> AsyncIterator[AnthropicServer]:
    async with AnthropicServer(sleep=no_sleep) as running:
        yield running


@pytest.fixture
async def responses_server() -> AsyncIterator[ResponsesServer]:
    async with ResponsesServer(sleep=no_sleep) as running:
        yield running


@pytest.fixture
async def ollama_server() -> AsyncIterator[OllamaServer]:
    async with OllamaServer(sleep=no_sleep) as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


@pytest.fixture
async def provider(
    request, server, responses_server, ollama_server, gemini_server, anthropic_server, client
) -> AsyncIterator[Provider]:
    settings = OpenAISettings(
        name="stand-in",
        model="stand-in-1",
        base_url=server.base_url,
    )
    gemini = GeminiSettings(
        name="stand-in",
        model="stand-in-1",
        base_url=gemini_server.base_url,
        api_key=gemini_server.key,
    )
    anthropic = AnthropicSettings(
        name="stand-in",
        model="stand-in-1",
        base_url=anthropic_server.base_url,
        api_key="sk-ant-api-stand-in",
    )
    responses = ResponsesSettings(
        name="stand-in",
        model="stand-in-1",
        base_url=responses_server.base_url,
    )
    ollama = OllamaSettings(
        name="stand-in",
        model="stand-in-1",
        base_url=ollama_server.base_url,
    )
    makers: dict[str, Callable[[], Provider]] = {
        "scripted": lambda: ScriptedProvider(sleep=no_sleep),
        "openai": lambda: OpenAIProvider(settings, client),
        "responses": lambda: ResponsesProvider(responses, client),
        "ollama": lambda: OllamaProvider(ollama, client),
        "gemini": lambda: GeminiProvider(gemini, client),
        "anthropic": lambda: AnthropicProvider(anthropic, client),
        "local": lambda: LocalProvider(LocalSettings(threads=1)),
    }
    made = makers[request.param]()
    yield made
    await made.close()


def asking(text: str, *before: ChatMessage, tools: tuple[ToolSpec, ...] = ()) -> ModelRequest:
    return ModelRequest(
        model="stand-in-1",
        system=("You are brief.",),
        messages=(*before, user_text(text)),
        tools=tools,
        max_output_tokens=12,
    )


async def events_of(provider: Provider, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in provider.stream(request)]


def end_of(events: list[ModelEvent]) -> CallEnd:
    assert isinstance(events[-1], CallEnd)
    return events[-1]


@pytest.mark.req("P6", "M7", "A20")
@pytest.mark.parametrize("provider", EVERY, indirect=True)
async def test_a_call_streams_text_and_ends_with_exactly_one_end_that_counts_and_prices_nothing(
    provider,
):
    events = await events_of(provider, asking("Say hello to the sea."))

    ends = [event for event in events if isinstance(event, CallEnd)]
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert ends == events[-1:]
    assert deltas
    assert all(deltas)
    assert "".join(deltas) == text_of(ends[0].parts)
    assert ends[0].stop_reason in {"end", "length"}
    assert ends[0].usage.tokens_in > 0
    assert ends[0].usage.tokens_out > 0
    assert (ends[0].usage.cost_usd, ends[0].usage.unpriced) == (0.0, 0)
    assert ends[0].model


@pytest.mark.req("P6")
@pytest.mark.parametrize("provider", EVERY, indirect=True)
async def test_it_says_what_it_can_do_and_that_it_may_be_called(provider):
    assert provider.info.name
    assert provider.info.model
    assert provider.info.context_tokens > 0
    assert await provider.available()


@pytest.mark.req("P6", "A9")
@pytest.mark.parametrize("provider", EVERY, indirect=True)
async def test_a_call_can_be_left_in_the_middle_and_the_next_one_works(provider):
    async with aclosing(provider.stream(asking("[[deltas:6]] Tell me a story."))) as events:
        first = [event async for event in _some(events, 1)]

    after = await events_of(provider, asking("And now?"))

    assert isinstance(first[0], TextDelta)
    assert isinstance(after[-1], CallEnd)


@pytest.mark.req("P6")
@pytest.mark.parametrize("provider", EVERY, indirect=True)
async def test_calls_at_the_same_time_do_not_mix(provider):
    both = await asyncio.gather(
        events_of(provider, asking("one")), events_of(provider, asking("two"))
    )

    for events in both:
        text = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert text == text_of(end_of(events).parts)


@pytest.mark.req("M3")
@pytest.mark.parametrize("provider", SCRIPTED, indirect=True)
async def test_the_model_sees_every_turn_in_order(provider):
    before = (user_text("first"), ChatMessage("assistant", (TextPart("ok"),)))

    end = end_of(await events_of(provider, asking("second", *before)))

    assert end.parts == (TextPart("#2 second"),)


@pytest.mark.req("M7")
@pytest.mark.parametrize("provider", SCRIPTED, indirect=True)
async def test_many_deltas_and_reasoning_arrive_one_by_one(provider):
    events = await events_of(provider, asking("[[deltas:50]][[reason:hmm]]"))

    thoughts = [event.text for event in events if isinstance(event, ReasoningDelta)]
    assert [text for text in thoughts if text] == ["hmm"]
    assert len([event for event in events if isinstance(event, TextDelta)]) == 50


@pytest.mark.req("M5")
@pytest.mark.parametrize("provider", SCRIPTED, indirect=True)
async def test_parallel_tools_are_called_and_their_results_read(provider):
    text = '[[tool:clock {"zone":"Oslo"}]] [[tool:clock]]'
    asked = end_of(await events_of(provider, asking(text, tools=TOOLS)))
    calls = tool_calls_of(asked.parts)
    results = tuple(ToolResultPart(call.id, call.name, f"noon {n}") for n, call in enumerate(calls))

    answered = await events_of(
        provider,
        ModelRequest(
            model="stand-in-1",
            messages=(
                user_text(text),
                ChatMessage("assistant", asked.parts),
                ChatMessage("tool", results),
            ),
            tools=TOOLS,
        ),
    )

    assert asked.stop_reason == "tool_calls"
    assert [(call.name, call.arguments) for call in calls] == [
        ("clock", '{"zone":"Oslo"}'),
        ("clock", "{}"),
    ]
    assert len({call.id for call in calls}) == 2
    assert text_of(end_of(answered).parts).endswith("-> noon 0 | noon 1")


@pytest.mark.req("M5", "M7")
@pytest.mark.parametrize("provider", ["openai", "responses", "ollama", "gemini"], indirect=True)
async def test_tool_calls_are_told_as_they_grow_with_id_and_name_first(provider):
    text = '[[tool:clock {"zone":"Oslo"}]] [[tool:clock]]'

    events = await events_of(provider, asking(text, tools=TOOLS))

    pieces = [event for event in events if isinstance(event, ToolCallDelta)]
    grown = {
        index: [piece for piece in pieces if piece.index == index]
        for index in {piece.index for piece in pieces}
    }
    told = [
        (first.id, first.name, "".join(piece.arguments for piece in (first, *others)))
        for first, *others in (grown[index] for index in sorted(grown))
    ]
    calls = tool_calls_of(end_of(events).parts)
    assert told == [(call.id, call.name, call.arguments) for call in calls]
    assert not any(piece.id or piece.name for _, *others in grown.values() for piece in others)


@pytest.mark.req("A23", "P5")
@pytest.mark.parametrize("provider", SCRIPTED, indirect=True)
@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("[[fail:429]]", ProviderUnavailable),
        ("[[fail:500]]", ProviderUnavailable),
        ("[[fail:503]]", ProviderUnavailable),
        ("[[fail:400]]", ProviderRejected),
        ("[[fail:401]]", ProviderRejected),
        ("[[fail:404]]", ProviderRejected),
        ("[[cut]]", ProviderUnavailable),
        ("[[truncate]]", StreamTruncated),
        ("[[deltas:5]][[truncate:2]]", StreamTruncated),
        ("[[deltas:5]][[cut:2]]", StreamTruncated),
    ],
)
async def test_failures_say_what_the_caller_can_do(provider, directive, expected):
    with pytest.raises(expected) as caught:
        await events_of(provider, asking(directive))

    assert type(caught.value) is expected


@pytest.mark.req("P5")
@pytest.mark.parametrize("provider", SCRIPTED, indirect=True)
async def test_a_truncated_stream_still_hands_over_what_came(provider):
    got: list[ModelEvent] = []

    async def collect() -> None:
        async for event in provider.stream(asking("[[deltas:5]][[truncate:3]] abcdefghij")):
            got.append(event)  # noqa: PERF401 - what came before the error is the point

    with pytest.raises(StreamTruncated):
        await collect()

    assert [type(event) for event in got] == [TextDelta] * 3


@pytest.mark.req("A9")
@pytest.mark.parametrize("provider", SCRIPTED, indirect=True)
async def test_a_hanging_call_ends_when_its_task_is_cancelled(provider):
    events = provider.stream(asking("[[deltas:3]][[hang:1]] abc"))
    first = await anext(events)
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert isinstance(first, TextDelta)


@pytest.mark.req("A9")
@pytest.mark.parametrize("provider", ["openai"], indirect=True)
async def test_closing_a_call_closes_its_connection(provider, server):
    async with aclosing(provider.stream(asking("[[deltas:3]][[hang:1]] abc"))) as events:
        await anext(events)

    await asyncio.wait_for(server.disconnected.wait(), 5)


@pytest.mark.req("A23", "J17")
async def test_a_service_that_is_not_there_is_unavailable(client):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    absent = OpenAIProvider(OpenAISettings(name="gone", model="m", base_url=url), client)

    with pytest.raises(ProviderUnavailable, match="cannot connect"):
        await events_of(absent, asking("hi"))


@pytest.mark.req("W35", "M2")
async def test_a_wrong_key_is_rejected_and_not_repeated_in_the_error(client):
    async with ModelServer(key="right") as server:
        settings = OpenAISettings(
            name="m", model="m", base_url=server.base_url, api_key="wrong-key-of-mine"
        )
        with pytest.raises(ProviderRejected, match="401") as caught:
            await events_of(OpenAIProvider(settings, client), asking("hi"))
        rightly = msgspec.structs.replace(settings, api_key="right")
        answered = await events_of(OpenAIProvider(rightly, client), asking("hi"))

    assert "wrong-key-of-mine" not in str(caught.value)
    assert isinstance(answered[-1], CallEnd)


@pytest.mark.req("M7")
async def test_an_image_file_is_sent_as_its_bytes(client, server, tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG")
    image = ImagePart(Media("image/png", path=str(picture)))
    settings = OpenAISettings(name="m", model="m", base_url=server.base_url)
    request = ModelRequest(model="m", messages=(ChatMessage("user", (image, TextPart("see?"))),))

    end = end_of(await events_of(OpenAIProvider(settings, client), request))

    assert end.parts == (TextPart("#1 see?"),)


async def _some(events: AsyncIterator[ModelEvent], count: int) -> AsyncIterator[ModelEvent]:
    for _ in range(count):
        yield await anext(events)
