"""Slack with the real gateway as its own process, in both modes, against the stand-in."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import aiohttp
import pytest
import yaml

from hermes.testing.slack.platform import SlackStandIn
from hermes.testing.stand_in import Fault, PersonMessage
from tests.system.live import Live, live_gateway, model_server, with_model

QUICK = {
    "HERMES_ACCESS__ALLOW_ALL": "true",
    "HERMES_OUTBOX__LOOK_AFTER_S": "0.2",
    "HERMES_OUTBOX__SETTLE_AFTER_S": "0.1",
}
CHANNEL: dict[str, Any] = {"chat": "lab", "chat_type": "channel"}


@dataclass
class Town:
    """A workspace, and how to start a gateway that is its bot."""

    slack: SlackStandIn
    start: Callable[[], AbstractAsyncContextManager[Live]]
    home: Path

    def texts(self, chat: str) -> list[str]:
        # In a channel the model is told who wrote.
        posts = (post.text for post in self.slack.posts(chat) if not post.deleted)
        return [text.replace("[Ada] ", "") for text in posts]

    async def until(self, chat: str, texts: list[str]) -> None:
        """Wait until the bot has written this; the time limit is only for a broken test."""
        try:
            async with asyncio.timeout(20):
                while self.texts(chat) != texts:  # noqa: ASYNC110 - the book tells nobody
                    await asyncio.sleep(0.01)
        except TimeoutError:
            assert self.texts(chat) == texts


@asynccontextmanager
async def town(folder: Path, mode: Literal["socket", "http"]) -> AsyncIterator[Town]:
    """Run the stand-in and a scripted model."""
    slack = SlackStandIn(mode, resend_s=1.0)
    await slack.start()
    home = folder / "home"
    home.mkdir(mode=0o700)
    extra = dict(slack.settings)
    config = {"platforms": {"slack": {"enabled": True, "extra": extra}}}
    (home / "config.yaml").write_text(yaml.safe_dump(config))
    async with model_server() as url:

        @asynccontextmanager
        async def start() -> AsyncIterator[Live]:
            async with live_gateway(home, {**with_model(url), **QUICK}) as live:
                slack.point_at(f"{live.url}/webhooks/slack")
                yield live

        try:
            yield Town(slack, start, home)
        finally:
            await slack.stop()


async def standing(live: Live) -> dict[str, str]:
    """Return how the gateway says that slack stands."""
    url = f"{live.url}/control/status"
    async with aiohttp.ClientSession() as http, http.get(url, headers=live.bearer) as answer:
        channels = (await answer.json())["channels"]
    return next(one for one in channels if one["name"] == "slack")


async def until(claim: Callable[[], bool]) -> None:
    """Wait for a claim to become true; the time limit is only for a broken test."""
    async with asyncio.timeout(20):
        while not claim():  # noqa: ASYNC110 - the stand-in tells nobody
            await asyncio.sleep(0.01)


@pytest.mark.req("W9", "J1", "W19")
@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_messages_threads_double_events_and_streams(tmp_path: Path, mode) -> None:
    async with town(tmp_path, mode) as here, here.start():
        slack = here.slack
        await slack.say(PersonMessage(text="hello", chat="ada", times=2))
        name = await slack.say(PersonMessage(text="hi", mentions=True, times=2, **CHANNEL))
        await here.until("ada", ["#1 hello"])
        await here.until("lab", ["#1 hi"])
        thread = name.partition(":")[2]
        await slack.say(PersonMessage(text="more", thread=thread, **CHANNEL))
        await slack.command(PersonMessage(text="by command", chat="ada"))
        await here.until("lab", ["#1 hi", "#2 more"])
        await here.until("ada", ["#1 hello", "#2 by command"])

        long = "an answer **with** words that take some time [[deltas:8]] [[gap:0.3]]"
        await slack.say(PersonMessage(text=long, chat="bob", user="bob", user_name="Bob"))
        await until(lambda: bool(here.texts("bob")) and "▉" not in here.texts("bob")[0])
        streamed = slack.posts("bob")

        assert [post.thread for post in slack.posts("lab")] == [thread] * 2
        assert (len(streamed), streamed[0].edits >= 2) == (1, True)
        assert "*with*" in streamed[0].markup
        assert slack.rejections == ()


@pytest.mark.req("W9", "J17")
async def test_a_thread_goes_on_after_a_kill_without_a_mention(tmp_path: Path) -> None:
    async with town(tmp_path, "socket") as here:
        async with here.start() as live:
            name = await here.slack.say(PersonMessage(text="hi", mentions=True, **CHANNEL))
            await here.until("lab", ["#1 hi"])
            await live.settled()
            await live.stop(signal.SIGKILL)

        async with here.start():
            thread = name.partition(":")[2]
            await here.slack.say(PersonMessage(text="more", thread=thread, **CHANNEL))
            await here.until("lab", ["#1 hi", "#2 more"])


@pytest.mark.req("W2", "W9", "J17", "A26", "A28")
async def test_a_cut_a_lost_answer_and_a_revoked_token(tmp_path: Path) -> None:
    async with town(tmp_path, "socket") as here, here.start() as live:
        slack = here.slack
        await slack.sockets.wait_open()
        await slack.cut()
        await slack.say(PersonMessage(text="one", chat="ada"))
        await here.until("ada", ["#1 one"])
        await slack.sockets.replace({"type": "disconnect", "reason": "warning"})
        await slack.say(PersonMessage(text="two", chat="ada"))
        await here.until("ada", ["#1 one", "#2 two"])
        assert slack.sockets.opened == 3

        slack.plan(Fault(kind="reset_after"))
        await slack.say(PersonMessage(text="once", mentions=True, **CHANNEL))
        await until(lambda: ("conversations.replies", "ok") in slack.log)
        await slack.say(PersonMessage(text="barrier", chat="ada"))
        await here.until("ada", ["#1 one", "#2 two", "#3 barrier"])
        assert here.texts("lab") == ["#1 once"]

        slack.revoke()
        async with asyncio.timeout(20):
            while (told := await standing(live))["state"] != "fatal":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert "platforms.slack" in told["note"]
        assert "not-a-real" not in f"{told}{live.said()}"


@pytest.mark.req("J1", "J3", "W9")
async def test_a_killed_gateway_answers_once_after_its_restart(tmp_path: Path) -> None:
    async with town(tmp_path, "http") as here:
        said = PersonMessage(text="before [[slow:0.5]]", chat="ada", id="m1")
        async with here.start() as live:
            await here.slack.say(said)
            await live.stop(signal.SIGKILL)
        async with here.start():
            await here.slack.say(said)
            await until(lambda: bool(here.texts("ada")))
            await here.slack.say(PersonMessage(text="after", chat="ada"))
            await until(lambda: len(here.texts("ada")) > 1)

        assert [text.partition(" ")[0] for text in here.texts("ada")] == ["#1", "#2"]
