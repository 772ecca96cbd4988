"""`hermes send` as an operator meets it: real processes, a real platform, with a gateway and without."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from tests.system.live import (
    live_gateway,
    model_server,
    run_command,
    with_model,
)

TOKEN, SECRET = "pigeon-token", "pigeon-signing-secret"


async def hermes(home: Path, *arguments: str, stdin: str | None = None, code: int = 0) -> str:
    """Run a command; returns what it printed, on standard error when it is to fail."""
    done = await run_command(home, *arguments, text=stdin or "")
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


@asynccontextmanager
async def platform(home: Path) -> AsyncIterator[SamplePlatform]:
    """Run the platform, and write the configuration of a home that is connected to it."""
    pigeon = SamplePlatform(SampleSettings(token=TOKEN, signing_secret=SECRET))
    await pigeon.start()
    _write_home(home, pigeon)
    try:
        yield pigeon
    finally:
        await pigeon.stop()


def _write_home(home: Path, pigeon: SamplePlatform) -> None:
    extra = {"base_url": pigeon.base_url, "token": TOKEN, "signing_secret": SECRET}
    config = {
        "plugins": ["hermes.testing.push.plugin"],
        "platforms": {"pigeon": {"enabled": True, "home_channel": "c3", "extra": extra}},
    }
    home.mkdir()
    path = home / "config.yaml"
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))


def posts(pigeon: SamplePlatform) -> set[tuple[str, str]]:
    return {(post.chat, post.text) for post in pigeon.state.posted}


async def until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not claim():  # noqa: ASYNC110  another process makes it true
            await asyncio.sleep(0.02)


@pytest.mark.req("W27")
async def test_w27_it_is_sent_through_the_gateway_or_by_the_next_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with platform(home) as pigeon, model_server() as url:
        waiting = await hermes(home, "send", "pigeon:c1", "before the start")
        piped = await hermes(home, "send", "pigeon", "-", "--json", stdin="from a pipe\n")

        assert "the next one sends it" in waiting
        assert json.loads(piped)["state"] == "waiting"
        assert posts(pigeon) == set()
        async with live_gateway(home, with_model(url)):
            await until(lambda: len(pigeon.state.posted) == 2)
            now = await hermes(home, "send", "pigeon:c2", "while it runs")
            await until(lambda: len(pigeon.state.posted) == 3)
            refused = await hermes(home, "send", "sms:1", "x", code=1)

        assert "Queued for pigeon:c2" in now
        assert "no platform 'sms'" in refused
        assert posts(pigeon) == {
            ("c1", "before the start"),
            ("c3", "from a pipe"),
            ("c2", "while it runs"),
        }


@pytest.mark.req("W28")
async def test_w28_the_directory_is_listed_with_a_gateway_and_without(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with platform(home), model_server() as url:
        assert "No chat names are known yet" in await hermes(home, "channels", "directory")
        async with live_gateway(home, with_model(url)):
            told = await hermes(home, "channels", "directory", "--platform", "pigeon", "--json")
            platforms = json.loads(await hermes(home, "channels", "--json"))["channels"]
        assert json.loads(told) == {"chats": []}
        assert {"pigeon", "rest", "web"} <= {one["platform"] for one in platforms}
        assert "channels add" in await hermes(tmp_path / "other", "channels")
