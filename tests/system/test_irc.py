"""IRC with the real gateway as its own process, the plugin loaded by name, against the stand-in."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from hermes.testing.irc.server import IrcStandIn
from hermes.testing.model_server import ModelServer
from hermes.testing.stand_in import Fault, PersonMessage
from tests.system.live import Live, live_gateway, with_model

QUICK = {"HERMES_OUTBOX__LOOK_AFTER_S": "0.2", "HERMES_OUTBOX__SETTLE_AFTER_S": "0.1"}
LAB: dict[str, Any] = {"chat": "lab", "chat_type": "channel", "mentions": True}
RATES = {"per_second": 0, "chat_gap_s": 0, "group_gap_s": 0}


@dataclass
class Town:
    """A network, and how to start a gateway that is a bot on it."""

    irc: IrcStandIn
    model: ModelServer
    start: Callable[[], AbstractAsyncContextManager[Live]]

    def texts(self, chat: str) -> list[str]:
        return [post.text for post in self.irc.posts(chat)]

    async def until(self, chat: str, texts: list[str]) -> None:
        """Wait until the bot has written this; the time limit is only for a broken test."""
        try:
            async with asyncio.timeout(20):
                while self.texts(chat) != texts:  # noqa: ASYNC110 - the book tells nobody
                    await asyncio.sleep(0.01)
        except TimeoutError:
            assert (self.texts(chat), self.irc.rejections) == (texts, ())


@asynccontextmanager
async def town(folder: Path, *, is_plain: bool = False, **extra: Any) -> AsyncIterator[Town]:
    """Run the stand-in and a scripted model."""
    irc = IrcStandIn(is_plain=is_plain)
    await irc.start()
    home = folder / "home"
    home.mkdir(mode=0o700)
    settings = {**irc.settings, **extra}
    config = {
        "plugins": ["hermes.contrib.irc"],
        "platforms": {"irc": {"enabled": True, "rates": RATES, "extra": settings}},
    }
    (home / "config.yaml").write_text(yaml.safe_dump(config))
    (home / "config.yaml").chmod(0o600)
    model = ModelServer()
    await model.start()
    variables = {**with_model(model.base_url), **QUICK}
    try:
        yield Town(irc, model, lambda: live_gateway(home, variables))
    finally:
        await irc.stop()
        await model.close()


async def standing(live: Live) -> dict[str, Any]:
    """Return how the gateway says that IRC stands."""
    url = f"{live.url}/control/status"
    async with aiohttp.ClientSession() as http, http.get(url, headers=live.bearer) as answer:
        channels = (await answer.json())["channels"]
    return next(one for one in channels if one["name"] == "irc")


@pytest.mark.req("W9", "W12", "W30", "J1", "J17", "A28")
async def test_accounts_are_known_lost_answers_marked_and_a_wrong_password_final(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, allowed_users=["user-1"]) as here, here.start() as live:
        irc = here.irc
        await irc.say(PersonMessage(text="hello", id="m1", times=2))
        await here.until("chat-1", ["#1 hello"])
        # Another account with a name alike is a stranger, who gets a code and no answer.
        await irc.say(PersonMessage(text="hello", chat="chat-2", user="user-2"))
        await wait(lambda: bool(here.texts("chat-2")))
        assert "code" in " ".join(here.texts("chat-2"))
        await irc.say(PersonMessage(text="in here", **LAB))
        await here.until("lab", ["#1 [Ada] in here"])

        irc.plan(Fault(kind="reset_after"))
        await irc.say(PersonMessage(text="perhaps"))
        await here.until("chat-1", ["#1 hello", "#2 perhaps", "(possibly a repeat) #2 perhaps"])

        irc.revoke()
        async with asyncio.timeout(20):
            while (told := await standing(live))["state"] != "fatal":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert "platforms.irc.sasl_password" in told["note"]
        assert "not-a-real" not in f"{told}{live.said()}"
        assert irc.rejections == ()


@pytest.mark.req("J1", "J3", "W9")
@pytest.mark.parametrize("is_plain", [False, True])
async def test_a_killed_gateway_answers_after_its_restart(tmp_path: Path, is_plain: bool) -> None:
    async with town(tmp_path, is_plain=is_plain, trust="nick", allowed_users=["ada"]) as here:
        async with here.start() as live:
            await here.irc.say(PersonMessage(text="before [[slow:0.5]]"))
            # Whoever asks a model has the message on disk.
            await wait(lambda: bool(here.model.invocations))
            await live.stop(signal.SIGKILL)
        async with here.start():
            await here.until("chat-1", ["#1 before [[slow:0.5]]"])
            await here.irc.say(PersonMessage(text="after"))
            await here.until("chat-1", ["#1 before [[slow:0.5]]", "#2 after"])
        assert here.irc.rejections == ()


async def wait(claim: Callable[[], bool]) -> None:
    """Wait for a claim to become true; the time limit is only for a broken test."""
    async with asyncio.timeout(20):
        while not claim():  # noqa: ASYNC110 - the stand-in tells nobody
            await asyncio.sleep(0.01)


@pytest.mark.req("W10", "W11")
async def test_a_pasted_text_is_one_message_and_stops_nothing(tmp_path: Path) -> None:
    async with (
        town(tmp_path, allowed_users=["user-1"], gather_s=0.3) as here,
        here.start(),
    ):
        for number in range(5):
            await here.irc.say(PersonMessage(text=f"line {number}"))
        pasted = [f"line {number}" for number in range(5)]
        await here.until("chat-1", ["#1 line 0", *pasted[1:]])
        await here.irc.say(PersonMessage(text="a barrier"))
        await here.until("chat-1", ["#1 line 0", *pasted[1:], "#2 a barrier"])
        assert here.irc.rejections == ()
