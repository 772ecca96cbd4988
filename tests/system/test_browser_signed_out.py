"""Signing out in a real browser: by the page's button, and by somebody else while a person writes."""

import pytest
from playwright.async_api import Browser, Page, expect

from hermes.testing.gateway_api import Hold
from tests.system.chromium import CHROMIUM
from tests.system.test_browser import PHONE, open_page, send
from tests.system.twin_gateway import Gateway

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.req("W35"),
]
SIGNED_OUT = "You are signed out. Run hermes link to get a new sign-in link."
NOT_SENT = "You were signed out. Your message was not sent."


async def revoke_sessions(gateway: Gateway) -> None:
    await gateway.access.make_signin_code(revoke_others=True)


async def sign_in(page: Page, gateway: Gateway) -> None:
    await page.fill("#token", gateway.token)
    await page.keyboard.press("Enter")
    await expect(page.locator("#text")).to_be_visible()


async def test_the_button_asks_once_and_signs_the_browser_out(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    await page.get_by_role("button", name="Sign out").click()
    question = page.get_by_role("dialog", name="Sign out of this browser?")

    await question.get_by_role("button", name="Sign out").click()

    await expect(page.get_by_text(SIGNED_OUT)).to_be_visible()
    await expect(page.get_by_text("hermes up")).to_be_hidden()
    await expect(page.get_by_text("Your message was not sent")).to_be_hidden()
    await page.goto(gateway.url)
    await expect(page.locator("#token")).to_be_visible()
    await sign_in(page, gateway)
    await expect(page.locator("#unsent")).to_be_hidden()


async def test_the_question_is_answered_by_keys_and_holds_the_keys_of_the_page(
    browser: Browser, gateway: Gateway
) -> None:
    begin = Hold()
    gateway.script.on("hello", begin, "Good day.")
    page = await open_page(browser, gateway)
    await send(page, "hello")
    button, question = page.locator("#sign-out"), page.get_by_role("dialog")

    await button.press("Enter")
    await expect(question.get_by_role("button", name="Cancel")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(question).to_be_hidden()
    await expect(button).to_be_focused()
    begin.release()
    await expect(page.locator(".reply .body")).to_have_text("Good day.")

    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text(SIGNED_OUT)).to_be_visible()


async def test_a_sign_out_that_fails_says_so_in_the_question(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway, size=PHONE)
    await page.route("**/signout", lambda route: route.abort())
    await page.locator("#open-sidebar").click()
    await page.locator("#sign-out").click()

    await page.locator("#sign-out-yes").click()

    await expect(page.get_by_role("dialog")).to_contain_text("Cannot reach the server")
    assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    await page.locator("#sign-out-no").click()
    await expect(page.locator("#sign-out")).to_be_focused()


async def test_a_message_from_a_signed_out_page_comes_back_after_signing_in(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    await send(page, "hello")
    await expect(page.locator(".facts")).to_be_visible()
    await revoke_sessions(gateway)

    await send(page, "two lines,\nwritten with care")
    await expect(page.get_by_text(SIGNED_OUT)).to_be_visible()
    await expect(page.get_by_text("Your message was not sent.")).to_be_visible()
    await sign_in(page, gateway)

    await expect(page.get_by_text(NOT_SENT)).to_be_visible()
    await expect(page.locator("#text")).to_have_value("two lines,\nwritten with care")
    await expect(page.locator(".mine")).to_have_text(["hello"])
    await page.locator("#send").click()
    await expect(page.locator(".facts")).to_have_count(2)
    await expect(page.get_by_text(NOT_SENT)).to_be_hidden()
    assert [event.text for event in gateway.gateway_api.messages()] == [
        "hello",
        "two lines,\nwritten with care",
    ]
    await page.reload()
    await expect(page.locator(".facts")).to_have_count(2)
    await expect(page.locator("#text")).to_have_value("")


async def test_what_is_being_written_outlives_a_sign_out_from_elsewhere(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    await page.fill("#text", "half a thought")
    await revoke_sessions(gateway)

    await page.locator("#new").click()
    await expect(page.get_by_text("Your message was not sent.")).to_be_visible()
    await page.goto(await gateway.link())

    await expect(page.get_by_text(NOT_SENT)).to_be_visible()
    await expect(page.locator("#text")).to_have_value("half a thought")


async def test_a_link_opened_in_another_tab_brings_the_first_tab_back(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    # Written before: a page that notices first has no field any more.
    await page.fill("#text", "hello")
    await revoke_sessions(gateway)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text(SIGNED_OUT)).to_be_visible()
    other = await page.context.new_page()
    await other.goto(await gateway.link())
    await expect(other.locator("#text")).to_be_visible()

    await page.evaluate("dispatchEvent(new Event('focus'))")

    await expect(page.get_by_text(NOT_SENT)).to_be_visible()
    await expect(page.locator("#text")).to_have_value("hello")
