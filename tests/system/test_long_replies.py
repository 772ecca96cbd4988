"""Very long replies of a real gateway: first messages and a file, killed between them, and stopped."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from hermes.testing.matrix.platform import MatrixStandIn
from hermes.testing.stand_in import PersonMessage, Post
from hermes.testing.telegram.platform import TelegramStandIn
from tests.system.live import Live, live_gateway, model_server, run_command, with_model
from tests.system.test_telegram import Town, until

WORDS = " ".join(f"word{number:05}" for number in range(1200))
MOST = "2"


@asynccontextmanager
async def town(folder: Path) -> AsyncIterator[Town]:
    telegram = TelegramStandIn()
    await telegram.start()
    try:
        async with model_server() as url:
            yield Town(telegram, folder / "home", url)
    finally:
        await telegram.stop()


def kept(home: Path) -> list[str]:
    """Return the files that were made to be sent."""
    return [path.read_text() for path in (home / "media").rglob("*") if path.is_file()]


@pytest.mark.req("A26", "W19", "J16")
@pytest.mark.parametrize("transport", ["off", "edit", "draft"])
async def test_a_long_reply_is_its_first_messages_and_a_file(
    tmp_path: Path, transport: str
) -> None:
    async with town(tmp_path) as here:
        more = {
            "HERMES_OUTBOX__MAX_MESSAGES": MOST,
            "HERMES_STREAMING__TRANSPORT": transport,
            "HERMES_STREAMING__INTERVAL_S": "0.05",
        }
        asked = f"[[deltas:40]][[gap:0.02]]{WORDS}"
        async with here.gateway(**more) as live:
            await here.telegram.say(PersonMessage(text=asked))
            await until(lambda: len(here.texts()) == 3, seen=here.texts)
            await live.settled()

    first, second, file = here.telegram.posts("chat-1")
    assert first.text.startswith("#1 [[deltas:40]]")
    assert second.text.endswith("All of it is in the file below.)")
    assert file.files == ("reply.md",)
    assert kept(here.home) == [f"#1 {asked}"]
    assert here.telegram.rejections == ()


@pytest.fixture
async def matrix() -> AsyncIterator[MatrixStandIn]:
    made = MatrixStandIn()
    await made.start()
    yield made
    await made.stop()


# Room for two messages of a reply that would be three; the homeserver takes no larger ones from people.
BOOK = " ".join(f"word{number:05}" for number in range(6200))


def shown(post: Post) -> tuple[str, tuple[str, ...]]:
    """Return how a message begins, and its file."""
    return post.text[:10], post.files


@pytest.mark.req("J16", "J17", "J18")
@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2])
async def test_killed_between_the_first_messages_and_the_file_each_is_there_once(
    tmp_path: Path, matrix: MatrixStandIn, number: int, side: str
) -> None:
    kill = {"HERMES_FAILPOINTS": f"channel.send.{side}:{number}"}
    async with model_server() as url:
        more = {
            **with_model(url),
            "MATRIX_HOMESERVER": matrix.url,
            "MATRIX_ACCESS_TOKEN": matrix.token,
            "HERMES_ACCESS__ALLOW_ALL": "true",
            "HERMES_OUTBOX__MAX_MESSAGES": "1",
            "HERMES_STREAMING__TRANSPORT": "off",
        }
        async with live_gateway(tmp_path / "home", {**more, **kill}) as live:
            await until(lambda: "channel_connected" in live.said(), seen=live.said)
            said = asyncio.create_task(matrix.say(PersonMessage(text=BOOK, chat="c")))
            await asyncio.wait_for(live.process.wait(), 30)
        async with live_gateway(tmp_path / "home", more) as live:
            await until(lambda: len(matrix.posts("c")) == 2, seen=lambda: matrix.posts("c"))
            await asyncio.wait_for(said, 30)
            await matrix.say(PersonMessage(text="barrier", chat="c"))
            await until(lambda: len(matrix.posts("c")) == 3, seen=lambda: matrix.posts("c"))
            await live.settled()

    posts = [shown(post) for post in matrix.posts("c")]
    assert kept(tmp_path / "home") == [f"#1 {BOOK}"]
    assert posts == [("#1 word000", ()), ("", ("reply.md",)), ("#2 barrier", ())]


async def story(live: Live, message_id: str) -> dict[str, object]:
    ended = await run_command(live.home, "why", message_id, "--json")
    told: dict[str, object] = json.loads(ended.stdout)
    return told


@pytest.mark.req("W18", "J6", "J10", "J18")
async def test_stop_ends_the_sending_of_a_reply_and_the_next_answer_does_not_wait(
    tmp_path: Path,
) -> None:
    # Given a reply of four messages, of which the platform takes one a second
    async with town(tmp_path) as here:
        more = {"HERMES_OUTBOX__MAX_MESSAGES": "0"}
        async with here.gateway(**more) as live:
            said = await here.telegram.say(PersonMessage(text=WORDS))
            await until(lambda: bool(here.texts()), seen=here.texts)

            # When the person stops it, and asks something else
            await here.telegram.say(PersonMessage(text="/stop"))
            await until(lambda: here.texts()[-1].startswith("Stopped"), seen=here.texts)
            await here.telegram.say(PersonMessage(text="something else"))
            await until(lambda: here.texts()[-1] == "#2 something else", seen=here.texts)
            await here.telegram.say(PersonMessage(text="/stop"))
            await until(lambda: here.texts()[-1] == "Nothing is running.", seen=here.texts)
            told = await story(live, said)

    # Then nothing more of it came, the message stays answered, and its story says why
    parts = [text for text in here.texts() if "word0" in text]
    assert parts[0].startswith("#1 word00000")
    assert len(parts) < 4
    assert here.texts()[len(parts) :] == [
        "Stopped. The rest of the reply is not sent.",
        "#2 something else",
        "Nothing is running.",
    ]
    assert told["outcome"] == "answered"
    assert "stopped by the person" in json.dumps(told)


@pytest.mark.req("A6", "A20")
async def test_an_answer_without_end_is_cut_at_a_size_and_says_so(tmp_path: Path) -> None:
    async with model_server() as url, aiohttp.ClientSession() as http:
        more = {**with_model(url), "HERMES_TURNS__MAX_ANSWER_CHARS": "2000"}
        more["HERMES_ROUTING__CONTINUE_ON_FAILURE"] = "true"
        async with live_gateway(tmp_path / "home", more) as live:
            cut = await live.post(http, sender="ann", text=f"[[deltas:600]]{WORDS}")
            whole = await live.post(http, sender="ann", text="short")

    text = str(cut["reply"])
    assert (cut["outcome"], whole["reply"]) == ("failed", "#1 short")
    assert text.endswith("(My answer was cut off here. Please ask again.)")
    assert len(text) < 2200
    assert "turns.max_answer_chars" in str(cut["reason"])
