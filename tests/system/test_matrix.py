"""Matrix through a real gateway process, against the strict homeserver on loopback."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hermes.testing.matrix.platform import MatrixStandIn
from hermes.testing.site import Rate
from hermes.testing.stand_in import Fault, PersonMessage, Post
from tests.system.live import Live, live_gateway, model_server, with_model

WAIT_S = 40.0
# The scripted model takes its time over it, and repeats it.
SLOWLY = "[[deltas:12]][[gap:0.1]] a long story that is told slowly"


@pytest.fixture
async def server() -> AsyncIterator[MatrixStandIn]:
    made = MatrixStandIn()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def model() -> AsyncIterator[str]:
    async with model_server() as url:
        yield url


def variables(server: MatrixStandIn, model: str, **more: str) -> dict[str, str]:
    return {
        **with_model(model),
        "MATRIX_HOMESERVER": server.url,
        "MATRIX_ACCESS_TOKEN": server.token,
        "HERMES_ACCESS__ALLOW_ALL": "true",
        **more,
    }


async def until(server: MatrixStandIn, chat: str, *texts: str) -> tuple[Post, ...]:
    """Wait until the bot has written exactly these texts in a chat."""

    def shown() -> list[str]:
        return [post.text for post in server.posts(chat)]

    await until_true(lambda: shown() == list(texts), lambda: f"expected {texts}, found {shown()}")
    return server.posts(chat)


async def connected(gateway: Live) -> None:
    """Wait until the channel listens: what was said before the first time is not answered."""
    await until_true(lambda: "channel_connected" in gateway.said(), gateway.said)


async def until_true(claim: Callable[[], bool], problem: Callable[[], str]) -> None:
    try:
        async with asyncio.timeout(WAIT_S):
            while not claim():  # noqa: ASYNC110 - another process, and it tells nobody
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(problem()) from None


@pytest.mark.req("A2", "W9", "W19")
async def test_messages_are_answered_once_and_shown_while_they_are_written(
    tmp_path: Path, server: MatrixStandIn, model: str
) -> None:
    async with live_gateway(tmp_path / "home", variables(server, model)) as gateway:
        await connected(gateway)
        await server.say(PersonMessage(text="hello", chat="c", times=3))
        await until(server, "c", "#1 hello")

        server.rates = (Rate("all", 2, 1.0),)
        await server.say(PersonMessage(text=SLOWLY, chat="c"))
        posts = await until(server, "c", "#1 hello", f"#2 {SLOWLY}")
        server.rates = ()

        server.plan(Fault(kind="reset_after", times=2))
        await server.say(PersonMessage(text="once", chat="c"))
        await until(server, "c", "#1 hello", f"#2 {SLOWLY}", "#3 once")
        await server.say(PersonMessage(text="barrier", chat="c"))
        await until(server, "c", "#1 hello", f"#2 {SLOWLY}", "#3 once", "#4 barrier")

    assert posts[1].edits >= 1
    assert [line for line in server.rejections if "M_LIMIT_EXCEEDED" not in line] == []


@pytest.mark.req("J16", "J17", "W2")
@pytest.mark.parametrize("where", ["store.accept.after:1", "channel.send.after:1"])
async def test_a_kill_in_the_middle_leaves_one_reply(
    tmp_path: Path, server: MatrixStandIn, model: str, where: str
) -> None:
    home = tmp_path / "home"
    server.write(PersonMessage(text="of old", chat="c"))
    async with live_gateway(home, variables(server, model)) as gateway:
        await connected(gateway)
        await server.say(PersonMessage(text="first", chat="c"))
        await until(server, "c", "#1 first")
        await gateway.stop()

    server.write(PersonMessage(text=SLOWLY, chat="c"))
    async with asyncio.timeout(WAIT_S):
        code = await ended(home, variables(server, model, HERMES_FAILPOINTS=where))
    assert code == -signal.SIGKILL

    async with live_gateway(home, variables(server, model)):
        await until(server, "c", "#1 first", f"#2 {SLOWLY}")
        await server.say(PersonMessage(text="barrier", chat="c"))
        await until(server, "c", "#1 first", f"#2 {SLOWLY}", "#3 barrier")
    assert server.rejections == ()


async def ended(home: Path, more: dict[str, str]) -> int:
    """Run a gateway that dies by itself; it may do so before it is ready."""
    try:
        async with live_gateway(home, more) as gateway:
            return await gateway.process.wait()
    except AssertionError as died:
        assert "hermes up ended" in str(died)  # noqa: PT017 - the process says nothing more
        return -signal.SIGKILL


@pytest.mark.req("W2")
async def test_a_revoked_token_is_told_to_the_operator(
    tmp_path: Path, server: MatrixStandIn, model: str
) -> None:
    async with live_gateway(tmp_path / "home", variables(server, model)) as gateway:
        await connected(gateway)
        await server.say(PersonMessage(text="hello", chat="c"))
        await until(server, "c", "#1 hello")

        server.revoke()

        await until_true(
            lambda: "no longer accepts it" in gateway.said(), lambda: gateway.said()[-2000:]
        )
