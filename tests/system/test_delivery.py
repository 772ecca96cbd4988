"""Delivery by a real gateway process to the stand-in platform: order, pace and long replies."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from hermes.testing.push.tally import read_tally
from hermes.testing.push.webhooks import InboundMessage
from hermes.testing.stand_in import Fault
from tests.system.live import Live, live_gateway, model_server, with_model

CHATS = ("c1", "c2")
# Shorter than the real ones, far enough apart to be told from each other.
QUICK = (0.0, 0.4, 0.8)
JITTER = 0.25


async def until(claim: Callable[[], bool]) -> None:
    """Wait for a claim to become true; the time limit is only for a broken test."""
    async with asyncio.timeout(20):
        while not claim():  # noqa: ASYNC110  another process makes it true
            await asyncio.sleep(0.01)


def connected(pigeon: SamplePlatform, **more: str) -> dict[str, str]:
    """Return the variables that connect a gateway to the platform."""
    extra = {"base_url": pigeon.base_url, "token": "t", "signing_secret": "s", **more}
    return {
        "HERMES_PLUGINS": '["hermes.testing.push.plugin"]',
        "HERMES_PLATFORMS__PIGEON__ENABLED": "true",
        **{f"HERMES_PLATFORMS__PIGEON__EXTRA__{name.upper()}": value for name, value in extra.items()},
    }  # fmt: skip


@asynccontextmanager
async def platform(folder: Path, *, keys: bool = False) -> AsyncIterator[SamplePlatform]:
    pigeon = SamplePlatform(
        SampleSettings(token="t", signing_secret="s", chats=CHATS, keys=keys),
        count_file=folder / "count.jsonl",
    )
    await pigeon.start()
    try:
        yield pigeon
    finally:
        await pigeon.stop()


async def tell(pigeon: SamplePlatform, live: Live, text: str, *, chat: str = "c1") -> None:
    """Write to the bot, as soon as the channel is connected."""
    pigeon.webhooks.url = f"{live.url}/webhooks/pigeon"
    message = InboundMessage(chat=chat, user=chat, text=text, event_id=f"e {text}")
    assert await pigeon.webhooks.tell(message) == 200


def sends(folder: Path, chat: str) -> list[tuple[float, str, str]]:
    """Return the tries to send to a chat: when, what came of it, and the text where it stands."""
    return [
        (float(str(line["at"])), str(line["outcome"]), str(line.get("text", "")))
        for line in read_tally(folder / "count.jsonl")
        if line["op"] == "send" and line.get("chat", chat) == chat
    ]


@pytest.mark.req("A26", "A28", "J18")
async def test_two_replies_to_one_chat_the_first_stuck_in_retry(tmp_path: Path) -> None:
    async with platform(tmp_path) as pigeon, model_server() as url:
        pigeon.plan(Fault(op="send", kind="server_error", times=2, chat="c1"))
        more = {
            **with_model(url),
            **connected(pigeon, edit="false"),
            "HERMES_OUTBOX__QUICK_DELAYS_S": str(list(QUICK)),
        }
        async with live_gateway(tmp_path / "home", more) as live:
            await tell(pigeon, live, "one")
            await until(lambda: ("send", "fault") in pigeon.log)
            await tell(pigeon, live, "two")
            await tell(pigeon, live, "three", chat="c2")
            await until(lambda: any(post.chat == "c2" for post in pigeon.state.posted))
            stuck = [post for post in pigeon.state.posted if post.chat == "c1"]
            await until(lambda: len(pigeon.state.posted) == 3)

    tries = sends(tmp_path, "c1")
    failed = [at for at, outcome, _ in tries if outcome == "fault"]
    arrived = [(at, text) for at, outcome, text in tries if outcome == "applied"]
    assert stuck == []
    assert [text for _, text in arrived] == ["#1 one", "#2 two"]
    assert len(failed) == 2
    # The waits before the tries are kept to their jitter; the second reply follows at once.
    assert failed[1] - failed[0] >= QUICK[1] * (1 - JITTER)
    assert arrived[0][0] - failed[1] >= QUICK[2] * (1 - JITTER)
    assert arrived[1][0] - arrived[0][0] < QUICK[1]


WORDS = " ".join(f"word{number:04}" for number in range(500))
STREAMED = f"[[deltas:50]][[gap:0.03]] {WORDS}"


def standing(pigeon: SamplePlatform) -> list[str]:
    return [post.text for post in pigeon.state.posted]


def words_in(pigeon: SamplePlatform) -> list[str]:
    return re.findall(r"word\d{4}", " ".join(standing(pigeon)))


@pytest.mark.req("W19", "J16")
async def test_a_long_reply_is_shown_over_several_messages_while_it_is_written(
    tmp_path: Path,
) -> None:
    async with platform(tmp_path) as pigeon, model_server() as url:
        more = {**with_model(url), **connected(pigeon), "HERMES_STREAMING__INTERVAL_S": "0.05"}
        async with live_gateway(tmp_path / "home", more) as live:
            await tell(pigeon, live, STREAMED)
            await until(lambda: len(pigeon.state.posted) == 2)
            shown = standing(pigeon)
            await until(
                lambda: len(pigeon.state.posted) == 3 and words_in(pigeon)[-1] == "word0499"
            )
            await until(lambda: not any("▉" in text for text in standing(pigeon)))

    assert shown[0].endswith(tuple("0123456789"))
    assert shown[1].endswith(" ▉")
    assert words_in(pigeon) == WORDS.split()
    assert [post.edits > 0 for post in pigeon.state.posted] == [True, True, True]
    assert all(len(text) <= 2000 for text in standing(pigeon))


@pytest.mark.req("W19", "J16", "J17")
async def test_killed_while_the_second_message_grows_the_reply_stands_once(tmp_path: Path) -> None:
    async with platform(tmp_path, keys=True) as pigeon, model_server() as url:
        more = {
            **with_model(url),
            **connected(pigeon, keys="true"),
            "HERMES_STREAMING__INTERVAL_S": "0.05",
            "HERMES_LANES__LEASE_S": "1",
        }
        async with live_gateway(tmp_path / "home", more) as live:
            await tell(pigeon, live, STREAMED)
            await until(lambda: len(pigeon.state.posted) == 2)
            live.process.kill()
            await live.process.wait()
        async with live_gateway(tmp_path / "home", more) as live:
            await until(
                lambda: len(pigeon.state.posted) == 3 and words_in(pigeon)[-1] == "word0499"
            )
            await until(lambda: not any("▉" in text for text in standing(pigeon)))

    assert words_in(pigeon) == WORDS.split()
    assert len(pigeon.state.posted) == 3
