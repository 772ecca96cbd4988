"""Fair shares of the inbox: one sender, or one token with many, shuts nobody else out."""

import asyncio
from pathlib import Path

import pytest

from hermes.errors import Overloaded, RateLimited
from tests.contract.journal.rig import Rig, open_rig


async def fill(rig: Rig, count: int, **more: str) -> None:
    """Say `count` messages, each in a chat of its own."""
    for number in range(count):
        await rig.say("hello", chat=f"chat {number}", **more)  # type: ignore[arg-type]


@pytest.mark.req("J2", "A28")
async def test_one_sender_fills_their_share_and_nobody_elses(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        await fill(rig, 50, user="mallory")

        with pytest.raises(RateLimited, match="max_waiting_each") as refusal:
            await rig.say("one more", user="mallory", name="too many")

        assert refusal.value.retry_after == 30.0
        noted = (await rig.timeline("too many")).refusal
        assert noted is not None
        assert noted.id == refusal.value.refusal
        await rig.say("/stop", user="mallory")
        await rig.say("hello", user="ann")
        assert rig.store.inbox.waiting() == 52


@pytest.mark.req("J1", "J2")
async def test_j1_what_was_accepted_is_answered_again_however_full_it_is(tmp_path: Path) -> None:
    full = {"INBOX__MAX_WAITING": "4", "INBOX__MAX_WAITING_EACH": "3"}
    async with open_rig(tmp_path, start=False, settings=full) as rig:
        accepted = await rig.say("hello", user="mallory", chat="first", name="mine")
        await fill(rig, 2, user="mallory")
        over_share = await rig.say("hello", user="mallory", chat="first", name="mine")
        await rig.say("hello", user="ann")
        all_full = await rig.say("hello", user="mallory", chat="first", name="mine")

        assert {accepted} == {over_share, all_full}
        assert rig.store.inbox.waiting() == 4


@pytest.mark.req("J2")
async def test_a_share_outlives_a_restart_and_opens_as_messages_are_answered(
    tmp_path: Path,
) -> None:
    each = {"INBOX__MAX_WAITING_EACH": "3"}
    async with open_rig(tmp_path, start=False, settings=each) as rig:
        await fill(rig, 3, user="ann")

    async with open_rig(tmp_path, start=False, settings=each) as rig:
        with pytest.raises(RateLimited):
            await rig.say("hello", user="ann")
        await rig.start()
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        await rig.say("hello", user="ann")


@pytest.mark.req("J2", "A28")
async def test_a_token_that_makes_up_senders_leaves_room_for_others(tmp_path: Path) -> None:
    small = {"INBOX__MAX_WAITING": "100", "INBOX__MAX_WAITING_EACH": "5"}
    async with open_rig(tmp_path, start=False, settings=small) as rig:
        await fill(rig, 90, token="t_1")

        with pytest.raises(Overloaded, match="kept for others"):
            await rig.say("hello", chat="somebody new", token="t_1")

        await rig.say("hello", chat="ann", token="t_2")
        await rig.say("hello", chat="ann", platform="push")
        for number in range(5):
            await rig.say("/status", chat=f"chat {number}", token="t_1")


@pytest.mark.req("J2", "A28")
async def test_the_limits_hold_however_many_come_at_once(tmp_path: Path) -> None:
    small = {"INBOX__MAX_WAITING": "50", "INBOX__MAX_WAITING_EACH": "20"}
    async with open_rig(tmp_path, start=False, settings=small) as rig:
        of_one = [rig.say("hello", chat="ann") for _ in range(60)]
        told = await asyncio.gather(*of_one, return_exceptions=True)
        assert sum(isinstance(one, RateLimited) for one in told) == 40
        of_many = [rig.say("hello", chat=f"c {one}", token=f"t_{one}") for one in range(60)]
        told = await asyncio.gather(*of_many, return_exceptions=True)

        assert sum(isinstance(one, Overloaded) for one in told) == 30
        assert rig.store.inbox.waiting() == 50


@pytest.mark.req("J2", "A28")
async def test_after_a_restart_what_strangers_wrote_leaves_commands_their_room(
    tmp_path: Path,
) -> None:
    small = {"INBOX__MAX_WAITING": "5", "ACCESS__PLATFORMS__PUSH__UNKNOWN": "pair"}
    async with open_rig(tmp_path, start=False, settings=small) as rig:
        await fill(rig, 5, platform="push")

    async with open_rig(tmp_path, start=False, settings=small) as rig:
        with pytest.raises(Overloaded, match="max_waiting allows"):
            await rig.say("hello")
        await rig.say("/stop")
