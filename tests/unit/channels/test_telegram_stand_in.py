"""The stand-in Telegram refuses what the real one refuses, in its words."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import telegram

from hermes.testing.call_rules import CallRules, SiteRefusal
from hermes.testing.manual_time import ManualClock
from hermes.testing.site import load_platform
from hermes.testing.stand_in import File, PersonMessage
from hermes.testing.telegram.html_text import parse_html
from hermes.testing.telegram.platform import TOKEN, TelegramStandIn

CHAT = 5_000_001
# Of Bot API 10.1: each used method, its parameters, and whether each is required.
SCHEMA = Path(__file__).with_name("telegram_bot_api_10_1.json")


class Bot:
    """Calls the stand-in as any program would."""

    def __init__(self, telegram: TelegramStandIn, http: aiohttp.ClientSession) -> None:
        self.telegram = telegram
        self._http = http

    async def ask(self, method: str, *, token: str = TOKEN, **params: Any) -> Any:
        """Return the result, or the code and words of a refusal."""
        url = f"http://127.0.0.1:{self.telegram.port}/bot{token}/{method}"
        async with self._http.post(url, json=params) as answer:
            body = await answer.json()
        return body["result"] if body["ok"] else (body["error_code"], body["description"])


@pytest.fixture
async def bot() -> AsyncIterator[Bot]:
    telegram = TelegramStandIn(clock=ManualClock())
    await telegram.start()
    telegram.open_chat(PersonMessage())
    async with aiohttp.ClientSession() as http:
        yield Bot(telegram, http)
    await telegram.stop()


@asynccontextmanager
async def client_of(stand_in: TelegramStandIn, token: str = TOKEN) -> AsyncIterator[telegram.Bot]:
    """Connect the client of another maker, python-telegram-bot."""
    url = f"http://127.0.0.1:{stand_in.port}"
    async with telegram.Bot(
        token, base_url=f"{url}/bot", base_file_url=f"{url}/file/bot"
    ) as client:
        yield client


@pytest.mark.req("W9")
@pytest.mark.quality("another client")
async def test_a_client_of_another_maker_sends_edits_reacts_and_deletes(bot: Bot) -> None:
    keyboard = [[telegram.InlineKeyboardButton("Yes", callback_data="c_1", style="success")]]
    async with client_of(bot.telegram) as client:
        asked = await client.send_message(
            CHAT,
            "<b>Sure?</b>",
            parse_mode="HTML",
            reply_markup=telegram.InlineKeyboardMarkup(keyboard),
        )
        await client.edit_message_text("<i>Yes.</i>", CHAT, asked.message_id, parse_mode="HTML")
        picture = telegram.InputMediaPhoto(b"\xff\xd8\xff picture", filename="a.jpg")
        album = await client.send_media_group(CHAT, [picture, picture], caption="two")
        voice = await client.send_voice(CHAT, b"OggS", filename="v.ogg")
        await client.set_message_reaction(CHAT, asked.message_id, "👌")
        await client.delete_message(CHAT, voice.message_id)
        chat = await client.get_chat(CHAT)
        await client.send_chat_action(CHAT, "typing")
        with pytest.raises(telegram.error.BadRequest, match="Chat not found"):
            await client.send_message(3, "nobody")

    assert asked.reply_markup == telegram.InlineKeyboardMarkup(keyboard)
    assert (client.username, chat.type, len(album)) == ("hermes_stand_in_bot", "private", 2)
    posts = bot.telegram.posts("chat-1")
    assert [(one.text, one.files, one.edits, one.deleted) for one in posts] == [
        ("Yes.", (), 1, False),
        ("two", ("a.jpg",), 0, False),
        ("", ("a.jpg",), 0, False),
        ("", ("v.ogg",), 0, True),
    ]
    assert bot.telegram.rejections == ("sendMessage: 400 (3)",)


@pytest.mark.req("W9")
async def test_a_client_of_another_maker_reads_what_people_do(bot: Bot) -> None:
    keyboard = telegram.InlineKeyboardMarkup(
        [[telegram.InlineKeyboardButton("No", callback_data="c")]]
    )
    heard: list[telegram.Update] = []
    wanted = ["message", "callback_query", "message_reaction"]
    async with client_of(bot.telegram) as client:
        sent = await client.send_message(CHAT, "?", reply_markup=keyboard)
        name = str(sent.message_id)
        files = (File(data=b"a file", mime="text/plain", name="a.txt"),)
        acts = [
            bot.telegram.say(PersonMessage(text="@hermes_stand_in_bot /help", files=files)),
            bot.telegram.press(PersonMessage(text="No", reply_to=name)),
            bot.telegram.react(PersonMessage(text="👍", reply_to=name)),
        ]
        for act in acts:
            acting = asyncio.create_task(act)
            found = await client.get_updates(timeout=5, allowed_updates=wanted)
            heard += found
            await client.get_updates(offset=found[-1].update_id + 1, timeout=0)
            await acting
        document = heard[0].message.document  # type: ignore[union-attr]
        assert document is not None
        data = await (await client.get_file(document)).download_as_bytearray()
        await heard[1].callback_query.answer()  # type: ignore[union-attr]

    message, press, reaction = heard[0].message, heard[1].callback_query, heard[2].message_reaction
    assert message is not None
    assert press is not None
    assert reaction is not None
    assert (message.caption, bytes(data)) == ("@hermes_stand_in_bot /help", b"a file")
    assert [one.type for one in message.caption_entities] == ["mention", "bot_command"]
    assert (press.data, press.message and press.message.message_id) == ("c", sent.message_id)
    assert [one.to_dict() for one in reaction.new_reaction] == [{"type": "emoji", "emoji": "👍"}]
    assert bot.telegram.confirmed_presses == [press.id]
    assert bot.telegram.rejections == ()


@pytest.mark.req("W10")
@pytest.mark.quality("published schema")
def test_the_parameters_are_those_of_the_published_schema() -> None:
    rows = load_platform("hermes.testing.telegram")
    published = msgspec.json.decode(SCHEMA.read_bytes())
    rules = CallRules(
        {name: row.takes for name, row in rows.routes.items()},
        groups=rows.groups,
        objects=rows.objects,
        kinds=TelegramStandIn.kinds,
    )

    assert published.keys() == rows.routes.keys() - {"unknown", "download"}
    for method, fields in published.items():
        taken = rules.parameters(method)
        assert {name for name in taken if name != "*"} <= fields.keys(), method
        # What is required there is required here; a text of a draft may be left out.
        assert {name for name, is_needed in fields.items() if is_needed} <= {
            name for name, rule in taken.items() if rule.is_required
        }, method


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("method", "params", "code", "words"),
    [
        ("sendMessage", {"chat_id": CHAT, "text": "x", "txt": "y"}, 400, "no parameter txt"),
        ("sendMessage", {"chat_id": CHAT, "text": 5}, 400, "text must be of type str"),
        ("sendMessage", {"chat_id": str(CHAT), "text": "x"}, 400, "chat_id must be of type chat"),
        ("sendMessage", {"text": "x"}, 400, "chat_id is required"),
        ("sendMessage", {"chat_id": 3, "text": "x"}, 400, "chat not found"),
        ("sendMessage", {"chat_id": CHAT, "text": " "}, 400, "message text is empty"),
        ("sendMessage", {"chat_id": CHAT, "text": "😀" * 2049}, 400, "message is too long"),
        (
            "sendMessage",
            {"chat_id": CHAT, "text": "x", "reply_parameters": {"message_id": 1}},
            400,
            "message to be replied not found",
        ),
        (
            "sendMessage",
            {"chat_id": CHAT, "text": "x", "link_preview_options": {"off": True}},
            400,
            "no parameter off",
        ),
        (
            "sendMessage",
            {"chat_id": CHAT, "text": "x", "message_thread_id": 8},
            400,
            "message thread not found",
        ),
        ("sendPhoto", {"chat_id": CHAT, "photo": "none"}, 400, "wrong file identifier"),
        ("sendChatAction", {"chat_id": CHAT, "action": "dance"}, 400, "parameter action"),
        ("editMessageText", {"chat_id": CHAT, "message_id": 1, "text": "x"}, 400, "not found"),
        ("deleteMessage", {"chat_id": CHAT, "message_id": 1}, 400, "message to delete not found"),
        ("sendMessageDraft", {"chat_id": CHAT, "draft_id": 0, "text": "x"}, 400, "non-zero"),
        ("getFile", {"file_id": "x"}, 400, "wrong file_id"),
        ("setMessageReaction", {"chat_id": CHAT, "message_id": 1}, 400, "message to react not"),
        (
            "sendMessage",
            {"chat_id": CHAT, "text": "x", "reply_markup": {"inline_keyboard": [[{"text": "a"}]]}},
            400,
            "callback_data is required",
        ),
        (
            "sendMessage",
            {
                "chat_id": CHAT,
                "text": "x",
                "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "x" * 65}]]},
            },
            400,
            "BUTTON_DATA_INVALID",
        ),
        ("setWebhook", {"url": "http://e.org"}, 400, "An HTTPS URL must be provided"),
        ("setWebhook", {"url": "https://e.org:8080"}, 400, "ports 80, 88, 443 or 8443"),
        ("setWebhook", {"url": "https://127.0.0.1"}, 400, "is reserved"),
        ("setWebhook", {"url": "https://e.org", "secret_token": "a b"}, 400, "unallowed"),
        ("getUpdates", {"limit": 101}, 400, "between 1 and 100"),
        ("flyMe", {}, 404, "method not found"),
    ],
)
async def test_a_broken_rule_is_refused_and_remembered(
    bot: Bot, method: str, params: dict[str, Any], code: int, words: str
) -> None:
    answered = await bot.ask(method, **params)

    assert answered[0] == code
    assert words in answered[1]
    assert len(bot.telegram.rejections) == 1


@pytest.mark.req("W10")
async def test_a_bot_reacts_once_and_as_telegram_allows(bot: Bot) -> None:
    sent = await bot.ask("sendMessage", chat_id=CHAT, text="x")
    told = {"chat_id": CHAT, "message_id": sent["message_id"]}

    answers = [
        await bot.ask(
            "setMessageReaction",
            **told,
            reaction=[{"type": "emoji", "emoji": emoji} for emoji in emojis],
        )
        for emojis in ("👍", "", "🚀", "👍🔥")
    ]

    assert answers == [
        True,
        True,
        (400, "Bad Request: REACTION_INVALID"),
        (400, "Bad Request: REACTIONS_TOO_MANY"),
    ]


@pytest.mark.req("W10")
async def test_another_token_is_nobody(bot: Bot) -> None:
    assert await bot.ask("getMe", token="1:x") == (401, "Unauthorized")


@pytest.mark.req("W10")
async def test_an_edit_that_changes_nothing_is_refused(bot: Bot) -> None:
    sent = await bot.ask("sendMessage", chat_id=CHAT, text="<b>a</b>", parse_mode="HTML")
    again = await bot.ask(
        "editMessageText",
        chat_id=CHAT,
        message_id=sent["message_id"],
        text="<b>a</b>",
        parse_mode="HTML",
    )

    assert again[0] == 400
    assert "message is not modified" in again[1]
    assert (sent["text"], bot.telegram.posts("chat-1")[0].edits) == ("a", 0)


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("<x>a</x>", 'Unsupported start tag "x" at byte offset 0'),
        ("ä<x>", 'Unsupported start tag "x" at byte offset 2'),
        ("1 < 2", 'Unsupported start tag "" at byte offset 2'),
        ("<b>a", 'Can\'t find end tag corresponding to start tag "b"'),
        ("<b>a</i>", 'Unmatched end tag at byte offset 4, expected "</b>", found "</i>"'),
        ("a</b>", "Unexpected end tag at byte offset 1"),
        ("<b", "Unclosed start tag at byte offset 0"),
        ("<a href>x</a>", 'Expected "=" in declaration of an attribute'),
        ("<span>x</span>", 'Tag "span" must have class "tg-spoiler"'),
    ],
)
def test_bad_markup_is_refused_in_telegrams_words(markup: str, words: str) -> None:
    with pytest.raises(SiteRefusal, match="can't parse entities") as caught:
        parse_html(markup)
    assert words in caught.value.rule


@pytest.mark.req("W10")
def test_markup_that_telegram_would_drop_is_a_broken_rule() -> None:
    for markup in ("<b>a <code>b</code></b>", "<pre><b>a</b></pre>"):
        with pytest.raises(SiteRefusal):
            parse_html(markup)
    with pytest.raises(SiteRefusal, match="nested"):
        parse_html("<blockquote>a<blockquote>b</blockquote></blockquote>")
    assert parse_html('<pre><code class="language-py">x &lt; &#49;</code></pre>') == "x < 1"


@pytest.mark.req("W10")
async def test_polls_are_told_until_they_confirm_and_only_one_may_wait(bot: Bot) -> None:
    said = asyncio.create_task(bot.telegram.say(PersonMessage(text="one")))
    first = await bot.ask("getUpdates", timeout=5)
    again = await bot.ask("getUpdates", timeout=5)
    after = first[0]["update_id"] + 1
    older = asyncio.create_task(bot.ask("getUpdates", timeout=50, offset=after))
    assert await said == f"{first[0]['message']['message_id']}@{CHAT}"
    newer = asyncio.create_task(bot.ask("getUpdates", timeout=50, offset=after))

    assert first == again
    assert (await older)[0] == 409
    assert "terminated by other getUpdates" in (await older)[1]
    later = asyncio.create_task(bot.telegram.say(PersonMessage(text="two")))
    assert [one["message"]["text"] for one in await newer] == ["two"]
    assert await bot.ask("setWebhook", url="https://e.org/x", secret_token="s") is True
    assert (await bot.ask("getUpdates"))[1].startswith(
        "Conflict: can't use getUpdates method while"
    )
    later.cancel()


@pytest.mark.req("W10")
async def test_updates_that_were_not_asked_for_are_not_told(bot: Bot) -> None:
    await bot.ask("getUpdates", allowed_updates=["message"])
    bot.telegram.happened("edited_message", {"text": "x"})
    bot.telegram.happened("message", {"text": "y"})

    told = await bot.ask("getUpdates", timeout=5)

    assert [one["message"]["text"] for one in told] == ["y"]


@pytest.mark.req("A26")
async def test_who_is_too_fast_is_told_when_to_come_back() -> None:
    clock = ManualClock()
    telegram = TelegramStandIn(clock=clock, is_limited=True)
    await telegram.start()
    chat = int(telegram.open_chat(PersonMessage(chat="g", chat_type="group")).id)
    async with aiohttp.ClientSession() as http:
        bot = Bot(telegram, http)
        sent = await bot.ask("sendMessage", chat_id=chat, text="0")
        at_once = await bot.ask("sendMessage", chat_id=chat, text="too soon")
        for number in range(1, 20):
            clock.advance(1.0)
            await bot.ask("sendMessage", chat_id=chat, text=f"{number}")
        clock.advance(1.0)
        in_group = await bot.ask("sendMessage", chat_id=chat, text="one too many")
    await telegram.stop()

    assert sent["text"] == "0"
    assert at_once == (429, "Too Many Requests: retry after 1")
    assert in_group == (429, "Too Many Requests: retry after 40")
    assert [post.text for post in telegram.posts("g")] == [f"{number}" for number in range(20)]
    assert telegram.rejections == ()


@pytest.mark.req("W17")
async def test_files_can_be_downloaded_up_to_the_limit(bot: Bot) -> None:
    files = (File(data=b"small", mime="text/plain"), File(data=b"0" * 20_971_521, mime="a/b"))
    _, told = bot.telegram.happen(PersonMessage(files=files))
    small, large = (one["message"]["document"]["file_id"] for one in told)

    info = await bot.ask("getFile", file_id=small)
    url = f"http://127.0.0.1:{bot.telegram.port}/file/bot{TOKEN}/{info['file_path']}"
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        assert await answer.read() == b"small"
    assert await bot.ask("getFile", file_id=large) == (400, "Bad Request: file is too big")
