"""A person with several ids has one, over restarts, whichever of them a message shows."""

import contextlib

import pytest

from hermes.channel_kit.known_ids import KnownIds
from hermes.errors import StoreError
from hermes.ports.channel_state import PlatformState
from hermes.testing.channel_state import MemoryChannelState, memory_state

pytestmark = pytest.mark.req("W14")


class DyingStore(MemoryChannelState):
    """A store whose process dies after so many more writes."""

    writes = 1_000

    async def put(self, platform: str, key: str, *, value: bytes, fence: int | None = None) -> None:
        """Store a value, unless the process has died."""
        if self.writes == 0:
            raise StoreError("the process is gone")
        self.writes -= 1
        await super().put(platform, key, value=value, fence=fence)


async def test_the_id_that_came_first_stays_that_of_the_person() -> None:
    state = memory_state()
    first = [await KnownIds(state).of(ids) for ids in (["491"], ["491", "DE.1"], ["DE.1"])]
    later = [await KnownIds(state).of(ids) for ids in (["DE.2"], ["492", "DE.2"], ["492"])]

    assert (first, later) == (["491"] * 3, ["DE.2"] * 3)


async def test_a_new_number_is_the_person_with_the_old_one() -> None:
    known = KnownIds(memory_state())
    await known.of(["491", "DE.1"])

    assert [await known.of(["493", "DE.1"]), await known.of(["493"])] == ["491", "491"]
    assert await known.of(["499"]) == "499"


async def test_a_number_with_another_id_of_its_own_is_another_person_over_restarts() -> None:
    state = memory_state()
    await KnownIds(state).of(["491", "DE.1"], own="DE.1", at=1.0)

    # when the number passes to somebody else, and a message of the first is told late
    taken = await KnownIds(state).of(["491", "DE.2"], own="DE.2", at=2.0)
    late = await KnownIds(state).of(["491", "DE.1"], own="DE.1", at=1.5)

    known = KnownIds(state)
    assert (taken, late) == ("DE.2", "491")
    assert [await known.of([one]) for one in ("DE.1", "DE.2", "491")] == ["491", "DE.2", "DE.2"]
    assert [await known.own_of(one) for one in ("491", "DE.2")] == ["DE.1", "DE.2"]


async def test_an_id_of_its_own_is_learnt_with_a_number_that_has_none_yet() -> None:
    known = KnownIds(memory_state())
    await known.of(["491"])

    assert await known.of(["491", "DE.1"], own="DE.1", at=1.0) == "491"
    assert await known.of(["492", "DE.1"], own="DE.1", at=2.0) == "491"
    assert await known.of(["493", "DE.3"], own="DE.3", at=2.0) == "493"
    assert await known.of(["DE.4"], own="DE.4", at=2.0) == "DE.4"


@pytest.mark.parametrize("writes", range(5))
async def test_killed_between_two_writes_the_same_message_finds_the_same_person(
    writes: int,
) -> None:
    # given a number that passes to somebody else, and a process that dies while that is stored
    store = DyingStore()
    state = PlatformState(store, "test")
    await KnownIds(state).of(["491", "DE.1"], own="DE.1", at=1.0)
    store.writes = writes
    with contextlib.suppress(StoreError):
        await KnownIds(state).of(["491", "DE.2"], own="DE.2", at=2.0)

    # when the platform tells it again
    store.writes = 1_000
    again = await KnownIds(state).of(["491", "DE.2"], own="DE.2", at=2.0)

    known = KnownIds(state)
    assert (again, await known.of(["491"]), await known.of(["DE.1"])) == ("DE.2", "DE.2", "491")
