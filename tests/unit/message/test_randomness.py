"""Random bytes from a stock: none is ever handed out twice."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import pytest

from hermes.message import ids
from hermes.message.ids import RandomBytes

# Any: a trace function takes whatever its event brings.
TraceFunction = Callable[[FrameType, str, Any], Any]


@pytest.mark.req("J24")
def test_no_piece_is_handed_out_twice_by_any_thread() -> None:
    stock = RandomBytes(12)

    with ThreadPoolExecutor(8) as threads:
        taken = [
            piece for some in threads.map(lambda _: _take(stock, 2_000), range(8)) for piece in some
        ]

    assert len(set(taken)) == 16_000
    assert {len(piece) for piece in taken} == {12}


@pytest.mark.req("J24")
def test_a_child_has_a_stock_of_its_own() -> None:
    stock = RandomBytes(12)
    stock.take()
    read, write = os.pipe()

    child = os.fork()
    if child == 0:
        os.write(write, b"".join(_take(stock, 100)))
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    told = os.read(read, 4_096)
    os.close(read)

    theirs = {told[at : at + 12] for at in range(0, len(told), 12)}
    assert len(theirs) == 100
    assert theirs.isdisjoint(_take(stock, 500))


def _take(stock: RandomBytes, number: int) -> list[bytes]:
    return [stock.take() for _ in range(number)]


@pytest.mark.req("J24")
@pytest.mark.parametrize("taken_before", [0, 1])
def test_a_fork_in_a_signal_handler_shares_no_later_piece_wherever_it_interrupts(
    taken_before: int,
) -> None:
    interrupted = 0
    for step in range(1, 1_000):
        stock = RandomBytes(12)
        _take(stock, taken_before)
        fork = ForkAt(step)
        fork.run(stock.take)
        later = _take(stock, 300)
        if not fork.happened:
            break
        interrupted += 1
        theirs = fork.tell(later)
        assert theirs.isdisjoint(later), f"after step {step}"

    assert interrupted > 5


class ForkAt:
    """Forks before the given step of a call, as a signal handler that forks would."""

    def __init__(self, step: int) -> None:
        self._left = step
        self._inner = 0
        self._child: int | None = None
        self._read = self._write = -1

    @property
    def happened(self) -> bool:
        return self._child is not None

    def run(self, call: Callable[[], object]) -> None:
        """Make the call, step by step."""
        sys.settrace(self._enter)
        try:
            call()
        finally:
            sys.settrace(None)

    def tell(self, pieces: list[bytes]) -> set[bytes]:
        """Return the pieces of the child, in the parent; the child tells its own and ends."""
        if self._child == 0:
            os.write(self._write, b"".join(pieces))
            os._exit(0)
        os.close(self._write)
        with os.fdopen(self._read, "rb") as pipe:
            told = pipe.read()
        os.waitpid(self._child or 0, 0)
        assert len(told) == 12 * len(pieces)
        return {told[at : at + 12] for at in range(0, len(told), 12)}

    def _enter(self, frame: FrameType, event: str, _arg: object) -> TraceFunction | None:
        if frame.f_code.co_filename != ids.__file__:
            return None
        if frame.f_code.co_name != "take":
            # In the middle of filling the buffer; each of its pieces would be one step too many.
            self._inner += 1
            return self._step(frame, "opcode", None) if self._inner in (1, 2, 200) else None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, _frame: FrameType, event: str, _arg: object) -> TraceFunction | None:
        if event == "opcode":
            self._left -= 1
            if self._left == 0:
                self._read, self._write = os.pipe()
                self._child = os.fork()
        return self._step
