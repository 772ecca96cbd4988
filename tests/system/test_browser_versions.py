"""Editing, asking again and stepping through versions on the chat page, over a whole gateway."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from hermes.testing.model_script import ScriptedTurn, SeenConversation
from hermes.testing.model_server import ModelServer
from tests.system.chromium import CHROMIUM
from tests.system.live import live_gateway, with_model
from tests.system.test_browser import send
from tests.system.test_browser_files import hand_over
from tests.system.test_browser_history import open_live

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.req("W9"),
]


def script(seen: SeenConversation, number: int) -> ScriptedTurn:
    if seen.last_text.startswith("story"):
        return ScriptedTurn(text="Once upon a time", fault="hang", after=1)
    return ScriptedTurn(text=f"answer {number} to {seen.last_text.splitlines()[0]}")


def shown(page: Page) -> Locator:
    return page.locator(".exchange:not([hidden])")


async def words(page: Page) -> list[str]:
    """Return what is shown of each exchange: what was said, and the answer."""
    found = page.locator(".exchange:not([hidden]) :is(.said, .body)")
    return await found.all_inner_texts()


def press(page: Page, name: str, number: int = -1) -> Locator:
    return page.get_by_role("button", name=name, exact=True).locator("visible=true").nth(number)


@pytest.mark.req("J5", "W16")
async def test_versions_of_messages_and_answers(browser: Browser, tmp_path: Path) -> None:
    async with (
        ModelServer(script) as model,
        live_gateway(tmp_path / "home", with_model(model.base_url)) as live,
    ):
        page = await open_live(browser, live)
        await send(page, "one")
        await expect(page.locator(".facts")).to_have_count(1)
        await send(page, "two")
        await expect(page.locator(".facts")).to_have_count(2)
        await send(page, "three")
        await expect(page.locator(".facts")).to_have_count(3)

        # when an earlier message is edited: what followed it is another version
        await press(page, "Edit your message", 1).click()
        await expect(page.locator("#editing")).to_be_visible()
        await expect(page.locator("#text")).to_have_value("two")
        await page.keyboard.press("Escape")
        await expect(page.locator("#editing")).to_be_hidden()
        await expect(page.locator("#text")).to_have_value("")
        await press(page, "Edit your message", 1).click()
        await send(page, "two, changed")
        newest = ["one", "answer 1 to one", "two, changed", "answer 4 to two, changed"]
        await expect(page.locator(".versions:visible")).to_contain_text("2/2")
        await expect(shown(page).locator(".facts")).to_have_count(2)
        assert await words(page) == newest

        # when the person goes back: the old version with all that followed, and it says so
        await press(page, "The version before").click()
        await expect(page.locator(".versions:visible")).to_contain_text("1/2")
        old = ["one", "answer 1 to one", "two", "answer 2 to two", "three", "answer 3 to three"]
        assert await words(page) == old
        await expect(page.locator("#old-version")).to_contain_text("Hermes does not see it")
        await expect(page.locator(".old .change:visible")).to_have_count(0)
        await page.screenshot(path=tmp_path / "old-version.png")
        await page.click("#show-newest")
        assert await words(page) == newest

        # when the answer is asked for again, and the page is loaded again: the same
        await press(page, "Answer again").click()
        newest[-1] = "answer 5 to two, changed"
        await expect(page.locator(".versions:visible")).to_contain_text("3/3")
        await expect(shown(page).locator(".facts")).to_have_count(2)
        assert await words(page) == newest
        await page.reload()
        await expect(page.locator(".versions:visible")).to_contain_text("3/3")
        assert await words(page) == newest
        await press(page, "The version before").click()
        await press(page, "The version before").click()
        assert await words(page) == old
        # then what is said next belongs to the newest
        await send(page, "four")
        await expect(shown(page).locator(".facts")).to_have_count(3)
        assert await words(page) == [*newest, "four", "answer 6 to four"]


@pytest.mark.req("W16")
async def test_a_message_is_edited_while_it_is_answered_and_keeps_its_picture(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        ModelServer(script) as model,
        live_gateway(tmp_path / "home", with_model(model.base_url)) as live,
    ):
        page = await open_live(browser, live)
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await hand_over(page, "paste", "#text", "notes.txt", "text/plain")
        await send(page, "story")
        await expect(page.locator(".body")).to_have_text("Once upon a time")
        await press(page, "Edit your message").click()
        await expect(page.locator("#chosen .file-name")).to_have_text("notes.txt")
        await send(page, "fact")
        await expect(shown(page).locator(".body")).to_contain_text("to fact")
        await expect(shown(page).locator(".facts")).to_have_count(1)
        await expect(shown(page).locator(".mine .file")).to_have_count(1)
        await press(page, "The version before").click()
        assert await words(page) == ["story", "Once upon a time"]
        await page.click("#show-newest")
        # then the answer can be copied as it was written
        await press(page, "Copy this answer").click()
        await expect(page.locator("#announcer")).to_contain_text("Copied")
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert "to fact" in copied
