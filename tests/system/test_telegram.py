"""A real gateway on Telegram's stand-in: polls and webhook, crashes, streaming, a token revoked."""

import asyncio
import io
import json
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hermes.testing.stand_in import File, PersonMessage
from hermes.testing.telegram.platform import SECRET, TOKEN, TelegramStandIn
from tests.system.live import (
    Live,
    live_gateway,
    model_server,
    run_command,
    with_model,
)

HIDDEN = TOKEN.partition(":")[2]
PUBLIC = "https://hermes.example.org"


def picture(shade: int) -> bytes:
    """Return a real picture of 8 x 8 grey points."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes([shade]) * 8) * 8)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


async def until(claim: Callable[[], bool], *, seen: Callable[[], object] = lambda: None) -> None:
    """Wait for a claim to become true; the time limit is only for a broken test."""
    try:
        async with asyncio.timeout(20):
            while not claim():  # noqa: ASYNC110 - another process makes it true
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"nothing came; seen: {seen()}") from None


class Town:
    """The platform, the model, and how gateways are connected to both."""

    def __init__(self, telegram: TelegramStandIn, home: Path, model_url: str) -> None:
        self.telegram = telegram
        self.home = home
        self._model_url = model_url

    def variables(self, more: Mapping[str, str]) -> dict[str, str]:
        settings = dict(self.telegram.settings)
        token = settings.pop("bot_token")
        return {
            **with_model(self._model_url),
            "TELEGRAM_BOT_TOKEN": token,
            "HERMES_ACCESS__ALLOW_ALL": "true",
            "HERMES_SERVER__PUBLIC_URL": PUBLIC,
            "HERMES_STREAMING__TRANSPORT": "off",
            "HERMES_PROCESS__LOCK_DIR": str(self.home.parent / "locks"),
            "HERMES_LANES__LEASE_S": "1",
            **{f"HERMES_PLATFORMS__TELEGRAM__EXTRA__{key.upper()}": str(value) for key, value in settings.items()},
            **more,
        }  # fmt: skip

    @asynccontextmanager
    async def gateway(self, **more: str) -> AsyncIterator[Live]:
        """Run a gateway; in webhook mode Telegram reaches it through the public address."""
        async with live_gateway(self.home, self.variables(more)) as live:
            self.telegram.point_at(f"{live.url}/webhooks/telegram")
            yield live

    def texts(self, chat: str = "chat-1") -> list[str]:
        return [post.text for post in self.telegram.posts(chat) if not post.deleted]

    async def answered(self, *texts: str, chat: str = "chat-1") -> None:
        """Wait until exactly this stands in a chat."""
        await until(
            lambda: self.texts(chat) == list(texts),
            seen=lambda: (self.telegram.posts(chat), self.telegram.rejections),
        )

    def written(self) -> str:
        """Return everything that the gateway has left in text files."""
        files = [path for path in self.home.rglob("*") if path.is_file()]
        plain = (one for one in files if one.suffix in {".log", ".json", ".jsonl", ".txt", ".yaml"})
        return "".join(one.read_text(errors="replace") for one in plain)


@asynccontextmanager
async def town(folder: Path, **options: Any) -> AsyncIterator[Town]:
    telegram = TelegramStandIn(**options)
    await telegram.start()
    try:
        async with model_server() as model_url:
            yield Town(telegram, folder / "home", model_url)
    finally:
        await telegram.stop()


@pytest.fixture
async def polled(tmp_path: Path) -> AsyncIterator[Town]:
    async with town(tmp_path) as made:
        yield made


@pytest.fixture
async def hooked(tmp_path: Path) -> AsyncIterator[Town]:
    async with town(tmp_path, mode="webhook") as made:
        yield made


async def status(live: Live) -> dict[str, Any]:
    """Return how the channel stands."""
    told = json.loads((live.home / "run" / "gateway.json").read_text())
    headers = {"authorization": f"Bearer {told['token']}"}
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{live.url}/control/status", headers=headers) as answer,
    ):
        channels = (await answer.json())["channels"]
    return next(one for one in channels if one["name"] == "telegram")


async def hermes(town: Town, *arguments: str) -> str:
    return (await run_command(town.home, *arguments, is_merged=True)).stdout


async def revoked(town: Town, live: Live, *said: PersonMessage) -> None:
    """Revoke the token and wait until the gateway says so; somebody may have to make it notice."""
    town.telegram.revoke()
    for one in said:
        await town.telegram.say(one)
    async with asyncio.timeout(20):
        while (told := await status(live))["state"] != "fatal":  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.02)
    assert told["note"].startswith("platforms.telegram.bot_token: telegram: ")
    assert "(401 Unauthorized); the bot token is wrong or was revoked" in told["note"]
    assert HIDDEN not in str(told)


@pytest.mark.req("W30")
async def test_in_a_group_only_what_names_the_bot_is_answered(polled: Town) -> None:
    in_group: dict[str, Any] = {"chat": "g", "chat_type": "group"}
    async with polled.gateway():
        await polled.telegram.say(PersonMessage(text="not for the bot", **in_group))
        await polled.telegram.say(PersonMessage(text="for the bot", mentions=True, **in_group))
        await until(lambda: bool(polled.texts("g")))

    (reply,) = polled.texts("g")
    assert reply.split("\n")[0] == "#1 [Ada] for the bot"
    assert "[Ada] not for the bot" in reply
    assert polled.telegram.posts("g")[0].reply_to is not None


@pytest.mark.req("A1", "A2", "W2", "W9", "J1")
async def test_polled_messages_are_answered_once_and_nothing_shows_the_token(polled: Town) -> None:
    telegram = polled.telegram
    async with polled.gateway() as live:
        said = await telegram.say(PersonMessage(text="hello", times=3))
        await telegram.say(
            PersonMessage(text="**hey**", chat="g", chat_type="thread", thread="4", mentions=True)
        )
        await polled.answered("#1 hello")
        await until(lambda: bool(telegram.posts("g")))
        why = await hermes(polled, "why", said, "--json")
        await revoked(polled, live)
        assert HIDDEN not in live.said()

    post = telegram.posts("g")[0]
    assert post.thread == "4"
    assert post.markup.endswith("<b>hey</b>")
    assert json.loads(why)
    assert polled.texts() == ["#1 hello"]
    assert HIDDEN not in why + polled.written()
    assert telegram.rejections == ()


@pytest.mark.req("A1", "A8", "W2", "J1")
@pytest.mark.quality("secrets masked")
async def test_webhook_calls_are_answered_once_in_any_order_and_only_with_the_secret(
    hooked: Town,
) -> None:
    telegram = hooked.telegram
    async with hooked.gateway() as live:
        await until(lambda: telegram.hook == f"{PUBLIC}/webhooks/telegram")
        url = f"{live.url}/webhooks/telegram"
        later, earlier = (
            json.dumps({**event, "update_id": number}).encode()
            for number, text in ((12, "second"), (11, "first"))
            for event in telegram.happen(PersonMessage(text=text, chat=text, user=text))[1]
        )
        assert [await telegram.call(body) for body in (later, earlier, later, later)] == [
            200,
            200,
            200,
            200,
        ]
        assert [await telegram.call(later, secret=bad) for bad in ("no", "x" * 300)] == [
            401,
            401,
        ]
        async with aiohttp.ClientSession() as http:
            headers = {"X-Telegram-Bot-Api-Secret-Token": SECRET}
            for body, expected in ((b"{", 400), (b"[" * 5000, 400), (b" " * 3_000_000, 413)):
                async with http.post(url, data=io.BytesIO(body), headers=headers) as answer:
                    assert answer.status == expected
        await telegram.say(PersonMessage(text="barrier", chat="barrier", user="barrier"))
        for chat in ("second", "first", "barrier"):
            await hooked.answered(f"#1 {chat}", chat=chat)
        await revoked(hooked, live, PersonMessage(text="again", chat="again", user="again"))
        assert HIDDEN not in live.said() + hooked.written()
        assert SECRET not in live.said() + hooked.written()
    assert telegram.rejections == ()


@pytest.mark.req("J1", "J4")
async def test_killed_between_accept_and_confirm_the_message_is_answered_once(polled: Town) -> None:
    async with polled.gateway(HERMES_FAILPOINTS="store.accept.after:1") as live:
        said = asyncio.create_task(polled.telegram.say(PersonMessage(text="hello")))
        await asyncio.wait_for(live.process.wait(), 20)
    assert not said.done()

    async with polled.gateway():
        await asyncio.wait_for(said, 20)
        await polled.telegram.say(PersonMessage(text="barrier", chat="barrier", user="barrier"))
        await polled.answered("#1 barrier", chat="barrier")
        await polled.answered("#1 hello")


@pytest.mark.req("J17")
async def test_killed_between_send_and_commit_the_reply_is_marked_as_a_possible_repeat(
    polled: Town,
) -> None:
    async with polled.gateway(HERMES_FAILPOINTS="channel.send.after:1") as live:
        said = asyncio.create_task(polled.telegram.say(PersonMessage(text="hello")))
        await asyncio.wait_for(live.process.wait(), 20)
    assert polled.texts() == ["#1 hello"]

    async with polled.gateway():
        await asyncio.wait_for(said, 20)
        await polled.answered("#1 hello", "(possibly a repeat) #1 hello")


@pytest.mark.req("W19")
@pytest.mark.parametrize("transport", ["edit", "draft"])
@pytest.mark.quality("streaming by drafts")
async def test_a_reply_is_shown_while_it_is_written(polled: Town, transport: str) -> None:
    more = {
        "HERMES_STREAMING__TRANSPORT": transport,
        "HERMES_STREAMING__INTERVAL_S": "0.05",
        "HERMES_STREAMING__MIN_CHARS": "4",
    }
    asked = "some words that take a while to be written [[deltas:10]] [[gap:0.3]]"
    async with polled.gateway(**more):
        await polled.telegram.say(PersonMessage(text=asked))
        await polled.answered(f"#1 {asked}")

    drafts = tuple(draft.text for draft in polled.telegram.drafts_in("chat-1"))
    shown = {"edit": polled.telegram.earlier("chat-1"), "draft": drafts}
    assert [bool(texts) for texts in shown.values()] == [transport == "edit", transport == "draft"]
    parts = [text.removesuffix("▉").rstrip() for text in shown[transport]]
    assert all(f"#1 {asked}".startswith(part) for part in parts)
    assert any(len(part) < len(asked) for part in parts)
    assert polled.telegram.rejections == ()


@pytest.mark.req("W17")
async def test_a_picture_reaches_the_model_and_two_of_an_album_one_turn(polled: Town) -> None:
    files = tuple(File(data=picture(shade), mime="image/png") for shade in (10, 20))
    async with polled.gateway():
        await polled.telegram.say(PersonMessage(text="what is it", files=files))
        await until(lambda: bool(polled.texts()))

    assert "getFile" in polled.telegram.calls
    assert len(polled.texts()) == 1
