"""The owner in a real browser and at a terminal: one person, whose messages and jobs reach the page."""

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.system.chromium import CHROMIUM
from tests.system.live import live_gateway, model_server, with_model
from tests.system.test_browser_history import ask, open_live
from tests.system.test_operator_commands import hermes

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: apt-get install chromium"
)


async def test_what_is_for_the_owner_is_on_the_page(browser: Browser, tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with model_server() as url, live_gateway(home, with_model(url)) as live:
        await hermes(home, "send", "web:owner", "The backup is done.")
        added = json.loads(
            await hermes(
                home, "cron", "add", "rest:cli", "every day at 9", "What is new?", "--json"
            )
        )
        await hermes(home, "cron", "run", added["job"]["id"])

        page = await open_live(browser, live)
        await page.get_by_role("link", name="The backup is done.").click()

        replies = page.locator(".reply .body")
        await expect(replies).to_have_text(["The backup is done.", re.compile("What is new")])
        # what was sent on its own answers nobody's words
        await expect(page.locator("#messages .mine")).to_have_text([re.compile("What is new")])

        await page.goto(page.url.partition("#")[0])
        await ask(page, "/whoami", replies=1)
        mine = re.search(r"p_\w+", await page.locator(".reply .body").inner_text())
        listed = json.loads(await hermes(home, "users", "list", "--state", "owner", "--json"))
        assert mine is not None
        (owner,) = listed["users"]
        names = {f"{one['platform']}:{one['user_id']}" for one in owner["channels"]}
        assert (owner["id"], names) == (mine.group(), {"web:owner", "rest:cli"})
