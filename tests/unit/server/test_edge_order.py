"""One answer for each request of a connection, in order; then the connection may make room."""

import asyncio

import pytest

from tests.unit.server.edge_rig import CALM, CHUNKED, GET, LARGE, serving, statuses

# A request is answered, one waits for it, and what follows is refused.
REFUSED_BEHIND = {
    "one too many": (GET * 33, 33),
    "far too many": (GET * 1000, 33),
    "a bad head": (GET + b"nonsense\r\n\r\n", 2),
    "a bad body": (GET + CHUNKED + b"nonsense\r\n", 2),
}


@pytest.mark.req("W1")
@pytest.mark.parametrize("kind", REFUSED_BEHIND)
async def test_requests_before_a_refused_one_are_answered_in_order(kind: str) -> None:
    later, answered = REFUSED_BEHIND[kind]
    async with serving(CALM) as served:
        peer = await served.connect()
        await peer.send(GET.replace(b"/", b"/held", 1) + later)
        await served.app.entered.wait()
        served.app.leave.set()
        answer = await peer.rest()

    assert statuses(answer) == [b"200"] * answered + [b"400"]
    assert served.app.asked == [("/held", b"")] + [("/", b"")] * (answered - 1)


@pytest.mark.req("W1")
async def test_a_large_answer_is_whole_when_nonsense_follows_its_request() -> None:
    async with serving(CALM) as served:
        peer = await served.connect()
        await peer.send(GET.replace(b"/", b"/large", 1))
        answer = await peer.reader.read(100)
        await peer.send(b"nonsense\r\n\r\n")
        # Longer than a refused peer is given to read a short answer.
        while piece := await peer.reader.read(250_000):
            answer += piece
            await asyncio.sleep(0.02)

    assert len(answer) > len(LARGE)
    assert statuses(answer[:100]) + statuses(answer[-300:]) == [b"200", b"400"]


ANSWERED = GET[:-2] + b"transfer-encoding: chunked\r\n\r\n"
UNWANTED = {
    "no chunk": b"zz\r\n",
    "chunk extension": b"1;" + b"e" * 200_000,
    "trailers": b"0\r\nx: " + b"y" * 200_000,
    "much": b"180000\r\n" + b"x" * 0x180000,
}


@pytest.mark.req("W1")
@pytest.mark.parametrize("kind", UNWANTED)
async def test_a_body_behind_its_answer_is_no_second_answer_and_has_an_end(kind: str) -> None:
    async with serving(CALM, keep_alive_s=60) as served:
        peer = await served.connect()
        await peer.send(ANSWERED)
        await peer.answer()
        await peer.send(UNWANTED[kind])

        assert await peer.rest() == b""


OFFER = b"host: localhost\r\nconnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
NEXT = b"GET /next HTTP/1.1\r\nhost: localhost\r\nx: GET /hidden HTTP/1.1\r\n\r\n"
OFFERS = {
    "no body": (b"GET / HTTP/1.1\r\n" + OFFER + b"\r\n", b""),
    "length": (b"POST / HTTP/1.1\r\n" + OFFER + b"content-length: 5\r\n\r\nhello", b"hello"),
    "chunks": (
        b"POST / HTTP/1.1\r\n"
        + OFFER
        + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"hello",
    ),
}


@pytest.mark.req("W1")
@pytest.mark.parametrize("kind", OFFERS)
async def test_an_offer_to_upgrade_is_ignored_wherever_the_bytes_are_cut(kind: str) -> None:
    request, body = OFFERS[kind]
    sent = request + NEXT
    end = request.index(b"\r\n\r\n") + 4
    for cut in (end - 1, end, end + 1, len(request), sent.index(b"GET /hidden")):
        async with serving(CALM) as served:
            peer = await served.connect()
            await peer.send(sent[:cut])
            if cut >= end:
                await served.app.entered.wait()
            await peer.send(sent[cut:])
            answers = await peer.answer() + await peer.answer()

        assert statuses(answers) == [b"200", b"200"]
        assert served.app.asked == [("/", body), ("/next", b"")]


@pytest.mark.req("W1")
@pytest.mark.parametrize("request_", [GET, ANSWERED + b"1\r\nx"], ids=["idle", "unread body"])
async def test_a_connection_whose_answer_is_complete_makes_room(request_: bytes) -> None:
    async with serving(CALM, connections=2, keep_alive_s=60) as served:
        running, idle = await served.connect(), await served.connect()
        await running.send(GET.replace(b"/", b"/held", 1))
        await served.app.entered.wait()
        await idle.send(request_)
        await idle.answer()
        newcomer = await served.connect()
        await newcomer.send(GET)

        assert await idle.rest() == b""
        assert statuses(await newcomer.answer()) == [b"200"]
        served.app.leave.set()
        assert statuses(await running.answer()) == [b"200"]


@pytest.mark.req("W1")
async def test_a_connection_that_still_reads_its_answer_makes_no_room() -> None:
    async with serving(CALM, connections=1, keep_alive_s=60) as served:
        peer = await served.connect()
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await peer.send(GET.replace(b"/", b"/large", 1))
        await served.app.entered.wait()
        newcomer = await served.connect()
        await newcomer.send(GET)
        await newcomer.answer()
        peer.writer.transport.resume_reading()  # type: ignore[attr-defined]

        async with asyncio.timeout(30):
            assert await peer.reader.readexactly(len(LARGE))
