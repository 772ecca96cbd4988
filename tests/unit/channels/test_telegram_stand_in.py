"""The stand-in Telegram refuses what the real one refuses, in its words."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from hermes.testing.manual_time import ManualClock
from hermes.testing.stand_in import File, PersonMessage
from hermes.testing.telegram.html_text import parse_html
from hermes.testing.telegram.refusal import ApiError
from hermes.testing.telegram.server import TOKEN, TelegramStandIn

CHAT = 5_000_001


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
    telegram.people.open_chat(PersonMessage())
    async with aiohttp.ClientSession() as http:
        yield Bot(telegram, http)
    await telegram.stop()


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
        ("sendChatAction", {"chat_id": CHAT, "action": "dance"}, 400, "wrong parameter action"),
        ("editMessageText", {"chat_id": CHAT, "message_id": 1, "text": "x"}, 400, "not found"),
        ("deleteMessage", {"chat_id": CHAT, "message_id": 1}, 400, "message to delete not found"),
        ("sendMessageDraft", {"chat_id": CHAT, "draft_id": 0, "text": "x"}, 400, "non-zero"),
        ("getFile", {"file_id": "x"}, 400, "wrong file_id"),
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
    with pytest.raises(ApiError, match="Bad Request: can't parse entities") as caught:
        parse_html(markup)
    assert words in caught.value.description


@pytest.mark.req("W10")
def test_markup_that_telegram_would_drop_is_a_broken_rule() -> None:
    for markup in ("<b>a <code>b</code></b>", "<pre><b>a</b></pre>"):
        with pytest.raises(ApiError):
            parse_html(markup)
    with pytest.raises(ApiError, match="nested"):
        parse_html("<blockquote>a<blockquote>b</blockquote></blockquote>")
    assert parse_html('<pre><code class="language-py">x &lt; &#49;</code></pre>').text == "x < 1"


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
    bot.telegram.updates.push("edited_message", {"text": "x"}, chat=CHAT)
    bot.telegram.updates.push("message", {"text": "y"}, chat=CHAT)

    told = await bot.ask("getUpdates", timeout=5)

    assert [one["message"]["text"] for one in told] == ["y"]


@pytest.mark.req("A26")
async def test_who_is_too_fast_is_told_when_to_come_back() -> None:
    clock = ManualClock()
    telegram = TelegramStandIn(clock=clock, is_limited=True)
    chat = telegram.people.open_chat(PersonMessage(chat="g", chat_type="group")).id
    book = telegram.state

    book.send_text({"chat_id": chat, "text": "1"})
    with pytest.raises(ApiError) as caught:
        book.send_text({"chat_id": chat, "text": "2"})
    assert (caught.value.code, caught.value.parameters) == (429, {"retry_after": 1})
    for number in range(19):
        clock.advance(1.0)
        book.send_text({"chat_id": chat, "text": f"{number}"})
    clock.advance(1.0)
    with pytest.raises(ApiError) as in_group:
        book.send_text({"chat_id": chat, "text": "one too many"})
    assert in_group.value.parameters == {"retry_after": 40}
    assert telegram.rejections == ()


@pytest.mark.req("W17")
async def test_files_can_be_downloaded_up_to_the_limit(bot: Bot) -> None:
    files = (File(data=b"small", mime="text/plain"), File(data=b"0" * 20_971_521, mime="a/b"))
    wire = bot.telegram.people.messages(PersonMessage(files=files))
    small, large = (one["document"]["file_id"] for one in wire)

    info = await bot.ask("getFile", file_id=small)
    url = f"http://127.0.0.1:{bot.telegram.port}/file/bot{TOKEN}/{info['file_path']}"
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        assert await answer.read() == b"small"
    assert await bot.ask("getFile", file_id=large) == (400, "Bad Request: file is too big")
