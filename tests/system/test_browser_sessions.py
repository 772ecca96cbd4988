"""Tokens of operators have no web chat, and the owner sees and ends every browser session."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hermes.app import Gateway
from hermes.config import load
from tests.system.live import (
    run_command,
)

pytestmark = pytest.mark.req("W35")
WEB = [
    ("GET", "/web/me"),
    ("GET", "/web/sessions"),
    ("POST", "/web/sessions/end"),
    ("GET", "/web/info"),
    ("GET", "/web/conversations"),
    ("GET", "/web/conversations/c1"),
    ("GET", "/web/messages/m_1/events"),
    ("POST", "/web/messages"),
    ("POST", "/web/stop"),
]


class House:
    """A running gateway, its owner at the command line, and browsers."""

    def __init__(self, http: aiohttp.ClientSession, *, url: str, local: str, home: Path) -> None:
        self.http = http
        self.url = url
        self.local = local
        self.home = home

    async def ask(self, method: str, path: str, token: str, body: object = None) -> tuple[int, Any]:
        headers = {"authorization": f"Bearer {token}"}
        async with self.http.request(method, path, json=body, headers=headers) as answer:
            is_json = answer.content_type == "application/json"
            return answer.status, await answer.json() if is_json else await answer.text()

    async def order(self, path: str, body: object = None, *, token: str = "") -> Any:
        status, told = await self.ask("POST", f"/control/{path}", token or self.local, body)
        assert status == 200, told
        return told

    async def listed(self) -> list[dict[str, Any]]:
        _, told = await self.ask("GET", "/control/tokens", self.local)
        return list(told["sessions"])

    async def open(self, link: str, browser: str = "Firefox") -> dict[str, str]:
        """Open a sign-in link; returns the headers of that browser."""
        headers = {"user-agent": browser}
        async with self.http.get(link, headers=headers, allow_redirects=False) as answer:
            assert answer.status == 303
            cookie = answer.headers["set-cookie"].partition(";")[0]
        return {"cookie": cookie, "origin": self.url}

    async def link_of(self, browser: dict[str, str], body: object = None) -> str:
        """Return a sign-in link that a browser asks for."""
        async with self.http.post("/control/link", json=body or {}, headers=browser) as answer:
            assert answer.status == 200, await answer.text()
            return str((await answer.json())["link"])

    async def command(self, *words: str) -> str:
        """Return what a `hermes` command prints."""
        done = await run_command(self.home, *words)
        assert done.returncode == 0
        return done.stdout

    async def browser(self, name: str = "Firefox") -> dict[str, str]:
        return await self.open((await self.order("link"))["link"], name)

    async def status_for(self, browser: dict[str, str]) -> int:
        async with self.http.get("/web/conversations", headers=browser) as answer:
            return answer.status


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    variables = {
        "HERMES_SERVER__PORT": "0",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_API_KEY": "sk-test-not-a-real-key",
    }
    loaded = load(variables, tmp_path / "home")
    async with Gateway(loaded):
        address = json.loads((loaded.home / "run" / "gateway.json").read_text())
        url = f"http://{address['host']}:{address['port']}"
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(url, cookie_jar=jar) as http:
            yield House(http, url=url, local=address["token"], home=loaded.home)


@pytest.mark.parametrize(("method", "path"), WEB)
async def test_the_web_chat_is_closed_to_operators(house: House, method: str, path: str) -> None:
    operator = (await house.order("tokens", {"role": "operator"}))["secret"]
    body = {"conversation": "c1", "text": "hello", "id": "1"} if method == "POST" else None

    status, told = await house.ask(method, path, operator, body)

    assert status == 403
    assert "has no conversations in the web chat" in told["error"]["message"]


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_the_token_of_an_operator_signs_a_browser_in_that_has_no_chat(
    house: House, role: str
) -> None:
    token = (await house.order("tokens", {"role": role}))["secret"]

    async with house.http.post("/signin", json={"token": token}) as answer:
        cookie = answer.headers["set-cookie"].partition(";")[0]
    browser = {"cookie": cookie, "origin": house.url}
    async with house.http.get("/", headers=browser) as page:
        text = await page.text()
    async with house.http.get("/control/status", headers=browser) as status:
        assert status.status == 200

    assert "You are signed in" in text
    assert await house.status_for(browser) == 403
    async with house.http.post("/signout", headers=browser) as answer:
        assert answer.status == 200
    assert await house.status_for(browser) == 401


async def test_the_owners_token_and_the_command_line_use_the_web_chat(house: House) -> None:
    owner = (await house.order("tokens", {"role": "owner"}))["secret"]

    assert [(await house.ask("GET", "/", one))[0] for one in (owner, house.local)] == [200, 200]
    assert (await house.ask("GET", "/web/conversations", owner))[0] == 200
    assert (await house.ask("GET", "/web/conversations", house.local))[0] == 200


async def test_a_browser_signs_out_and_others_stay(house: House) -> None:
    mine, other = await house.browser(), await house.browser()

    async with house.http.post("/signout", headers=mine) as answer:
        cookie = answer.headers["set-cookie"]
        assert (answer.status, await answer.json()) == (200, {"signed_out": True})

    assert cookie.startswith("hermes_session=; Path=/; Max-Age=0;")
    assert (await house.status_for(mine), await house.status_for(other)) == (401, 200)
    assert len(await house.listed()) == 1


async def test_another_sites_page_signs_nobody_out(house: House) -> None:
    mine = await house.browser()

    for origin in ("https://evil.example", "null"):
        async with house.http.post("/signout", headers={**mine, "origin": origin}) as answer:
            assert answer.status == 403
    no_origin = {"cookie": mine["cookie"]}
    async with house.http.post("/signout", headers=no_origin) as answer:
        assert answer.status == 403

    assert (await house.ask("POST", "/signout", house.local))[0] == 400
    assert await house.status_for(mine) == 200


async def test_the_owner_sees_every_browser_and_ends_one(house: House) -> None:
    lost, kept = await house.browser("Lost phone"), await house.browser("Laptop")
    assert await house.status_for(kept) == 200

    lines = {one["browser"]: one for one in await house.listed()}
    ended = await house.order("tokens/revoke", {"id": lines["Lost phone"]["id"]})

    assert set(lines) == {"Lost phone", "Laptop"}
    assert (lines["Lost phone"]["seen_at"], lines["Lost phone"]["made_by"]) == (None, "")
    assert lines["Laptop"]["seen_at"] >= lines["Laptop"]["created_at"]
    assert ended["session"]["browser"] == "Lost phone"
    assert (await house.status_for(lost), await house.status_for(kept)) == (401, 200)


async def test_a_browser_ends_with_the_token_whose_link_signed_it_in(house: House) -> None:
    token = await house.order("tokens", {"role": "owner"})
    by_token = await house.open((await house.order("link", token=token["secret"]))["link"])
    async with house.http.post("/control/link", headers=by_token) as answer:
        further = await house.open((await answer.json())["link"])
    unused = (await house.order("link", token=token["secret"]))["link"]
    before = (await house.status_for(by_token), await house.status_for(further))

    await house.order("tokens/revoke", {"id": token["token"]["id"]})

    assert before == (200, 200)
    assert (await house.status_for(by_token), await house.status_for(further)) == (401, 401)
    async with house.http.get(unused, allow_redirects=False) as answer:
        assert answer.status == 401


@pytest.mark.parametrize("order", [{"sessions": True}, {"sessions": True, "tokens": True}])
async def test_all_browsers_end_at_once(house: House, order: dict[str, bool]) -> None:
    token = (await house.order("tokens", {"role": "owner"}))["secret"]
    browsers = [await house.browser(), await house.browser()]
    unused = (await house.order("link"))["link"]

    ended = await house.order("tokens/revoke", order)

    assert ended["sessions"] == 2
    assert [await house.status_for(one) for one in browsers] == [401, 401]
    async with house.http.get(unused, allow_redirects=False) as answer:
        assert answer.status == 401
    known = (await house.ask("GET", "/control/status", token))[0]
    assert known == (401 if "tokens" in order else 200)


async def test_a_new_link_can_sign_every_other_browser_out(house: House) -> None:
    old, mine = await house.browser(), await house.browser()

    async with house.http.post(
        "/control/link", json={"revoke_others": True}, headers=mine
    ) as answer:
        link = (await answer.json())["link"]

    new = await house.open(link)
    assert [await house.status_for(one) for one in (old, mine, new)] == [401, 200, 200]


async def test_a_browser_that_another_one_signed_in_stays_when_it_ends_the_others(
    house: House,
) -> None:
    laptop = await house.browser("Laptop")
    phone = await house.open(await house.link_of(laptop), "Phone")

    link = await house.link_of(phone, {"revoke_others": True})

    new = await house.open(link, "Tablet")
    assert [await house.status_for(one) for one in (laptop, phone, new)] == [401, 200, 200]
    assert {one["browser"] for one in await house.listed()} == {"Phone", "Tablet"}


@pytest.mark.parametrize("path", ["tokens", "token"])
@pytest.mark.parametrize("is_all", [False, True])
async def test_who_ends_a_browser_hears_which_tokens_it_made(
    house: House, path: str, is_all: bool
) -> None:
    mine = await house.browser()
    body = {"role": "owner", "name": "ci"} if path == "tokens" else None
    async with house.http.post(f"/control/{path}", json=body, headers=mine) as answer:
        made = await answer.json()
    secret = made["secret"] if path == "tokens" else made["token"]
    session = (await house.listed())[0]["id"]

    ended = await house.order("tokens/revoke", {"sessions": True} if is_all else {"id": session})

    (kept,) = ended["kept"]
    _, told = await house.ask("GET", "/control/tokens", secret)
    assert (kept["made_by"], kept in told["tokens"]) == (session, True)
    assert "kept" not in await house.order("tokens/revoke", {"sessions": True, "tokens": True})
    assert (await house.ask("GET", "/control/tokens", secret))[0] == 401


async def test_the_record_says_which_browser_and_what_was_ended(house: House) -> None:
    mine = await house.browser()
    session = (await house.listed())[0]["id"]
    async with house.http.post(
        "/control/tokens/revoke", json={"sessions": True}, headers=mine
    ) as answer:
        assert answer.status == 200

    _, told = await house.ask("GET", "/control/audit?action=tokens.revoke", house.local)
    rows = [(one["actor"], one["targets"]) for one in told["orders"]]
    assert rows == [(f"browser:{session}", ["true", "false"])]


AGENTS = {
    "Chrome on Linux": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Safari/537.36",
    "Chrome on Android": "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like "
    "Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
    "Edge on Windows": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like "
    "Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
    "Firefox on Windows": "Mozilla/5.0 (Windows NT 10.0; rv:143.0) Gecko/20100101 Firefox/143.0",
    "Safari on iPhone": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
    "Safari on macOS": "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_7) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/18.0 Safari/605.1.15",
    "A reader of my own, of which nobody knows": "A reader of my own, of which nobody knows"
    + 60 * "!",
}


async def test_the_list_names_browsers_in_short_and_json_in_full(house: House) -> None:
    for agent in AGENTS.values():
        await house.browser(agent)
    await house.order("tokens", {"role": "owner", "name": "laptop"})

    lines = (await house.command("token", "list")).splitlines()
    in_full = json.loads(await house.command("token", "list", "--json"))["sessions"]

    for name in AGENTS:
        assert sum(f" {name[:40]} " in line for line in lines) == 1
    (laptop,) = [line for line in lines if " laptop " in line]
    assert " forever " in laptop
    assert " not recorded" in laptop
    assert max(len(line.rstrip()) for line in lines) < 160
    assert {one["browser"] for one in in_full} == set(AGENTS.values())
