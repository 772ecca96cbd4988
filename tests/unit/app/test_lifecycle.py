"""What the lifecycle owns is released in the opposite order, whatever fails on the way."""

import asyncio

import pytest
import structlog

from hermes.app.lifecycle import Component, Components, Lifecycle, stop_all


class Diary:
    """Makes components that write down what is done to them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def component(self, name: str, *, fails: str = "") -> Component:
        async def start() -> None:
            self.note("start", name, fails)

        def drain() -> None:
            self.note("drain", name, fails)

        async def stop() -> None:
            self.note("stop", name, fails)

        return Component(name=name, start=start, drain=drain, stop=stop)

    def note(self, verb: str, name: str, fails: str) -> None:
        self.lines.append(f"{verb} {name}")
        if fails == verb:
            raise OSError(f"{name} does not {verb}")


@pytest.fixture
def diary() -> Diary:
    return Diary()


def in_order(*components: Component) -> Components:
    """Start and drain in this order, and stop in the opposite one."""
    return Components(start=components, drain=components, stop=tuple(reversed(components)))


@pytest.mark.req("W3")
async def test_components_start_drain_and_stop_in_their_orders(diary: Diary) -> None:
    lifecycle = Lifecycle()
    lifecycle.own("file", lambda: diary.lines.append("close file"))
    lifecycle.add(in_order(diary.component("a"), diary.component("b")))

    await lifecycle.start()
    await lifecycle.drain()
    await lifecycle.stop()

    assert diary.lines == [
        *("start a", "start b", "drain a", "drain b", "stop b", "stop a", "close file")
    ]


@pytest.mark.req("W3")
async def test_a_start_that_fails_is_raised_and_abort_releases_everything(diary: Diary) -> None:
    lifecycle = Lifecycle()
    lifecycle.own("file", lambda: diary.lines.append("close file"))
    lifecycle.add(
        in_order(diary.component("a"), diary.component("b", fails="start"), diary.component("c"))
    )

    with pytest.raises(OSError, match="b does not start"):
        await lifecycle.start()
    await lifecycle.abort()

    assert diary.lines == [
        *("start a", "start b", "stop c", "stop b", "stop a", "close file"),
    ]


@pytest.mark.req("W3")
async def test_after_errors_the_rest_is_stopped_and_the_first_error_is_raised(
    diary: Diary,
) -> None:
    lifecycle = Lifecycle()
    lifecycle.add(
        in_order(
            diary.component("a"),
            diary.component("b", fails="drain"),
            diary.component("c", fails="stop"),
        )
    )
    await lifecycle.start()
    diary.lines.clear()

    with structlog.testing.capture_logs() as logs:
        await lifecycle.drain()
        with pytest.raises(OSError, match="b does not drain"):
            await lifecycle.stop()

    assert diary.lines == ["drain a", "drain b", "drain c", "stop c", "stop b", "stop a"]
    assert [(one["event"], one["step"]) for one in logs] == [
        ("component_failed", "drain b"),
        ("component_failed", "stop c"),
    ]


@pytest.mark.req("W3")
async def test_a_stop_that_is_cancelled_goes_on_and_is_cancelled_at_its_end(diary: Diary) -> None:
    lifecycle = Lifecycle()
    waiting = asyncio.Event()

    async def wait() -> None:
        waiting.set()
        await asyncio.Event().wait()

    lifecycle.add(in_order(diary.component("a"), Component(name="slow", stop=wait)))
    stopping = asyncio.create_task(lifecycle.stop())
    await waiting.wait()

    stopping.cancel()

    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert diary.lines == ["stop a"]


@pytest.mark.req("W3")
async def test_stop_all_waits_for_all_and_raises_the_first_error(diary: Diary) -> None:
    async def close(name: str, *, fails: str = "") -> None:
        await asyncio.sleep(0)
        diary.note("stop", name, fails)

    with pytest.raises(OSError, match="a does not stop"):
        await stop_all((close("a", fails="stop"), close("b"), close("c", fails="stop")))

    assert diary.lines == ["stop a", "stop b", "stop c"]
