"""A real gateway whose clock leaps a day ahead and is set back: nothing runs twice, nothing stands still."""

import asyncio
import json
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from hermes.testing.push.webhooks import InboundMessage
from hermes.testing.stand_in import Fault
from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.moved_clock import LIBRARY, faked, put_clock
from tests.system.pigeon_chat import pigeon_settings, write
from tests.system.test_life import until_running
from tests.system.test_operator_commands import hermes

DAY_S = 86_400.0
WAIT_S = 15.0

pytestmark = pytest.mark.skipif(
    LIBRARY is None, reason="faketime is not installed here; tools/install_test_parts.sh brings it"
)


class Story:
    """One gateway on a clock that can be moved while it runs."""

    def __init__(self, live: Live, http: aiohttp.ClientSession, pigeon: SamplePlatform) -> None:
        self.live = live
        self.pigeon = pigeon
        self._http = http
        self._count = 0
        self._ahead_s = 0.0

    def move(self, days: int) -> None:
        """Put the gateway's clock so many days ahead of the real one."""
        put_clock(self.live.home.parent / "clock", days)
        self._ahead_s = days * DAY_S

    async def ask(self, text: str) -> dict[str, object]:
        return await self.live.post(self._http, sender="ann", conversation="ann", text=text)

    async def ask_in_web(self, text: str) -> dict[str, Any]:
        """Send a message as the page does; returns what the page shows of the conversation."""
        message = {"conversation": "c1", "text": text, "id": text}
        url, headers = f"{self.live.url}/web", self.live.bearer
        async with self._http.post(f"{url}/messages", json=message, headers=headers) as answer:
            await answer.read()
        async with self._http.get(f"{url}/conversations/c1", headers=headers) as answer:
            shown: dict[str, Any] = await answer.json()
            return shown

    async def write(self, text: str) -> None:
        self._count += 1
        message = InboundMessage(chat="c1", user="c1", text=text, event_id=f"e{self._count}")
        await write(self.live, self._http, message, ahead_s=self._ahead_s)

    async def until_running(self) -> None:
        await until_running(self.live, self._http, 1)

    def posted(self) -> list[str]:
        return [post.text for post in self.pigeon.state.posted]

    def logged(self, event: str, **facts: object) -> bool:
        lines = map(json.loads, (self.live.home / "logs/hermes.log").read_text().splitlines())
        return any(line["event"] == event and facts.items() <= line.items() for line in lines)


async def until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not claim():  # noqa: ASYNC110  another process makes it true
            await asyncio.sleep(0.02)


@pytest.fixture
async def story(tmp_path: Path):
    clock = tmp_path / "clock"
    put_clock(clock, 0)
    pigeon = SamplePlatform(SampleSettings(token="t", signing_secret="s", chats=("c1",)))
    await pigeon.start()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(pigeon.stop)
        url = await stack.enter_async_context(model_server())
        variables = {**with_model(url), **pigeon_settings(pigeon), **faked(clock)}
        live = await stack.enter_async_context(live_gateway(tmp_path / "home", variables))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        yield Story(live, http, pigeon)


@pytest.mark.req("J4", "J18", "J23", "W23", "W29")
async def test_a_day_ahead_and_back_again(story: Story) -> None:
    home = story.live.home
    assert (await story.ask("one"))["reply"] == "#1 one"
    await story.write("hello")
    await until(lambda: story.posted() == ["#1 hello"])
    await hermes(home, "cron", "add", "pigeon:c1", "every day at 12:00", "the daily word")

    # A day ahead, in the middle of a turn.
    running = asyncio.create_task(story.ask("[[slow:1.5]] two"))
    await story.until_running()
    story.move(1)
    assert (await running)["outcome"] == "answered"
    first, second = await story.ask("three"), await story.ask("four")
    await until(lambda: any("the daily word" in text for text in story.posted()))

    # Back again, while a reply waits for its third try.
    story.pigeon.plan(Fault(kind="server_error", op="send", times=2))
    tried = len(story.pigeon.log)
    await story.write("late")
    await until(lambda: len(story.pigeon.log) == tried + 2)
    story.move(0)
    await until(lambda: "late" in story.posted()[-1])
    third = await story.ask("five")
    await until(lambda: story.logged("cron_clock_set_back"))

    # The same noon comes round once more, and a day too early.
    story.move(1)
    await until(lambda: story.logged("cron_run", is_new=False))
    story.move(-1)
    await story.write("past")
    await until(lambda: "past" in story.posted()[-1])

    fourth = await story.ask("six")
    # The turn that ran over the leap has used its session in the new day; it goes on.
    numbers = [str(one["reply"]).split()[0] for one in (first, second, third)]
    assert numbers == ["#3", "#4", "#5"]
    assert fourth["outcome"] == "answered"
    assert sum("the daily word" in text for text in story.posted()) == 1
    assert sum("A new day" in text for text in story.posted()) == 1
    assert len(story.posted()) == len(set(story.posted()))
    assert await story.live.stop(signal.SIGINT) == 0


@pytest.mark.req("W23", "W9")
async def test_web_and_terminal_go_on_after_days_where_rest_starts_afresh(story: Story) -> None:
    chat = (story.live.home, "chat", "--message")
    await story.ask("one")
    await story.ask_in_web("one")
    await hermes(*chat, "one")
    story.move(3)

    rest = await story.ask("two")
    web = await story.ask_in_web("two")
    terminal = await hermes(*chat, "two")

    assert rest["reply"] == "#1 two"
    assert "#2 two" in terminal
    # The scripted model repeats the note about the new day, too.
    shown = [(one["epoch"], one["turn"]["reply"].split("\n")[0]) for one in web["messages"]]
    assert (web["epoch"], shown) == (0, [(0, "#1 one"), (0, "#2 two")])
