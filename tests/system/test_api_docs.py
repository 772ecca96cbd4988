"""`/api/openapi.json` and `/api/docs`: for whoever has a credential, and without internet."""

import subprocess
import sys

import aiohttp
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from playwright.async_api import Browser, expect

from hermes.server import api_docs
from tests.system.chromium import CHROMIUM
from tests.system.twin_gateway import Gateway

Http = aiohttp.ClientSession
PATHS = ("/api/openapi.json", "/api/docs", "/api/docs/swagger-ui-bundle.js")


async def status(http: Http, path: str, **headers: str) -> int:
    async with http.get(path, headers=headers) as answer:
        await answer.read()
        return answer.status


async def test_every_role_and_a_signed_in_browser_may_read_it(gateway: Gateway, http: Http) -> None:
    viewer = {"authorization": f"Bearer {await gateway.access.make_token('v', role='viewer')}"}
    cookie = {"cookie": (await gateway.cookie())["cookie"]}
    for path in PATHS:
        assert await status(http, path) == 401
        for headers in (viewer, gateway.bearer, gateway.local, cookie):
            assert await status(http, path, **headers) == 200


async def test_a_browser_that_is_not_signed_in_is_told_how(gateway: Gateway, http: Http) -> None:
    async with http.get("/api/docs", headers={"accept": "text/html,*/*;q=0.8"}) as answer:
        page = await answer.text()

    assert (answer.status, answer.content_type) == (401, "text/html")
    assert "hermes link" in page


async def test_the_document_that_is_served_is_openapi_3_1(gateway: Gateway, http: Http) -> None:
    answer = await http.get("/api/openapi.json", headers=gateway.bearer)
    document = await answer.json()

    OpenAPIV31SpecValidator(document).validate()
    assert {"/api/messages", "/control/users/block"} <= document["paths"].keys()


async def test_only_the_files_of_the_page_are_served(gateway: Gateway, http: Http) -> None:
    for name in ("VERSION", "index.css", "..%2f__init__.py", "api-docs.html"):
        assert await status(http, f"/api/docs/{name}", **gateway.bearer) == 404


async def test_without_the_package_the_page_is_a_plain_list(
    gateway: Gateway, http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_docs, "_PACKAGE", "no_such_package")

    page = await (await http.get("/api/docs", headers=gateway.bearer)).text()

    assert "POST /control/users/block" in page
    assert "<script" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
async def test_a_browser_shows_the_orders_and_asks_nobody_else(
    browser: Browser, gateway: Gateway
) -> None:
    page = await (await browser.new_context()).new_page()
    page.set_default_timeout(30_000)
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    await page.goto(await gateway.link())

    await page.goto(f"{gateway.url}/api/docs")

    block = page.locator("[data-path='/control/users/block']")
    await expect(block).to_be_visible()
    await expect(page.get_by_text("Block a person on every channel.")).to_be_visible()
    assert [url for url in asked if not url.startswith((gateway.url, "data:"))] == []
    assert problems == []


def test_nothing_of_it_is_imported_at_the_start() -> None:
    code = (
        "import sys, hermes.app; "
        "late = {'hermes.server.openapi', 'hermes.server.v1.endpoints', 'flask_swagger_ui'}; "
        "print(*(late & sys.modules.keys()))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("\n", "")
