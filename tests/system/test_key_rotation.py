"""`hermes keys rotate-store` as an operator meets it: beside a running gateway, and without one."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.system.live import (
    live_gateway,
    model_server,
    run_command,
    with_model,
)


async def hermes(home: Path, *arguments: str, **more: str) -> str:
    done = await run_command(home, *arguments, more=more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def say(text: str) -> tuple[str, ...]:
    return ("chat", "--message", text)


@pytest.mark.req("J24", "A15")
async def test_the_key_is_rotated_by_the_running_gateway_and_by_the_command_alone(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    keys = home / "keys" / "store.keys"
    rotate = ("keys", "rotate-store", "--yes", "--json")
    async with model_server() as url:
        model = with_model(url)
        async with live_gateway(home, model) as live:
            await hermes(home, *say("the word is xylophone"))
            first = keys.read_bytes()
            beside = json.loads(await hermes(home, *rotate))
            second = keys.read_bytes()
            await hermes(home, *say("the other word is marimba"))
            found = json.loads(await hermes(home, "search", "xylophone", "--json"))
            audit = await hermes(home, "audit", "--json")
            live.process.send_signal(signal.SIGINT)
            await asyncio.wait_for(live.process.wait(), 30)
        alone = json.loads(await hermes(home, *rotate))
        third = keys.read_bytes()
        async with live_gateway(home, model):
            again = json.loads(await hermes(home, "search", "word", "--json"))
            told = json.loads(await hermes(home, "doctor", "--json"))["checks"]

    assert (beside["data_keys"], beside["removed"], alone["removed"]) == (1, 1, 1)
    assert len({first, second, third}) == 3
    assert [len(one.split()) for one in (first, second, third)] == [1, 1, 1]
    assert found["found"]
    assert len(again["found"]) >= 2
    assert "gateway.rotate_keys" in audit
    assert [one["status"] for one in told if one["name"] == "key file"] == ["ok"]
