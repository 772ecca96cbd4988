"""Every page of the dashboard over a living gateway: empty, full, for each role, with what strangers write."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, ViewportSize, expect

from hermes.ports.access import allows
from hermes.server.dashboard.pages import PAGES
from tests.system.chromium import CHROMIUM
from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.test_dashboard import PHONE, WIDE, opened

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: apt-get install chromium"
)
MARKUP = "<img src=x onerror=alert(1)>"
# Names, roles and ids that a checker of accessibility finds most often broken.
FAULTS = """() => {
  const faults = [];
  const named = (node) => node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length;
  for (const node of document.querySelectorAll("button, a[href], input, select, textarea, progress, [role=region], dialog"))
    if (!named(node)) faults.push(`no name: ${node.outerHTML.slice(0, 120)}`);
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`id twice: ${id}`);
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  if (document.querySelectorAll("[style]").length) faults.push("an inline style");
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`wider than the window: ${document.documentElement.scrollWidth}`);
  return faults;
}"""


class Desk:
    """A living gateway, its tokens by role, and what the browser's console complained about."""

    def __init__(self, live: Live, browser: Browser, http: aiohttp.ClientSession) -> None:
        self.live = live
        self.browser = browser
        self.http = http
        self.problems: list[str] = []

    async def ask(self, method: str, path: str, **body: object) -> dict[str, Any]:
        """Send a request as the command line does."""
        async with self.http.request(method, path, json=body or None) as answer:
            return dict(await answer.json())

    async def token(self, role: str) -> str:
        return str((await self.ask("POST", "/control/tokens", role=role))["secret"])

    async def page(self, role: str, path: str = "", *, size: ViewportSize = WIDE) -> Page:
        """Open the dashboard in a role; its console is watched."""
        token = await self.token(role)
        page = await opened(self.browser, self.live.url, token, path=path, size=size)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        return page

    def _heard(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.problems.append(said.text)


@asynccontextmanager
async def desk(home: Path, browser: Browser) -> AsyncIterator[Desk]:
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
    ):
        yield Desk(live, browser, http)


async def visit(page: Page, name: str) -> None:
    """Go to a page by the menu, and wait until everything on it is there."""
    await page.locator(f"#nav a[data-page={name}]").click()
    await expect(page.locator(f"#nav a[data-page={name}]")).to_have_attribute(
        "aria-current", "page"
    )
    await settled(page)


async def settled(page: Page) -> None:
    await expect(page.locator(".content")).to_have_count(1)
    await expect(page.locator(".content > *").first).to_be_attached()
    await expect(page.locator("[aria-busy]")).to_have_count(0)


async def test_every_page_opens_empty_for_every_role(browser: Browser, tmp_path: Path) -> None:
    async with desk(tmp_path / "home", browser) as at:
        for role in ("viewer", "operator", "owner"):
            page = await at.page(role)
            for row in PAGES:
                if allows(role, row.least):
                    await visit(page, row.name)
                    await expect(page.locator("main .trouble")).to_have_count(0)
                    assert await page.evaluate(FAULTS) == [], row.name
        assert at.problems == []

        page = await at.page("viewer", "/people")
        await expect(page.locator("main .trouble")).to_contain_text("needs the role operator")
        await page.goto(f"{at.live.url}/dashboard/nothing")
        await expect(page.locator("main")).to_contain_text("The dashboard has no page nothing")


async def test_what_strangers_write_is_shown_as_text_and_buttons_give_orders(
    browser: Browser, tmp_path: Path
) -> None:
    async with desk(tmp_path / "home", browser) as at:
        await at.ask("POST", "/api/messages", sender="ann", text=MARKUP, conversation="c")
        await at.ask("POST", "/workspaces", name="cook", role=MARKUP, description=MARKUP)
        await at.ask("POST", "/control/cron", user="rest:ann", when="every day at 9", text=MARKUP)
        await at.ask("POST", "/control/users/add", user=f"rest:{MARKUP}", name=MARKUP)
        page = await at.page("owner", "/schedules")
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))

        # a job is paused by its button, after a confirmation
        await expect(page.locator("tbody tr")).to_contain_text(MARKUP)
        await page.get_by_role("button", name="Pause").click()
        await page.locator("dialog[open]").get_by_role("button", name="Pause").click()
        await expect(page.locator(".toast")).to_have_text(re.compile("Done"))
        await expect(page.locator("tbody tr .state").first).to_have_text("paused")

        # a person is opened, and their tier changed; a tier that does not exist is explained
        await visit(page, "people")
        await page.get_by_role("row").filter(has_text="rest:ann").get_by_role("link").first.click()
        await page.get_by_role("button", name="Change the tier").click()
        await page.locator("dialog input").fill("emperor")
        await page.locator("dialog[open]").get_by_role("button", name="Change the tier").click()
        await expect(page.locator("dialog .problem")).to_contain_text("emperor")
        await page.locator("dialog input").fill("pro")
        await page.keyboard.press("Enter")
        await expect(page.locator("dialog[open]")).to_have_count(0)
        await expect(page.locator(".content")).to_contain_text("pro")

        # an agent of the store is changed, and its history says by whom
        await visit(page, "agents")
        await page.get_by_role("link", name="cook").click()
        await expect(page.locator(".content")).to_contain_text(MARKUP)
        await page.locator("summary", has_text="Settings").click()
        await page.get_by_role("button", name="Change").click()
        await page.locator("dialog[open]").get_by_label("description").fill("Cooks.")
        await page.locator("dialog[open]").get_by_role("button", name="Change").click()
        await page.locator("summary", has_text="Versions").click()
        await expect(page.locator("details tbody tr").first).to_contain_text("description")

        assert await page.evaluate(FAULTS) == []
        assert (dialogs, [one for one in at.problems if "400" not in one]) == ([], [])


async def test_secrets_of_the_gateway_are_shown_once_or_never(
    browser: Browser, tmp_path: Path
) -> None:
    async with desk(tmp_path / "home", browser) as at:
        page = await at.page("owner")
        await visit(page, "tokens")
        await page.get_by_role("button", name="Make a token").click()
        await page.locator("dialog[open]").get_by_label("role").select_option("viewer")
        await page.locator("dialog[open]").get_by_role("button", name="Make a token").click()
        await expect(page.locator("dialog[open]")).to_contain_text("hermes_")
        await page.keyboard.press("Escape")
        await expect(page.locator("dialog[open]")).to_have_count(0)
        await visit(page, "secrets")
        await page.get_by_role("button", name="Set a secret").click()
        await expect(page.locator("dialog input[type=password]")).to_have_count(1)
        await page.locator("dialog[open]").get_by_label("key").fill("GROQ_API_KEY")
        await page.locator("dialog[open]").get_by_label("value").fill("gsk-not-a-real-one")
        await page.keyboard.press("Enter")
        await expect(page.locator("tbody tr")).to_contain_text("GROQ_API_KEY")
        assert "gsk-not-a-real-one" not in await page.content()

        # everything that changed something is on record, by its token
        await visit(page, "audit")
        for action in ("tokens.create", "secrets.set"):
            await expect(page.locator("tbody")).to_contain_text(action)
        assert at.problems == []


async def test_the_overview_and_the_models_page_show_what_happens(
    browser: Browser, tmp_path: Path
) -> None:
    async with desk(tmp_path / "home", browser) as at:
        for number in range(3):
            await at.ask("POST", "/api/messages", sender="ann", text=f"hello {number}")
        await at.ask("POST", "/control/channels/pause", platform="rest")
        page = await at.page("operator")

        # what happened is counted, what is wrong is named, and its button puts it right
        await expect(page.locator(".tile", has_text="messages").first).to_contain_text("3")
        await expect(page.locator("polyline")).to_have_count(4)
        await page.locator("summary").first.click()
        await expect(page.locator("details[open] tbody tr").last).to_contain_text("3")
        await expect(page.locator(".attention")).to_contain_text("rest is paused")
        await page.locator(".attention").get_by_role("button", name="Resume").click()
        await page.locator("dialog[open]").get_by_role("button", name="Resume").click()
        await expect(page.locator(".content")).to_contain_text("Nothing needs attention")
        await page.get_by_role("link", name="Last hour").click()
        await expect(page).to_have_url(re.compile("span=hour"))
        await settled(page)

        # which model would answer
        await visit(page, "models")
        await page.get_by_label("prompt").fill("Prove that 2 + 2 = 4")
        await page.get_by_role("button", name="Show the route").click()
        await expect(page.locator("section", has_text="Which model")).to_contain_text("openai:")

        # the kill switch needs attention at once, also for who may only look
        await page.get_by_role("button", name="Stop all model calls").click()
        await page.locator("dialog[open]").get_by_label("reason").fill("a test")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="Allow model calls again")).to_be_visible()
        viewer = await at.page("viewer")
        await expect(viewer.locator(".attention")).to_contain_text(
            "All model calls are stopped. a test"
        )
        await expect(viewer.locator(".attention button")).to_have_count(0)
        assert at.problems == []


async def test_a_running_turn_is_watched_and_stopped(browser: Browser, tmp_path: Path) -> None:
    async with desk(tmp_path / "home", browser) as at:
        asking = asyncio.create_task(
            at.ask("POST", "/api/messages", sender="ann", text="[[deltas:400]][[gap:0.1]] tell me")
        )
        page = await at.page("operator", "/live")

        await page.locator("tbody a").first.click()
        await expect(page.locator(".watched")).not_to_be_empty()
        await page.get_by_role("button", name="Stop").click()
        await page.locator("dialog[open]").get_by_role("button", name="Stop").click()

        await expect(page.locator(".content")).to_contain_text("The turn has ended: interrupted")
        assert (await asking)["outcome"] == "interrupted"
        await visit(page, "live")
        await expect(page.locator(".empty")).to_be_visible()
        orders = (await at.ask("GET", "/control/audit"))["orders"]
        assert {(one["action"], one["state"]) for one in orders} >= {
            ("turns.watch", "ok"),
            ("turns.stop", "ok"),
        }
        assert at.problems == []


async def test_an_operator_on_a_phone_finds_everything_by_the_menu(
    browser: Browser, tmp_path: Path
) -> None:
    async with desk(tmp_path / "home", browser) as at:
        await at.ask("POST", "/api/messages", sender="ann", text="x" * 300)
        page = await at.page("owner", size=PHONE)
        for row in PAGES:
            await page.get_by_role("button", name="Menu").click()
            await visit(page, row.name)
            await expect(page.locator("#nav")).to_be_hidden()
            assert await page.evaluate(FAULTS) == [], row.name
        assert at.problems == []


async def test_an_error_says_what_to_do_and_can_be_tried_again(
    browser: Browser, tmp_path: Path
) -> None:
    async with desk(tmp_path / "home", browser) as at:
        page = await at.page("owner")
        await settled(page)
        await page.route("**/control/hooks", lambda route: route.abort())
        await visit(page, "hooks")
        await expect(page.locator(".trouble")).to_contain_text("Cannot reach the server")
        await page.unroute("**/control/hooks")
        await page.get_by_role("button", name="Try again").click()
        await expect(page.locator(".empty")).to_be_visible()

        # by keyboard alone: the skip link, the next page, the list of keys
        await page.goto(f"{at.live.url}/dashboard/audit")
        await settled(page)
        await page.keyboard.press("Tab")
        await expect(page.locator("#skip")).to_be_focused()
        await page.locator("body").press("n")
        await expect(page.locator("h1")).to_have_text("Secrets")
        await page.locator("body").press("?")
        await expect(page.locator("dialog[open]")).to_contain_text("next page")
        await page.keyboard.press("Escape")
        await expect(page.locator("dialog[open]")).to_have_count(0)


async def test_settings_logs_and_checks_are_there_without_a_terminal(
    browser: Browser, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    async with desk(home, browser) as at:
        page = await at.page("owner", "/settings?part=budgets")
        await settled(page)

        # a setting is changed in the file, and a wrong value is not
        row = page.get_by_role("row").filter(has_text="platform_day_usd")
        await expect(row).to_contain_text("default")
        await row.get_by_role("button", name="Change").click()
        await page.locator("dialog[open]").get_by_label("value").fill("a lot")
        await page.locator("dialog[open]").get_by_role("button", name="Change").click()
        await expect(page.locator("dialog .problem")).to_contain_text("platform_day_usd")
        await page.locator("dialog[open]").get_by_label("value").fill("12.5")
        await page.keyboard.press("Enter")
        await expect(page.locator(".toast")).to_contain_text("Restart the gateway")
        assert "platform_day_usd: 12.5" in (home / "config.yaml").read_text()
        (changed,) = (await at.ask("GET", "/control/audit?action=settings.set"))["orders"][:1]
        assert (changed["targets"], changed["state"]) == (["budgets.platform_day_usd"], "ok")
        # what may name a program is shown, and can only be changed on the machine
        refused = await at.ask("POST", "/control/settings", key="mcp.servers.x.command", value="sh")
        assert refused["error"]["code"] == "bad_request"
        await page.goto(f"{at.live.url}/dashboard/settings?part=terminal.enabled")
        await expect(page.get_by_role("row").filter(has_text="terminal.enabled")).to_be_visible()
        await expect(page.locator("tbody button")).to_have_count(0)

        await visit(page, "logs")
        await expect(page.locator("tbody")).to_contain_text("setting_changed")
        await visit(page, "doctor")
        await expect(page.locator("tbody tr").first).to_be_visible()
        await expect(page.locator("[role=status]").first).to_contain_text("0 failed")
        await visit(page, "backup")
        await expect(page.locator("tbody")).to_contain_text("backup")
        assert [one for one in at.problems if "400" not in one] == []
