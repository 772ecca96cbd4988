"""The Gemini provider over sockets: addresses, keys, signatures there and back, embeddings."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import msgspec
import pytest

from hermes.errors import ProviderRejected, ProviderUnavailable, StreamTruncated
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    ImagePart,
    Media,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    tool_calls_of,
)
from hermes.message.reply import Usage
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.provider import CallEnd, Embedder, ModelRequest, TextDelta, ToolSpec
from hermes.providers.gemini.provider import GeminiProvider
from hermes.providers.gemini.settings import GeminiSettings
from hermes.testing.gemini_frames import SIGNATURE
from hermes.testing.gemini_server import GeminiServer
from hermes.testing.model_script import ScriptedTurn, in_order
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp

NEW = "gemini-3-pro-preview"
TOOLS = (ToolSpec("clock", "Tells the time.", msgspec.Raw(b'{"type":"object"}')),)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
FINISHED = (
    b'data: {"candidates":[{"content":{"parts":[{"text":"noon"}]},"finishReason":"STOP"}]}\r\n\r\n'
)


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


@pytest.fixture
async def server() -> AsyncIterator[GeminiServer]:
    async with GeminiServer() as running:
        yield running


def settings_for(server: GeminiServer, **fields: object) -> GeminiSettings:
    made = GeminiSettings(name="gemini", model=NEW, base_url=server.base_url, api_key=server.key)
    return msgspec.structs.replace(made, **fields)


async def end_of(provider: GeminiProvider, *messages: ChatMessage, **fields: object) -> CallEnd:
    request = msgspec.structs.replace(ModelRequest(model="", messages=messages), **fields)
    events = [event async for event in provider.stream(request)]
    assert isinstance(events[-1], CallEnd)
    return events[-1]


@asynccontextmanager
async def answering(answer: bytes, *, stays_open: bool = False) -> AsyncIterator[str]:
    """Serve the bytes of `answer` to every request, whatever they are."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        if stays_open:
            await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.req("W35", "M1")
@pytest.mark.parametrize("version", ["v1beta", "v1"])
async def test_the_key_stands_in_its_header_and_never_in_the_address(client, server, version):
    provider = GeminiProvider(settings_for(server, api_version=version), client)

    await end_of(provider, user_text("hi"))

    (seen,) = server.requests
    assert seen.target == f"/{version}/models/{NEW}:streamGenerateContent?alt=sse"
    assert seen.headers["x-goog-api-key"] == server.key
    assert "authorization" not in seen.headers


@pytest.mark.req("W35", "M2")
@pytest.mark.parametrize(("key", "code"), [(None, "403"), ("wrong-key-of-mine", "400")])
async def test_a_missing_or_wrong_key_is_rejected_and_not_repeated(client, server, key, code):
    provider = GeminiProvider(settings_for(server, api_key=key), client)

    with pytest.raises(ProviderRejected, match=code) as caught:
        await end_of(provider, user_text("hi"))

    assert "wrong-key-of-mine" not in str(caught.value)


@pytest.mark.req("M5", "M7")
@pytest.mark.parametrize("ids", [True, False])
async def test_signatures_and_ids_go_back_exactly_as_they_came(client, ids):
    text = '[[tool:clock {"zone":"Oslo"}]] [[tool:clock]] [[reason:hmm]]'
    async with GeminiServer(ids=ids) as server:
        provider = GeminiProvider(settings_for(server), client)
        asked = await end_of(provider, user_text(text), tools=TOOLS)
        calls = tool_calls_of(asked.parts)
        results = tuple(ToolResultPart(call.id, call.name, "noon") for call in calls)
        history = (
            user_text(text),
            ChatMessage("assistant", asked.parts),
            ChatMessage("tool", results),
        )
        answered = await end_of(provider, *history, tools=TOOLS)
        again = (*history, ChatMessage("assistant", answered.parts), user_text("and now?"))
        await end_of(provider, *again, tools=TOOLS)
        contents = server.requests[-1].body["contents"]

    assert asked.stop_reason == "tool_calls"
    assert len({call.id for call in calls}) == 2
    assert contents[1] == {
        "role": "model",
        "parts": [
            {"text": "hmm", "thought": True},
            {
                "functionCall": {"id": calls[0].id, "name": "clock", "args": {"zone": "Oslo"}},
                "thoughtSignature": SIGNATURE,
            },
            {"functionCall": {"id": calls[1].id, "name": "clock", "args": {}}},
        ],
    }
    assert contents[3]["parts"][-1] == {"text": "", "thoughtSignature": SIGNATURE}


@pytest.mark.req("P5", "M5")
async def test_a_turn_that_another_service_began_goes_on_here(client, server):
    before = (
        user_text("what time? [[tool:clock]]"),
        ChatMessage(
            "assistant",
            (
                ReasoningPart("hm", "anthropic", signature="c2ln"),
                ToolCallPart("toolu_1", "clock", "{}"),
            ),
        ),
        ChatMessage("tool", (ToolResultPart("toolu_1", "clock", "noon"),)),
    )

    end = await end_of(GeminiProvider(settings_for(server), client), *before, tools=TOOLS)

    assert end.parts[0] == TextPart("#1 what time? [[tool:clock]] -> noon")


@pytest.mark.req("M7")
async def test_an_image_file_is_sent_as_its_bytes(client, server, tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG")
    image = ImagePart(Media("image/png", path=str(picture)))

    await end_of(
        GeminiProvider(settings_for(server), client),
        ChatMessage("user", (image, TextPart("see?"))),
    )

    assert server.requests[0].body["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
        {"text": "see?"},
    ]


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("model", "is_fetched"),
    [
        (NEW, False),
        ("gemini-2.5-flash", False),
        ("gemini-flash-latest", False),
        ("models/gemini-10-pro", False),
        ("gemini-2.0-flash", True),
        ("models/gemini-1.5-pro", True),
        ("gemma-3-27b-it", True),
    ],
)
async def test_a_picture_at_an_address_is_fetched_only_for_models_that_take_none(
    server, model, is_fetched
):
    async def picture(_received: ReceivedRequest, out: Out) -> None:
        out.whole(200, b"\x89PNG\r\n\x1a\n", kind="image/png")

    client = HttpClient(HttpSettings(exempt=("127.0.0.1/32",)))
    async with ScriptedHttp(picture) as web:
        image = ImagePart(Media("image/jpeg", url=f"{web.origin}/a"))
        provider = GeminiProvider(settings_for(server), client)
        await end_of(provider, ChatMessage("user", (image,)), model=model)
    await client.close()

    [part] = server.requests[0].body["contents"][0]["parts"]
    by_value = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    by_address = {"fileData": {"mimeType": "image/jpeg", "fileUri": f"{web.origin}/a"}}
    assert part == (by_value if is_fetched else by_address)


@pytest.mark.req("A26", "A23")
async def test_the_wait_that_the_service_asks_for_is_passed_on(client):
    script = in_order([ScriptedTurn(fault="status", status=429, retry_after=7.5)])
    async with GeminiServer(script) as server:
        with pytest.raises(ProviderUnavailable, match="429") as caught:
            await end_of(GeminiProvider(settings_for(server), client), user_text("hi"))

    assert caught.value.retry_after == 7.5


@pytest.mark.req("A20")
async def test_cached_and_thought_tokens_are_counted(client):
    turn = ScriptedTurn(text="ok", tokens_in=100, tokens_out=50, cached_in=40, reasoning_out=30)
    async with GeminiServer(in_order([turn])) as server:
        end = await end_of(GeminiProvider(settings_for(server), client), user_text("hi"))

    usage = end.usage
    assert (usage.tokens_in, usage.tokens_out) == (100, 50)
    assert (usage.cached_in, usage.reasoning_out) == (40, 30)


@pytest.mark.req("A9")
async def test_closing_a_call_closes_its_connection(client, server):
    provider = GeminiProvider(settings_for(server), client)
    request = ModelRequest(model=NEW, messages=(user_text("[[deltas:3]][[hang:1]] abc"),))

    async with aclosing(provider.stream(request)) as events:
        first = await anext(events)

    assert isinstance(first, TextDelta)
    await asyncio.wait_for(server.disconnected.wait(), 5)


@pytest.mark.req("P5")
async def test_a_service_that_does_not_hang_up_does_not_keep_the_caller(client):
    answer = HEAD + b"\r\n" + FINISHED
    async with answering(answer, stays_open=True) as url:
        settings = GeminiSettings(name="g", model=NEW, base_url=url, end_wait_s=0.01)
        end = await end_of(GeminiProvider(settings, client), user_text("hi"))

    assert (end.parts, end.stop_reason) == ((TextPart("noon"),), "end")


@pytest.mark.req("P5", "A23")
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"", ProviderUnavailable),
        (HEAD + b"Content-Length: 0\r\n\r\n", StreamTruncated),
        (HEAD + b"Content-Length: 9999\r\n\r\n" + FINISHED[:40], ProviderUnavailable),
        (HEAD + b"Connection: close\r\n\r\n" + FINISHED[:40], StreamTruncated),
        (HEAD + b"Connection: close\r\n\r\ndata: oops\n\n" + FINISHED, ProviderUnavailable),
        (HEAD + b"Connection: close\r\n\r\n<html>sorry</html>", StreamTruncated),
        (HEAD + b"Connection: close\r\n\r\ndata: " + b"x" * 1_100_000, ProviderUnavailable),
        (b"HTTP/1.1 502 Bad\r\nConnection: close\r\n\r\n<html>", ProviderUnavailable),
    ],
)
async def test_no_broken_answer_is_a_success(client, answer, expected):
    async with answering(answer) as url:
        provider = GeminiProvider(GeminiSettings(name="g", model=NEW, base_url=url), client)
        with pytest.raises(expected) as caught:
            await end_of(provider, user_text("hi"))

    assert type(caught.value) is expected


@pytest.mark.req("P6")
async def test_many_texts_are_embedded_in_batches_and_keep_their_order(client, server):
    provider = GeminiProvider(settings_for(server), client)
    texts = tuple(f"text {number}" for number in range(205))

    many = await provider.embed(texts, model="")
    last = await provider.embed(texts[-1:], model="models/gemini-embedding-001")
    none = await provider.embed((), model="")

    assert isinstance(provider, Embedder)
    assert [len(seen.body["requests"]) for seen in server.requests] == [100, 100, 5, 1]
    assert (len(many.vectors), many.vectors[-1:]) == (205, last.vectors)
    assert many.model == "gemini-embedding-001"
    assert many.usage == Usage(sum(-(-len(text) // 4) for text in texts))
    assert (none.vectors, none.usage) == ((), Usage())


@pytest.mark.req("P6", "A23")
@pytest.mark.parametrize(
    "body",
    [
        b'{"embeddings":[]}',
        b"{",
        b'{"embeddings":[{"values":[]}]}',
        b'{"embeddings":[{"values":["a"]}]}',
    ],
)
async def test_embeddings_that_do_not_fit_are_a_failure(client, body):
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
    async with answering(head + body) as url:
        provider = GeminiProvider(GeminiSettings(name="g", model=NEW, base_url=url), client)
        with pytest.raises(ProviderUnavailable, match="embedding"):
            await provider.embed(("a",), model="")


@pytest.mark.req("P6")
def test_it_says_what_it_can_do(client):
    settings = GeminiSettings(name="gemini", model=NEW)

    info = GeminiProvider(settings, client).info

    assert (info.tools, info.vision, info.schema, info.embeddings) == (True, True, True, True)
    assert info.local is False
