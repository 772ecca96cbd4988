"""The stop switch: it cancels only inside a scope, and never somebody else's cancellation."""

import asyncio

import pytest

from hermes.calls.capacity import CallLimit
from hermes.calls.shares import ShareHolder
from hermes.errors import Overloaded, TurnInterrupted
from hermes.pipeline.interrupts import Interrupt, TimeLimit


@pytest.mark.req("J12")
async def test_pressing_the_switch_ends_what_waits_in_a_scope() -> None:
    interrupt = Interrupt()
    asyncio.get_running_loop().call_soon(interrupt.press, "m_2")

    with pytest.raises(TurnInterrupted, match="m_2"), interrupt.scope():
        await asyncio.Event().wait()


@pytest.mark.req("J12")
async def test_outside_a_scope_nothing_is_cancelled() -> None:
    interrupt = Interrupt()
    interrupt.press("m_2")
    await asyncio.sleep(0)

    with pytest.raises(TurnInterrupted):
        interrupt.check()
    with pytest.raises(TurnInterrupted), interrupt.scope():
        raise AssertionError("a pressed switch lets nobody in")


@pytest.mark.req("J12")
async def test_a_cancellation_from_elsewhere_stays_a_cancellation() -> None:
    interrupt = Interrupt()
    entered = asyncio.Event()

    async def wait() -> None:
        with interrupt.scope():
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await entered.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.req("A21")
async def test_a_call_that_finds_no_place_in_time_is_told_so() -> None:
    limit = CallLimit(1, wait_s=0.01)
    ann, bob = ShareHolder("rest", "ann"), ShareHolder("rest", "bob")
    async with limit.place(ann):
        with pytest.raises(Overloaded, match="max_concurrent_calls"):
            await limit.place(bob).__aenter__()
    async with limit.place(bob):
        assert not limit.is_free_for(ann)


@pytest.mark.req("J12")
async def test_a_limit_that_is_not_reached_yet_is_looked_at_again_however_little_is_left() -> None:
    stopped = asyncio.Event()
    worked = iter((0.005, 0.02))
    limit = TimeLimit(0.01, worked=lambda: next(worked), is_held=lambda: False, stop=stopped.set)

    with limit:
        await stopped.wait()

    assert list(worked) == []
