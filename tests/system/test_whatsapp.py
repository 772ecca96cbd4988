"""WhatsApp and SMS with the real gateway as its own process, against their stand-ins."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from hermes.testing.meta.platform import MetaStandIn
from hermes.testing.sms.platform import SmsStandIn
from hermes.testing.stand_in import Fault, PersonMessage
from tests.system.live import Live, live_gateway, model_server, with_model

MAKES: dict[str, Callable[[], Any]] = {"whatsapp": MetaStandIn, "sms": SmsStandIn}
both = pytest.mark.parametrize("name", MAKES)


@dataclass
class Phone:
    """A platform of phones, and how to start a gateway on it."""

    # Any: a stand-in of either platform.
    site: Any
    start: Callable[[], AbstractAsyncContextManager[Live]]

    def texts(self, chat: str = "ada") -> list[str]:
        return [post.text for post in self.site.posts(chat)]

    async def until(self, claim: Callable[[], bool]) -> None:
        """Wait for a claim to become true; the time limit is only for a broken test."""
        async with asyncio.timeout(30):
            while not claim():  # noqa: ASYNC110 - the stand-in tells nobody
                await asyncio.sleep(0.01)


def free_port() -> int:
    """Return a port that the gateway keeps over a restart: its address is signed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def phone(folder: Path, name: str) -> AsyncIterator[Phone]:
    """Run the stand-in and a scripted model."""
    site = MAKES[name]()
    await site.start()
    home = folder / "home"
    home.mkdir(mode=0o700)
    port = free_port()
    config = {
        "server": {"port": port, "public_url": f"http://127.0.0.1:{port}"},
        "platforms": {name: {"enabled": True, "extra": dict(site.settings)}},
    }
    (home / "config.yaml").write_text(yaml.safe_dump(config))
    site.point_at(f"http://127.0.0.1:{port}/webhooks/{name}")
    environ = {"HERMES_ACCESS__ALLOW_ALL": "true", "HERMES_SERVER__PORT": str(port)}
    async with model_server() as url:

        @asynccontextmanager
        async def start() -> AsyncIterator[Live]:
            async with live_gateway(home, {**with_model(url), **environ}) as live:
                yield live

        try:
            yield Phone(site, start)
        finally:
            await site.stop()


@both
@pytest.mark.req("W9", "J1", "J3", "J17")
async def test_a_killed_gateway_answers_once_and_a_lost_answer_is_proven(
    tmp_path: Path, name: str
) -> None:
    async with phone(tmp_path, name) as here:
        said = PersonMessage(text="before [[slow:0.5]]", chat="ada")
        async with here.start() as live:
            first = await here.site.say(said)
            await live.stop(signal.SIGKILL)
        async with here.start():
            await here.site.say(PersonMessage(text=said.text, chat="ada", id=first))
            await here.until(lambda: bool(here.texts()))
            here.site.plan(Fault(kind="reset_after"))
            await here.site.say(PersonMessage(text="once", chat="ada"))
            await here.until(lambda: len(here.texts()) > 1)
            await here.site.say(PersonMessage(text="after", chat="ada"))
            await here.until(lambda: len(here.texts()) > 2)

        assert [text.partition(" ")[0] for text in here.texts()] == ["#1", "#2", "#3"]
        assert here.site.rejections == ()


@both
@pytest.mark.req("W2", "W9")
async def test_a_stranger_on_the_internet_gets_nothing_but_a_refusal(
    tmp_path: Path, name: str
) -> None:
    async with phone(tmp_path, name) as here, here.start() as live, aiohttp.ClientSession() as http:
        url = f"{live.url}/webhooks/{name}"
        kind = {"content-type": "application/x-www-form-urlencoded"}
        calls: tuple[tuple[str, bytes, dict[str, str]], ...] = (
            ("POST", b"{}", {}),
            ("POST", b"Body=hi", kind),
            ("GET", b"", {}),
            ("PUT", b"", {}),
        )
        statuses = []
        for method, body, headers in calls:
            async with http.request(method, url, data=body or None, headers=headers) as answer:
                statuses.append(answer.status)
        await here.site.say(PersonMessage(text="a barrier", chat="ada"))
        await here.until(lambda: bool(here.texts()))

        assert statuses[:2] == [401, 401]
        assert min(statuses) >= 400
        assert "not-a-real" not in live.said()
        assert here.texts() == ["#1 a barrier"]
