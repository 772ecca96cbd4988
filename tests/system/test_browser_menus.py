"""Menus, search, export, keys and themes of the chat page, with the keyboard as with the mouse."""

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.system.chromium import CHROMIUM
from tests.system.test_browser import PHONE, open_page, send
from tests.system.twin_gateway import Gateway

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.req("W9"),
]
# What has no name for people who do not see it, and ids that are there twice.
NAMELESS = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
  const controls = document.querySelectorAll("button, a[href], input, textarea, [role=option], [role^=menuitem]");
  const nameless = [...controls].filter((node) => {
    const labels = [...(node.labels ?? [])].map((label) => label.textContent).join("");
    const own = node.getAttribute("aria-label") || node.textContent.trim() || labels || node.title;
    return !own && node.getAttribute("aria-hidden") !== "true";
  });
  return [...twice, ...nameless.map((node) => node.outerHTML.slice(0, 120))];
}"""


async def saved(page: Page, item: str) -> tuple[str, str]:
    """Choose an item of the menu that saves; return the name of the file and its text."""
    await page.click("#more")
    async with page.expect_download() as downloading:
        await page.get_by_role("menuitem", name=item).click()
    download = await downloading.value
    return download.suggested_filename, read(await download.path())


def read(path: Path) -> str:
    return path.read_text()


async def test_commands_are_listed_while_a_slash_is_written(
    browser: Browser, gateway: Gateway, tmp_path: Path
) -> None:
    page = await open_page(browser, gateway)
    await page.keyboard.type("/")
    options = page.locator("#commands [role=option]")
    await expect(options).to_have_count(8)
    await page.screenshot(path=tmp_path / "commands.png")
    await page.keyboard.type("mod")
    await expect(options).to_have_count(1)
    await expect(options).to_have_attribute("aria-selected", "true")
    assert await page.evaluate(NAMELESS) == []
    await page.keyboard.press("Tab")
    await expect(page.locator("#text")).to_have_value("/model ")
    await expect(page.locator("#commands")).to_be_hidden()
    # when a command is written out, Enter sends it; Escape only closes the list
    await page.fill("#text", "/")
    await expect(options.first).to_be_visible()
    await page.keyboard.press("ArrowDown")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("Escape")
    await expect(page.locator("#commands")).to_be_hidden()
    await page.fill("#text", "/new")
    await expect(options.first).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page.locator(".mine")).to_have_text("/new")


async def test_another_model_is_chosen_for_the_conversation_and_for_an_answer(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    await send(page, "hello")
    await expect(page.locator(".facts")).to_have_count(1)
    await page.click("#model")
    menu = page.get_by_role("menu")
    await expect(menu.get_by_role("menuitem")).to_have_text(
        ["Chosen automatically", "scripted:one", "scripted:two"]
    )
    await expect(menu.get_by_role("menuitem").first).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await expect(menu.get_by_role("menuitem").last).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(menu).to_have_count(0)
    await expect(page.locator("#model")).to_be_focused()
    await page.keyboard.press("Enter")
    await menu.get_by_role("menuitem").nth(1).click()
    await expect(page.locator(".facts")).to_have_count(2)

    button = page.get_by_role("button", name="Answer again with another model").first
    await button.click()
    await menu.get_by_role("menuitem", name="scripted:two").click()
    await expect(page.locator(".versions:visible")).to_contain_text("2/2")
    texts = [event.text for event in gateway.gateway_api.messages()]
    assert texts == ["hello", "/model scripted:one", "/model scripted:two", "hello"]
    first, *_, last = gateway.gateway_api.messages()
    assert (first.replaces, last.replaces != "") == ("", True)


async def test_conversations_are_searched_and_saved(browser: Browser, gateway: Gateway) -> None:
    gateway.script.on("About <b>tea</b>", "It is *green*.")
    page = await open_page(browser, gateway)
    await send(page, "Coffee beans")
    await expect(page.locator(".facts")).to_be_visible()
    await page.keyboard.press("Control+k")
    await expect(page.locator("#empty")).to_be_visible()
    await send(page, "About <b>tea</b>")
    await expect(page.locator(".facts")).to_be_visible()
    names = page.locator("#conversations .name")
    await expect(names).to_have_count(2)
    await page.keyboard.press("Control+/")
    await expect(page.locator("#find-conversation")).to_be_focused()
    await page.keyboard.type("BEANS cof")
    await expect(names).to_have_text(["Coffee beans"])
    await page.keyboard.type(" x")
    await expect(page.locator("#conversations")).to_contain_text("No conversation has this")
    await page.fill("#find-conversation", "")
    await expect(names).to_have_count(2)

    name, text = await saved(page, "Save as Markdown")
    assert name == "About bteab.md"
    head, *_ = text.splitlines()
    assert (head, "## Hermes, scripted\n\nIt is *green*.\n" in text) == (
        "# About <b>tea</b>",
        True,
    )
    name, text = await saved(page, "Save as JSON")
    assert [one["text"] for one in json.loads(text)["messages"]] == ["About <b>tea</b>"]


async def test_keys_themes_and_the_app_on_a_phone(
    browser: Browser, gateway: Gateway, tmp_path: Path
) -> None:
    page = await open_page(browser, gateway, size=PHONE)
    await send(page, "first")
    await expect(page.locator(".facts")).to_have_count(1)
    await page.keyboard.press("ArrowUp")
    await expect(page.locator("#text")).to_have_value("first")
    await page.keyboard.press("Escape")
    await expect(page.locator("#text")).to_have_value("")
    # when the page is dark by choice, it stays so
    await page.click("#more")
    await page.get_by_role("menuitemradio", name="Dark", exact=True).click()
    background = "getComputedStyle(document.body).backgroundColor"
    assert await page.evaluate(background) == "rgb(21, 22, 20)"
    await page.reload()
    await expect(page.locator(".facts")).to_have_count(1)
    assert await page.evaluate(background) == "rgb(21, 22, 20)"
    await page.screenshot(path=tmp_path / "phone-dark.png")
    assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert await page.evaluate(NAMELESS) == []
    # when it is installed: the manifest can be read, and its icon is there
    await page.locator("#more").focus()
    await page.keyboard.press("?")
    await expect(page.locator("#help")).to_contain_text("New conversation")
    await page.keyboard.press("Escape")
    await expect(page.locator("#help")).to_be_hidden()
    session = await page.context.new_cdp_session(page)
    manifest = await session.send("Page.getAppManifest")
    assert (json.loads(manifest["data"])["start_url"], manifest["errors"]) == ("/", [])
