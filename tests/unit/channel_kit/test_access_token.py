"""A token with an end: fetched once for everybody, early enough, and once more after a refusal."""

import asyncio

import pytest

from hermes.channel_kit.access_token import AccessToken, IssuedToken
from hermes.errors import ConnectFailed
from hermes.testing.manual_time import ManualClock


class Issuer:
    """Issues numbered tokens, when it is let."""

    def __init__(self, lasts_s: float = 7200.0) -> None:
        self.calls = 0
        self.fails = False
        self.open = asyncio.Event()
        self.open.set()
        self.lasts_s = lasts_s

    async def issue(self) -> IssuedToken:
        self.calls += 1
        call = self.calls
        await self.open.wait()
        if self.fails:
            raise ConnectFailed("the platform cannot be reached")
        return IssuedToken(f"t{call}", self.lasts_s)


async def test_a_token_is_fetched_once_and_renewed_before_its_end() -> None:
    clock, issuer = ManualClock(), Issuer()
    token = AccessToken(issuer.issue, clock=clock)

    first = [await token.get(), await token.get()]
    clock.advance(7200 - 121)
    early = await token.get()
    clock.advance(2)

    assert (first, early, await token.get()) == (["t1", "t1"], "t1", "t2")


async def test_a_short_token_is_used_for_half_of_its_life() -> None:
    clock, issuer = ManualClock(), Issuer(lasts_s=60)
    token = AccessToken(issuer.issue, clock=clock)
    await token.get()
    clock.advance(29)
    assert await token.get() == "t1"
    clock.advance(2)
    assert await token.get() == "t2"


async def test_everybody_waits_for_the_same_token() -> None:
    issuer = Issuer()
    token = AccessToken(issuer.issue, clock=ManualClock())
    issuer.open.clear()
    waiting = [asyncio.create_task(token.get()) for _ in range(5)]
    await asyncio.sleep(0)
    issuer.open.set()

    assert await asyncio.gather(*waiting) == ["t1"] * 5
    assert issuer.calls == 1


async def test_a_failure_is_told_to_all_who_waited_and_tried_again_by_the_next() -> None:
    issuer = Issuer()
    token = AccessToken(issuer.issue, clock=ManualClock())
    issuer.open.clear()
    issuer.fails = True
    waiting = [asyncio.create_task(token.get()) for _ in range(3)]
    await asyncio.sleep(0)
    issuer.open.set()

    found = await asyncio.gather(*waiting, return_exceptions=True)
    issuer.fails = False

    assert [type(one) for one in found] == [ConnectFailed] * 3
    assert await token.get() == "t2"


async def test_one_who_stops_waiting_does_not_stop_the_others() -> None:
    issuer = Issuer()
    token = AccessToken(issuer.issue, clock=ManualClock())
    issuer.open.clear()
    first = asyncio.create_task(token.get())
    second = asyncio.create_task(token.get())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    issuer.open.set()

    assert await second == "t2"


async def test_only_the_token_that_was_refused_is_forgotten() -> None:
    issuer = Issuer()
    token = AccessToken(issuer.issue, clock=ManualClock(), header="X-Token", prefix="QQBot ")
    old = await token.headers()
    token.forget(old)
    new = await token.headers()
    token.forget(old)

    assert (old, new, await token.headers()) == (
        {"X-Token": "QQBot t1"},
        {"X-Token": "QQBot t2"},
        {"X-Token": "QQBot t2"},
    )


def test_a_token_does_not_show_itself() -> None:
    with pytest.raises(AssertionError):
        assert "secret" in repr(IssuedToken("secret", 1.0))
