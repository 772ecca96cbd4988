"""The life of a channel: the first reason counts, whatever it is, and closing leaves no task."""

import asyncio
import inspect
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from hermes.channel_kit.lifeline import Lifeline
from hermes.errors import ConfigurationError, ConnectFailed, HermesError, NetError

pytestmark = pytest.mark.req("P1")


@pytest.fixture
async def life() -> AsyncIterator[Lifeline]:
    made = Lifeline("demo")
    made.begin()
    yield made
    await made.close()


async def raises(error: Exception) -> None:
    raise error


async def ends() -> None:
    """Return at once, as a receiver never should."""


async def why(life: Lifeline) -> tuple[type[BaseException], str]:
    with pytest.raises(HermesError) as caught:
        await life.lost()
    return caught.type, str(caught.value)


async def test_a_receiver_that_fails_is_the_reason(life: Lifeline) -> None:
    life.run(raises(NetError("the wire is cut")), "polls")

    assert await why(life) == (NetError, "the wire is cut")


async def test_the_first_reason_stays_also_for_who_asks_later(life: Lifeline) -> None:
    revoked = ConfigurationError("the token was revoked")

    life.end(revoked)
    life.end(NetError("and the stream ended"))
    life.run(raises(NetError("and the polls failed")), "polls")
    await asyncio.sleep(0)

    assert life.why is revoked
    assert await why(life) == await why(life) == (ConfigurationError, "the token was revoked")


async def test_an_unexpected_error_is_a_reason_and_is_logged_once(life: Lifeline) -> None:
    with capture_logs() as logs:
        life.run(raises(ZeroDivisionError("secret detail")), "polls")
        found = await why(life)

    assert found == (ConnectFailed, "demo: receiving failed (ZeroDivisionError)")
    assert [(one["event"], one["platform"], one["task"]) for one in logs] == [
        ("channel.task_failed", "demo", "polls")
    ]


async def test_a_receiver_that_just_returns_has_lost_the_channel_too(life: Lifeline) -> None:
    life.run(ends(), "polls")

    assert await why(life) == (ConnectFailed, "demo: receiving has ended")


async def test_a_task_beside_ends_nothing_but_is_not_forgotten(life: Lifeline) -> None:
    with capture_logs() as logs:
        life.run_aside(raises(ZeroDivisionError()), "notice")
        life.run_aside(ends(), "other")
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    assert life.why is None
    assert [one["task"] for one in logs] == ["notice"]


async def test_closing_ends_every_task_and_whoever_waits(life: Lifeline) -> None:
    cancelled: list[str] = []

    async def stand(name: str) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            # A task may still have something to do: `close` waits for it.
            await asyncio.sleep(0)
            cancelled.append(name)
            raise

    life.run(stand("polls"), "polls")
    life.run_aside(stand("typing"), "typing")
    waiting = asyncio.create_task(why(life))
    await asyncio.sleep(0)

    await life.close()

    assert sorted(cancelled) == ["polls", "typing"]
    assert await waiting == (ConnectFailed, "demo: the channel was disconnected")


async def test_a_task_of_the_channel_may_close_it() -> None:
    life = Lifeline("demo")
    life.begin()
    closed = asyncio.Event()

    async def leave() -> None:
        await life.close()
        closed.set()

    life.run(leave(), "leaving")

    async with asyncio.timeout(5):
        await closed.wait()


async def test_a_new_life_does_not_know_the_reason_of_the_one_before(life: Lifeline) -> None:
    life.end(NetError("lost"))
    old = asyncio.create_task(why(life))
    await asyncio.sleep(0)
    await life.close()

    life.begin()

    assert life.why is None
    assert await old == (NetError, "lost")


async def test_before_the_first_life_it_is_not_connected() -> None:
    assert await why(Lifeline("demo")) == (ConnectFailed, "demo: not connected")


async def test_what_is_waited_for_comes_or_the_reason_why_it_never_will(life: Lifeline) -> None:
    async def hello() -> str:
        return "ready"

    never = asyncio.Event()
    assert await life.until(hello()) == "ready"

    life.run(raises(ConfigurationError("wrong token")), "socket")
    with pytest.raises(ConfigurationError, match="wrong token"):
        await life.until(never.wait())


async def test_a_receiver_that_never_began_is_closed_with_the_life(life: Lifeline) -> None:
    work = ends()

    life.run(work, "polls")
    await life.close()

    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED
