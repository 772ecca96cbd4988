"""Discord with the real gateway as its own process, against the stand-in: kills, cuts, interactions."""

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

from hermes.testing.discord.platform import DiscordStandIn
from hermes.testing.stand_in import Fault, PersonMessage
from tests.system.live import Live, live_gateway, model_server, with_model

QUICK = {
    "HERMES_ACCESS__ALLOW_ALL": "true",
    "HERMES_OUTBOX__LOOK_AFTER_S": "0.2",
    "HERMES_OUTBOX__SETTLE_AFTER_S": "0.1",
}
LAB: dict[str, Any] = {"chat": "lab", "chat_type": "group"}


@dataclass
class Town:
    """A server, and how to start a gateway that is its bot."""

    discord: DiscordStandIn
    start: Callable[[], AbstractAsyncContextManager[Live]]

    def texts(self, chat: str) -> list[str]:
        # In a channel the model is told who wrote.
        posts = (post.text for post in self.discord.posts(chat) if not post.deleted)
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
async def town(
    folder: Path, mode: Literal["gateway", "http"] = "gateway", **settings: Any
) -> AsyncIterator[Town]:
    """Run the stand-in and a scripted model."""
    discord = DiscordStandIn(mode, heartbeat_s=0.05)
    await discord.start()
    home = folder / "home"
    home.mkdir(mode=0o700)
    extra = {**discord.settings, **settings}
    config = {"platforms": {"discord": {"enabled": True, "extra": extra}}}
    (home / "config.yaml").write_text(yaml.safe_dump(config))
    async with model_server() as url:

        @asynccontextmanager
        async def start() -> AsyncIterator[Live]:
            async with live_gateway(home, {**with_model(url), **QUICK}) as live:
                discord.point_at(f"{live.url}/webhooks/discord")
                yield live

        try:
            yield Town(discord, start)
        finally:
            await discord.stop()


async def connected(live: Live) -> None:
    """Wait until the gateway says that its channel is connected."""
    url = f"{live.url}/control/status"
    async with asyncio.timeout(20), aiohttp.ClientSession(headers=live.bearer) as http:
        while True:
            async with http.get(url) as answer:
                channels = (await answer.json())["channels"]
            if any((one["name"], one["state"]) == ("discord", "connected") for one in channels):
                return
            await asyncio.sleep(0.05)


@pytest.mark.req("W9", "J1", "W11", "W19")
async def test_messages_threads_commands_and_double_events(tmp_path: Path) -> None:
    async with town(tmp_path) as here, here.start():
        discord = here.discord
        await discord.say(PersonMessage(text="hello", chat="ada", times=2))
        root = await discord.say(PersonMessage(text="hi", mentions=True, **LAB))
        await here.until("ada", ["#1 hello"])
        await here.until("lab", ["#1 hi"])
        await discord.say(PersonMessage(text="in it", thread=root, mentions=True, **LAB))
        await here.until("lab", ["#1 hi", "#1 in it"])
        await discord.command(PersonMessage(text="/queue by command", chat="ada"))
        await here.until("ada", ["#1 hello", "#2 by command"])

        assert [post.thread for post in discord.posts("lab")] == [None, root]
        assert discord.rejections == ()


@pytest.mark.req("J1", "J3", "W9", "J17")
async def test_a_killed_gateway_goes_on_and_loses_and_doubles_nothing(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        async with here.start() as live:
            await here.discord.say(PersonMessage(text="before [[slow:0.5]]", chat="ada"))
            await live.stop(signal.SIGKILL)
        meanwhile = asyncio.create_task(
            here.discord.say(PersonMessage(text="meanwhile", chat="bob", user="bob"))
        )
        async with here.start():
            await meanwhile
            await here.until("bob", ["#1 meanwhile"])
            await here.until("ada", ["#1 before [[slow:0.5]]"])

        assert len(here.discord.sockets.identified) == 1
        assert here.discord.rejections == ()


@pytest.mark.req("W2", "A26", "A28", "J17")
async def test_a_cut_a_lost_answer_and_a_revoked_token(tmp_path: Path) -> None:
    async with town(tmp_path) as here, here.start() as live:
        discord = here.discord
        await discord.sockets.wait_open()
        await discord.cut()
        await discord.say(PersonMessage(text="one", chat="ada"))
        await here.until("ada", ["#1 one"])
        discord.plan(Fault(kind="reset_after"))
        await discord.say(PersonMessage(text="once", chat="bob", user="bob"))
        await discord.say(PersonMessage(text="two", chat="ada"))
        await here.until("ada", ["#1 one", "#2 two"])
        await here.until("bob", ["#1 once"])

        discord.revoke()
        await discord.cut_off(4004)
        async with asyncio.timeout(20):
            while "platforms.discord.bot_token" not in live.said():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert "not-a.real" not in live.said()


@pytest.mark.req("W9", "W10")
async def test_a_private_command_by_http_is_answered_to_its_person(tmp_path: Path) -> None:
    async with town(tmp_path, "http") as here, here.start() as live:
        discord = here.discord
        await connected(live)
        token = await discord.command(PersonMessage(text="/whoami", **LAB))
        async with asyncio.timeout(20):
            while not here.texts("lab"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

        answer = discord.answers[token]
        assert answer is not None
        assert (answer["type"], answer["data"]) == (5, {"flags": 64})
        (told,) = discord.town.history(discord.town.find_chat("lab").id, is_own=True)
        assert told.more["flags"] == 64
        assert "You are" in told.text
        assert discord.rejections == ()
