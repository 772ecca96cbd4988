"""The limits of one connection, over a real socket: heads, what surrounds bodies, unread answers."""

import asyncio

import pytest

from hermes.server.edge import EdgeLimits
from tests.unit.server.edge_rig import (
    CALM,
    CHUNKED,
    GET,
    LARGE,
    QUICK,
    Peer,
    Served,
    serving,
    statuses,
)


def lines(count: int) -> bytes:
    return b"".join(b"x-%d: y\r\n" % number for number in range(count))


TOO_MUCH = {
    "one header": (b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000, b"431"),
    "one whole header": (b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000 + b"\r\n\r\n", b"431"),
    "many small headers": (b"GET / HTTP/1.1\r\n" + lines(101) + b"\r\n", b"431"),
    "no end of headers": (b"GET / HTTP/1.1\r\n" + lines(100_000), b"431"),
    "a long name": (b"GET / HTTP/1.1\r\n" + b"x" * 70_000, b"431"),
    "a long address": (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n", b"414"),
    "blank lines": (b"\r\n" * 40_000, b"431"),
    "chunk extension": (CHUNKED + b"1;" + b"e" * 200_000, b"400"),
    "trailers": (CHUNKED + b"0\r\n" + lines(20_000), b"400"),
    "trailers of a large body": (
        CHUNKED + b"100000\r\n" + b"x" * 0x100000 + b"\r\n0\r\nx: " + b"y" * 600_000,
        b"400",
    ),
    "a tunnel": (b"CONNECT / HTTP/1.1\r\ncontent-length: 99\r\n\r\n" + GET, b"400"),
    "not http": (b"\x16\x03\x01 hello\r\n\r\n", b"400"),
}


@pytest.mark.req("W1")
@pytest.mark.parametrize("kind", TOO_MUCH)
async def test_what_is_too_much_is_refused_and_the_connection_closed(kind: str) -> None:
    sent, status = TOO_MUCH[kind]
    async with serving(CALM) as served:
        peer = await served.connect()
        await peer.send(sent)
        answer = await peer.rest()

    assert answer.split(b"\r\n")[0].split(b" ")[1] == status
    assert b"connection: close" in answer


AS_MUCH_AS_ALLOWED = {
    "headers": b"GET / HTTP/1.1\r\nconnection: close\r\n" + lines(99) + b"\r\n",
    "a header": b"GET / HTTP/1.1\r\nconnection: close\r\nx: " + b"y" * 65_000 + b"\r\n\r\n",
    "body behind the head": b"POST / HTTP/1.1\r\nconnection: close\r\ncontent-length: 200000\r\n\r\n"
    + b"x" * 200_000,
    "tiny chunks": CHUNKED.replace(b"host", b"connection: close\r\nhost", 1)
    + b"1\r\nx\r\n" * 50_000
    + b"0\r\n\r\n",
    "a head behind a body": CHUNKED
    + b"186a0\r\n"
    + b"x" * 100_000
    + b"\r\n0\r\n\r\n"
    + b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n",
    "a request for an upgrade": b"GET / HTTP/1.1\r\nconnection: upgrade, close\r\n"
    b"upgrade: websocket\r\n\r\n",
}


@pytest.mark.req("W1")
@pytest.mark.parametrize("kind", AS_MUCH_AS_ALLOWED)
async def test_what_is_within_the_limits_is_answered(kind: str) -> None:
    async with serving(CALM) as served:
        peer = await served.connect()
        await peer.send(AS_MUCH_AS_ALLOWED[kind])
        answer = await peer.rest()

    assert answer.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 4" not in answer


TOO_SLOW = {
    "silent": ((), b""),
    "half a head": ((b"GET / HTTP/1.1\r\nhost:",), b"408"),
    "half a later head": ((GET, b"GET / HTTP/1.1\r\nhost:"), b"408"),
    "a later head that began with the first": ((GET + b"GET / HT",), b""),
    "blank lines": ((GET, b"\r\n"), b"408"),
    "a body that ends after its answer": (
        (b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n\r\n", b"x"),
        b"",
    ),
    "an unwanted body": (
        (b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n", b"x"),
        b"",
    ),
}


@pytest.mark.req("W1")
@pytest.mark.parametrize("kind", TOO_SLOW)
async def test_what_does_not_arrive_in_time_is_closed(kind: str) -> None:
    sent, status = TOO_SLOW[kind]
    async with serving(QUICK) as served:
        peer = await served.connect()
        answer = b""
        for piece in sent:
            await peer.send(piece)
            if b"\r\n\r\n" in piece:
                answer += await peer.reader.readuntil(b"0\r\n\r\n")
        answer += await peer.rest()

    assert statuses(answer) == [b"200"] * answer.count(b"200 OK") + [status] * bool(status)


@pytest.mark.req("W1")
async def test_a_head_that_trickles_is_not_given_more_time() -> None:
    async with serving(QUICK) as served:
        peer = await served.connect()
        await peer.send(b"GET / HTTP/1.1\r\nx: ")

        async def trickle() -> None:
            while True:
                await peer.send(b"y")
                await asyncio.sleep(0.01)

        trickling = asyncio.create_task(trickle())
        answer = await peer.rest()
        trickling.cancel()
        await asyncio.gather(trickling, return_exceptions=True)

    assert answer.startswith(b"HTTP/1.1 408")


@pytest.mark.req("W1")
@pytest.mark.parametrize("later", [b"GET / HT", b"nonsense\r\n\r\n", GET[:-2] + lines(101)])
async def test_an_answer_on_its_way_is_not_touched_by_a_later_request(later: bytes) -> None:
    async with serving(QUICK) as served:
        peer = await served.connect()
        await peer.send(GET.replace(b"/", b"/held", 1))
        await served.app.entered.wait()
        await peer.send(later)
        await head_time(served)
        served.app.leave.set()
        answer = await peer.rest()

    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.count(b"2\r\nok\r\n0\r\n\r\n") == 1


@pytest.mark.req("W1")
async def test_a_later_head_is_not_late_while_an_answer_is_on_its_way() -> None:
    async with serving(QUICK) as served:
        peer = await served.connect()
        await peer.send(GET.replace(b"/", b"/held", 1))
        await served.app.entered.wait()
        await peer.send(GET[:8])
        await head_time(served)
        await peer.send(GET[8:])
        served.app.leave.set()
        answers = await peer.answer() + await peer.answer()

    assert statuses(answers) == [b"200", b"200"]


async def head_time(served: Served) -> None:
    """Return when a head that had begun before is overdue: a silent connection was closed."""
    silent = await served.connect()
    assert await silent.rest() == b""


@pytest.mark.req("W1")
async def test_lines_behind_a_body_are_no_headers() -> None:
    async with serving(CALM) as served:
        peer = await served.connect()
        await peer.send(CHUNKED + b"0\r\nauthorization: Bearer x\r\n\r\n")
        await peer.reader.readuntil(b"0\r\n\r\n")

        assert [name for name, _ in served.app.headers] == [b"host", b"transfer-encoding"]


@pytest.mark.req("W1")
@pytest.mark.parametrize("kept", [b"", b"connection: close\r\n"])
async def test_an_answer_that_nobody_reads_is_given_up(kept: bytes) -> None:
    async with serving(EdgeLimits(head_s=60, send_s=0.5), keep_alive_s=60) as served:
        peer = await served.connect()
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await peer.send(b"GET /large HTTP/1.1\r\nhost: localhost\r\n" + kept + b"\r\n")
        with pytest.raises(ConnectionResetError):
            await written_off(peer)


async def written_off(peer: Peer) -> None:
    """Write what begins no request until the server's reset arrives."""
    async with asyncio.timeout(30):
        while True:
            await peer.send(b"\r\n")
            await asyncio.sleep(0.02)


@pytest.mark.req("W1")
async def test_an_answer_that_is_read_slowly_arrives_whole() -> None:
    async with serving(EdgeLimits(send_s=2)) as served:
        peer = await served.connect()
        await peer.send(b"GET /large HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        size = 0
        while piece := await peer.reader.read(500_000):
            size += len(piece)
            await asyncio.sleep(0.02)

    assert size > len(LARGE)


@pytest.mark.req("W1")
async def test_a_running_request_learns_that_its_client_left_behind_a_later_request() -> None:
    async with serving(CALM) as served:
        peer = await served.connect()
        await peer.send(GET.replace(b"/", b"/stream", 1))
        await served.app.entered.wait()
        await peer.send(GET)
        # Once another connection has its answer, the later request was read.
        other = await served.connect()
        await other.send(GET)
        await other.answer()
        peer.writer.transport.abort()
        async with asyncio.timeout(30):
            await served.app.has_lost.wait()


@pytest.mark.req("W1")
async def test_a_request_that_registers_late_learns_that_its_client_had_left() -> None:
    async with serving(CALM) as served:
        peer = await served.connect()
        await peer.send(GET.replace(b"/", b"/lost", 1))
        await served.app.entered.wait()
        peer.writer.transport.abort()
        # Once other connections have their answers, the server has seen the abort.
        for _ in range(2):
            other = await served.connect()
            await other.send(GET)
            await other.answer()
        served.app.leave.set()
        async with asyncio.timeout(30):
            await served.app.has_lost.wait()


@pytest.mark.req("W1")
async def test_a_request_knows_whether_its_whole_body_has_arrived() -> None:
    head = b"POST /arrived HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\n"
    async with serving(CALM) as served:
        peer = await served.connect()
        await peer.send(head + b"body")
        whole = await peer.answer()
        served.app.entered.clear()
        await peer.send(head)
        await served.app.entered.wait()
        await peer.send(b"body")
        part = await peer.answer()

    assert b"whole" in whole
    assert b"part" in part
