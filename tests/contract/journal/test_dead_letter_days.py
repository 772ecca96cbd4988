"""A28: a dead letter is kept whole for `outbox.dead_letter_days` from its death, and then dropped."""

from pathlib import Path

import pytest

from hermes.control.deadletters import DeadLetterOperations, LettersAsk
from hermes.control.why_delivery import tries_of
from hermes.message.outcome import DeliveryState
from hermes.message.parts import text_of
from hermes.schedule.pruning import SessionPruner
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, open_rig

DAY = 86_400.0
NEVER = {"SESSIONS__RESET__MODE": "none"}
SHORT = {**NEVER, "STORE__RETENTION_DAYS": "1"}
LONG = {**NEVER, "STORE__RETENTION_DAYS": "30"}


async def letter(rig: Rig, text: str, *, chat: str = "ann") -> str:
    """Let a reply die, an hour after its message was answered; returns the message's id."""
    message_id = await rig.say(text, platform="push", chat=chat)
    await rig.outcome(message_id)
    rig.clock.advance(3_600)
    (row,) = await rig.deliveries(message_id)
    await rig.store.outbox.dead(row.id, failure="rejected", at=rig.clock.now())
    return message_id


async def held(rig: Rig, text: str, *, chat: str) -> str:
    """Let a reply be left to the operator, because it may have arrived."""
    message_id = await rig.say(text, platform="push", chat=chat)
    await rig.outcome(message_id)
    (row,) = await rig.deliveries(message_id)
    await rig.store.outbox.sending(row.id, chunk=0, at=rig.clock.now())
    await rig.store.outbox.unknown(row.id, at=rig.clock.now())
    await rig.store.outbox.hold(row.id, at=rig.clock.now())
    return message_id


async def listed(rig: Rig) -> set[str]:
    desk = DeadLetterOperations(rig.store, clock=rig.clock)
    return {one.message_id for one in (await desk.list(LettersAsk())).letters}


@pytest.mark.req("A28")
async def test_a28_a_dead_letter_outlives_a_short_retention_and_goes_after_its_days(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, sending=False, settings=SHORT) as rig:
        dead = await letter(rig, "one")
        doubtful = await held(rig, "two", chat="bob")
        plain = await rig.say("three")
        await rig.outcome(plain)

        clock.advance(7 * DAY - 60)
        await rig.core.maintenance.upkeep.round()

        assert await listed(rig) == {dead, doubtful}
        assert await rig.store.timeline(plain) is None
        for message_id in (dead, doubtful):
            (row,) = (await rig.timeline(message_id)).deliveries
            assert text_of(row.parts or ())

        clock.advance(120)
        await rig.core.maintenance.upkeep.round()

        assert await listed(rig) == set()
        assert await rig.store.timeline(dead) is None
        assert await rig.store.timeline(doubtful) is None


@pytest.mark.req("A28")
async def test_a28_a_letter_that_nobody_dealt_with_is_dropped_and_its_message_says_so(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, sending=False, settings=LONG) as rig:
        both = [await letter(rig, "one"), await held(rig, "two", chat="bob")]
        clock.advance(7 * DAY + 60)

        await rig.core.maintenance.upkeep.round()

        assert await listed(rig) == set()
        for message_id in both:
            (row,) = (await rig.timeline(message_id)).deliveries
            assert (row.state, row.failure) == (DeliveryState.DEAD, "dropped")
            assert "outbox.dead_letter_days" in tries_of(row)[-1].then
        await rig.core.maintenance.upkeep.round()
        assert [len(tries_of((await rig.deliveries(one))[0])) for one in both] == [1, 1]


@pytest.mark.req("A28")
async def test_a28_the_days_are_the_operators_and_count_from_the_last_death(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    settings = {**SHORT, "OUTBOX__DEAD_LETTER_DAYS": "3"}
    async with open_rig(tmp_path, clock=clock, sending=False, settings=settings) as rig:
        message_id = await letter(rig, "one")
        (row,) = await rig.deliveries(message_id)
        clock.advance(2 * DAY)
        await rig.store.dead_letters.replay(row.id, at=clock.now())
        await rig.store.outbox.dead(row.id, failure="rejected", at=clock.now())

        clock.advance(2 * DAY)
        await rig.core.maintenance.upkeep.round()
        kept = await listed(rig)
        clock.advance(1 * DAY + 60)
        await rig.core.maintenance.upkeep.round()

        assert kept == {message_id}
        assert await listed(rig) == set()


@pytest.mark.req("A28", "W24")
async def test_a28_a_conversation_with_a_dead_letter_is_not_pruned(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, sending=False, settings=SHORT) as rig:
        dead = await letter(rig, "one")
        for number in range(2):
            await rig.outcome(await rig.say("/new" if number == 0 else "on", platform="push"))
        pruning = SessionPruner(rig.store.pruning, days=1, forget=None, clock=clock)
        clock.advance(3 * DAY)
        kept = await pruning.round()
        still = await listed(rig)

        clock.advance(5 * DAY)
        await rig.core.maintenance.upkeep.round()
        gone = await pruning.round()

        assert (kept, still, gone) == (0, {dead}, 1)
