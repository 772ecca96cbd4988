"""Google's own SDK as the oracle of Gemini's answers: the same bytes, read alike.

Beyond the oracle: how the bytes are cut into pieces must not matter, and a stream that ends early
is never a success, which the SDK leaves to its callers.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from google import genai
from google.genai import types

from hermes.errors import StreamTruncated
from hermes.message.parts import ReasoningPart, text_of, tool_calls_of
from hermes.ports.provider import CallEnd, ModelEvent, ReasoningDelta, TextDelta
from hermes.provider_kit.sse_parser import SseParser
from hermes.providers.gemini.assembly import GeminiAssembly
from hermes.providers.gemini.settings import GeminiSettings

SETTINGS = GeminiSettings(name="gemini", model="gemini-3-pro-preview")
SIGNATURES = [base64.b64encode(bytes([255, 254, number]) * 9).decode() for number in range(3)]
USAGE = {
    "promptTokenCount": 40,
    "candidatesTokenCount": 12,
    "thoughtsTokenCount": 7,
    "cachedContentTokenCount": 16,
    "totalTokenCount": 59,
}
STOPS = {"STOP": "end", "MAX_TOKENS": "length", "SAFETY": "refusal", None: "refusal"}


class Answer(msgspec.Struct, frozen=True):
    """What one side made of a stream; signatures in the order of their parts."""

    text: str
    thoughts: str
    calls: tuple[tuple[str | None, str, Any], ...]
    signatures: tuple[bytes, ...]
    stop: str
    usage: tuple[int, int, int, int]
    model: str


def chunk(*parts: dict, finish: str | None = None, **fields: Any) -> dict:
    candidate: dict = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": USAGE,
        "modelVersion": "gemini-3x",
        **fields,
    }


def call(name: str, args: dict | None, *, id_: str | None = None, **fields: Any) -> dict:
    made = {"name": name, "args": args, "id": id_}
    return {"functionCall": {k: v for k, v in made.items() if v is not None}, **fields}


STREAMS: dict[str, list[dict]] = {
    "text": [chunk({"text": "Hel"}), chunk({"text": "lo"}), chunk({"text": "."}, finish="STOP")],
    "one chunk": [chunk({"text": "Hello"}, finish="STOP")],
    "beyond ASCII": [chunk({"text": "né 日"}), chunk({"text": "本 😀"}, finish="STOP")],
    "several parts in a chunk": [
        chunk({"text": "a", "thought": True}, {"text": "b"}, {"text": "c"}, finish="STOP")
    ],
    "thoughts and a signed end": [
        chunk({"text": "**Hm** ", "thought": True}),
        chunk({"text": "well", "thought": True}),
        chunk({"text": "noon"}),
        chunk({"text": "", "thoughtSignature": SIGNATURES[0]}, finish="STOP"),
    ],
    "signed text": [
        chunk({"text": "no"}),
        chunk({"text": "on", "thoughtSignature": SIGNATURES[1]}, finish="STOP"),
    ],
    "a signed call": [
        chunk(call("clock", {"zone": "Oslo"}, id_="f1", thoughtSignature=SIGNATURES[2])),
        chunk({"text": ""}, finish="STOP"),
    ],
    "parallel calls behind words": [
        chunk({"text": "wait"}),
        chunk(
            call("clock", {"zone": "Oslo", "n": [1, 2.5, None]}, id_="f1"),
            call("clock", {}, id_="f2"),
        ),
        chunk(call("now", None, id_="f3"), finish="STOP"),
    ],
    "the output limit": [chunk({"text": "Once"}), chunk({"text": " upon"}, finish="MAX_TOKENS")],
    "stopped for safety": [chunk({"text": "How to"}), chunk(finish="SAFETY")],
    "a blocked prompt": [
        {
            "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": USAGE,
            "modelVersion": "gemini-3x",
        }
    ],
}


def as_bytes(chunks: Iterable[dict]) -> bytes:
    return b"".join(b"data: %s\r\n\r\n" % msgspec.json.encode(one) for one in chunks)


def read(pieces: Iterable[bytes]) -> tuple[list[ModelEvent], CallEnd]:
    """Return what Hermes makes of a stream that arrives in `pieces` and then ends."""
    parser = SseParser()
    assembly = GeminiAssembly(
        SETTINGS, model="m", sent_chars=4, make_id=lambda prefix: f"{prefix}_made"
    )
    deltas = [
        d for piece in pieces for payload in parser.feed(piece) for d in assembly.feed(payload)
    ]
    for payload in parser.finish():
        deltas += assembly.feed_last(payload)
    return deltas, assembly.end()


def by_hermes(stream: bytes) -> Answer:
    deltas, end = read([stream])
    thoughts = [part for part in end.parts if isinstance(part, ReasoningPart)]
    told = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
    thought = [delta.text for delta in deltas if isinstance(delta, ReasoningDelta)]
    assert "".join(told) == text_of(end.parts)
    assert "".join(thought) == "".join(part.text for part in thoughts)
    usage = end.usage
    return Answer(
        "".join(told),
        "".join(thought),
        tuple((c.id, c.name, msgspec.json.decode(c.arguments)) for c in tool_calls_of(end.parts)),
        tuple(base64.b64decode(p.signature) for p in thoughts if p.signature is not None),
        end.stop_reason,
        (usage.tokens_in, usage.tokens_out, usage.cached_in, usage.reasoning_out),
        end.model,
    )


@asynccontextmanager
async def serving(stream: bytes) -> AsyncIterator[str]:
    """Serve `stream` as the answer to every request."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
        writer.write(b"Connection: close\r\n\r\n" + stream)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def collect(chunks: list[types.GenerateContentResponse]) -> Answer:
    contents = [one.candidates[0].content for one in chunks if one.candidates]
    parts = [part for content in contents if content for part in content.parts or ()]
    finishes = [one.candidates[0].finish_reason for one in chunks if one.candidates]
    usage = chunks[-1].usage_metadata
    assert usage is not None
    made = [part.function_call for part in parts if part.function_call]
    finish = finishes[-1].value if finishes and finishes[-1] else None
    stop = STOPS[finish]
    thoughts = usage.thoughts_token_count or 0
    return Answer(
        "".join(part.text or "" for part in parts if not part.thought),
        "".join(part.text or "" for part in parts if part.thought),
        tuple((one.id, one.name or "", one.args or {}) for one in made),
        tuple(part.thought_signature for part in parts if part.thought_signature),
        "tool_calls" if made and stop == "end" else stop,
        (
            usage.prompt_token_count or 0,
            (usage.candidates_token_count or 0) + thoughts,
            usage.cached_content_token_count or 0,
            thoughts,
        ),
        chunks[-1].model_version or "",
    )


async def by_sdk(stream: bytes) -> Answer:
    async with serving(stream) as base_url:

        def run() -> list[types.GenerateContentResponse]:
            options = types.HttpOptions(base_url=base_url, api_version="v1beta", timeout=10_000)
            with genai.Client(api_key="k", vertexai=False, http_options=options) as sdk:
                return list(sdk.models.generate_content_stream(model="gemini-3x", contents="hi"))

        return collect(await asyncio.to_thread(run))


@pytest.mark.req("M1", "M5", "M7", "A20")
@pytest.mark.parametrize("name", STREAMS)
async def test_hermes_reads_what_the_sdk_reads(name):
    stream = as_bytes(STREAMS[name])

    theirs = await by_sdk(stream)

    assert by_hermes(stream) == theirs


@pytest.mark.req("P5")
@pytest.mark.parametrize("name", STREAMS)
def test_how_the_bytes_are_cut_does_not_matter(name):
    stream = as_bytes(STREAMS[name])
    whole = read([stream])

    split = [read([stream[:cut], stream[cut:]]) for cut in range(len(stream) + 1)]
    byte_by_byte = read([stream[at : at + 1] for at in range(len(stream))])

    assert all(one == whole for one in split)
    assert byte_by_byte == whole


@pytest.mark.req("P5")
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_ends_early_is_truncated_at_every_byte(name):
    stream = as_bytes(STREAMS[name])
    told = len(stream.rstrip())

    for cut in range(told):
        with pytest.raises(StreamTruncated):
            read([stream[:cut]])

    assert read([stream[:told]]) == read([stream])


@pytest.mark.req("P5")
async def test_the_sdk_itself_would_not_notice_an_early_end():
    stream = as_bytes(STREAMS["text"][:2])

    theirs = await by_sdk(stream)

    assert theirs.text == "Hello"
    with pytest.raises(StreamTruncated):
        read([stream])
