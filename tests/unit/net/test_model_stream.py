"""Which 200s are read as an answer, by what they say they are."""

import asyncio
from collections import UserDict
from collections.abc import AsyncIterator, ItemsView, Sequence
from threading import current_thread, main_thread

import msgspec
import pytest

from hermes.errors import ProviderError, ProviderTimeout, ProviderUnavailable, StreamTruncated
from hermes.message.reply import Usage
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.provider import CallEnd, ModelEvent, TextDelta
from hermes.provider_kit.sse_parser import SseParser
from hermes.provider_kit.stream import AnswerAssembly, ModelEndpoint, call_json, stream_model
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp

END = CallEnd((), "end", Usage(), "m")


class Echo:
    """Shows every payload; `.` ends the answer."""

    done = ended = started = False

    def feed(self, payload: bytes) -> Sequence[ModelEvent]:
        if payload == b".":
            self.done = self.ended = True
            return ()
        self.started = True
        return (TextDelta(payload.decode()),)

    feed_last = feed

    def end(self) -> CallEnd:
        if not self.ended:
            raise StreamTruncated("m: no end")
        return END


async def hang(_received: ReceivedRequest, _out: Out) -> None:
    await asyncio.Event().wait()


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


async def streamed(client: HttpClient, head: str, body: bytes) -> list[ModelEvent]:
    async def answer(_received: ReceivedRequest, out: Out) -> None:
        length = f"Content-Length: {len(body)}\r\n"
        out.raw(f"HTTP/1.1 200 OK\r\n{head}{length}\r\n".encode() + body)

    async with ScriptedHttp(answer) as server:
        endpoint = ModelEndpoint(provider="m", url=server.origin, headers={})

        async def prepare() -> tuple[ModelEndpoint, bytes, AnswerAssembly]:
            return endpoint, b"{}", Echo()

        events = stream_model(client, prepare=prepare, parser=SseParser())
        return [event async for event in events]


@pytest.mark.req("A23")
@pytest.mark.parametrize(
    "head",
    [
        "",
        "Content-Type: text/event-stream\r\n",
        "Content-Type: Text/Event-Stream; charset=utf-8\r\n",
        "Content-Type: text/plain\r\n",
        "Content-Type: text/event-stream\r\nContent-Encoding: identity\r\n",
    ],
)
async def test_a_stream_is_read_when_nothing_speaks_against_it(client, head):
    assert await streamed(client, head, b"data: hi\n\ndata: .\n\n") == [TextDelta("hi"), END]


@pytest.mark.req("A23")
@pytest.mark.parametrize(
    ("head", "body", "words"),
    [
        (
            "Content-Type: text/html\r\n",
            b"<html>",
            "200 with text/html, expected text/event-stream",
        ),
        ("Content-Type: application/json\r\n", b'{"choices":[]}', "200 with application/json"),
        ("Content-Type: application/json\r\n", b'{"error":"out of cheese"}', "out of cheese"),
        ("Content-Type: application/problem+json\r\n", b'{"detail":"no cheese"}', "no cheese"),
        ("Content-Encoding: zstd-of-a-kind\r\n", b"????", "encoding zstd-of-a-kind"),
    ],
)
async def test_a_200_of_another_kind_is_said_to_be_that(client, head, body, words):
    with pytest.raises(ProviderUnavailable, match=r"^m: ") as caught:
        await streamed(client, head, body)

    assert words in str(caught.value)


@pytest.mark.req("A23")
async def test_a_whole_answer_that_does_not_come_is_a_timeout(client):
    async with ScriptedHttp(hang) as server:
        endpoint = ModelEndpoint(provider="m", url=server.origin, headers={})
        with pytest.raises(ProviderTimeout, match=r"^m: .*within 0.05 s"):
            await call_json(client, endpoint, body=b"{}", timeout_s=0.05, limit=10)


class Headers(UserDict[str, str]):
    """Remembers whether another thread than the loop's has read them."""

    were_read_elsewhere = False

    def items(self) -> ItemsView[str, str]:
        self.were_read_elsewhere |= current_thread() is not main_thread()
        return super().items()


@pytest.mark.req("A8")
@pytest.mark.parametrize(("size", "elsewhere"), [(1_000, False), (40_000, True)])
async def test_a_large_request_that_failed_is_searched_beside_the_loop(client, size, elsewhere):
    async def refuse(_received: ReceivedRequest, out: Out) -> None:
        out.raw(b"HTTP/1.1 400 Bad\r\nContent-Length: 11\r\n\r\nno, sesame!")

    headers = Headers()
    async with ScriptedHttp(refuse) as server:
        endpoint = ModelEndpoint(provider="m", url=server.origin, headers=headers)
        with pytest.raises(ProviderError) as caught:
            await call_json(client, endpoint, body=b"sesame " * size, timeout_s=30, limit=10)

    assert "sesame" not in str(caught.value)
    assert headers.were_read_elsewhere is elsewhere


@pytest.mark.req("M1")
async def test_the_end_of_an_answer_says_how_long_its_service_rests(client):
    used_up = "x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 1m2s\r\n"

    events = await streamed(client, used_up, b"data: hi\n\ndata: .\n\n")

    assert events == [TextDelta("hi"), msgspec.structs.replace(END, rest_s=62.0)]
