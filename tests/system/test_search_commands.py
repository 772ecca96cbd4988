"""`hermes search` as an operator meets it: the real gateway, the real command, with and without it."""

import json
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import live_gateway, model_server, with_model
from tests.system.test_operator_commands import hermes


@pytest.mark.req("W25", "J25")
async def test_what_was_said_is_found_with_a_gateway_and_without(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession() as session,
    ):
        await live.post(session, sender="ann", text="a blue umbrella")
        await live.post(session, sender="bob", text="東京タワーの傘 umbrella")
        await live.post(session, sender="bob", text="something else")

        plain = await hermes(home, "search", "brell")
        found = json.loads(await hermes(home, "search", "umbrella", "--json"))
        signs = json.loads(await hermes(home, "search", "東", "--json"))
        ann = await hermes(home, "search", "umbrella", "--user", "rest:ann", "--limit", "1")
        elsewhere = await hermes(home, "search", "umbrella", "--platform", "telegram")
        words = await hermes(home, "search", "umbrell", "--words", "--agent", "main")
        recent = json.loads(await hermes(home, "search", "umbrella", "--since", "1h", "--json"))
        odd = await hermes(home, "search", '")(')
        wrong = await hermes(home, "search", "x", "--since", "soon", code=2)
        both = await hermes(home, "search", "x", "--rebuild", code=2)
        nobody = await hermes(home, "search", "x", "--user", "rest:zoe", code=1)
        made = await hermes(home, "search", "--rebuild")
        again = json.loads(await hermes(home, "search", "umbrella", "--json"))
        async with session.get(
            f"{live.url}/control/search?text=umbrella",
            headers={"authorization": "Bearer wrong"},
        ) as answer:
            refused = answer.status
        await hermes(home, "users", "erase", "rest:bob", "--yes")
        left = json.loads(await hermes(home, "search", "umbrella", "--json"))
        assert await live.stop() == 75

    here = json.loads(await hermes(home, "search", "umbrella", "--json"))
    await hermes(home, "users", "erase", "rest:ann", "--yes")
    nothing = await hermes(home, "search", "umbrella")
    (home / "search.db").unlink()
    made_here = await hermes(home, "search", "--rebuild")

    assert plain.count("umbrella") == 4
    assert "agent:main:rest:dm:ann" in plain
    times = [one["at"] for one in found["found"]]
    assert times == sorted(times, reverse=True)
    assert len(found["found"]) == 4
    assert [one["snippet"] for one in signs["found"] if one["role"] == "user"] == [
        "東京タワーの傘 umbrella"
    ]
    assert ann.count("umbrella") == 1
    assert elsewhere == words == "Nothing was found.\n"
    assert recent == found == again
    assert odd == 'Nothing was found.\nIgnored: ")(. These terms match no message.\n'
    assert "'soon' is not a time" in wrong
    assert "not both" in both
    assert "Nobody is known as 'rest:zoe'" in nobody
    assert made.startswith("The index is built: 6 messages, ")
    assert refused == 401
    assert len(left["found"]) == len(here["found"]) == 2
    assert nothing == "Nothing was found.\n"
    assert made_here.startswith("The index is built: 0 messages, ")


@pytest.mark.req("W25")
async def test_a_home_without_conversations_and_one_without_search(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    assert await hermes(home, "search", "x") == "Nothing was found.\n"
    (home / "config.yaml").write_text("search:\n  enabled: false\n")
    async with model_server() as url, live_gateway(home, with_model(url)) as live:
        off = await hermes(home, "search", "x", code=1)
        assert await live.stop() == 75
    assert "set search.enabled to true" in off
    assert not (home / "search.db").exists()
