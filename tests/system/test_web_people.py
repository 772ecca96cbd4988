"""Two people and the owner on one gateway: each has the web chat to themselves, whatever they try."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hermes.app import Gateway
from hermes.config import load
from hermes.control.orders import ORDERS
from tests.system.live import run_command
from tests.system.test_http import events_of

pytestmark = pytest.mark.req("W35")
SECRET = "ZEBRA-771"


class Town:
    """A running gateway, its owner at the command line, and the model that hears what it is asked."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.http: aiohttp.ClientSession
        self.url = self.local = ""
        self.home = Path()

    async def model(self, request: web.Request) -> web.Response:
        self.heard.append(await request.text())
        said = {"choices": [{"index": 0, "delta": {"content": "Fine."}, "finish_reason": "stop"}]}
        body = f"data: {json.dumps(said)}\n\ndata: [DONE]\n\n"
        return web.Response(text=body, content_type="text/event-stream")

    async def order(self, path: str, body: object) -> Any:
        headers = {"authorization": f"Bearer {self.local}"}
        async with self.http.post(f"/control/{path}", json=body, headers=headers) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def person(self, name: str, **more: object) -> "Person":
        """Invite somebody, who signs in."""
        made = await self.order("invitations", {"name": name, **more})
        async with self.http.post("/signin", json={"token": made["code"]}) as answer:
            assert answer.status == 200, await answer.text()
            return Person(self, answer.headers["set-cookie"].partition(";")[0])

    async def owner(self) -> "Person":
        link = (await self.order("link", {}))["link"]
        async with self.http.get(link, allow_redirects=False) as answer:
            return Person(self, answer.headers["set-cookie"].partition(";")[0])

    async def command(self, *words: str) -> str:
        done = await run_command(self.home, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout


class Person:
    """Somebody's browser."""

    def __init__(self, town: Town, cookie: str) -> None:
        self._town = town
        self.headers = {"cookie": cookie, "origin": town.url}

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        async with self._town.http.request(method, path, json=body, headers=self.headers) as answer:
            is_json = answer.content_type == "application/json"
            return answer.status, await answer.json() if is_json else await answer.text()

    async def get(self, path: str) -> Any:
        status, told = await self.ask("GET", path)
        assert status == 200, told
        return told

    async def say(self, text: str, *, conversation: str = "c1", name: str) -> dict[str, Any]:
        """Write a message; returns the end of its stream."""
        body = {"conversation": conversation, "text": text, "id": name}
        async with self._town.http.post("/web/messages", json=body, headers=self.headers) as answer:
            assert answer.status == 200, await answer.text()
            *_, (_, data) = [event async for event in events_of(answer)]
            return data

    async def titles(self) -> list[tuple[str, str]]:
        listed = (await self.get("/web/conversations"))["conversations"]
        return [(one["id"], one["title"]) for one in listed]

    async def status(self) -> int:
        return (await self.ask("GET", "/web/conversations"))[0]


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[Town]:
    made = Town()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", made.model)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    variables = {
        "HERMES_SERVER__PORT": "0",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "OPENAI_API_KEY": "sk-test-not-a-real-key",
        "HERMES_MEMORY__ENABLED": "false",
    }
    loaded = load(variables, tmp_path / "home")
    async with Gateway(loaded):
        address = json.loads((loaded.home / "run" / "gateway.json").read_text())
        made.url = f"http://{address['host']}:{address['port']}"
        made.local, made.home = address["token"], loaded.home
        async with aiohttp.ClientSession(made.url, cookie_jar=aiohttp.DummyCookieJar()) as http:
            made.http = http
            yield made
    await runner.cleanup()


async def test_a_conversation_of_the_same_name_is_everybodys_own(town: Town) -> None:
    ann, bob, owner = await town.person("ann"), await town.person("bob"), await town.owner()
    for one, text in ((ann, f"The word is {SECRET}."), (bob, "I am Bob."), (owner, "I am here.")):
        await one.say(text, name="1")
    asked = len(town.heard)

    for one in (bob, owner):
        await one.say("What is the word?", name="2")

    assert SECRET not in "".join(town.heard[asked:])
    assert await ann.titles() == [("c1", f"The word is {SECRET}.")]
    assert await bob.titles() == [("c1", "I am Bob.")]
    assert await owner.titles() == [("c1", "I am here.")]
    page = json.dumps(await bob.get("/web/conversations/c1"))
    assert ("I am Bob." in page, SECRET in page) == (True, False)
    users = json.loads(await town.command("users", "list", "--json"))["users"]
    names = {f"{c['platform']}:{c['user_id']}" for one in users for c in one["channels"]}
    assert {"web:ann", "web:bob", "web:owner"} <= names


@pytest.mark.parametrize("attacker", ["person", "operator", "owner"])
async def test_nobody_reads_or_stops_what_another_one_wrote(town: Town, attacker: str) -> None:
    ann = await town.person("ann")
    message = (await ann.say(f"The word is {SECRET}.", name="same"))["id"]
    eve = await (town.owner() if attacker == "owner" else town.person("eve", role=attacker))

    own = await eve.say("hello", name="same")
    seen = [
        await eve.ask("GET", f"/web/messages/{message}/events"),
        await eve.ask("GET", f"/web/messages/{message}/why"),
        await eve.ask("GET", f"/web/messages/{message}/files/sent/0"),
    ]
    edit = {"conversation": "c1", "text": "No.", "id": "edit", "replaces": message}
    lists = [
        await eve.get("/web/conversations"),
        await eve.get("/web/conversations/c1"),
        await eve.get("/web/conversations/ann"),
        await eve.get("/web/conversations/c1%3Aann"),
        await eve.get("/web/sessions"),
    ]

    assert own["id"] != message
    assert [status for status, _ in seen] == [404, 404, 404]
    assert (await eve.ask("POST", "/web/messages", edit))[0] == 200
    kept = json.dumps(await ann.get("/web/conversations/c1"))
    assert (SECRET in kept, "No." in kept) == (True, False)
    assert SECRET not in json.dumps([own, seen, lists])
    assert [one["is_this"] for one in lists[-1]["sessions"]] == [True]
    assert (await ann.ask("GET", f"/web/messages/{message}/why"))[0] == 200


async def test_a_person_gets_into_nothing_but_the_chat_page(town: Town) -> None:
    ann = await town.person("ann")
    inside = [
        ("GET", "/metrics"),
        ("GET", "/api/messages/m_1"),
        ("POST", "/api/messages"),
        ("GET", "/api/conversations/c1?sender=bob"),
        ("GET", "/api/files?sender=bob&conversation=c1"),
        ("GET", "/api/openapi.json"),
        ("GET", "/api/docs"),
        ("GET", "/dashboard/catalogue.json"),
        ("GET", "/dashboard/turns/m_1/events"),
        ("GET", "/v1/models"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/mcp"),
        *((one.method, one.route.replace(":path", "")) for one in ORDERS),
    ]
    body = {"sender": "bob", "text": "hello"}

    found = {
        (method, path): (await ann.ask(method, path, None if method == "GET" else body))[0]
        for method, path in inside
    }

    # 404: no such path without its parameters; 401: a cookie counts for nothing there.
    assert {one: status for one, status in found.items() if status not in {401, 403, 404}} == {}
    status, page = await ann.ask("GET", "/dashboard/people")
    assert (status, "is for operators" in page) == (403, True)
    assert (await ann.ask("GET", "/dashboard/catalogue.json"))[0] == 403
    refused = [found[one.method, one.route.replace(":path", "")] for one in ORDERS]
    assert set(refused) == {403}


async def test_a_cookie_is_worth_nothing_after_a_block_or_an_erasure(town: Town) -> None:
    ann, bob, eve = [await town.person(name) for name in ("ann", "bob", "eve")]
    spare = await town.order("invitations", {"name": "ann"})
    for one in (ann, bob, eve):
        await one.say("hello", name="1")

    await town.command("users", "block", "web:ann")
    await town.command("users", "erase", "web:bob", "--yes")

    assert [await one.status() for one in (ann, bob, eve)] == [401, 401, 200]
    async with town.http.post("/signin", json={"token": spare["code"]}) as answer:
        assert answer.status == 401
    await town.command("users", "activate", "web:ann")
    assert await ann.status() == 401
    again, other = await town.person("ann"), await town.person("bob")
    assert await again.titles() == [("c1", "hello")]
    assert await other.titles() == []


async def test_people_see_and_end_their_own_browsers(town: Town) -> None:
    phone, laptop, bob = [await town.person(name) for name in ("ann", "ann", "bob")]
    me = await laptop.get("/web/me")
    foreign = (await bob.get("/web/me"))["session"]

    before = (await laptop.get("/web/sessions"))["sessions"]
    stolen, _ = await laptop.ask("POST", "/web/sessions/end", {"id": foreign})
    others = await laptop.ask("POST", "/web/sessions/end", {})

    assert (me["user"], me["role"]) == ("ann", "person")
    assert sorted(one["is_this"] for one in before) == [False, True]
    assert (stolen, await bob.status()) == (404, 200)
    assert others == (200, {"ended": 1})
    assert (await phone.status(), await laptop.status()) == (401, 200)


async def test_a_person_has_the_commands_of_a_chat_and_no_operator_ones(town: Town) -> None:
    ann = await town.person("ann")
    await ann.say(f"The word is {SECRET}.", name="0")

    who = await ann.say("/whoami", name="1")
    restart = await ann.say("/restart", name="2")
    code = re.search(r"[A-Z2-9]{4}-[A-Z2-9]{4}", (await ann.say("/link", name="3"))["reply"])

    assert "You are web:ann" in who["reply"]
    assert "You may not use /restart here" in restart["reply"]
    assert code is not None
    bob = await town.person("bob")
    linked = await bob.say(f"/link {code.group()}", name="1")
    assert "This account is linked" in linked["reply"]
    # One person now, and still two users, of whom neither sees what the other one says here.
    assert await ann.titles() == [("c1", f"The word is {SECRET}.")]
    seen = [await bob.titles(), await bob.get("/web/conversations/c1")]
    assert SECRET not in json.dumps(seen)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", None])
async def test_another_sites_page_ends_no_session_and_uses_no_invitation(
    town: Town, origin: str | None
) -> None:
    ann = await town.person("ann")
    code = (await town.order("invitations", {"name": "eve"}))["code"]
    foreign = {"cookie": ann.headers["cookie"]} | ({} if origin is None else {"origin": origin})

    for path, body in (("/web/sessions/end", {}), ("/signout", None)):
        async with town.http.post(path, json=body, headers=foreign) as answer:
            assert answer.status == 403
    if origin is not None:
        async with town.http.post("/signin", json={"token": code}, headers=foreign) as answer:
            assert answer.status == 403

    assert await ann.status() == 200
    async with town.http.get(f"/signin?code={code}", headers=foreign) as page:
        assert (page.status, "set-cookie" in page.headers) == (200, False)
    assert len((await town.command("invites", "list", "--json")).split(code)) == 1
    async with town.http.post("/signin", json={"token": code}, headers=ann.headers) as answer:
        eve = Person(town, answer.headers["set-cookie"].partition(";")[0])
    # The browser belongs to one person at a time, and brings no session of its own.
    assert (await ann.status(), (await eve.get("/web/me"))["user"]) == (401, "eve")
    assert ann.headers["cookie"] != eve.headers["cookie"]


async def test_the_owner_invites_lists_and_withdraws(town: Town) -> None:
    told = await town.command("invite", "Ann", "--role", "viewer", "--expires", "1d")
    link, code = told.split()[0], told.split()[-1]
    listed = json.loads(await town.command("invites", "list", "--json"))["invitations"]
    shown = await town.command("invites", "list")

    await town.command("invites", "withdraw", listed[0]["id"])

    assert link == f"{town.url}/signin?code={code}"
    assert [(one["user"], one["role"]) for one in listed] == [("ann", "viewer")]
    assert ("web:ann" in shown, code in shown) == (True, False)
    async with town.http.post("/signin", data={"token": code}) as answer:
        assert answer.status == 401
    audit = json.loads(await town.command("audit", "--json"))
    rows = {one["action"]: one["targets"] for one in audit["orders"]}
    assert rows["access.invite"] == rows["access.withdraw"] == [listed[0]["id"]]
    assert code not in json.dumps(audit)
    for name in ("owner", "Ann Lee", "../x", "", "ann:1"):
        headers = {"authorization": f"Bearer {town.local}"}
        body = {"name": name}
        async with town.http.post("/control/invitations", json=body, headers=headers) as answer:
            assert answer.status == 400


async def test_a_viewer_who_is_invited_sees_the_state_and_chats_as_themselves(town: Town) -> None:
    vera = await town.person("vera", role="viewer")

    await vera.say("hello", name="1")

    assert await vera.titles() == [("c1", "hello")]
    statuses = [
        (await vera.ask(method, path, body))[0]
        for method, path, body in (
            ("GET", "/control/status", None),
            ("GET", "/control/tokens", None),
            ("POST", "/control/invitations", {"name": "eve"}),
            ("POST", "/api/messages", {"sender": "bob", "text": "hello"}),
        )
    ]
    assert statuses == [200, 403, 403, 403]
    assert (await vera.ask("GET", "/dashboard"))[0] == 200
