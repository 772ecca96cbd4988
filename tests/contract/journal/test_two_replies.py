"""Two replies to one chat, the first stuck in retry: when the second leaves, and in which order."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes.errors import FailureClass, NotDelivered
from hermes.outbox.intervals import OutboxTiming
from hermes.outbox.sender import OutboxSender
from hermes.ports.channel import Capabilities, Delivery, Receipt
from hermes.testing.manual_time import ManualClock, ManualTime
from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import Rig, open_rig

DOWN = NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)
SERIES = (0.0, 1.0, 4.0, 13.0)


class Timed(MemoryChannel):
    """A platform that notes when each message came, and to which chat."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(Capabilities(delivery="push", unknown="allow"), name="push")
        self._clock = clock
        self._began = clock.now()
        self.came: list[tuple[float, str]] = []

    async def send(self, delivery: Delivery) -> Receipt:
        if delivery.target.chat_id == "ann":
            self.came.append((round(self._clock.now() - self._began, 3), delivery.id))
        return await super().send(delivery)


class Story:
    """A core on the real store whose sender runs by hand-moved time."""

    def __init__(self, rig: Rig, time: ManualTime, channel: Timed) -> None:
        self.rig = rig
        self.time = time
        self.channel = channel
        self.began = time.now()
        self.sender = OutboxSender(
            channel,
            rig.store.outbox,
            timing=OutboxTiming(),
            clock=time,
            sleep=time.sleep,
            chance=lambda: 0.5,
        )
        self.barriers = 0

    async def reply(self, text: str, chat: str = "ann") -> str:
        """Have a message answered; returns the id of its delivery."""
        message_id = await self.rig.say(text, platform="push", chat=chat)
        await self.rig.outcome(message_id)
        return (await self.rig.deliveries(message_id))[0].id

    async def until(self, claim: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not claim() or self.sender.in_flight:  # noqa: ASYNC110  the store tells nobody
                await asyncio.sleep(0)

    async def quiet_until(self, offset: float) -> None:
        """Let time pass up to just before a moment; nothing may come of it.

        That is proven by a message to another chat, which goes out at that very moment.
        """
        self.time.advance(self.began + offset - 0.01 - self.time.now())
        before = list(self.channel.came)
        self.barriers += 1
        chat = f"barrier-{self.barriers}"
        await self.reply("now", chat)
        self.sender.wake()
        await self.until(lambda: len(self.channel.texts(chat)) == 1)
        assert self.channel.came == before

    async def tries_at(self, offset: float, *, calls: int) -> None:
        """Let a moment come at which there are this many calls in all."""
        self.time.advance(self.began + offset - self.time.now())
        self.sender.wake()
        await self.until(lambda: len(self.channel.came) == calls)


@pytest.mark.req("A26", "A28", "J18")
async def test_the_second_leaves_right_after_the_first_and_not_before(tmp_path: Path) -> None:
    time = ManualTime()
    channel = Timed(time)
    async with open_rig(tmp_path, clock=time, push=channel, sending=False) as rig:
        story = Story(rig, time, channel)
        first, second = await story.reply("one"), await story.reply("two")
        channel.fail("send", *[DOWN] * 4)

        story.sender.start()
        try:
            await story.until(lambda: len(channel.came) == 1)
            for number, offset in enumerate(SERIES[1:], start=2):
                await story.tries_at(offset, calls=number)
            await story.quiet_until(73.0)
            await story.tries_at(73.0, calls=6)
        finally:
            await story.sender.stop()

        assert channel.came == [
            *((offset, first) for offset in SERIES),
            (73.0, first),
            (73.0, second),
        ]
        assert [row.attempts for row in await rig.deliveries(_message(rig, first))] == [1]


@pytest.mark.req("A28", "J18")
async def test_the_second_leaves_when_the_first_is_given_up(tmp_path: Path) -> None:
    time = ManualTime()
    channel = Timed(time)
    async with open_rig(tmp_path, clock=time, push=channel, sending=False) as rig:
        story = Story(rig, time, channel)
        first, second = await story.reply("one"), await story.reply("two")
        channel.fail("send", *[DOWN] * 16)
        # The breaker opens after ten failures; of it there are tests of its own.
        story.sender = OutboxSender(
            channel,
            rig.store.outbox,
            timing=OutboxTiming(breaker_failures=1000),
            clock=time,
            sleep=time.sleep,
            chance=lambda: 0.5,
        )
        starts = (0.0, 73.0, 73.0 + 313.0, 73.0 + 313.0 + 1513.0)
        moments = [start + offset for start in starts for offset in SERIES]

        story.sender.start()
        try:
            await story.until(lambda: len(channel.came) == 1)
            for number, moment in enumerate(moments[1:-1], start=2):
                await story.tries_at(moment, calls=number)
            await story.tries_at(moments[-1], calls=17)
        finally:
            await story.sender.stop()

        expected = [*((moment, first) for moment in moments), (moments[-1], second)]
        assert channel.came == expected
        row = (await rig.deliveries(_message(rig, first)))[0]
        assert (row.state, row.failure, row.parts is not None) == (
            "dead",
            "service_unavailable",
            True,
        )


def _message(rig: Rig, delivery: str) -> str:
    return "m_" + delivery.partition("_")[2]
