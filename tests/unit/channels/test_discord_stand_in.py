"""The stand-in of Discord: discord.py speaks with it, and it refuses what Discord refuses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import discord
import pytest
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL

from hermes.testing.discord.platform import BOT_TOKEN, BOT_USER, DiscordStandIn
from hermes.testing.stand_in import File, PersonMessage
from tests.unit.channels.irc_rig import until

LAB: dict[str, Any] = {"chat": "lab", "chat_type": "group"}


class Bot(discord.Client):
    """A bot on discord.py that remembers what it was told."""

    def __init__(self) -> None:
        intents = discord.Intents.none()
        intents.guild_messages = intents.dm_messages = intents.message_content = True
        super().__init__(intents=intents)
        self.tree = app_commands.CommandTree(self)
        self.heard: list[Any] = []
        self.resumed = 0

    async def on_message(self, message: discord.Message) -> None:
        self.heard.append(message)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        self.heard.append(interaction)

    async def on_resumed(self) -> None:
        self.resumed += 1


@pytest.fixture
async def platform(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DiscordStandIn]:
    made = DiscordStandIn(heartbeat_s=0.1)
    await made.start()
    monkeypatch.setattr(Route, "BASE", made.base_url)
    gateway = URL(made.url.replace("http", "ws", 1))
    monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", gateway)
    yield made
    await made.stop()


@asynccontextmanager
async def running(bot: Bot) -> AsyncIterator[None]:
    await bot.login(BOT_TOKEN)
    task = asyncio.create_task(bot.connect())
    try:
        async with asyncio.timeout(10):
            await bot.wait_until_ready()
        yield
    finally:
        await bot.close()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.req("W9")
async def test_discord_py_hears_answers_and_resumes(platform: DiscordStandIn) -> None:
    bot = Bot()
    async with running(bot):
        file = File(data=b"words", mime="text/plain", name="a.txt")
        await platform.say(PersonMessage(text="hello", mentions=True, files=(file,), **LAB))
        (heard,) = bot.heard
        assert (heard.author.display_name, heard.author.bot) == ("Ada", False)
        assert heard.content.endswith("> hello")
        assert [one.filename for one in heard.attachments] == ["a.txt"]
        assert [one.id for one in heard.mentions] == [int(BOT_USER)]

        sent = await heard.channel.send("**hi**", nonce="n1", reference=heard, mention_author=False)
        await sent.edit(content="_edited_")
        await sent.add_reaction("👍")
        with_file = await heard.channel.send("two", file=discord.File(__file__, "b.py"))
        await with_file.delete()
        async with heard.channel.typing():
            pass
        posts = platform.posts("lab")
        assert [(one.text, one.files, one.deleted) for one in posts] == [
            ("edited", (), False),
            ("two", ("b.py",), True),
        ]
        assert posts[0].reply_to == str(heard.id)

        await platform.cut()
        await until(lambda: bot.resumed)
        await platform.say(PersonMessage(text="after", chat="ada"))
        await until(lambda: bot.heard[-1].content == "after")
    assert platform.rejections == ()
    assert len(platform.sockets.identified) == 1


@pytest.mark.req("W9")
async def test_discord_py_registers_commands_and_gets_interactions(
    platform: DiscordStandIn,
) -> None:
    bot = Bot()

    @bot.tree.command(name="model", description="which model answers")
    async def model(interaction: discord.Interaction, text: str) -> None:
        await interaction.response.send_message(f"chose {text}", ephemeral=True)

    async with running(bot):
        await bot.tree.sync()
        assert [one["name"] for one in platform.commands] == ["model"]
        used = await platform.command(PersonMessage(text="/model fast", **LAB))
        await until(lambda: platform.answers[used] is not None)
        view = discord.ui.View()
        view.add_item(discord.ui.Button(label="Yes", custom_id="yes"))
        channel = bot.get_partial_messageable(int(platform.town.find_chat("lab").id))
        sent = await channel.send("sure?", view=view)
        pressed = await platform.press(PersonMessage(text="yes", reply_to=str(sent.id), **LAB))
        await until(lambda: isinstance(bot.heard[-1], discord.Interaction))
        await until(lambda: platform.answers[pressed] is not None or len(bot.heard) >= 3)

    answer = platform.answers[used]
    assert answer is not None
    assert (answer["type"], answer["data"]["content"]) == (4, "chose fast")
    assert platform.rejections == ()


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"content": ""}, 50006),
        ({"content": "x" * 2001}, 50035),
        ({"content": "x", "nonce": "n" * 26}, 50035),
        ({"content": "x", "enforce_nonce": "yes"}, 50035),
        ({"content": "x", "colour": 1}, 50035),
        ({"content": "x", "message_reference": {"message_id": "1"}}, 50035),
        ({"content": "x", "message_reference": {"message_id": 1}}, 50035),
        ({"content": "x", "allowed_mentions": {"everyone": True}}, 50035),
        ({"content": "x", "attachments": [{"filename": "a"}]}, 50035),
        ({"content": "x", "components": [{"type": 1, "components": []}]}, 50035),
        (
            {
                "content": "x",
                "components": [
                    {"type": 1, "components": [{"type": 2, "style": 1, "label": "l" * 81}]}
                ],
            },
            50035,
        ),
    ],
)
async def test_what_discord_refuses_is_refused(
    platform: DiscordStandIn, body: dict[str, Any], code: int
) -> None:
    chat = platform.town.open_chat("lab", chat_type="group")
    headers = {"Authorization": f"Bot {BOT_TOKEN}"}
    url = f"{platform.base_url}/channels/{chat}/messages"
    async with aiohttp.ClientSession(headers=headers) as http, http.post(url, json=body) as answer:
        assert (answer.status, (await answer.json())["code"]) == (400, code)
    assert len(platform.rejections) == 1


@pytest.mark.req("W9")
async def test_a_nonce_is_one_message_and_somebody_elses_cannot_be_changed(
    platform: DiscordStandIn,
) -> None:
    theirs = asyncio.create_task(platform.say(PersonMessage(text="mine", **LAB)))
    await until(lambda: platform.town.has_chat("lab"))
    chat = platform.town.find_chat("lab").id
    headers = {"Authorization": f"Bot {BOT_TOKEN}"}
    url = f"{platform.base_url}/channels/{chat}/messages"
    async with aiohttp.ClientSession(headers=headers) as http:
        body = {"content": "x", "nonce": "n", "enforce_nonce": True}
        ids = []
        for _ in range(2):
            async with http.post(url, json=body) as answer:
                ids.append((await answer.json())["id"])
        other = platform.town.history(chat, is_own=False)[0].id
        async with http.patch(f"{url}/{other}", json={"content": "y"}) as answer:
            refused = (answer.status, (await answer.json())["code"])
    theirs.cancel()
    await asyncio.gather(theirs, return_exceptions=True)

    assert ids[0] == ids[1]
    assert refused == (403, 50005)


@pytest.mark.req("W9")
@pytest.mark.parametrize(("token", "code"), [("wrong", 4004), (None, 4002)])
async def test_the_gateway_refuses_a_wrong_token(
    platform: DiscordStandIn, token: str | None, code: int
) -> None:
    told = {"intents": 0, "properties": {}} | ({} if token is None else {"token": token})
    async with aiohttp.ClientSession() as http, http.ws_connect(platform.url) as socket:
        await socket.receive()
        await socket.send_json({"op": 2, "d": told})
        await socket.receive()

    assert socket.close_code == code
