"""A person with several ids has one, over restarts, whichever of them a message shows."""

import pytest

from hermes.channel_kit.known_ids import KnownIds
from hermes.testing.channel_state import memory_state

pytestmark = pytest.mark.req("W14")


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
