"""How stand-in platforms deliver: again until it is accepted, and after a cut from where it was."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from hermes.ports.channel import HttpRequest
from hermes.testing.call_rules import SiteRefusal
from hermes.testing.event_delivery import (
    Connection,
    PollQueue,
    PushRow,
    QueuedEvent,
    ResumableSocket,
    SignedPush,
)
from hermes.testing.loopback import HttpLoopback
from hermes.testing.manual_time import ManualClock


@asynccontextmanager
async def served(*routes: web.RouteDef) -> AsyncIterator[str]:
    """Serve these routes; yields the address."""
    http = HttpLoopback()
    app = web.Application()
    app.add_routes(routes)
    await http.start(app)
    try:
        yield f"http://127.0.0.1:{http.port}"
    finally:
        await http.stop()


def stamped(call: HttpRequest, now: float) -> HttpRequest:
    return msgspec.structs.replace(call, headers={**call.headers, "x-at": f"{now:g}"})


async def pushed(
    row: PushRow, *answers: web.Response
) -> tuple[int, list[dict[str, str]], SignedPush]:
    """Push one body to who answers so; returns the last status and the headers of each call."""
    seen: list[dict[str, str]] = []
    left = list(answers)

    async def take(request: web.Request) -> web.Response:
        seen.append({name.lower(): value for name, value in request.headers.items()})
        return left.pop(0)

    async def at_once(_seconds: float) -> None:
        await asyncio.sleep(0)

    push = SignedPush(row, stamped, clock=ManualClock(100.0), sleep=at_once)
    async with served(web.post("/hook/a", take)) as url:
        push.url = f"{url}/hook"
        try:
            status = await push.deliver(b"{}", path="/a")
        finally:
            await push.close()
    return status, seen, push


async def test_a_push_is_repeated_until_it_is_accepted() -> None:
    row = PushRow(repeat_headers={"x-again": "{attempt}"}, own_times=True)

    status, seen, push = await pushed(row, web.Response(status=503), web.Response(status=204))

    assert (status, push.statuses, push.rejections) == (204, [503, 204], push.rejections)
    assert [one.get("x-again") for one in seen] == [None, "1"]
    assert [one["x-at"] for one in seen] == ["100", "101"]


async def test_a_push_ends_at_what_the_platform_takes_for_final() -> None:
    refused, _, first = await pushed(PushRow(final=(401,)), web.Response(status=401, text="no"))
    stop = web.Response(status=503, headers={"X-No-Retry": "1"})
    stopped, _, second = await pushed(PushRow(stop="x-no-retry"), stop)
    tried, _, third = await pushed(
        PushRow(tries=2), web.Response(status=500), web.Response(status=500)
    )

    assert (refused, stopped, tried) == (401, 503, 500)
    assert [len(one.rejections) for one in (first, second, third)] == [1, 0, 0]


async def test_an_event_waits_until_the_cursor_has_passed_it_as_often_as_it_is_told() -> None:
    queue = PollQueue()
    event = QueuedEvent(number=5, body={}, times=2)
    poll = asyncio.create_task(queue.wait(30, conflict="other"))
    await asyncio.sleep(0)
    queue.put(event)

    assert await poll == [event]
    queue.confirm(6)
    assert (await queue.wait(0, conflict="other"), event.taken.is_set()) == ([event], False)
    queue.confirm(6)
    assert (await queue.wait(0, conflict="other"), event.taken.is_set()) == ([], True)


async def test_a_second_poll_ends_the_first() -> None:
    queue = PollQueue()
    first = asyncio.create_task(queue.wait(30, conflict="other"))
    await asyncio.sleep(0)
    second = asyncio.create_task(queue.wait(30, conflict="other"))

    with pytest.raises(SiteRefusal, match="other"):
        await first
    queue.put(QueuedEvent(number=1, body={}))
    assert [one.number for one in await second] == [1]


class Gateway:
    """A platform that numbers its frames; identifies, resumes and heartbeats by `op`."""

    def __init__(self) -> None:
        self.socket = ResumableSocket(self._greet, self._hear)

    async def _greet(self, connection: Connection) -> None:
        await connection.socket.send_json({"op": "hello"})

    async def _hear(self, connection: Connection, frame: dict[str, Any]) -> None:
        if frame["op"] == "identify":
            self.socket.session = "s1"
            connection.is_ready = True
            await self.socket.notify()
        elif frame["op"] == "resume":
            known = await self.socket.resume(connection, frame["session"], frame["seq"])
            await connection.socket.send_json({"op": "resumed" if known else "invalid"})
        else:
            await self.socket.confirm(frame["seq"])


async def test_who_resumes_gets_what_came_after_its_number() -> None:
    gateway = Gateway()
    socket = gateway.socket
    async with served(web.get("/link", socket.serve)) as url, aiohttp.ClientSession() as http:
        async with http.ws_connect(f"{url}/link") as link:
            await link.receive_json()
            await link.send_json({"op": "identify"})
            await socket.wait_open()
            kept = asyncio.create_task(socket.emit(lambda number: {"s": number}))
            heard = await link.receive_json()
            await link.send_json({"op": "heartbeat", "seq": 1})
            await kept
            lost = asyncio.create_task(socket.emit(lambda number: {"s": number}))
            await link.receive_json()
        async with http.ws_connect(f"{url}/link") as link:
            await link.receive_json()
            await link.send_json({"op": "resume", "session": "s1", "seq": 1})
            again = [await link.receive_json(), await link.receive_json()]
            assert not lost.done()
            await link.send_json({"op": "heartbeat", "seq": 2})
            await lost
        socket.forget()
        async with http.ws_connect(f"{url}/link") as link:
            await link.receive_json()
            await link.send_json({"op": "resume", "session": "s1", "seq": 2})
            invalid = await link.receive_json()

    assert heard == {"s": 1}
    assert again == [{"s": 2}, {"op": "resumed"}]
    assert invalid == {"op": "invalid"}
    assert tuple(socket.rejections) == ()
