"""The patience with a model call: silence and length end it, output keeps it alive."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from hermes.calls.stream_timeout import StreamTimeout


class StillLoop(asyncio.SelectorEventLoop):
    """A loop whose time moves only when a test moves it."""

    now = 1_000.0

    def time(self) -> float:
        return self.now


async def pass_by(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, StillLoop)
    loop.now += seconds
    for _ in range(5):
        await asyncio.sleep(0)


async def wait(limits: StreamTimeout, coming: Awaitable[None]) -> None:
    limits.start_wait()
    await coming
    limits.end_wait()


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def told() -> None:
        await story()

    with asyncio.Runner(loop_factory=StillLoop) as runner:
        runner.run(told())


@pytest.mark.req("M7")
def test_silence_ends_a_call() -> None:
    async def story() -> None:
        with StreamTimeout(10, limit_s=60) as timeout:
            await wait(timeout, pass_by(9.9))
            await wait(timeout, pass_by(10.1))
            raise AssertionError("the call is still waited for")

    with pytest.raises(TimeoutError):
        run(story)


@pytest.mark.req("M7")
def test_pieces_keep_a_call_alive_and_its_length_ends_it() -> None:
    passed: list[float] = []

    async def story() -> None:
        with StreamTimeout(10, limit_s=60) as timeout:
            for _ in range(20):
                await wait(timeout, pass_by(7))
                passed.append(7)

    with pytest.raises(TimeoutError):
        run(story)
    assert sum(passed) == 56


@pytest.mark.req("M7")
def test_a_listener_who_takes_long_is_no_silence() -> None:
    async def story() -> None:
        with StreamTimeout(10, limit_s=60) as timeout:
            await wait(timeout, pass_by(1))
            await pass_by(45)
            await wait(timeout, pass_by(9))
            await pass_by(45)
            await wait(timeout, pass_by(0))

    run(story)


@pytest.mark.req("M7")
def test_a_call_whose_time_is_up_while_its_listener_was_busy_ends_at_the_next_silence() -> None:
    async def story() -> None:
        with StreamTimeout(10, limit_s=60) as timeout:
            await pass_by(61)
            await wait(timeout, pass_by(10))
            await wait(timeout, pass_by(1))
            raise AssertionError("the call is still waited for")

    with pytest.raises(TimeoutError):
        run(story)


@pytest.mark.req("M7")
def test_a_call_that_ends_in_time_leaves_nothing_behind() -> None:
    async def story() -> None:
        with StreamTimeout(10, limit_s=60) as timeout:
            await wait(timeout, pass_by(9))
        await pass_by(100)

    run(story)


@pytest.mark.req("M7")
def test_a_cancellation_from_elsewhere_is_no_timeout() -> None:
    async def gone() -> None:
        raise asyncio.CancelledError

    async def story() -> None:
        with StreamTimeout(10, limit_s=60) as timeout:
            await wait(timeout, gone())

    with pytest.raises(asyncio.CancelledError):
        run(story)
