"""Messages, the timeline of one, and sessions on the dashboard of a living gateway, for every role."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from playwright.async_api import Browser, Page, expect

from tests.system.chromium import CHROMIUM
from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.test_dashboard import PHONE, WIDE, opened

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: apt-get install chromium"
)
MARKUP = "<img src=x onerror=alert(1)>"
WORDS = f"What does {MARKUP} mean in a page, please?"
SENDER = "<b>ann</b>"


class Desk:
    """A living gateway, and tokens by role."""

    def __init__(self, live: Live, browser: Browser, http: aiohttp.ClientSession) -> None:
        self.live = live
        self._browser = browser
        self._http = http
        self.problems: list[str] = []

    async def ask(self, method: str, path: str, **body: object) -> dict[str, object]:
        async with self._http.request(method, path, json=body or None) as answer:
            return dict(await answer.json())

    async def say(self, text: str) -> str:
        return str((await self.live.post(self._http, sender=SENDER, text=text))["id"])

    async def page(self, role: str, path: str, *, is_phone: bool = False) -> Page:
        token = str((await self.ask("POST", "/control/tokens", role=role))["secret"])
        size = PHONE if is_phone else WIDE
        page = await opened(self._browser, self.live.url, token, path=path, size=size)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda one: self.problems.append(one.message))
        return page


@asynccontextmanager
async def desk(home: Path, browser: Browser) -> AsyncIterator[Desk]:
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
    ):
        yield Desk(live, browser, http)


async def no_wider_than_the_window(page: Page) -> bool:
    return bool(
        await page.evaluate(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
    )


@pytest.mark.req("A32")
async def test_operators_go_from_a_list_of_messages_to_a_timeline_a_prompt_and_a_graph(
    browser: Browser, tmp_path: Path
) -> None:
    async with desk(tmp_path / "home", browser) as at:
        page = await at.page("operator", "/messages")
        await expect(page.locator(".empty")).to_have_text("No message fits.")
        await page.goto(f"{at.live.url}/dashboard/sessions")
        await expect(page.locator(".empty")).to_have_text("There is no open session.")

        first = await at.say(WORDS)
        for number in range(52):
            await at.say(f"message {number}")

        # The list: pages, filters in the address, words only on request.
        await page.goto(f"{at.live.url}/dashboard/messages")
        rows = page.locator(".list tbody tr")
        await expect(rows).to_have_count(50)
        await expect(page.locator(".list")).not_to_contain_text("message 51")
        await page.get_by_role("button", name="Show more").click()
        await expect(rows).to_have_count(53)
        await expect(page.get_by_role("button", name="Show more")).to_have_count(0)
        await page.get_by_label("outcome").select_option("failed")
        await page.get_by_role("button", name="Filter").click()
        await expect(page.locator(".empty")).to_have_text("No message fits.")
        await page.goto(f"{at.live.url}/dashboard/messages?outcome=answered&words=on")
        await page.get_by_role("button", name="Show more").click()
        await expect(rows.last).to_contain_text(WORDS)
        await rows.last.locator("a").click()

        # The timeline.
        await expect(page.locator("h1")).to_have_text("One message")
        await expect(page.locator(".answer")).to_contain_text("Answered after")
        await expect(page.locator("svg.timeline .event.kind-model")).to_have_count(1)
        await expect(page.locator("main")).to_contain_text("a configured model comes first")
        await page.get_by_text("What was said (goes on record)").click()
        await expect(page.locator(".said pre").first).to_have_text(WORDS)
        await page.get_by_text("Prompt of").click()
        await expect(page.locator("main")).to_contain_text("0 · system")
        await page.screenshot(path=tmp_path / "message.png", full_page=True)

        # The session.
        await page.get_by_role("link", name="Graph", exact=True).click()
        await expect(page.locator("svg.graph .node.role-assistant").first).to_be_attached()
        await page.get_by_text("Transcript (goes on record)").click()
        exchanges = page.locator(".transcript .exchange")
        await expect(exchanges).to_have_count(50)
        await page.get_by_role("button", name="Show earlier messages").click()
        await expect(exchanges).to_have_count(53)
        await expect(exchanges.first.locator(".from-person")).to_have_text(WORDS)
        async with page.expect_download() as saving:
            await page.get_by_role("button", name="Save the transcript").click()
        await (await saving.value).save_as(tmp_path / "saved.json")
        await page.screenshot(path=tmp_path / "session.png", full_page=True)

        audit = (await at.ask("GET", "/control/audit?limit=50"))["orders"]
        assert isinstance(audit, list)
        shown = {row["action"] for row in audit if row["actor"].startswith("token:")}
        saved = json.loads((tmp_path / "saved.json").read_text(encoding="utf-8"))
        assert (len(saved["messages"]), saved["messages"][0]["id"]) == (53, first)
        assert shown >= {
            "messages.list_with_text",
            "messages.read",
            "messages.prompt",
            "sessions.graph",
            "sessions.transcript",
        }
        assert await page.locator("img[src=x]").count() == 0
        assert at.problems == []


@pytest.mark.req("A32")
async def test_a_viewer_sees_the_timeline_of_a_message_and_no_words(
    browser: Browser, tmp_path: Path
) -> None:
    async with desk(tmp_path / "home", browser) as at:
        message_id = await at.say(WORDS)
        page = await at.page("viewer", "/message", is_phone=True)
        await page.get_by_label("id of a message").fill(message_id[-6:])
        await page.get_by_role("button", name="Explain").click()

        await expect(page.locator(".answer")).to_contain_text("Answered after")
        await expect(page.locator("svg.timeline .event")).not_to_have_count(0)
        text = await page.locator("body").inner_text()
        assert MARKUP not in text
        assert "goes on record" not in text
        assert await no_wider_than_the_window(page)
        await page.screenshot(path=tmp_path / "phone.png", full_page=True)
        for name in ("messages", "sessions"):
            await page.goto(f"{at.live.url}/dashboard/{name}")
            await expect(page.locator("main .trouble")).to_contain_text("needs the role operator")
        await page.goto(f"{at.live.url}/dashboard/message/m_nothing")
        await expect(page.locator(".trouble")).to_contain_text("No message is known as 'm_nothing'")
        assert at.problems == []
