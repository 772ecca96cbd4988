"""A14: a dream and an export as an operator orders them: the real gateway, a model, the commands."""

import json
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import (
    live_gateway,
    model_server,
    run_command,
    with_model,
)

DREAM = json.dumps({"insights": ["Runs at dawn."], "gaps": ["how far they run"]})


async def hermes(home: Path, *arguments: str) -> str:
    """Run a command and return what it printed."""
    done = await run_command(home, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.req("A14", "A10", "J20")
async def test_a_dream_that_was_ordered_is_shown_exported_and_paid_by_the_platform(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with (
        model_server("--text", DREAM) as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession(live.url, headers=live.bearer) as session,
    ):
        await live.post(session, sender="ann", text="I ran at five")
        dreamt = await hermes(home, "memory", "dream", "rest:ann")
        shown = json.loads(await hermes(home, "memory", "show", "rest:ann", "--json"))
        lines = (await hermes(home, "memory", "export", "rest:ann")).splitlines()
        costs = json.loads(await hermes(home, "costs", "--by", "channel", "--json"))["rows"]
        await hermes(home, "memory", "forget", "rest:ann", "--everything")
        after = json.loads(await hermes(home, "memory", "show", "rest:ann", "--json"))

    assert "- Runs at dawn." in dreamt
    assert "- unknown: how far they run" in dreamt
    assert shown["dream"]["insights"] == ["Runs at dawn."]
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds[:4] == ["person", "consent", "channel", "dream"]
    assert kinds[4] == "wallet"
    assert kinds.count("credit") >= 1
    assert kinds.count("message") == 2
    assert {row["name"] for row in costs} == {"rest", "dream"}
    assert after["dream"] is None
