"""The web chat of the real gateway in a real browser: the journey of a newcomer."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from hermes.providers.local.settings import is_installed
from tests.system.chromium import CHROMIUM
from tests.system.live import live_gateway, model_server, with_model

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.req("W9", "J15", "W16"),
]


async def test_a_newcomer_chats_reloads_and_stops(browser: Browser, tmp_path: Path) -> None:
    async with (
        model_server() as url,
        live_gateway(tmp_path / "home", with_model(url)) as live,
    ):
        link = re.search(r"http://\S+/signin\?code=\S+", live.said())
        assert link is not None
        page = await (await browser.new_context()).new_page()
        await page.goto(link.group())
        await expect(page.locator("#text")).to_be_focused()

        await page.fill(
            "#text", "[[deltas:40]] [[gap:0.03]] tell me about the sea and the wind and the sky"
        )
        await page.keyboard.press("Enter")
        reply = page.locator(".reply .body").first
        await expect(page.locator(".reply").first).to_have_class(re.compile("writing"))
        await expect(reply).not_to_be_empty()
        partial = await reply.inner_text()
        await expect(page.locator(".facts").first).to_contain_text("openai:gpt-4o-mini")
        whole = await reply.inner_text()
        assert len(partial) < len(whole)

        await page.reload()
        await expect(page.locator(".reply .body").first).to_have_text(whole)

        await page.fill("#text", "[[deltas:40]] [[hang:20]] another long one, if you please, now")
        await page.keyboard.press("Enter")
        await expect(page.locator(".reply .body").nth(1)).not_to_be_empty()
        await page.click("#stop")
        await expect(page.locator(".facts").nth(1)).to_contain_text("Stopped")

        await page.fill("#text", "still there?")
        await page.keyboard.press("Enter")
        await expect(page.locator(".reply .body").nth(2)).to_contain_text("still there?")

        stranger = await (await browser.new_context()).new_page()
        await stranger.goto(link.group())
        await expect(stranger.locator("body")).to_contain_text("hermes link")


@pytest.mark.skipif(not is_installed(), reason="the demonstration model's packages are missing")
async def test_the_built_in_model_answers_and_says_what_it_is(
    browser: Browser, tmp_path: Path
) -> None:
    async with live_gateway(tmp_path / "home", {"HERMES_PROVIDERS__LOCAL__THREADS": "1"}) as live:
        link = re.search(r"http://\S+/signin\?code=\S+", live.said())
        assert link is not None
        page = await (await browser.new_context()).new_page()
        page.set_default_timeout(90_000)
        await page.goto(link.group())
        await expect(page.locator("#notice")).to_contain_text("demonstration model")

        await page.fill("#text", "Say hello in one short sentence.")
        await page.keyboard.press("Enter")
        await expect(page.locator(".progress").first).to_contain_text(
            "demonstration model", timeout=30_000
        )
        await expect(page.locator(".facts").first).to_contain_text("local:", timeout=90_000)
        assert (await page.locator(".reply .body").first.inner_text()).strip()
