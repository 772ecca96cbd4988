"""Two bots of each platform in one gateway, on real stand-ins: no reply by the wrong one, kill -9 or not."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from hermes.testing.irc.server import IrcStandIn
from hermes.testing.model_server import ModelServer
from hermes.testing.slack.platform import SlackStandIn
from hermes.testing.stand_in import PersonMessage, StandIn
from hermes.testing.telegram.platform import TelegramStandIn
from hermes.testing.webhook.machine import MachineStandIn
from tests.system.live import Live, live_gateway, run_command, with_model

NO_RATES = {"per_second": 0, "chat_gap_s": 0, "group_gap_s": 0}
PUBLIC = "https://hermes.example.org"
QUICK = {
    "HERMES_ACCESS__ALLOW_ALL": "true",
    "HERMES_OUTBOX__LOOK_AFTER_S": "0.2",
    "HERMES_OUTBOX__SETTLE_AFTER_S": "0.1",
    "HERMES_LANES__LEASE_S": "1",
    "HERMES_SERVER__PUBLIC_URL": PUBLIC,
    "HERMES_STREAMING__TRANSPORT": "off",
}


def bots() -> dict[str, StandIn]:
    """Return the stand-in of each bot; the two of a platform receive in different ways where they can."""
    slack = SlackStandIn("http", resend_s=1.0)
    slack.tokens["bot"] = "xoxb-2-not-a-real-token"
    return {
        "telegram": TelegramStandIn(),
        "telegram/sales": TelegramStandIn(
            mode="webhook", token="7000000002:AAF-not-a-real-token_2"
        ),
        "slack": SlackStandIn("socket", resend_s=1.0),
        "slack/sales": slack,
        "webhook": MachineStandIn(),
        "webhook/sales": MachineStandIn(),
        "irc": IrcStandIn(),
        "irc/sales": IrcStandIn(is_plain=True),
    }


class Town:
    """All platforms, a model, and the gateway that is every bot on them."""

    def __init__(self, home: Path, platforms: dict[str, StandIn], model: ModelServer) -> None:
        self.home = home
        self.platforms = platforms
        self.model = model
        home.mkdir(mode=0o700)
        (home / "config.yaml").write_text(yaml.safe_dump(self._config()))
        (home / "config.yaml").chmod(0o600)

    def _config(self) -> dict[str, Any]:
        tables: dict[str, Any] = {}
        for name, one in self.platforms.items():
            platform, _, account = name.partition("/")
            extra = dict(one.settings)
            if name == "irc/sales":
                extra["trust"] = "nick"
            chosen = {"enabled": True, "rates": NO_RATES, "extra": extra}
            if account:
                chosen["agent"] = "seller"
                tables[platform]["accounts"] = {account: chosen}
            else:
                tables[platform] = chosen
        agents = {"main": {}, "seller": {"name": "Sally"}}
        return {"plugins": ["hermes.contrib.irc"], "agents": agents, "platforms": tables}

    @asynccontextmanager
    async def gateway(self) -> AsyncIterator[Live]:
        async with live_gateway(self.home, {**with_model(self.model.base_url), **QUICK}) as live:
            for name, one in self.platforms.items():
                point_at: Callable[[str], None] | None = getattr(one, "point_at", None)
                if point_at is not None:
                    point_at(f"{live.url}/webhooks/{name}")
            await connected(live, len(self.platforms))
            yield live

    async def say(self, text: str, *names: str) -> None:
        """Let the same person write the same to bots, under the same id, and name the bot."""
        for name in names or self.platforms:
            await self.platforms[name].say(
                PersonMessage(text=f"{text} {name}", id=_ID.get(name, ""))
            )

    def texts(self, name: str) -> list[str]:
        return [post.text for post in self.platforms[name].posts("chat-1") if not post.deleted]

    async def stands(self, expected: dict[str, list[str]]) -> None:
        """Wait until each bot has written exactly this; the time limit is only for a broken test."""

        def found() -> dict[str, list[str]]:
            return {name: self.texts(name) for name in expected}

        try:
            async with asyncio.timeout(30):
                while found() != expected:  # noqa: ASYNC110 - the stand-ins tell nobody
                    await asyncio.sleep(0.02)
        except TimeoutError:
            assert found() == expected


# Ids of messages are counted per bot, so the first ones of two bots are the same.
_ID: dict[str, str] = {}


@asynccontextmanager
async def town(folder: Path) -> AsyncIterator[Town]:
    platforms, model = bots(), ModelServer()
    async with AsyncExitStack() as stack:
        for one in platforms.values():
            await one.start()
            stack.push_async_callback(one.stop)
        await model.start()
        stack.push_async_callback(model.close)
        yield Town(folder / "home", platforms, model)


async def control(live: Live, path: str) -> dict[str, Any]:
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{live.url}/control/{path}", headers=live.bearer) as answer,
    ):
        content: dict[str, Any] = await answer.json()
        return content


async def connected(live: Live, count: int) -> None:
    channels: list[dict[str, Any]] = []
    try:
        async with asyncio.timeout(20):
            while sum(one["state"] == "connected" for one in channels) != count:
                channels = (await control(live, "status"))["channels"]
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not connected: {channels}") from None


@pytest.mark.req("W9", "W22", "W33", "J1", "J3")
async def test_two_bots_of_each_platform_answer_each_for_itself_also_after_a_kill(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as here:
        names = list(here.platforms)
        # given eight bots that are all asked something
        async with here.gateway() as live:
            await here.say("[[slow:0.5]] first to")
            async with asyncio.timeout(30):
                while len(here.model.invocations) < len(names):  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.01)
            # when the gateway dies in the middle of all answers, and comes back
            await live.stop(signal.SIGKILL)
        async with here.gateway() as live:
            first = {name: f"#1 [[slow:0.5]] first to {name}" for name in names}
            await here.stands({name: [first[name]] for name in names})
            await here.say("then to")
            # then each answers what it was asked, in its own conversation
            await here.stands({name: [first[name], f"#2 then to {name}"] for name in names})
            sessions = (await control(live, "sessions"))["sessions"]
            await live.settled()
    assert {name: one.rejections for name, one in here.platforms.items()} == dict.fromkeys(
        names, ()
    )
    assert {one["platform"]: one["key"].split(":")[1] for one in sessions} == {
        name: "seller" if "/" in name else "main" for name in names
    }


@pytest.mark.req("W13", "W27", "W31")
async def test_one_bot_is_paused_written_to_and_listed_without_the_other(tmp_path: Path) -> None:
    async with town(tmp_path) as here, here.gateway() as live:

        async def hermes(*arguments: str) -> str:
            done = await run_command(here.home, *arguments, is_merged=True)
            assert done.returncode == 0, done.stdout
            return done.stdout

        both = ("telegram", "telegram/sales")
        await here.say("hello", *both)
        await here.stands({name: [f"#1 hello {name}"] for name in both})
        users = json.loads(await hermes("users", "list", "--json"))
        people = [one for one in users["users"] if one["channels"][0]["platform"] == "telegram"]
        assert len(people) == 1

        await hermes("channels", "pause", "telegram/sales")
        paused = {
            one["platform"]: one["paused_at"] is not None
            for one in json.loads(await hermes("channels", "list", "--json"))["channels"]
            if one["platform"] in both
        }
        assert paused == {"telegram": False, "telegram/sales": True}
        await here.say("more", "telegram")
        await here.stands(
            {
                "telegram": ["#1 hello telegram", "#2 more telegram"],
                "telegram/sales": ["#1 hello telegram/sales"],
            }
        )
        chat = people[0]["channels"][0]["user_id"]
        await hermes("send", f"telegram/sales:{chat}", "by the seller")
        await hermes("channels", "resume", "telegram/sales")
        await here.stands(
            {
                "telegram": ["#1 hello telegram", "#2 more telegram"],
                "telegram/sales": ["#1 hello telegram/sales", "by the seller"],
            }
        )
        assert live.process.returncode is None
