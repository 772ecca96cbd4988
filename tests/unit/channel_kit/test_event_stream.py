"""Standing answers, from a real server on loopback: what is kept, and where a stream goes on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channel_kit.event_stream import EventStreamReader, SseReader, StreamEvent
from hermes.channel_kit.lifeline import Lifeline
from hermes.channel_kit.long_poll import KeptCursor
from hermes.errors import (
    AnswerTooLarge,
    ConnectFailed,
    DeliveryRejected,
    FailureClass,
    HermesError,
    NotDelivered,
    Overloaded,
)
from hermes.net.client import HttpClient, HttpSettings
from hermes.testing.channel_state import memory_state
from tests.unit.net.loopback import answer, serving

pytestmark = pytest.mark.req("J1")
OPEN = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


class Site:
    """A server that answers each call with the next of its answers, and then closes it."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.heads: list[str] = []
        self.stays_open = asyncio.Event()

    async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        self.heads.append(head.decode().lower())
        if not self.answers:
            await self.stays_open.wait()
        writer.write(self.answers.pop(0))
        await writer.drain()
        writer.close()

    def after(self, number: int) -> str:
        """Return the id that the call of this number named."""
        lines = [line for line in self.heads[number].split("\r\n") if "last-event-id" in line]
        return lines[0].partition(": ")[2] if lines else ""


@asynccontextmanager
async def receiving(
    site: Site, *, planned: list[HermesError] | None = None, **options: Any
) -> AsyncIterator[tuple[EventStreamReader, list[StreamEvent], list[float]]]:
    """Give a stream of the site, what it has brought, and how long it waited in between."""
    client = HttpClient(HttpSettings(timeout_s=5))
    came: list[StreamEvent] = []
    naps: list[float] = []

    async def take(event: StreamEvent) -> None:
        if planned:
            raise planned.pop(0)
        came.append(event)

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        await asyncio.sleep(0)

    async with serving(site.handle) as port:

        def address(after: str | None) -> str:
            since = f"?since={after}" if after and options.get("form") == "ndjson" else ""
            return f"http://127.0.0.1:{port}/events{since}"

        try:
            yield (
                EventStreamReader(client, address, take, platform="demo", sleep=sleep, **options),
                came,
                naps,
            )
        finally:
            await client.close()


async def run(stream: EventStreamReader) -> HermesError:
    """Receive until it is no longer possible; return why."""
    with pytest.raises(HermesError) as caught:
        async with asyncio.timeout(10):
            await stream.run()
    return caught.value


async def run_until(stream: EventStreamReader, claim: Callable[[], bool]) -> None:
    """Receive until a claim is true; the time limit is only for a broken test."""
    task = asyncio.create_task(stream.run())
    async with asyncio.timeout(10):
        while not claim() and not task.done():  # noqa: ASYNC110 - the site tells nobody of its calls
            await asyncio.sleep(0.005)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_stream_goes_on_behind_the_last_event_that_was_kept() -> None:
    site = Site(
        OPEN + b": hello\n\nid: 7\nevent: said\ndata: one\ndata: two\n\n",
        OPEN + b"id: 8\r\ndata:three\r\n\r\n",
    )

    async with receiving(site) as (stream, came, naps):
        await run_until(stream, lambda: len(site.heads) == 3)

    assert came == [
        StreamEvent(data=b"one\ntwo", kind="said", id="7"),
        StreamEvent(data=b"three", id="8"),
    ]
    assert [site.after(number) for number in range(3)] == ["", "7", "8"]
    assert naps == [0.2, 0.2]


async def test_an_event_that_was_not_kept_is_asked_for_again() -> None:
    site = Site(
        OPEN + b"id: 1\ndata: one\n\nid: 2\ndata: two\n\n",
        OPEN + b"id: 1\ndata: one\n\nid: 2\ndata: two\n\n",
    )

    async with receiving(site, planned=[Overloaded("full", retry_after=3.0)]) as (
        stream,
        came,
        naps,
    ):
        await run_until(stream, lambda: len(site.heads) == 3)

    assert [event.data for event in came] == [b"one", b"two"]
    assert [site.after(number) for number in range(3)] == ["", "", "2"]
    assert naps[0] == 3.0


async def test_half_an_event_is_none() -> None:
    site = Site(OPEN + b"id: 1\ndata: whole\n\nid: 2\ndata: cut of")

    async with receiving(site) as (stream, came, _):
        await run_until(stream, lambda: len(site.heads) == 2)

    assert [event.data for event in came] == [b"whole"]
    assert site.after(1) == "1"


async def test_the_position_survives_a_restart() -> None:
    state = memory_state("demo")
    first = Site(OPEN + b"id: 41\ndata: one\n\n")
    async with receiving(first, cursor=KeptCursor(state)) as (stream, _, _):
        await run_until(stream, lambda: len(first.heads) == 2)

    second = Site()
    async with receiving(second, cursor=KeptCursor(state)) as (stream, _, _):
        await run_until(stream, lambda: len(second.heads) == 1)

    assert second.after(0) == "41"


async def test_lines_of_json_name_their_position_in_the_address() -> None:
    def id_of(line: bytes) -> str:
        return str(msgspec.json.decode(line)["id"])

    site = Site(OPEN + b'{"id":"a"}\n\n{"id":"b"}\r\n')

    async with receiving(site, form="ndjson", id_of=id_of) as (stream, came, _):
        await run_until(stream, lambda: len(site.heads) == 2)

    assert came == [
        StreamEvent(data=b'{"id":"a"}', id="a"),
        StreamEvent(data=b'{"id":"b"}', id="b"),
    ]
    assert [head.split(" ")[1] for head in site.heads] == ["/events", "/events?since=b"]


async def test_a_line_without_end_is_cut_and_not_collected() -> None:
    flood = OPEN + b"data: " + b"x" * 200_000
    site = Site(*[flood] * 9)

    async with receiving(site, max_bytes=10_000) as (stream, came, _):
        ended = await run(stream)

    assert type(ended) is AnswerTooLarge
    assert came == []


async def test_a_server_that_only_fails_loses_the_channel_after_a_few_waits() -> None:
    site = Site(*[answer("503 Busy", b"", **{"Retry-After": "4"})] * 9)

    async with receiving(site) as (stream, _, naps):
        ended = await run(stream)

    assert type(ended) is NotDelivered
    assert naps == [4.0, 4.0, 4.0, 4.0]


async def test_a_refused_call_is_final() -> None:
    site = Site(answer("401 Unauthorized"))

    async with receiving(site) as (stream, _, naps):
        ended = await run(stream)

    assert isinstance(ended, DeliveryRejected)
    assert ended.failure is FailureClass.UNAUTHORIZED
    assert naps == []


async def test_an_answer_that_is_no_stream_is_a_failure() -> None:
    site = Site(*[answer("204 No Content")] * 9)

    async with receiving(site) as (stream, _, _):
        ended = await run(stream)

    assert str(ended) == "demo: the stream was answered with 204, expected 200"


async def test_the_server_says_when_to_come_back() -> None:
    site = Site(OPEN + b"retry: 1500\n\n", OPEN + b"retry: 900000\n\n")

    async with receiving(site) as (stream, _, naps):
        await run_until(stream, lambda: len(site.heads) == 3)

    assert naps[:2] == [1.5, 30.0]


async def test_silence_is_a_lost_connection() -> None:
    # The head is sent, and then nothing; not even a comment.
    class Silent(Site):
        async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
            self.heads.append(head.decode())
            writer.write(OPEN)
            await self.stays_open.wait()

    site = Silent()

    async with receiving(site, silence_s=0.02) as (stream, _, _):
        ended = await run(stream)

    assert str(ended) == "demo: the stream was silent for 0.02 s"
    assert len(site.heads) == 5


async def test_connecting_waits_for_the_first_answer_or_the_reason_why_there_is_none() -> None:
    life = Lifeline("demo")
    life.begin()
    async with receiving(Site(OPEN + b": here\n\n")) as (stream, _, _):
        life.run(stream.run(), "events")
        await life.until(stream.opened())
        await life.close()

    life.begin()
    async with receiving(Site(answer("404 Not Found"))) as (stream, _, _):
        life.run(stream.run(), "events")
        with pytest.raises(DeliveryRejected):
            await life.until(stream.opened())
        await life.close()


async def test_a_server_that_is_not_there_is_tried_a_few_times() -> None:
    client = HttpClient(HttpSettings(timeout_s=5))
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)

    async def take(event: StreamEvent) -> None:
        raise AssertionError(event)

    stream = EventStreamReader(
        client, lambda _: "http://127.0.0.1:9/", take, platform="demo", sleep=sleep
    )

    assert isinstance(await run(stream), ConnectFailed)
    assert naps == [0.2, 0.5, 1.0, 2.0]
    await client.close()


@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=30))
def test_no_line_of_a_stranger_breaks_the_reader(lines: list[bytes]) -> None:
    reader = SseReader(limit=10_000)

    events = [event for line in lines if (event := reader.read(line)) is not None]

    assert all(event.data or event.kind for event in events)
    assert reader.retry_s is None or 0 <= reader.retry_s <= 30.0
