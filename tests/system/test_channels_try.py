"""`hermes channels try`: a page on which anybody sees a channel work, and an end that leaves nothing."""

import asyncio
import base64
import os
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from signal import SIGINT, SIGKILL
from typing import Any

import aiohttp
import pytest

from tests.system.live import model_server

PATIENCE_S = 40.0
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Page:
    """The page as a browser uses it."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self.http = http
        self.url = url

    async def post(self, path: str, **body: object) -> int:
        async with self.http.post(f"{self.url}{path}", json=body) as answer:
            return answer.status

    async def state(self, chat: str = "chat-1") -> dict[str, Any]:
        async with self.http.get(f"{self.url}state", params={"chat": chat}) as answer:
            return dict(await answer.json())

    async def until(self, claim: Callable[[list[str]], bool], *, chat: str = "chat-1") -> list[str]:
        """Return what the bot has written once a claim about it holds."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                lines = (await self.state(chat))["lines"]
                texts = [str(line["text"]) for line in lines if not line["mine"]]
                if claim(texts):
                    return texts
                await asyncio.sleep(0.05)


def left_in(folder: Path) -> list[Path]:
    """Return what was left of the gateway's home."""
    return list(folder.glob("hermes-try-*"))


def notes_in(folder: Path) -> Path:
    """Return the file with what the command says beside the page's address."""
    return folder / "notes"


@asynccontextmanager
async def trying(
    name: str,
    tmp_path: Path,
    *,
    end: Callable[[int], None] = lambda pid: os.killpg(pid, SIGINT),
    options: tuple[str, ...] = ("--model", "echo"),
) -> AsyncIterator[Page]:
    """Run the command until the test is done; it ends, by Ctrl-C or otherwise, and leaves no file."""
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "TELEGRAM_BOT_TOKEN": "1:of-somebody-else",
    }
    with notes_in(tmp_path).open("wb") as notes:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "hermes", "channels", "try", name, *options,
            stdout=asyncio.subprocess.PIPE, stderr=notes, env=environ, start_new_session=True,
        )  # fmt: skip
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), 90)
    found = re.search(rb"http://\S+/", line)
    assert found is not None, (line, notes_in(tmp_path).read_text())
    async with aiohttp.ClientSession() as http:
        yield Page(http, found[0].decode())
    end(process.pid)
    assert await asyncio.wait_for(process.wait(), PATIENCE_S) in (0, -SIGKILL)
    async with asyncio.timeout(PATIENCE_S):
        while left_in(tmp_path):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.req("W9", "W10")
async def test_a_person_sees_telegram_work_without_an_account(tmp_path: Path) -> None:
    async with trying("telegram", tmp_path) as page:
        async with page.http.get(page.url) as answer:
            html = await answer.text()
            assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert not re.search(r"(src|href)=\"(https?:)?//", html)

        assert await page.post("say", text="hello there") == 200
        assert await page.until(lambda texts: texts == ["#1 hello there"])
        assert await page.post("fault", kind="rate_limited") == 200
        assert await page.post("say", text="look", picture=PIXEL, mime="image/png") == 200
        await page.until(lambda texts: any("look" in text for text in texts))

        await page.post("say", text="among us", chat="group-1", mentions=False, name="Bob")
        await page.post("say", text="and you?", chat="group-1", mentions=True)
        (reply,) = await page.until(bool, chat="group-1")
        assert "and you?" in reply
        assert "[Bob] among us" in reply
        state = await page.state()
        assert (state["platform"], state["rejections"]) == ("Telegram", [])
        assert state["has_groups"]


@pytest.mark.req("W9")
@pytest.mark.parametrize("name", ["telegram", "slack", "discord"])
async def test_the_buttons_of_a_question_can_be_pressed(tmp_path: Path, name: str) -> None:
    async with trying(name, tmp_path) as page:
        await page.post("say", text="/model")
        (question,) = await page.until(bool)
        (line,) = [one for one in (await page.state())["lines"] if not one["mine"]]
        chosen = line["buttons"][-1]
        assert chosen["label"] in question

        assert await page.post("press", post=line["post"], value=chosen["value"]) == 200

        arrow = f"→ {chosen['label']}"
        await page.until(lambda texts: len(texts) == 2 and texts[0].endswith(arrow))
        (line, _) = [one for one in (await page.state())["lines"] if not one["mine"]]
        assert line["buttons"] == []


@pytest.mark.req("W9")
@pytest.mark.parametrize("name", ["whatsapp", "instagram"])
async def test_a_question_that_cannot_be_edited_is_answered_by_a_message(
    tmp_path: Path, name: str
) -> None:
    async with trying(name, tmp_path) as page:
        await page.post("say", text="/model")
        await page.until(bool)
        (line,) = [one for one in (await page.state())["lines"] if not one["mine"]]
        chosen = line["buttons"][-1]

        assert await page.post("press", post=line["post"], value=chosen["value"]) == 200

        _, answer = await page.until(lambda texts: len(texts) == 2)
        assert chosen["label"].rstrip("…") in answer
        assert (await page.state())["rejections"] == []


@pytest.mark.req("W9", "M7")
async def test_an_echo_answers_if_no_model_is_configured(tmp_path: Path) -> None:
    async with trying("telegram", tmp_path, options=()) as page:
        await page.post("say", text="hello there")

        assert await page.until(lambda texts: texts == ["#1 hello there"])


@pytest.mark.req("W9", "M7")
@pytest.mark.parametrize("file", [".env", "config.yaml"])
async def test_the_configured_model_answers_if_there_is_one(tmp_path: Path, file: str) -> None:
    home = tmp_path / ".hermes"
    home.mkdir(mode=0o700)
    async with model_server("--text", "I am the house's own.") as url:
        told = {
            ".env": f"OPENAI_BASE_URL={url}\nOPENAI_API_KEY=sk-test-not-a-real-key\n",
            "config.yaml": f"providers: {{house: {{base_url: '{url}', model: big}}}}\n"
            "models: {default: 'house:big'}\n",
        }
        (home / file).write_text(told[file])
        (home / file).chmod(0o600)
        async with trying("telegram", tmp_path, options=()) as page:
            await page.post("say", text="hello there")

            assert await page.until(lambda texts: texts == ["I am the house's own."])


@pytest.mark.req("W9", "W10")
async def test_a_machine_has_no_group_to_write_in(tmp_path: Path) -> None:
    async with trying("webhook", tmp_path) as page:
        assert await page.post("say", text="among us", chat="group-1") == 400
        assert await page.post("say", text="a barrier") == 200
        assert await page.until(lambda texts: texts == ["#1 a barrier"])
        state = await page.state()
        assert (state["has_groups"], state["rejections"]) == (False, [])


@pytest.mark.req("W9")
@pytest.mark.parametrize("name", ["whatsapp", "messenger", "sms"])
async def test_a_phone_is_tried_without_an_account(tmp_path: Path, name: str) -> None:
    async with trying(name, tmp_path) as page:
        assert await page.post("say", text="hello there") == 200
        assert await page.until(lambda texts: texts == ["#1 hello there"])
        state = await page.state()
        assert (state["has_groups"], state["rejections"]) == (False, [])


@pytest.mark.req("W9", "A26")
async def test_the_page_is_only_for_this_machine_and_its_own_site(tmp_path: Path) -> None:
    async with trying("slack", tmp_path, end=lambda pid: os.kill(pid, SIGKILL)) as page:
        headers = {"host": "evil.example:80"}
        async with page.http.get(page.url, headers=headers) as answer:
            assert answer.status == 403
        simple = {"content-type": "text/plain"}
        body = b'{"text": "from elsewhere"}'
        async with page.http.post(f"{page.url}say", data=body, headers=simple) as answer:
            assert answer.status == 415
        for wrong in ({"text": 5}, {"picture": "not base64!"}):
            assert await page.post("say", **wrong) == 400
        assert base64.b64decode(PIXEL).startswith(b"\x89PNG")
        await page.post("say", text="a barrier")
        assert await page.until(lambda texts: texts == ["#1 a barrier"])


@pytest.mark.req("W9", "M7")
async def test_who_wants_the_configured_models_hears_that_there_are_none(tmp_path: Path) -> None:
    async with trying("telegram", tmp_path, options=("--model", "configured")):
        notes = notes_in(tmp_path).read_text()

    assert notes == "No model is configured: the built-in demonstration model answers.\n"


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("name", "guess"), [("nonsense", ""), ("telegrm", " (did you mean telegram?)"), ("rest", "")]
)
async def test_a_platform_that_is_not_there_is_an_error(
    tmp_path: Path, name: str, guess: str
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hermes", "channels", "try", name,
        stderr=asyncio.subprocess.PIPE, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    _, told = await asyncio.wait_for(process.communicate(), 60)

    assert (process.returncode, told.decode()) == (
        1,
        f"hermes: there is no platform {name!r} to try{guess}: "
        "expected one of discord, email, instagram, irc, matrix, messenger, qq, slack, sms, telegram, webhook, whatsapp\n",
    )
