"""The dashboard over HTTP and in a real browser: who may open what, and what the pages are made of."""

import re

import aiohttp
import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from hermes.control.orders import BY_NAME
from hermes.http.assets import POLICY, read_assets
from hermes.ports.access import OPERATOR_ROLES, Role, allows
from hermes.server.dashboard.pages import PAGES, DashboardPage
from tests.system.chromium import CHROMIUM
from tests.system.twin_gateway import Gateway

Http = aiohttp.ClientSession
in_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: apt-get install chromium"
)
WIDE: ViewportSize = {"width": 1200, "height": 800}
PHONE: ViewportSize = {"width": 360, "height": 740}


async def opened(
    browser: Browser, url: str, token: str, *, path: str = "", size: ViewportSize = WIDE
) -> Page:
    """Open the dashboard with a token, whose role it then has."""
    context = await browser.new_context(
        viewport=size, extra_http_headers={"authorization": f"Bearer {token}"}
    )
    page = await context.new_page()
    page.set_default_timeout(15_000)
    await page.goto(f"{url}/dashboard{path}")
    return page


async def test_only_who_is_signed_in_gets_the_page(gateway: Gateway, http: Http) -> None:
    viewer = {"authorization": f"Bearer {await gateway.access.make_token('v', role='viewer')}"}
    cookie = {"cookie": (await gateway.cookie())["cookie"]}
    for path in ("/dashboard", "/dashboard/people/p_1"):
        async with http.get(path) as answer:
            assert (answer.status, "Sign in first" in await answer.text()) == (401, True)
        for headers in (viewer, gateway.bearer, cookie):
            async with http.get(path, headers=headers) as answer:
                assert (answer.status, answer.headers["content-security-policy"]) == (200, POLICY)


async def test_the_catalogue_is_only_for_the_page_itself(gateway: Gateway, http: Http) -> None:
    own = await gateway.cookie()
    path = "/dashboard/catalogue.json"
    async with http.get(path) as answer:
        assert answer.status == 401
    async with http.get(path, headers=own | {"origin": "http://evil.test"}) as answer:
        assert answer.status == 403
    async with http.get(path, headers=own) as answer:
        catalogue = await answer.json()

    assert (catalogue["role"], catalogue["actor"][:8]) == ("owner", "browser:")
    assert catalogue["orders"].keys() == BY_NAME.keys()
    assert catalogue["orders"]["cron.pause"] == {
        "least": "operator",
        "method": "POST",
        "path": "/control/cron/pause",
        "changes": True,
        "shows": False,
        "summary": "Pause a job.",
        "fields": [
            {
                "name": "id",
                "kind": "string",
                "help": "the job's id, or its beginning or end",
                "required": True,
            }
        ],
    }


async def test_a_person_of_the_chat_learns_nothing_of_the_gateway(
    gateway: Gateway, http: Http
) -> None:
    token = await gateway.access.make_token("p", role="person")
    for path in ("/dashboard/catalogue.json", "/dashboard/turns/m_1/events"):
        async with http.get(path, headers={"authorization": f"Bearer {token}"}) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (403, "forbidden")


async def test_only_the_files_of_the_pages_are_served(gateway: Gateway, http: Http) -> None:
    for name in ("index.html", "pages.py", "..%2fpages.py", "pages/nothing.js"):
        async with http.get(f"/dashboard/static/{name}") as answer:
            assert answer.status == 404
    async with http.get("/dashboard/static/pages/overview.js") as answer:
        assert (answer.status, answer.content_type) == (200, "text/javascript")


def test_every_page_has_its_code_and_its_words() -> None:
    files = read_assets("hermes.server.dashboard")
    strings = files["strings.js"].body.decode()
    for page in PAGES:
        assert f"pages/{page.name}.js" in files
        assert f'"page.{page.name}":' in strings
        assert f'"group.{page.group}":' in strings


def test_every_text_has_its_words_and_every_order_exists() -> None:
    files = read_assets("hermes.server.dashboard")
    strings = set(re.findall(r'^  "([^"]+)":', files["strings.js"].body.decode(), re.M))
    code = "\n".join(
        one.body.decode()
        for name, one in files.items()
        if name.endswith(".js") and "strings" not in name
    )

    asked = set(re.findall(r'\bt\("([^"]+)"', code))
    given = {
        name
        for name in re.findall(r'"([a-z_]+\.[a-z_]+)"', code)
        if name.partition(".")[0] in {one.partition(".")[0] for one in BY_NAME}
    } - asked

    assert asked - strings == set()
    assert given - strings - BY_NAME.keys() == set()
    buttons = set(re.findall(r'(?:actionButton|bulkButton)\("([^"]+)"', code))
    assert {f"do.{name}" for name in buttons} - strings == set()


def sorted_pages() -> list[DashboardPage]:
    """Return the pages as the menu has them: group by group."""
    groups = list(dict.fromkeys(page.group for page in PAGES))
    return sorted(PAGES, key=lambda page: groups.index(page.group))


@in_browser
@pytest.mark.parametrize("role", OPERATOR_ROLES)
async def test_the_menu_has_the_pages_of_the_role(
    browser: Browser, gateway: Gateway, role: Role
) -> None:
    token = await gateway.access.make_token("x", role=role)
    problems: list[str] = []

    page = await opened(browser, gateway.url, token, path="/orders")
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)

    await expect(page.locator("h1")).to_have_text("Orders")
    await expect(page.locator("#who")).to_contain_text(role)
    links = await page.locator("#nav a").evaluate_all("all => all.map(one => one.dataset.page)")
    assert links == [one.name for one in sorted_pages() if allows(role, one.least)]
    assert problems == []
