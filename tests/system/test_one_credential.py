"""Two gateways with one bot token: the second one's channel waits, says who has it, and takes over."""

import asyncio
import json
from pathlib import Path

import pytest

from hermes.ops.runtime import read_runtime
from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from tests.system.live import live_gateway, model_server, with_model

PLUGIN = '''
"""The stand-in platform, as one whose token only one process may use."""

import msgspec

from hermes.plugins.manifest import load_manifest
from hermes.plugins.registry import Platform
from hermes.testing.push.channel import SampleChannel
from hermes.testing.push.settings import read_settings


def register(registry):
    manifest = load_manifest("hermes.testing.push")
    auth = msgspec.structs.replace(manifest.auth, lock="token")
    manifest = msgspec.structs.replace(manifest, auth=auth)

    def make(setup):
        return SampleChannel(read_settings(setup), setup.client, clock=setup.clock)

    registry.platforms["pigeon"] = Platform(manifest, make)
'''


async def state_of(home: Path, wanted: str) -> str | None:
    """Wait for the channel to stand as wanted; returns what is said about it."""
    async with asyncio.timeout(90):
        while True:
            told = read_runtime(home)
            channels = () if told is None else told.channels
            if channels and channels[0].state == wanted:
                return channels[0].note
            await asyncio.sleep(0.02)


@pytest.mark.req("W33")
async def test_the_channel_of_the_second_gateway_connects_by_itself_once_the_first_is_gone(
    tmp_path: Path,
) -> None:
    plugin = tmp_path / "pigeon_once"
    plugin.mkdir()
    (plugin / "__init__.py").write_text(PLUGIN)
    pigeon = SamplePlatform(SampleSettings(token="t-secret", signing_secret="s", chats=("c1",)))
    await pigeon.start()
    extra = {"BASE_URL": pigeon.base_url, "TOKEN": "t-secret", "SIGNING_SECRET": "s"}
    more = {
        "HERMES_PLUGINS": json.dumps([str(plugin)]),
        "HERMES_PLATFORMS__PIGEON__ENABLED": "true",
        **{f"HERMES_PLATFORMS__PIGEON__EXTRA__{name}": value for name, value in extra.items()},
    }
    one, two = tmp_path / "one", tmp_path / "two"
    async with model_server() as url:
        more = {**with_model(url), **more}
        async with live_gateway(one, more) as first:
            await state_of(one, "connected")
            async with live_gateway(two, more) as second:
                note = await state_of(two, "disconnected")
                pid = first.process.pid
                # The first one dies without a word: its lock is free.
                first.process.kill()
                await first.process.wait()
                await state_of(two, "connected")
                logged = second.said()
    await pigeon.stop()

    assert note is not None
    assert f"in use by the process {pid} of the home {one}" in note
    assert "connects by itself" in note
    assert "t-secret" not in note + logged
