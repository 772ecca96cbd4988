"""The stand-in of QQ: Tencent's own client speaks with it, and it refuses what QQ refuses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import botpy
import pytest
from botpy.http import Route
from botpy.message import C2CMessage, GroupMessage
from botpy.robot import Token

from hermes.testing.qq.platform import QqStandIn
from hermes.testing.stand_in import File, PersonMessage
from tests.unit.channels.irc_rig import until

LAB: dict[str, Any] = {"chat": "lab", "chat_type": "group", "mentions": True}


class Bot(botpy.Client):  # type: ignore[misc]
    """A bot on botpy that remembers what it was told."""

    def __init__(self) -> None:
        super().__init__(intents=botpy.Intents(public_messages=True), bot_log=None)
        self.heard: list[Any] = []

    async def on_c2c_message_create(self, message: C2CMessage) -> None:
        self.heard.append(message)

    async def on_group_at_message_create(self, message: GroupMessage) -> None:
        self.heard.append(message)


@pytest.fixture
async def platform(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[QqStandIn]:
    made = QqStandIn(heartbeat_s=0.1)
    await made.start()

    async def issue(token: Token) -> None:
        body = {"appId": token.app_id, "clientSecret": token.secret}
        url = f"{made.url}/app/getAppAccessToken"
        async with aiohttp.ClientSession() as http, http.post(url, json=body) as answer:
            told = await answer.json()
        token.access_token, token.expires_in = told["access_token"], 1 << 40

    monkeypatch.setattr(Route, "SCHEME", "http")
    monkeypatch.setattr(Route, "DOMAIN", made.url.removeprefix("http://"))
    # The address at which botpy gets its token is no setting of it.
    monkeypatch.setattr(Token, "update_access_token", issue)
    yield made
    await made.stop()


@asynccontextmanager
async def running(platform: QqStandIn) -> AsyncIterator[Bot]:
    names = platform.rows.names
    async with Bot() as bot:
        task = asyncio.create_task(bot.start(names["app"], names["secret"]))
        try:
            yield bot
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.mark.req("W9")
@pytest.mark.quality("official client")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_botpy_hears_answers_and_resumes(platform: QqStandIn) -> None:
    async with running(platform) as bot:
        file = File(data=b"words", mime="text/plain", name="a.txt")
        saying = asyncio.create_task(platform.say(PersonMessage(text="hello", files=(file,))))
        await until(lambda: bot.heard)
        (alone,) = bot.heard
        assert (alone.content, [one.filename for one in alone.attachments]) == ("hello", ["a.txt"])
        sent = await alone.reply(content="hi")
        assert sent["id"].startswith("ROBOT1.0_")
        with pytest.raises(botpy.errors.ServerError, match="repeat"):
            await alone.reply(content="hi")
        uploaded = await bot.api.post_c2c_file(alone.author.user_openid, 4, "https://x.org/a")
        await alone.reply(msg_type=7, msg_seq=2, media=uploaded)

        # What is not confirmed by a heartbeat is by resuming.
        await platform.cut()
        await saying
        asking = asyncio.create_task(platform.say(PersonMessage(text="here", **LAB)))
        await until(lambda: len(bot.heard) == 2)
        await bot.heard[1].reply(content="in the group")
        asking.cancel()

    assert [(post.text, post.files) for post in platform.posts("chat-1")] == [
        ("hi", ()),
        ("", ("file",)),
    ]
    assert [post.text for post in platform.posts("lab")] == ["in the group"]
    assert (platform.rejections, len(platform.sockets.identified)) == ((), 1)


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"content": "x", "msg_type": 7}, 22006),
        ({"content": "", "msg_type": 0}, 22006),
        ({"content": "x" * 4001}, 40054007),
        ({"content": "see example.com"}, 40054010),
        ({"content": "x", "msg_id": "ROBOT1.0_none", "msg_seq": 1}, 40034024),
        ({"content": "x", "colour": 1}, 40034124),
        ({"msg_type": 2, "markdown": {"content": "x"}}, 304036),
        ({"msg_type": 7, "media": {"file_info": "none"}}, 304080),
    ],
)
async def test_what_qq_refuses_is_refused(
    platform: QqStandIn, body: dict[str, Any], code: int
) -> None:
    chat = platform.town.open_chat("chat-1")
    headers = {"Authorization": f"QQBot {platform.tokens['bot']}"}
    url = f"{platform.url}/v2/users/{chat}/messages"
    async with aiohttp.ClientSession(headers=headers) as http, http.post(url, json=body) as answer:
        assert (answer.status, (await answer.json())["code"]) == (400, code)
    assert len(platform.rejections) == 1
