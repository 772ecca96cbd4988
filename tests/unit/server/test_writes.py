"""The gathering transport: one write per turn of the loop, nothing lost, nothing after the end."""

import asyncio
from collections.abc import Callable

import pytest

from hermes.server.writes import BufferedTransport


class Transport(asyncio.Transport):
    """Remembers what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.is_closed = False
        self.unread = 0
        self.has_aborted = asyncio.Event()
        self.ends = 0
        self.late = 0

    def write_eof(self) -> None:
        self.ends += 1

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.late += self.is_closed
        self.written.append(bytes(data))

    def close(self) -> None:
        self.is_closed = True

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.has_aborted.set()

    def is_closing(self) -> bool:
        return self.is_closed


async def turn() -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


@pytest.mark.req("M7")
async def test_what_is_written_in_one_turn_goes_out_in_one_piece_and_in_order() -> None:
    transport = Transport()
    edge = BufferedTransport(transport, asyncio.get_running_loop(), send_s=60)
    for number in range(3):
        edge.write(b"%d" % number)
    assert transport.written == []
    await turn()
    edge.write(b"3")
    await turn()

    assert transport.written == [b"012", b"3"]


@pytest.mark.req("M7")
async def test_much_goes_out_at_once_and_closing_sends_the_rest() -> None:
    transport = Transport()
    edge = BufferedTransport(transport, asyncio.get_running_loop(), send_s=60)
    edge.write(b"x" * 70_000)
    assert len(transport.written) == 1
    edge.write(b"last")
    edge.close()

    assert transport.written[-1] == b"last"
    assert transport.is_closed


@pytest.mark.req("M7")
async def test_a_connection_that_was_reset_takes_nothing_more() -> None:
    transport = Transport()
    edge = BufferedTransport(transport, asyncio.get_running_loop(), send_s=60)
    edge.write(b"x")
    transport.is_closed = True
    await turn()
    edge.close()

    assert transport.late == 0


@pytest.mark.req("M7")
@pytest.mark.parametrize(("is_closed", "ends"), [(False, 1), (True, 0)])
async def test_the_end_is_signalled_unless_the_connection_is_gone(
    is_closed: bool, ends: int
) -> None:
    transport = Transport()
    edge = BufferedTransport(transport, asyncio.get_running_loop(), send_s=60)
    transport.is_closed = is_closed
    edge.write_eof()

    assert transport.ends == ends


@pytest.mark.req("W1")
async def test_a_peer_that_does_not_read_the_rest_of_a_closed_connection_is_cut_off() -> None:
    transport = Transport()
    edge = BufferedTransport(transport, asyncio.get_running_loop(), send_s=0.01)
    transport.unread = 100
    edge.close()

    async with asyncio.timeout(30):
        await transport.has_aborted.wait()


@pytest.mark.req("W1")
@pytest.mark.parametrize(("read", "is_cut_off"), [(1_024, False), (1_023, True), (1_500, False)])
async def test_a_peer_may_read_slowly_but_not_slower_than_a_kilobyte_a_second(
    read: int, is_cut_off: bool
) -> None:
    transport = Transport()
    waits: list[Callable[[], None]] = []

    class Loop:
        def call_later(self, _seconds: float, look: Callable[[], None]) -> None:
            waits.append(look)

    edge = BufferedTransport(transport, Loop(), send_s=1.0)  # type: ignore[arg-type]
    transport.unread = 10_000
    edge.watch()
    transport.unread -= read
    waits.pop()()

    assert transport.has_aborted.is_set() is is_cut_off
