"""W16: photos that somebody sends in a chat, through a real gateway that is killed in between."""

import asyncio
import base64
import json
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest

from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from hermes.testing.push.webhooks import InboundMessage
from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.pigeon_chat import pigeon_settings, write
from tests.system.test_life import until_running
from tests.system.test_operator_commands import hermes

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()


@pytest.fixture
async def pigeon() -> AsyncIterator[SamplePlatform]:
    platform = SamplePlatform(SampleSettings(token="t", signing_secret="s", chats=("c1",)))
    await platform.start()
    yield platform
    await platform.stop()


async def until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not claim():  # noqa: ASYNC110  another process makes it true
            await asyncio.sleep(0.02)


async def send(
    live: Live, http: aiohttp.ClientSession, name: str, *, text: str = "", album: str | None = None
) -> str:
    shown = (f"data:image/png;base64,{PNG}",)
    message = InboundMessage(
        chat="c1", user="c1", text=text, event_id=name, pictures=shown, album=album
    )
    return await write(live, http, message)


async def why(live: Live, message_id: str) -> dict[str, object]:
    told: dict[str, object] = json.loads(await hermes(live.home, "why", message_id, "--json"))
    return told


@pytest.mark.req("W16", "J13")
async def test_photos_in_a_row_get_one_reply_which_says_so(
    tmp_path: Path, pigeon: SamplePlatform
) -> None:
    async with model_server() as url, aiohttp.ClientSession() as http:
        more = {**with_model(url), **pigeon_settings(pigeon)}
        async with live_gateway(tmp_path / "home", more) as live:
            host = await send(live, http, "p1", text="my trip")
            others = [await send(live, http, name) for name in ("p2", "p3")]
            again = await send(live, http, "p2")
            await until(lambda: len(pigeon.state.posted) == 1)
            await write(live, http, InboundMessage(chat="c1", user="c1", text="and?", event_id="t"))
            await until(lambda: len(pigeon.state.posted) == 2)
            merged = [await why(live, message_id) for message_id in others]

    assert again == others[0]
    # The model counts what it was told by the person: the burst is one message.
    assert [post.text for post in pigeon.state.posted] == ["#1 my trip", "#2 and?"]
    assert [one["merged_into"] for one in merged] == [host, host]
    assert all("not charged" in str(one["answer"]) for one in merged)


@pytest.mark.req("W16", "J13", "J8")
async def test_a_burst_whose_gateway_is_killed_is_answered_once_by_the_next(
    tmp_path: Path, pigeon: SamplePlatform
) -> None:
    async with model_server() as url, aiohttp.ClientSession() as http:
        more = {**with_model(url), **pigeon_settings(pigeon), "HERMES_BUSY__PHOTO_BURST_S": "0.4"}
        async with live_gateway(tmp_path / "home", more) as live:
            # Killed while it waits for more photos of an album.
            await send(live, http, "p1", text="[[slow:1]] my trip", album="a")
            await send(live, http, "p2", album="a")
            await live.stop(signal.SIGKILL)
        async with live_gateway(tmp_path / "home", more) as live:
            # Killed again while the model answers them.
            await until_running(live, http, 1)
            async with asyncio.timeout(20):
                while not (await why(live, "p2")).get("merged_into"):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            await live.stop(signal.SIGKILL)
        async with live_gateway(tmp_path / "home", more) as live:
            await until(lambda: len(pigeon.state.posted) == 1)
            host, other = await why(live, "p1"), await why(live, "p2")

    assert [post.text for post in pigeon.state.posted] == ["#1 [[slow:1]] my trip"]
    assert (host["outcome"], other["outcome"]) == ("answered", "merged")
    assert other["merged_into"] == host["id"]


async def repeat(live: Live, http: aiohttp.ClientSession, name: str) -> None:
    """Bring a photo again and again, as a platform does that has heard no answer."""
    while True:
        await send(live, http, name, album="a")


@pytest.mark.req("W16", "J1", "J13")
async def test_photos_that_come_again_after_a_kill_do_not_stop_their_turn(
    tmp_path: Path, pigeon: SamplePlatform
) -> None:
    names = ("p1", "p2", "p3")
    async with model_server() as url, aiohttp.ClientSession() as http:
        # The album is whole with the third photo, or never.
        whole = {"HERMES_BUSY__PHOTO_BURST_S": "600", "HERMES_BUSY__MAX_MERGED": "3"}
        more = {**with_model(url), **pigeon_settings(pigeon), **whole}
        async with live_gateway(tmp_path / "home", more) as live:
            await send(live, http, "p1", album="a")
            await send(live, http, "p2", album="a")
            await live.stop(signal.SIGKILL)
        async with live_gateway(tmp_path / "home", more) as live:
            repeats = [asyncio.create_task(repeat(live, http, name)) for name in names]
            await until(lambda: len(pigeon.state.posted) == 1)
            for task in repeats:
                task.cancel()
            await asyncio.gather(*repeats, return_exceptions=True)
            told = [(await why(live, name))["outcome"] for name in names]

    assert told == ["answered", "merged", "merged"]
    assert "(stopped)" not in pigeon.state.posted[0].text
