"""The client of the load: an answer is one only when all of it has arrived."""

import asyncio

import pytest

from bench.http import Connection

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKS = (
    b"HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n"
    b"3\r\nhel\r\n10\r\nlo 0\r\n\r\n, there!\r\n0\r\n\r\n"
)


class Wire(asyncio.Transport):
    """A transport that swallows what is written."""

    def write(self, data: object) -> None:
        """Take it."""


def connection() -> Connection:
    made = Connection()
    made.connection_made(Wire())
    return made


async def asked(made: Connection) -> "asyncio.Task[tuple[int, bytes]]":
    """Ask, and return once the request is on the wire."""
    waiting = asyncio.create_task(made.ask(b"GET / HTTP/1.1\r\n\r\n"))
    await asyncio.sleep(0)
    return waiting


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(LENGTH, (200, b"hello")), (CHUNKS, (201, b"hello 0\r\n\r\n, there!"))],
    ids=["length", "chunks"],
)
async def test_an_answer_cut_anywhere_is_waited_for(
    answer: bytes, expected: tuple[int, bytes]
) -> None:
    for cut in range(1, len(answer)):
        made = connection()
        waiting = await asked(made)

        made.data_received(answer[:cut])
        await asyncio.sleep(0)
        assert not waiting.done(), cut

        made.data_received(answer[cut:])
        assert await waiting == expected


async def test_one_connection_serves_many_requests() -> None:
    made = connection()
    for answer, expected in ((CHUNKS, 201), (LENGTH, 200), (CHUNKS, 201)):
        waiting = await asked(made)
        made.data_received(answer)
        assert (await waiting)[0] == expected


async def test_an_answer_that_never_ends_is_an_error_when_the_connection_does() -> None:
    made = connection()
    waiting = await asked(made)

    made.data_received(CHUNKS[:-1])
    made.connection_lost(None)

    with pytest.raises(ConnectionError, match="closed"):
        await waiting


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 200 OK\r\n\r\nhello", CHUNKS.replace(b"3\r\nhel", b"z\r\nhel")],
    ids=["no length", "no chunk"],
)
async def test_what_is_no_answer_is_an_error(answer: bytes) -> None:
    made = connection()
    waiting = await asked(made)

    made.data_received(answer)

    with pytest.raises(ConnectionError, match="no HTTP"):
        await waiting
