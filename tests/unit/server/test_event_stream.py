"""A stream of events to a client: every frame, comments during silence, and an early end."""

import asyncio
from collections.abc import AsyncGenerator, Callable, MutableMapping
from typing import Any

import pytest

from hermes.http.sse import KEEP_ALIVE, EventStream

FRAMES = (b"data: one\n\n", b"data: two\n\n")


class Client:
    """Takes what is sent, and can report that it left."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.is_answered = False
        self.leave: Callable[[], object] | None = None

    # Any: an ASGI message, as the specification types it.
    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            self.bodies.append(message["body"])
            self.is_answered = not message["more_body"]

    async def receive(self) -> MutableMapping[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError("nothing ends this wait")

    def on_lost(self, whom: Callable[[], object] | None) -> None:
        self.leave = whom


class Frames:
    """Yields two frames, then waits; notes its end."""

    def __init__(self, *, ends: bool = False) -> None:
        self._ends = ends
        self.are_taken = asyncio.Event()
        self.is_closed = False

    async def run(self) -> AsyncGenerator[bytes, None]:
        try:
            for frame in FRAMES:
                yield frame
            self.are_taken.set()
            if not self._ends:
                await asyncio.Event().wait()
        finally:
            self.is_closed = True


@pytest.mark.req("W1")
async def test_every_frame_is_sent_and_the_answer_ends() -> None:
    client, frames = Client(), Frames(ends=True)
    stream = EventStream(frames.run(), keep_alive_s=60)

    await stream.send(client.receive, client.send, on_lost=client.on_lost)

    assert client.bodies == [*FRAMES, b""]
    assert client.is_answered
    assert client.leave is None


@pytest.mark.req("W1")
async def test_a_client_that_leaves_ends_the_frames_and_gets_no_end() -> None:
    client, frames = Client(), Frames()
    stream = EventStream(frames.run(), keep_alive_s=60)
    sending = asyncio.create_task(stream.send(client.receive, client.send, on_lost=client.on_lost))
    await frames.are_taken.wait()

    assert client.leave is not None
    client.leave()
    await sending

    assert client.bodies == [*FRAMES]
    assert frames.is_closed


@pytest.mark.req("W1")
async def test_a_stream_whose_client_had_left_before_it_began_is_begun_and_ended() -> None:
    client = Client()

    def has_left(whom: Callable[[], object] | None) -> None:
        if whom is not None:
            whom()

    frames = Frames()
    stream = EventStream(frames.run(), keep_alive_s=60)
    await stream.send(client.receive, client.send, on_lost=has_left)

    # What the frames do at their end, such as writing the bill of a call, was done.
    assert frames.is_closed
    assert not client.is_answered


@pytest.mark.req("W1")
@pytest.mark.parametrize("allowed", [0, 2])
async def test_comments_come_until_the_stream_may_not_go_on(allowed: int) -> None:
    client, asked = Client(), 0

    async def silent() -> AsyncGenerator[bytes, None]:
        await asyncio.Event().wait()
        yield b""

    async def may_go_on() -> bool:
        nonlocal asked
        asked += 1
        return asked <= allowed

    stream = EventStream(silent(), keep_alive_s=0.001, may_go_on=may_go_on)
    await stream.send(client.receive, client.send, on_lost=client.on_lost)

    assert client.bodies == [KEEP_ALIVE] * allowed + [b""]
    assert client.is_answered


@pytest.mark.req("W1")
async def test_a_server_that_stops_sends_the_last_frames() -> None:
    client, frames = Client(), Frames()
    stream = EventStream(frames.run(), keep_alive_s=60, cut_off=lambda: b"data: stopped\n\n")
    sending = asyncio.create_task(stream.send(client.receive, client.send, on_lost=client.on_lost))
    await frames.are_taken.wait()

    sending.cancel()
    await asyncio.wait({sending})

    assert client.bodies == [*FRAMES, b"data: stopped\n\n"]
    assert client.is_answered
    assert frames.is_closed


@pytest.mark.req("W1")
async def test_a_server_that_does_not_report_lost_connections_is_served_too() -> None:
    client, frames = Client(), Frames(ends=True)

    await EventStream(frames.run(), keep_alive_s=60).send(client.receive, client.send)

    assert client.bodies == [*FRAMES, b""]
    assert client.is_answered
    assert frames.is_closed
