"""OpenAI's own SDK as the oracle of both OpenAI wires: the same request, and the same answer read.

Every request is sent through the SDK and through Hermes to one loopback server, and compared as
parsed JSON; the strict shapes read both, so the shapes are proven to be no stricter than the SDK.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import openai
import pytest
from openai.types.chat import completion_create_params
from openai.types.responses import (
    ResponseCompletedEvent,
    ResponseIncompleteEvent,
    response_create_params,
)
from pydantic import TypeAdapter

from hermes.errors import ProviderError, ProviderUnavailable, StreamTruncated
from hermes.message.parts import Part, ReasoningPart, text_of, tool_calls_of
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.provider import CallEnd, ModelRequest, Provider
from hermes.provider_kit.sse_parser import SseParser
from hermes.providers.openai.assembly import OpenAIAssembly as ChatAssembly
from hermes.providers.openai.presets import presets
from hermes.providers.openai.provider import OpenAIProvider
from hermes.providers.openai.settings import OpenAISettings
from hermes.providers.openai_responses.assembly import ResponsesAssembly
from hermes.providers.openai_responses.provider import ResponsesProvider
from hermes.providers.openai_responses.settings import ResponsesSettings
from hermes.testing import openai_shape, responses_shape
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp
from tests.oracle.openai_rows import CHAT_ROWS, MODEL, PICTURE, PICTURE_BYTES, Row
from tests.oracle.openai_streams import CHAT_STREAMS, RESPONSE_STREAMS
from tests.oracle.responses_rows import RESPONSES_ROWS

KEY = "sk-oracle"
# Every accepted difference, by the header it is in, and why. The bodies have none.
DIFFERENCES = {
    "accept": "Hermes names the event stream that it will get; the SDK names JSON for every call",
    "accept-encoding": "the streams are small and local to the service: no compression is asked for",
    "connection": "HTTP/1.1 keeps connections by default",
    "user-agent": "each names itself",
    "x-stainless-*": "what the SDK tells OpenAI about the machine it runs on",
}
CHAT_PARAMS: TypeAdapter[Any] = TypeAdapter(
    completion_create_params.CompletionCreateParamsStreaming
)
RESPONSES_PARAMS: TypeAdapter[Any] = TypeAdapter(
    response_create_params.ResponseCreateParamsStreaming
)

Ask = Callable[[str], Awaitable[object]]
Answered = tuple[ReceivedRequest, ReceivedRequest]


@pytest.mark.req("M1")
def test_enough_rows_are_compared_and_few_differences_accepted() -> None:
    assert len({row.name for row in CHAT_ROWS}) == len(CHAT_ROWS) >= 40
    assert len({row.name for row in RESPONSES_ROWS}) == len(RESPONSES_ROWS) >= 20
    assert len(DIFFERENCES) <= 10


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


def serving(stream: bytes) -> ScriptedHttp:
    """Return a server that answers every call with the same bytes."""

    async def answer(_received: ReceivedRequest, out: Out) -> None:
        out.whole(200, stream, kind="text/event-stream")

    return ScriptedHttp(answer)


def sdk_at(server: ScriptedHttp) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{server.origin}/v1", api_key=KEY, max_retries=0)


def chat_settings(server: ScriptedHttp, **fields: Any) -> OpenAISettings:
    quirks = presets()["openai"].quirks
    return OpenAISettings(
        name="openai",
        model=MODEL,
        base_url=f"{server.origin}/v1",
        api_key=KEY,
        quirks=quirks,
        **fields,
    )


def responses_settings(server: ScriptedHttp, **fields: Any) -> ResponsesSettings:
    return ResponsesSettings(
        name="openai", model=MODEL, base_url=f"{server.origin}/v1", api_key=KEY, **fields
    )


async def end_of(provider: Provider, request: ModelRequest) -> CallEnd:
    events = [event async for event in provider.stream(request)]
    assert isinstance(events[-1], CallEnd)
    return events[-1]


async def chat_both_ways(row: Row, client: HttpClient) -> Answered:
    async with serving(CHAT_STREAMS["text"]) as server:
        async with sdk_at(server) as sdk:
            given: dict[str, Any] = {**row.sdk, "stream_options": {"include_usage": True}}
            stream = await sdk.chat.completions.create(stream=True, **given)
            [chunk async for chunk in stream]
        provider = OpenAIProvider(chat_settings(server, **row.settings), client)
        await end_of(provider, row.request)
        theirs, ours = server.requests
    return theirs, ours


async def responses_both_ways(row: Row, client: HttpClient) -> Answered:
    async with serving(RESPONSE_STREAMS["text"]) as server:
        async with sdk_at(server) as sdk:
            stream = await sdk.responses.create(**row.sdk, stream=True)
            [event async for event in stream]
        provider = ResponsesProvider(responses_settings(server, **row.settings), client)
        await end_of(provider, row.request)
        theirs, ours = server.requests
    return theirs, ours


# Any: values of the SDK's own types, which are validated only as they are read.
def read_whole(value: Any) -> None:
    if isinstance(value, dict):
        for inner in value.values():
            read_whole(inner)
    elif not isinstance(value, str | bytes) and isinstance(value, Iterable):
        for inner in value:
            read_whole(inner)


def compared(headers: dict[str, str]) -> dict[str, str]:
    """Return the headers that have to be equal."""
    skipped = {"host", "content-length", *DIFFERENCES}
    return {
        name: value
        for name, value in headers.items()
        if name not in skipped and not name.startswith("x-stainless-")
    }


@pytest.fixture(autouse=True)
def picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand where the rows' picture is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / PICTURE).write_bytes(PICTURE_BYTES)


@pytest.mark.req("M1", "M3", "M4", "M5", "M6", "M7")
@pytest.mark.parametrize("row", CHAT_ROWS, ids=lambda row: row.name)
async def test_chat_puts_the_same_on_the_wire_as_the_sdk(row, client):
    theirs, ours = await chat_both_ways(row, client)

    assert ours.json() == theirs.json()
    assert (ours.method, ours.path) == (theirs.method, theirs.path)
    assert compared(ours.headers) == compared(theirs.headers)
    read_whole(CHAT_PARAMS.validate_python(ours.json()))
    openai_shape.read_request(theirs.body)


@pytest.mark.req("M1", "M3", "M4", "M5", "M6", "M7")
@pytest.mark.parametrize("row", RESPONSES_ROWS, ids=lambda row: row.name)
async def test_responses_put_the_same_on_the_wire_as_the_sdk(row, client):
    theirs, ours = await responses_both_ways(row, client)

    assert ours.json() == theirs.json()
    assert (ours.method, ours.path) == (theirs.method, theirs.path)
    assert compared(ours.headers) == compared(theirs.headers)
    read_whole(RESPONSES_PARAMS.validate_python(ours.json()))
    responses_shape.read_request(theirs.body)


@pytest.mark.req("P6")
async def test_embeddings_are_asked_for_and_read_as_by_the_sdk(client):
    vectors = [[0.25, -1.0], [0.5, 2.0]]
    data = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    body = {"object": "list", "data": data, "model": "e-1", "usage": usage}

    async def answer(_received: ReceivedRequest, out: Out) -> None:
        out.whole(200, msgspec.json.encode(body))

    async with ScriptedHttp(answer) as server, sdk_at(server) as sdk:
        theirs = await sdk.embeddings.create(model="e-1", input=["a", "b"], encoding_format="float")
        ours = await OpenAIProvider(chat_settings(server), client).embed(("a", "b"), model="e-1")

    assert server.requests[1].json() == server.requests[0].json()
    assert [list(vector) for vector in ours.vectors] == [row.embedding for row in theirs.data]
    assert (ours.model, ours.usage.tokens_in) == (theirs.model, theirs.usage.prompt_tokens)


STOPS = {
    "stop": "end",
    "length": "length",
    "content_filter": "refusal",
    "tool_calls": "tool_calls",
}


def calls_in(parts: tuple[Part, ...]) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in tool_calls_of(parts)]


@pytest.mark.req("M5", "M7", "A20")
@pytest.mark.parametrize("name", CHAT_STREAMS)
async def test_a_chat_stream_is_read_as_the_sdk_reads_it(name, client):
    async with serving(CHAT_STREAMS[name]) as server:
        async with (
            sdk_at(server) as sdk,
            sdk.chat.completions.stream(
                model=MODEL, messages=[{"role": "user", "content": "hi"}]
            ) as stream,
        ):
            async for _event in stream:
                pass
            theirs = stream.current_completion_snapshot
        end = await end_of(OpenAIProvider(chat_settings(server), client), CHAT_ROWS[0].request)

    message, usage = theirs.choices[0].message, theirs.usage
    assert usage is not None
    assert usage.prompt_tokens_details is not None
    assert usage.completion_tokens_details is not None
    refused = bool(message.refusal)
    assert text_of(end.parts) == (message.content or "") + (message.refusal or "")
    assert calls_in(end.parts) == [
        (call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()
    ]
    assert end.stop_reason == ("refusal" if refused else STOPS[theirs.choices[0].finish_reason])
    assert end.model == theirs.model
    assert (end.usage.tokens_in, end.usage.tokens_out) == (
        usage.prompt_tokens,
        usage.completion_tokens,
    )
    assert end.usage.cached_in == usage.prompt_tokens_details.cached_tokens
    assert end.usage.reasoning_out == usage.completion_tokens_details.reasoning_tokens


# Any: the SDK's own items, of many classes.
def sdk_parts(output: list[Any]) -> tuple[str, list[tuple[str, str, str]], list[tuple[str, ...]]]:
    messages = [piece for item in output if item.type == "message" for piece in item.content]
    texts = [piece.refusal if piece.type == "refusal" else piece.text for piece in messages]
    calls = [
        (item.call_id, item.name, item.arguments) for item in output if item.type == "function_call"
    ]
    thoughts = [
        (item.id, item.encrypted_content, *(piece.text for piece in item.summary))
        for item in output
        if item.type == "reasoning"
    ]
    return "".join(texts), calls, thoughts


def thoughts_in(parts: tuple[Part, ...]) -> list[tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for part in parts:
        if isinstance(part, ReasoningPart):
            kept = found.setdefault(part.id or "", [part.sealed or ""])
            kept.extend([part.text] if part.text else [])
    return [(id_, *rest) for id_, rest in found.items()]


@pytest.mark.req("M3", "M5", "M7", "A20")
@pytest.mark.parametrize("name", RESPONSE_STREAMS)
async def test_a_response_stream_is_read_as_the_sdk_reads_it(name, client):
    async with serving(RESPONSE_STREAMS[name]) as server:
        async with sdk_at(server) as sdk:
            stream = await sdk.responses.create(model=MODEL, input="hi", stream=True)
            events = [event async for event in stream]
        end = await end_of(
            ResponsesProvider(responses_settings(server), client), RESPONSES_ROWS[0].request
        )

    last = events[-1]
    assert isinstance(last, ResponseCompletedEvent | ResponseIncompleteEvent)
    theirs = last.response
    assert theirs.usage is not None
    text, calls, thoughts = sdk_parts(theirs.output)
    assert text_of(end.parts) == text
    assert calls_in(end.parts) == calls
    assert thoughts_in(end.parts) == thoughts
    assert end.model == theirs.model
    assert (end.usage.tokens_in, end.usage.tokens_out, end.usage.cached_in) == (
        theirs.usage.input_tokens,
        theirs.usage.output_tokens,
        theirs.usage.input_tokens_details.cached_tokens,
    )
    assert end.usage.reasoning_out == theirs.usage.output_tokens_details.reasoning_tokens


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("text", "end"),
        ("refusal", "refusal"),
        ("a call", "tool_calls"),
        ("length", "length"),
        ("filtered", "refusal"),
    ],
)
def test_a_response_says_why_it_stopped(name, reason):
    assert read(responses_assembly(), RESPONSE_STREAMS[name]).stop_reason == reason


def chat_assembly() -> ChatAssembly:
    settings = OpenAISettings(name="openai", model=MODEL)
    return ChatAssembly(settings, sent_chars=4, make_id=lambda prefix: f"{prefix}_made")


def responses_assembly() -> ResponsesAssembly:
    settings = ResponsesSettings(name="openai", model=MODEL)
    return ResponsesAssembly(settings, sent_chars=4, make_id=lambda prefix: f"{prefix}_made")


def read(assembly: ChatAssembly | ResponsesAssembly, *chunks: bytes) -> CallEnd:
    """Return what the bytes say when they end there."""
    parser = SseParser()
    payloads = [payload for chunk in chunks for payload in parser.feed(chunk)]
    for payload in (*payloads, *parser.finish()):
        assembly.feed(payload)
    return assembly.end()


CASES = [
    *((name, stream, chat_assembly, b'"finish_reason":"') for name, stream in CHAT_STREAMS.items()),
    *((name, stream, responses_assembly, b"") for name, stream in RESPONSE_STREAMS.items()),
]


@pytest.mark.req("M7")
@pytest.mark.parametrize(("name", "stream", "made", "_marker"), CASES)
def test_where_a_stream_is_cut_into_chunks_does_not_matter(name, stream, made, _marker):
    whole = read(made(), stream)

    differing = [
        cut for cut in range(len(stream)) if read(made(), stream[:cut], stream[cut:]) != whole
    ]

    assert differing == []


@pytest.mark.req("P5", "A23")
@pytest.mark.parametrize(("name", "stream", "made", "marker"), CASES)
def test_a_stream_that_ends_early_is_never_a_success(name, stream, made, marker):
    whole = read(made(), stream)
    # From the chunk that says why the model stopped, the answer is whole; before, it never is.
    told = stream.index(b"\n", stream.rindex(marker)) if marker else len(stream.rstrip())

    outcomes = {cut: _outcome(made(), stream[:cut]) for cut in range(len(stream))}

    early = {type(outcomes[cut]) for cut in range(told - 1)}
    late = [outcomes[cut] for cut in range(told, len(stream))]
    assert early <= {StreamTruncated, ProviderUnavailable}
    assert StreamTruncated in early
    assert [answer_in(outcome) for outcome in late] == [answer_in(whole)] * len(late)


def answer_in(outcome: CallEnd | ProviderError) -> object:
    """Return the answer without what it took, which comes last and may be lost."""
    return (outcome.parts, outcome.stop_reason) if isinstance(outcome, CallEnd) else outcome


def _outcome(assembly: ChatAssembly | ResponsesAssembly, stream: bytes) -> CallEnd | ProviderError:
    try:
        return read(assembly, stream)
    except ProviderError as error:
        return error
