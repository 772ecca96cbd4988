"""The state files of an earlier version go into the store once, whatever cuts that off."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes import failpoints
from hermes.app.channel_files import open_state
from hermes.durable_file import write_durably
from hermes.errors import ConfigurationError
from hermes.testing.channel_state import MemoryChannelState
from hermes.testing.power_cut import PowerCutFolder
from tests.stores.opening import opened

pytestmark = pytest.mark.req("J17", "J21")


def old_home(folder: Path) -> Path:
    """Make a home as an earlier version left it."""
    channels = folder / "channels"
    write_durably(channels / "matrix" / "stream.json", b'{"since": "s1"}')
    write_durably(channels / "slack" / "uploads.json", b"{}")
    return folder


async def test_each_file_becomes_a_value_under_its_name_and_is_gone(tmp_path: Path) -> None:
    home, states = old_home(tmp_path), MemoryChannelState()
    (home / "channels" / "matrix" / ".stream.json.77").write_bytes(b'{"si')

    state = await open_state("matrix", states, home=home)
    other = await open_state("email", states, home=home)

    assert await state.get("stream.json") == b'{"since": "s1"}'
    assert await state.get(".stream.json.77") is None
    assert await other.get("stream.json") is None
    assert [path.name for path in home.rglob("*")] == ["channels", "slack", "uploads.json"]
    await open_state("slack", states, home=home)
    assert list(home.iterdir()) == []


async def test_what_the_store_has_is_newer_than_a_file_that_came_back(tmp_path: Path) -> None:
    home, states = old_home(tmp_path), MemoryChannelState()
    await states.put("matrix", "stream.json", value=b'{"since": "s2"}')

    state = await open_state("matrix", states, home=home)

    assert await state.get("stream.json") == b'{"since": "s2"}'
    assert not (home / "channels" / "matrix").exists()


async def test_a_file_that_was_taken_over_does_not_come_back_after_a_power_cut(
    tmp_path: Path,
) -> None:
    home = old_home(tmp_path)
    with PowerCutFolder(home) as disk:
        await open_state("matrix", MemoryChannelState(), home=home)

        disk.cut()

    assert not (home / "channels" / "matrix" / "stream.json").exists()


async def test_a_file_that_cannot_be_moved_stops_its_channel_and_says_so(tmp_path: Path) -> None:
    home = old_home(tmp_path)
    (home / "channels" / "matrix" / "stream.json").unlink()
    (home / "channels" / "matrix" / "stream.json").symlink_to("/proc/self/mem")

    with pytest.raises(ConfigurationError, match=r"platforms\.matrix: cannot move .*delete it"):
        await open_state("matrix", MemoryChannelState(), home=home)


@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_kill_on_either_side_of_the_commit_changes_nothing(
    tmp_path: Path, side: str
) -> None:
    home = old_home(tmp_path)
    status = await asyncio.to_thread(in_fork, lambda: take_over(home, side=side))
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert (home / "channels" / "matrix" / "stream.json").exists()

    async with opened(home) as store:
        state = await open_state("matrix", store.channel_state, home=home)
        assert json.loads(await state.get("stream.json") or b"") == {"since": "s1"}
        await state.put("stream.json", b'{"since": "s2"}')

    async with opened(home) as store:
        state = await open_state("matrix", store.channel_state, home=home)
        assert await state.get("stream.json") == b'{"since": "s2"}'
    assert not (home / "channels" / "matrix").exists()


def take_over(home: Path, *, side: str) -> None:
    """Take the files over, and die beside the commit."""

    async def act() -> None:
        async with opened(home) as store:
            failpoints.arm_from(f"store.put_channel_state.{side}:1")
            await open_state("matrix", store.channel_state, home=home)

    asyncio.run(act())


def in_fork(work: Callable[[], None]) -> int:
    """Do the work in a process of its own; return its wait status."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    try:
        work()
    finally:
        os._exit(0)
