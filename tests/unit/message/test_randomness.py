"""Random bytes from a stock: none is ever handed out twice."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from hermes.message.randomness import RandomBytes


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
