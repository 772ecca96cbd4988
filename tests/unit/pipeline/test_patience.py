"""The patience with a model call: silence and length end it, output keeps it alive."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from hermes.pipeline.patience import Patience


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


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def told() -> None:
        await story()

    with asyncio.Runner(loop_factory=StillLoop) as runner:
        runner.run(told())


@pytest.mark.req("M7")
def test_silence_ends_a_call() -> None:
    async def story() -> None:
        async with Patience(10, limit_s=60):
            await pass_by(9.9)
            await pass_by(0.2)
            raise AssertionError("the call is still waited for")

    with pytest.raises(TimeoutError):
        run(story)


@pytest.mark.req("M7")
def test_output_keeps_a_call_alive_and_its_length_ends_it() -> None:
    passed: list[float] = []

    async def story() -> None:
        async with Patience(10, limit_s=60) as patience:
            for _ in range(20):
                await pass_by(7)
                passed.append(7)
                patience.heard()

    with pytest.raises(TimeoutError):
        run(story)
    assert sum(passed) == 56


@pytest.mark.req("M7")
def test_a_call_that_ends_in_time_leaves_nothing_behind() -> None:
    async def story() -> None:
        async with Patience(10, limit_s=60):
            await pass_by(9)
        await pass_by(100)

    run(story)


@pytest.mark.req("M7")
def test_a_cancellation_from_elsewhere_is_no_timeout() -> None:
    async def story() -> None:
        async with Patience(10, limit_s=60):
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(story)
