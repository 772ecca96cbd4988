"""`hermes send` as an operator meets it: real processes, a real platform, with a gateway and without."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from hermes.testing.stand_in import Fault
from tests.system.live import (
    environment,
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
async def platform(home: Path, *, keys: bool = False) -> AsyncIterator[SamplePlatform]:
    """Run the platform, and write the configuration of a home that is connected to it."""
    pigeon = SamplePlatform(SampleSettings(token=TOKEN, signing_secret=SECRET, keys=keys))
    await pigeon.start()
    _write_home(home, pigeon, keys=keys)
    try:
        yield pigeon
    finally:
        await pigeon.stop()


def _write_home(home: Path, pigeon: SamplePlatform, *, keys: bool) -> None:
    extra = {
        "base_url": pigeon.base_url,
        "token": TOKEN,
        "signing_secret": SECRET,
        "keys": keys,
    }
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
        waiting = await hermes(home, "send", "pigeon:c1", "before the start", "--later")
        piped = await hermes(
            home, "send", "pigeon", "-", "--json", "--later", stdin="from a pipe\n"
        )

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


@pytest.mark.req("W27")
async def test_w27_without_a_gateway_the_command_sends_it_itself(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with platform(home) as pigeon:
        await hermes(home, "send", "pigeon:c1", "first", "--later")
        await hermes(home, "send", "pigeon:c3", "of another chat", "--later")
        told = await hermes(home, "send", "pigeon:c1", "second")
        other = json.loads(await hermes(home, "send", "pigeon:c2", "elsewhere", "--json"))

        assert told.startswith("Sent to pigeon:c1 (o_")
        story = await hermes(home, "why", told.partition("(")[2].partition(")")[0])
        assert "Sent in answer to no message" in story
        assert "delivered to pigeon" in story
        assert (other["state"], other["to"]) == ("sent", "pigeon:c2")
        assert [(one.chat, one.text) for one in pigeon.state.posted] == [
            ("c1", "first"),
            ("c1", "second"),
            ("c2", "elsewhere"),
        ]


@pytest.mark.req("W27")
async def test_w27_what_cannot_be_sent_now_is_kept_for_the_gateway(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with platform(home) as pigeon, model_server() as url:
        pigeon.plan(Fault(op="send", kind="server_error"))
        told = await hermes(home, "send", "pigeon:c1", "later then", code=75)
        assert told.startswith("Not sent to pigeon:c1 yet (o_")
        assert "Do not send it again: it is kept, and the next gateway sends it." in told

        async with live_gateway(home, with_model(url)):
            await until(lambda: len(pigeon.state.posted) == 1)
    assert posts(pigeon) == {("c1", "later then")}


@pytest.mark.req("W27")
async def test_w27_what_is_refused_for_good_says_why(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with platform(home):
        told = await hermes(home, "send", "pigeon:c9", "never", code=1)
        dead = json.loads(await hermes(home, "deadletters", "list", "--json"))
    assert "Not sent to pigeon:c9 (o_" in told
    assert "It is a dead letter: correct the cause" in told
    assert len(dead["letters"]) == 1


@pytest.mark.req("W27")
async def test_w27_a_lost_answer_is_unknown_and_never_sent_twice(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with platform(home, keys=True) as pigeon, model_server() as url:
        pigeon.plan(Fault(op="send", kind="reset_after"))
        told = await hermes(home, "send", "pigeon:c1", "once", code=75)
        assert told.startswith("It is not known whether it arrived at pigeon:c1 (o_")

        async with live_gateway(home, with_model(url)):
            await until(lambda: len(pigeon.log) >= 2)
            await hermes(home, "send", "pigeon:c1", "barrier")
            await until(lambda: ("c1", "barrier") in posts(pigeon))
    assert [one.text for one in pigeon.state.posted] == ["once", "barrier"]


@pytest.mark.req("W27")
async def test_w27_a_platform_that_is_away_keeps_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with platform(home) as pigeon:
        await pigeon.stop()
        told = await hermes(home, "send", "pigeon:c1", "nobody there", code=75)
    assert told.startswith("Not sent to pigeon:c1 yet (o_")


@pytest.mark.req("W27")
async def test_w27_a_command_that_dies_while_it_sends_has_sent_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with platform(home, keys=True) as pigeon, model_server() as url:
        pigeon.plan(Fault(op="send", kind="hang"))
        command = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "hermes", "send", "pigeon:c1", "once", env=environment(home, None)
        )
        await until(lambda: len(pigeon.state.posted) == 1)
        command.kill()
        await command.wait()
        pigeon.release()

        async with live_gateway(home, with_model(url)):
            await until(lambda: pigeon.log.count(("send", "deduplicated")) == 1)
            await hermes(home, "send", "pigeon:c1", "barrier")
            await until(lambda: ("c1", "barrier") in posts(pigeon))
    assert [one.text for one in pigeon.state.posted] == ["once", "barrier"]


@pytest.mark.req("W27")
async def test_w27_two_commands_at_once_both_send(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with platform(home) as pigeon:
        await asyncio.gather(
            *(hermes(home, "send", "pigeon:c1", text) for text in ("one", "two", "three"))
        )
    assert posts(pigeon) == {("c1", "one"), ("c1", "two"), ("c1", "three")}
