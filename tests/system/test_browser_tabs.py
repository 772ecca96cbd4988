"""Two tabs of one person, and their terminal: each tab shows what the others do, without a reload."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect

from hermes.testing.gateway_api import Ask, Hold
from tests.system.chromium import CHROMIUM
from tests.system.live import live_gateway, model_server, with_model
from tests.system.test_browser import PHONE, open_page, send
from tests.system.test_browser_first_week import PAY, first_week
from tests.system.test_browser_history import DIVIDER, expect_order, open_live
from tests.system.test_operator_commands import hermes
from tests.system.twin_gateway import Gateway

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.req("W9"),
]
WAITS = "waits for approval"
# A tab looks every few seconds.
SOON = 20_000


async def other_tab(page: Page) -> Page:
    """Open the same conversation in another tab of the same browser."""
    tab = await page.context.new_page()
    await tab.goto(page.url)
    await expect(tab.locator("#model")).to_be_visible()
    return tab


def replies(page: Page) -> Locator:
    return page.locator(".reply .body")


async def expect_replies(page: Page, *texts: str) -> None:
    await expect(replies(page)).to_have_text(list(texts), timeout=SOON)


async def test_another_tab_shows_the_question_and_the_answer_as_it_streams(
    browser: Browser, gateway: Gateway
) -> None:
    middle = Hold()
    gateway.script.on("tell", "Once upon ", middle, "a time.")
    page = await open_page(browser, gateway)
    await send(page, "hello")
    await expect(page.locator(".facts")).to_have_count(1)
    tab = await other_tab(page)
    await expect(tab.locator(".facts")).to_have_count(1)
    await tab.fill("#text", "half a thought")

    await send(page, "tell")
    await expect_replies(tab, "You said: hello", "Once upon")
    await expect_order(tab, "hello", "tell")
    middle.release()
    await expect_replies(tab, "You said: hello", "Once upon a time.")
    await expect(tab.locator("#text")).to_have_value("half a thought")

    # when the other tab answers: each message is on each page once
    await send(tab, "and then?")
    await expect_replies(page, "You said: hello", "Once upon a time.", "You said: and then?")
    for each in (page, tab):
        await expect_order(each, "hello", "tell", "and then?")
        await expect(each.locator(".facts")).to_have_count(3)


@pytest.mark.req("J1")
async def test_a_message_that_is_kept_and_not_yet_confirmed_is_on_the_page_once(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    await send(page, "hello")
    await expect(page.locator(".facts")).to_have_count(1)
    kept, confirmed = asyncio.Event(), asyncio.Event()

    async def hold_back(route: Route) -> None:
        answer = await route.fetch()
        kept.set()
        await confirmed.wait()
        await route.fulfill(response=answer)

    await page.route("**/web/messages", hold_back)
    await send(page, "tell")
    await kept.wait()
    # when the page has looked and found it there
    for _ in range(2):
        async with page.expect_response(re.compile(r"limit=20"), timeout=SOON):
            pass
    await expect(page.locator(".mine")).to_have_text(["hello", "tell"])

    confirmed.set()
    await expect_replies(page, "You said: hello", "You said: tell")
    tab = await other_tab(page)
    await send(tab, "next")
    await expect_replies(page, "You said: hello", "You said: tell", "You said: next")


async def test_a_new_conversation_fills_in_every_tab_and_the_focus_of_the_list_stays(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    await send(page, "first")
    await expect(page.locator(".facts")).to_have_count(1)
    await page.click("#new")
    tab = await other_tab(page)
    await tab.locator("#conversations a").focus()

    await send(page, "second")

    await expect_replies(tab, "You said: second")
    await expect(tab.locator("#empty")).to_be_hidden()
    await expect(tab.locator("#title")).to_have_text("second")
    await expect(tab.locator("#conversations a")).to_have_text(["second", "first"])
    await expect(tab.locator("#conversations a").nth(1)).to_be_focused()


async def test_more_than_a_tab_looks_for_is_read_from_the_beginning(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    await send(page, "one")
    await expect(page.locator(".facts")).to_have_count(1)
    tab = await other_tab(page)
    await expect(tab.locator(".facts")).to_have_count(1)

    # when the tab was away while much was written
    await tab.route("**/web/conversations**", lambda route: route.abort())
    texts = [f"number {count}" for count in range(25)]
    for count, text in enumerate(texts, start=2):
        await send(page, text)
        await expect(page.locator(".facts")).to_have_count(count)
    await tab.unroute_all()

    await expect(tab.locator(".mine")).to_have_text(["one", *texts], timeout=SOON)


async def test_undo_and_new_of_another_tab_fold_and_divide(
    browser: Browser, tmp_path: Path
) -> None:
    async with first_week(tmp_path / "home") as live:
        page = await open_live(browser, live)
        for count, text in enumerate(["one", "two"], start=1):
            await send(page, text)
            await expect(page.locator(".facts")).to_have_count(count)
        tab = await other_tab(page)
        await expect(tab.locator(".facts")).to_have_count(2)

        await send(page, "/undo")
        await expect(tab.locator("details.taken-out > summary")).to_have_text(
            "No longer part of the conversation: two", timeout=SOON
        )
        await send(page, "/new")
        await expect_order(page, "one", "two", "/undo", "/new", DIVIDER)
        await expect(tab.locator(".divider")).to_be_visible(timeout=SOON)
        await expect_order(tab, "one", "two", "/undo", DIVIDER)
        await send(tab, "three")
        await expect(page.locator(".mine").last).to_have_text("three", timeout=SOON)
        await expect_order(page, "one", "two", "/undo", "/new", DIVIDER, "three")


async def test_all_that_another_tab_takes_out_is_folded(browser: Browser, tmp_path: Path) -> None:
    texts = [f"number {count}" for count in range(24)]
    async with first_week(tmp_path / "home") as live:
        page = await open_live(browser, live)
        for count, text in enumerate(texts, start=1):
            await send(page, text)
            await expect(page.locator(".facts")).to_have_count(count)
        tab = await other_tab(page)
        await expect(tab.locator(".facts")).to_have_count(24)

        await send(page, "/undo 23")

        for each in (page, tab):
            await expect(each.locator("details.taken-out")).to_have_count(23, timeout=SOON)
            await expect(each.locator(".mine:visible")).to_have_text(["number 0", "/undo 23"])


async def test_what_the_terminal_sends_appears_in_an_open_tab(
    browser: Browser, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    async with model_server() as url, live_gateway(home, with_model(url)) as live:
        page = await open_live(browser, live)
        await hermes(home, "send", "web:owner", "The backup is done.")
        listed = page.get_by_role("link", name="The backup is done.")
        await expect(listed).to_be_visible(timeout=SOON)
        await listed.click()
        await expect(replies(page)).to_have_text("The backup is done.")

        await hermes(home, "send", "web:owner", "The disk is full.")

        await expect_replies(page, "The backup is done.", "The disk is full.")


@pytest.mark.req("J9")
async def test_a_conversation_that_waits_for_an_approval_is_marked_until_it_is_decided(
    browser: Browser, tmp_path: Path
) -> None:
    async with first_week(tmp_path / "home") as live:
        page = await open_live(browser, live)
        await send(page, PAY)
        await expect(page.locator(".question-card")).to_be_visible()
        marked = page.get_by_role("link", name=f"{PAY} {WAITS}", exact=True)
        await expect(marked).to_be_visible()

        # when it is decided at the terminal: the mark and the question go
        await hermes(tmp_path / "home", "approvals", "approve", await waiting(tmp_path / "home"))
        await expect(marked).to_have_count(0, timeout=SOON)
        await expect(replies(page)).to_contain_text("paid bob")
        await expect(page.locator(".question-card")).to_have_count(0)

        # when another tab, in a conversation of its own, shows that this one waits, and decides
        tab = await other_tab(page)
        await tab.click("#new")
        await send(page, PAY)
        await tab.get_by_role("link", name=WAITS).click(timeout=SOON)
        await tab.get_by_role("button", name="Approve").click()
        for each in (page, tab):
            await expect(each.locator(".facts")).to_have_count(2, timeout=SOON)
            await expect(each.locator(".question-card")).to_have_count(0)
            await expect(each.get_by_role("link", name=WAITS)).to_have_count(0, timeout=SOON)


async def waiting(home: Path) -> str:
    """Return the id of the one approval that waits."""
    found = re.search(r"a_\w+", await hermes(home, "approvals", "--json"))
    assert found is not None
    return found.group()


CLIPPED = """(selector) => [...document.querySelectorAll(selector)].filter((node) => {
    const [inner, outer] = [node, node.closest(".conversations")].map((one) => one.getBoundingClientRect());
    return inner.left < outer.left || inner.right > outer.right || !node.checkVisibility();
}).map((node) => node.textContent)"""


@pytest.mark.req("J9", "W21")
async def test_marks_of_a_conversation_with_a_long_title_are_whole_on_a_phone(
    browser: Browser, gateway: Gateway
) -> None:
    long = "a title that is much longer than the list of conversations is wide, by far"
    gateway.script.on(long, Ask("May I?", "shell", "rm it"), "Done.")
    page = await open_page(browser, gateway, size={**PHONE, "width": 360})
    await page.get_by_role("switch", name="Temporary chat").click()
    await send(page, long)
    await expect(page.locator(".question-card")).to_be_visible()

    await page.get_by_role("button", name="Show conversations: 1 waits for approval").click()

    marks = page.locator("#conversations .mark")
    await expect(marks).to_have_text([WAITS, "temporary"])
    assert await page.evaluate(CLIPPED, "#conversations .mark") == []
    assert await page.evaluate("document.documentElement.scrollWidth") == 360
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Deny").click()
    await expect(page.get_by_role("button", name="Show conversations", exact=True)).to_be_visible(
        timeout=SOON
    )


@pytest.mark.req("W35")
async def test_a_look_that_finds_the_browser_signed_out_leaves_what_is_being_written(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    await page.fill("#text", "half a thought")
    async with page.expect_response(lambda answer: answer.status == 401, timeout=SOON):
        await gateway.access.make_signin_code(revoke_others=True)

    # then the page stays until the person does something
    await page.keyboard.type(", and the rest")
    await expect(page.locator("#text")).to_have_value("half a thought, and the rest")
    await page.keyboard.press("Enter")
    await expect(page.locator("#token")).to_be_visible()
