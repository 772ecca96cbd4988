"""Hooks as an operator meets them: folders in the home, the real gateway, the real commands."""

import json
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import live_gateway, model_server, with_model
from tests.system.test_operator_commands import hermes
from tests.unit.plugins.hook_folder import write_hook

EAR = """
    import json, pathlib

    async def handle(event_type, context):
        with pathlib.Path(__file__).with_name("heard").open("a") as file:
            print(event_type, *context, file=file)
"""
BAD = """
    async def handle(event_type, context):
        raise RuntimeError("no disk")
"""


@pytest.mark.req("W36")
async def test_hooks_hear_of_the_gateways_life_and_a_broken_one_is_told_of(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    said = "events: [gateway:startup, gateway:shutdown, agent:end]"
    ear = write_hook(home, "ear", said=said, code=EAR)
    write_hook(home, "bad", said="events: [gateway:startup]", code=BAD)
    before = json.loads(await hermes(home, "hooks", "list", "--json"))
    variables = {"HERMES_HOOKS__FAILURES": "1"}
    async with model_server() as url, live_gateway(home, with_model(url) | variables) as live:
        async with aiohttp.ClientSession() as session:
            message = {"sender": "ann", "conversation": "one", "text": "hello"}
            assert (await live.post(session, **message))["outcome"] == "answered"
            async with session.get(f"{live.url}/metrics", headers=live.bearer) as answer:
                metrics = await answer.text()
        listed = await hermes(home, "hooks", "list")
        report = json.loads(await hermes(home, "hooks", "list", "--json"))
        status = await hermes(home, "status")
        await hermes(home, "stop")

    heard = (ear / "heard").read_text().splitlines()
    assert heard[0] == "gateway:startup version address"
    assert heard[1].startswith("agent:end message_id session")
    assert heard[2:] == ["gateway:shutdown version reason"]
    assert (before["running"], [one["state"] for one in before["hooks"]]) == (
        False,
        ["not started"] * 2,
    )
    bad, good = report["hooks"]
    assert (bad["state"], bad["runs"], bad["failures"]) == ("off", 1, 1)
    assert bad["last_error"] == "RuntimeError: no disk"
    assert (good["state"], good["runs"], good["failures"]) == ("on", 2, 0)
    assert "bad: the last error was: RuntimeError: no disk" in listed
    assert "bad (RuntimeError: no disk); not called again until a restart" in " ".join(
        status.split()
    )
    assert 'hook_calls{hook="bad",result="failed"} 1' in metrics
    assert "hook_switched_off" in live.said()


@pytest.mark.req("W36")
async def test_a_wrong_hook_is_told_of_before_anything_starts(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    write_hook(home, "own", said="events: [agent:ends]", code=EAR)

    told = await hermes(home, "up", code=1)

    assert "hooks/own/HOOK.yaml: there is no event 'agent:ends'; did you mean agent:end?" in told
