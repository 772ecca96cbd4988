"""The past of a conversation in a real browser: every word stays, and a line says where Hermes begins."""

import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from hermes.channels.web.channel import WebSettings
from tests.system.chromium import CHROMIUM
from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.moved_clock import LIBRARY, faked, put_clock
from tests.system.test_browser import PHONE, open_page, send
from tests.system.twin_gateway import Gateway, Options

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.req("W9", "W23"),
]
DIVIDER = "Hermes starts fresh here"


async def open_live(browser: Browser, live: Live) -> Page:
    link = re.search(r"http://\S+/signin\?code=\S+", live.said())
    assert link is not None
    page = await (await browser.new_context()).new_page()
    await page.goto(link.group())
    await expect(page.locator("#text")).to_be_focused()
    return page


async def ask(page: Page, text: str, *, replies: int) -> None:
    """Send a message and wait until so many replies on the page have ended."""
    await send(page, text)
    await expect(page.locator(".reply .facts")).to_have_count(replies)


async def expect_order(page: Page, *texts: str) -> None:
    """Wait until what people said and the dividers are on the page, in this order."""
    await expect(page.locator("#messages .mine, #messages > .divider")).to_have_text(
        [re.compile(re.escape(text)) for text in texts]
    )


async def top_of(node: Locator) -> float:
    box = await node.bounding_box()
    assert box is not None
    return box["y"]


async def expect_title(page: Page, title: str) -> None:
    await expect(page.locator("#title")).to_have_text(title)
    await expect(page.locator("#conversations a[aria-current]")).to_have_text(title)


async def test_after_new_every_word_is_still_there_above_a_divider(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        model_server() as url,
        live_gateway(tmp_path / "home", with_model(url)) as live,
    ):
        page = await open_live(browser, live)
        await ask(page, "my cat is Tom", replies=1)
        await expect_title(page, "my cat is Tom")
        await ask(page, "/new", replies=2)
        await expect_order(page, "my cat is Tom", "/new", DIVIDER)
        await expect(page.locator("#announcer")).to_contain_text(DIVIDER)

        await page.reload()
        await expect_order(page, "my cat is Tom", DIVIDER)
        await expect_title(page, "my cat is Tom")

        await ask(page, "hello", replies=2)
        await expect_order(page, "my cat is Tom", DIVIDER, "hello")
        await expect(page.locator(".reply .body").last).to_have_text("#1 hello")

        await page.reload()
        await expect_order(page, "my cat is Tom", DIVIDER, "hello")
        await expect(page.locator(".reply .body").first).to_have_text("#1 my cat is Tom")
        await expect_title(page, "my cat is Tom")


@pytest.mark.skipif(LIBRARY is None, reason="faketime is not installed here")
async def test_where_the_day_ends_conversations_the_page_keeps_the_day_before(
    browser: Browser, tmp_path: Path
) -> None:
    clock = tmp_path / "clock"
    put_clock(clock, 0)
    daily = {"HERMES_SESSIONS__RESET_PLATFORMS__WEB__MODE": "daily"}
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(model_server())
        variables = {**with_model(url), **faked(clock), **daily}
        live = await stack.enter_async_context(live_gateway(tmp_path / "home", variables))
        page = await open_live(browser, live)
        await ask(page, "good night", replies=1)
        put_clock(clock, 2)

        await ask(page, "good morning", replies=2)

        await expect_order(page, "good night", DIVIDER, "good morning")
        await expect(page.locator(".reply .body").last).to_have_text("#1 good morning")
        await page.reload()
        await expect_order(page, "good night", DIVIDER, "good morning")
        await expect_title(page, "good night")


@pytest.fixture
def options() -> Options:
    return Options(web=WebSettings(history=3))


async def test_earlier_messages_come_in_above_without_moving_the_page(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway, size=PHONE)
    texts = ["one", "two", "/new", "three", "four", "five", "/new", "six", "seven"]
    for number, text in enumerate(texts, start=1):
        await ask(page, text, replies=number)
    await page.reload()
    await expect_order(page, "five", DIVIDER, "six", "seven")

    await page.locator("#scroll").evaluate("node => { node.scrollTop = 0; }")
    oldest = page.locator(".mine", has_text="five")
    place = await top_of(oldest)
    await page.locator("#earlier").click()

    await expect_order(page, "two", DIVIDER, "three", "four", "five", DIVIDER, "six", "seven")
    assert abs(await top_of(oldest) - place) <= 1
    await expect(page.locator("#earlier")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect_order(
        page, *("one", "two", DIVIDER, "three", "four", "five", DIVIDER, "six", "seven")
    )
    await expect(page.locator("#earlier")).to_be_hidden()
    await expect(page.locator("#text")).to_be_focused()
    assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


async def test_a_page_says_below_the_button_that_earlier_messages_did_not_come(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    for number, text in enumerate(["one", "two", "three", "four"], start=1):
        await ask(page, text, replies=number)
    await page.reload()
    await expect_order(page, "two", "three", "four")

    await page.route("**/web/conversations/*before=*", lambda route: route.abort())
    await page.locator("#earlier").click()
    problem = page.get_by_text("Earlier messages could not be loaded. Try again.")
    await expect(problem).to_be_in_viewport()
    assert await top_of(problem) > await top_of(page.locator("#earlier"))

    await page.unroute_all()
    await page.locator("#earlier").click()
    await expect_order(page, "one", "two", "three", "four")
    await expect(problem).to_have_count(0)


async def test_a_new_conversation_has_no_divider(browser: Browser, gateway: Gateway) -> None:
    page = await open_page(browser, gateway)
    await ask(page, "/new", replies=1)
    await page.reload()
    await expect(page.locator("#empty")).to_be_visible()
    await ask(page, "hello", replies=1)

    await expect_order(page, "hello")
