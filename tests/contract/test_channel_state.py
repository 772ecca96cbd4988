"""One suite over the state of channels in the store and in memory: what a channel relies on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.channel_kit.known_ids import KnownIds
from hermes.channel_kit.reply_window import ReplyWindow
from hermes.errors import GuardFailed
from hermes.ports.channel_state import ChannelState, PlatformState
from hermes.testing.channel_state import MemoryChannelState
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import open_store, opened, raw_bytes, tables


class Rig:
    """A state, and the clock by which its writes are ordered."""

    def __init__(self, state: ChannelState, clock: ManualClock) -> None:
        self.state = state
        self.clock = clock

    async def put(self, *keys: str) -> None:
        """Write each key with itself as its value, one after the other."""
        for key in keys:
            await self.state.put("slack", key, value=key.encode())
            self.clock.advance(1.0)

    async def kept(self, *keys: str) -> list[str]:
        """Return which of the keys have a value."""
        return [key for key in keys if await self.state.get("slack", key) is not None]


@pytest.fixture(params=["memory", "store"])
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    clock = ManualClock()
    if request.param == "memory":
        yield Rig(MemoryChannelState(), clock)
        return
    store = await open_store(tmp_path, clock=clock)
    yield Rig(store.channel_state, clock)
    await store.close()


@pytest.mark.req("J17")
async def test_a_value_is_found_under_its_platform_and_key_only(rig: Rig) -> None:
    await rig.state.put("slack", "place", value=b"one")
    await rig.state.put("slack", "place", value=b"two \x00\xff")

    assert await rig.state.get("slack", "place") == b"two \x00\xff"
    assert await rig.state.get("matrix", "place") is None
    assert await rig.state.get("slack", "plac") is None


@pytest.mark.req("J17")
async def test_a_dropped_value_is_gone_and_can_be_dropped_again(rig: Rig) -> None:
    await rig.put("place")

    await rig.state.drop("slack", "place")
    await rig.state.drop("slack", "place")

    assert await rig.kept("place") == []


@pytest.mark.req("J17")
async def test_the_values_of_a_prefix_that_were_written_last_are_kept(rig: Rig) -> None:
    await rig.put("file/a", "file/b", "file/c", "fild/z", "file0", "file/a")
    await rig.state.put("matrix", "file/m", value=b"m")

    assert await rig.state.trim("slack", "file/", keep=2) == 1

    assert await rig.kept("file/a", "file/b", "file/c", "fild/z", "file0") == [
        "file/a",
        "file/c",
        "fild/z",
        "file0",
    ]
    assert await rig.state.get("matrix", "file/m") == b"m"
    assert await rig.state.trim("slack", "file/", keep=2) == 0


@pytest.mark.req("J17", "J19")
async def test_who_lost_the_claim_on_a_channel_changes_nothing_any_more(rig: Rig) -> None:
    state = rig.state
    await state.put("matrix", "stream", value=b"by the first", fence=3)
    await state.put("matrix", "stream", value=b"by the second", fence=4)
    await state.put("matrix", "stream", value=b"again by the second", fence=4)

    with pytest.raises(GuardFailed, match="later claim"):
        await state.put("matrix", "stream", value=b"too late", fence=3)
    with pytest.raises(GuardFailed, match="later claim"):
        await state.drop("matrix", "stream", fence=3)

    assert await state.get("matrix", "stream") == b"again by the second"
    await state.drop("matrix", "stream", fence=4)
    assert await state.get("matrix", "stream") is None


@pytest.mark.req("J19")
async def test_a_write_without_a_claim_is_taken_and_leaves_the_fence(rig: Rig) -> None:
    await rig.state.put("matrix", "stream", value=b"alone")
    await rig.state.put("matrix", "stream", value=b"claimed", fence=4)

    await rig.state.put("matrix", "stream", value=b"alone again")

    assert await rig.state.get("matrix", "stream") == b"alone again"
    with pytest.raises(GuardFailed):
        await rig.state.put("matrix", "stream", value=b"too late", fence=3)


@pytest.mark.req("J17")
async def test_a_channel_reaches_the_values_of_its_own_platform(rig: Rig) -> None:
    mine, other = PlatformState(rig.state, "slack"), PlatformState(rig.state, "matrix")

    await mine.put("place/1", b"mine")
    await other.put("place/1", b"other")
    await mine.put("place/2", b"gone")
    await mine.drop("place/2")

    assert [await mine.get("place/1"), await mine.get("place/2")] == [b"mine", None]
    assert await mine.trim("place/", keep=0) == 1
    assert await other.get("place/1") == b"other"


@pytest.mark.req("J17", "J24")
async def test_values_are_there_after_a_restart_and_unreadable_in_the_files(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.channel_state.put("email", "place", value=b"xylophone@example.org")

    assert b"xylophone" not in raw_bytes(tmp_path)
    async with opened(tmp_path) as again:
        assert await again.channel_state.get("email", "place") == b"xylophone@example.org"


@pytest.mark.req("J24", "W14")
async def test_what_is_known_of_people_is_found_by_their_ids_and_names_nobody(
    tmp_path: Path,
) -> None:
    number, clock = "4915550001", ManualClock()
    async with opened(tmp_path) as store:
        state = PlatformState(store.channel_state, "whatsapp")
        await KnownIds(state).of([number, "DE.1"])
        window = ReplyWindow(state, platform="whatsapp", lasts_s=60.0, clock=clock)
        await window.heard(number, at=clock.now())
        await state.put(f"stopped/{state.mark(number)}", b"1")
    with tables(tmp_path, read_only=True) as kept:
        keys = [key for (key,) in kept.rows("SELECT key FROM channel_state")]

    clock.advance(60.0)
    async with opened(tmp_path) as again:
        state = PlatformState(again.channel_state, "whatsapp")
        values = [await state.get(key) or b"" for key in keys]
        window = ReplyWindow(state, platform="whatsapp", lasts_s=60.0, clock=clock)
        assert await KnownIds(state).of(["DE.1"]) == number
        assert await window.is_closed(number)
        assert await state.get(f"stopped/{state.mark(number)}") == b"1"
        assert state.mark(number) != PlatformState(again.channel_state, "sms").mark(number)

    assert sorted(key.partition("/")[0] for key in keys) == ["heard", "id", "id", "stopped"]
    assert [one for one in (*keys, *map(repr, values)) if number in one or "DE.1" in one] == []
