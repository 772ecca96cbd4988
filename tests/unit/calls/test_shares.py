"""Who gets the next place: in turn, and never all of them for one."""

import asyncio

import pytest

from hermes.calls.capacity import CallLimit
from hermes.calls.shares import ShareHolder, Shares

ANN, BOB, CID = (ShareHolder("rest", name) for name in ("ann", "bob", "cid"))
WEB = ShareHolder("web", "owner")


def take_all(shares: Shares[str], asker: ShareHolder) -> int:
    """Take as many places as the asker gets; returns how many."""
    count = 0
    while shares.can_take(asker):
        shares.take(asker)
        count += 1
    return count


@pytest.mark.req("A21")
def test_one_asker_gets_a_third_and_the_last_places_are_for_others() -> None:
    shares: Shares[str] = Shares(30, each=10)

    assert take_all(shares, ANN) == 10
    assert take_all(shares, BOB) == 10
    # The last six are for askers that have none, the last three of them for groups that have none.
    assert take_all(shares, CID) == 4
    assert [take_all(shares, ShareHolder("rest", str(number))) for number in range(4)] == [
        1,
        1,
        1,
        0,
    ]
    assert take_all(shares, WEB) == 1


@pytest.mark.req("A21")
@pytest.mark.parametrize(
    ("places", "most", "groups"), [(1, 1, 0), (4, 4, 0), (10, 8, 2), (30, 27, 3), (1000, 900, 100)]
)
def test_a_group_that_keeps_all_it_has_leaves_places_for_several_others(
    places: int, most: int, groups: int
) -> None:
    shares: Shares[str] = Shares(places, each=1)
    crowd = [take_all(shares, ShareHolder("rest", str(number))) for number in range(places)]
    others = [take_all(shares, ShareHolder(f"key {one}", f"key {one}")) for one in range(places)]

    assert sum(crowd) == most
    assert sum(others) == groups
    shares.wait(WEB, "web")
    shares.wait(ShareHolder("rest", "one more"), "rest")
    assert shares.deal() is None
    shares.release(ShareHolder("rest", "0"))
    assert shares.deal() == (WEB, "web")


@pytest.mark.req("A21")
def test_who_comes_by_several_ways_has_one_share() -> None:
    shares: Shares[str] = Shares(30, each=10)

    assert take_all(shares, ANN) == 10
    assert take_all(shares, ShareHolder("web", ANN.one)) == 0
    shares.release(ANN)
    assert take_all(shares, ShareHolder("web", ANN.one)) == 1


@pytest.mark.req("A21")
def test_places_are_dealt_over_groups_and_then_over_askers() -> None:
    shares: Shares[str] = Shares(1, each=1)
    shares.take(ANN)
    for asker, ticket in (
        (ANN, "ann 1"),
        (ANN, "ann 2"),
        (BOB, "bob 1"),
        (CID, "cid 1"),
        (CID, "gone"),
        (WEB, "web 1"),
        (WEB, "web 2"),
    ):
        shares.wait(asker, ticket)
    shares.leave(CID, "gone")
    shares.leave(CID, "was never there")

    assert shares.deal() is None
    dealt, holder = [], ANN
    for _ in range(6):
        shares.release(holder)
        found = shares.deal()
        assert found is not None
        holder = found[0]
        dealt.append(found[1])
    shares.release(holder)

    assert dealt == ["ann 1", "web 1", "bob 1", "web 2", "cid 1", "ann 2"]
    assert shares.deal() is None


@pytest.mark.req("A21")
async def test_a_place_that_is_dealt_to_someone_who_leaves_goes_on_to_the_next() -> None:
    limit = CallLimit(1, wait_s=60)
    order: list[str] = []

    async def call(asker: ShareHolder) -> None:
        async with limit.place(asker):
            order.append(asker.one)

    async with limit.place(ANN):
        leaving, staying = asyncio.create_task(call(BOB)), asyncio.create_task(call(CID))
        await asyncio.sleep(0)
    # Bob's place is dealt to him here, and he leaves before he has noticed.
    leaving.cancel()
    await asyncio.gather(leaving, staying, return_exceptions=True)

    assert order == ["cid"]
    assert limit.is_free_for(ANN)
