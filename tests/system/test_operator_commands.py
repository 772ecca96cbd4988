"""Keys, the kill switch and costs as an operator meets them: the real gateway, the real commands."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import (
    Live,
    live_gateway,
    model_server,
    run_command,
    with_model,
)

HELLO = {"model": "auto", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    async with model_server() as url, live_gateway(tmp_path / "home", with_model(url)) as running:
        yield running


async def hermes(home: Path, *arguments: str, code: int = 0) -> str:
    """Run a command; returns what it printed, on standard error when it is to fail."""
    done = await run_command(home, *arguments)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


async def call(live: Live, key: str) -> aiohttp.ClientResponse:
    """Call /v1 with a key; returns the answer, read."""
    headers = {"authorization": f"Bearer {key}"}
    async with (
        aiohttp.ClientSession(live.url) as session,
        session.post("/v1/chat/completions", json=HELLO, headers=headers) as answer,
    ):
        await answer.read()
        return answer


async def used_key(home: Path) -> dict[str, object]:
    """Return the one key of the list once the ledger, which may lag, tells what it used."""
    async with asyncio.timeout(30):
        while True:
            (key,) = json.loads(await hermes(home, "keys", "list", "--json"))["keys"]
            if key["used_tokens"]:
                return dict(key)


@pytest.mark.req("A20", "A22", "J20", "J21")
async def test_a_key_works_from_its_making_to_its_end_and_what_it_took_is_told(live: Live) -> None:
    key = (await hermes(live.home, "keys", "create", "--user", "ann", "--budget", "5/day")).strip()

    good = await call(live, key)
    used = await used_key(live.home)
    told = await hermes(live.home, "why", good.headers["x-request-id"])
    costs = json.loads(await hermes(live.home, "costs", "--by", "key", "--json"))["rows"]
    await hermes(live.home, "keys", "revoke", str(used["id"]))
    ended = await call(live, key)

    assert (good.status, ended.status) == (200, 401)
    assert [(row["name"], row["label"], row["calls"]) for row in costs] == [(used["id"], "ann", 1)]
    assert told.startswith("Answered after ")
    assert f"key {used['id']} (user ann, ends in {key[-4:]})" in told
    assert "asked for  auto" in told


@pytest.mark.req("A22")
async def test_a_budget_of_nothing_refuses_whatever_costs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with model_server() as url:
        variables = with_model(url) | {
            "HERMES_PROVIDERS__OPENAI__PRICE_IN_PER_MILLION": "1",
            "HERMES_PROVIDERS__OPENAI__PRICE_OUT_PER_MILLION": "1",
        }
        async with live_gateway(home, variables) as live:
            key = (await hermes(home, "keys", "create", "--user", "ann", "--budget", "0")).strip()

            refused = await call(live, key)

    assert refused.status == 429


@pytest.mark.req("A22", "J20", "J21", "W7")
async def test_the_kill_switch_stops_every_call_over_a_restart_until_it_is_released(
    live: Live,
) -> None:
    home = live.home
    key = (await hermes(home, "keys", "create", "--user", "ann")).strip()
    await hermes(home, "kill-switch", "on", "--reason", "the bill")
    by_key = await call(live, key)
    async with aiohttp.ClientSession(headers=live.bearer) as http:
        by_chat = await live.post(http, sender="ann", text="hello")
    assert await live.stop(signal.SIGINT) == 0
    async with model_server() as url, live_gateway(home, with_model(url)) as again:
        after_restart = await call(again, key)
        await hermes(home, "kill-switch", "off")
        released = await call(again, key)

    assert [by_key.status, after_restart.status, released.status] == [503, 503, 200]
    assert by_chat["outcome"] == "failed"
    assert "again" in str(by_chat)
    assert '"kill_switch"' in live.said()


async def read_graphs(home: Path) -> list[tuple[str, ...]]:
    """Return what is on record of conversations that were read, the oldest first."""
    orders = json.loads(await hermes(home, "audit", "--json"))["orders"]
    read = [row for row in orders if row["action"].startswith("graphs.")]
    return [(row["action"], row["state"], *row["targets"]) for row in reversed(read)]


@pytest.mark.req("W7", "W34", "J20")
async def test_whoever_reads_a_conversation_is_on_record_with_a_gateway_and_without(
    live: Live, tmp_path: Path
) -> None:
    home, data = live.home, str(tmp_path / "data")
    async with aiohttp.ClientSession(headers=live.bearer) as http:
        await live.post(http, sender="ann", text="hello")
    users = json.loads(await hermes(home, "users", "list", "--json"))["users"]
    ann = users[0]["id"]

    # when a gateway runs
    shown = await hermes(home, "graph", "show", "ann")
    call_id = shown.partition("[")[2].partition(" ")[0]
    await hermes(home, "graph", "diff", call_id, call_id)
    await hermes(home, "graph", "list")
    await hermes(home, "graph", "show", "nobody", code=1)
    running = await read_graphs(home)
    # and when none does
    assert await live.stop(signal.SIGINT) == 0
    await hermes(home, "graph", "export", "ann", "--format", "openai", "--out", data, code=1)
    await hermes(home, "graph", "export", "--all", "--format", "openai", "--out", data, code=1)
    await hermes(home, "graph", "show", "ann", "--json")

    assert running == [("graphs.show", "ok", ann), ("graphs.show", "ok", ann)]
    assert (await read_graphs(home))[2:] == [
        ("graphs.export", "ok", ann),
        ("graphs.export", "ok", "all"),
        ("graphs.show", "ok", ann),
    ]


@pytest.mark.req("W7", "W35")
async def test_browsers_are_listed_and_signed_out_by_the_command_line(live: Live) -> None:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:

        async def sign_in(*arguments: str) -> dict[str, str]:
            link = (await hermes(live.home, "link", *arguments)).strip()
            async with http.get(link, allow_redirects=False) as answer:
                return {"cookie": answer.headers["set-cookie"].partition(";")[0]}

        async def status(cookie: dict[str, str]) -> int:
            async with http.get(f"{live.url}/web/conversations", headers=cookie) as answer:
                return answer.status

        first = await sign_in()
        listed = json.loads(await hermes(live.home, "token", "list", "--json"))
        (session,) = listed["sessions"]
        table = await hermes(live.home, "token", "list")
        ended = await hermes(live.home, "token", "revoke", session["id"])
        second, third = await sign_in(), await sign_in("--revoke-others")
        after = [await status(one) for one in (first, second, third)]
        all_ended = await hermes(live.home, "token", "revoke", "--sessions")
        last = await status(third)

    assert session["id"] in table
    assert "browser" in table
    assert "is signed out" in ended
    assert after == [401, 401, 200]
    assert (all_ended.strip(), last) == ("Tokens revoked: 0. Browsers signed out: 1.", 401)
    assert "--sessions or --all" in await hermes(live.home, "token", "revoke", code=1)


@pytest.mark.req("W7", "W35")
async def test_the_command_line_names_the_tokens_that_an_ended_browser_made(live: Live) -> None:
    link = (await hermes(live.home, "link")).strip()
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        async with http.get(link, allow_redirects=False) as answer:
            cookie = answer.headers["set-cookie"].partition(";")[0]
        headers = {"cookie": cookie, "origin": live.url}
        order = {"role": "viewer", "name": "ci"}
        async with http.post(f"{live.url}/control/tokens", json=order, headers=headers) as answer:
            token = (await answer.json())["token"]["id"]

    listed = json.loads(await hermes(live.home, "token", "list", "--json"))
    table = await hermes(live.home, "token", "list")
    ended = await hermes(live.home, "token", "revoke", "--sessions")

    (session,) = listed["sessions"]
    made_by = {one["id"]: one["made_by"] for one in listed["tokens"]}
    (line,) = (line for line in table.splitlines() if line.startswith(token))
    assert made_by[token] == session["id"]
    assert line.endswith(session["id"])
    assert "These tokens stay valid" in ended
    assert f"has ended: {token} (ci)." in ended
    assert "stay valid" not in await hermes(live.home, "token", "revoke", "--all")


async def test_status_does_not_say_that_no_message_is_stored_when_all_are_answered(
    live: Live,
) -> None:
    async with aiohttp.ClientSession() as http:
        assert (await live.post(http, sender="ann", text="hello"))["outcome"] == "answered"

    lines = (await hermes(live.home, "status")).splitlines()

    (messages,) = [line.split(maxsplit=1)[1] for line in lines if line.startswith("  messages")]
    assert messages.strip() == "none unfinished"
