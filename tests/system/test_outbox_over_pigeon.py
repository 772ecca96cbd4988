"""The sender on the real store, over HTTP, against the stand-in platform with its faults."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from hermes.message.event import MessageEvent
from hermes.message.ids import make_id
from hermes.message.outcome import DeliveryState, Outcome
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.net.client import HttpClient, HttpSettings
from hermes.outbox.intervals import OutboxTiming
from hermes.outbox.sender import OutboxSender
from hermes.ports.channel import Acceptance, Target
from hermes.ports.clock import SystemClock
from hermes.ports.inbox import NewMessage
from hermes.ports.outbox import DeliveryRecord, NewDelivery
from hermes.ports.store import Store
from hermes.ports.turns import Begin, Commit, TurnResult
from hermes.testing.push.channel import SampleChannel
from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.settings import ChannelSettings
from hermes.testing.push.state import SampleSettings
from hermes.testing.push.tally import read_tally
from hermes.testing.stand_in import Fault, FaultKind
from tests.stores.opening import open_store

TIMING = OutboxTiming(
    quick_delays_s=(0.0, 0.01, 0.01, 0.01),
    later_delays_s=(0.02, 0.02, 0.02),
    settle_after_s=0.01,
    look_after_s=0.05,
    look_again_s=0.05,
    idle_poll_s=0.05,
    breaker_failures=1000,
)


async def accept(event: MessageEvent) -> Acceptance:
    return Acceptance(message_id=event.external_id)


class Gateway:
    """A store, a platform, and one process after the other that sends."""

    def __init__(self, folder: Path, store: Store, *, keys: bool, history: bool = False) -> None:
        self.clock = SystemClock()
        self.count_file = folder / "count.jsonl"
        self.pigeon = SamplePlatform(
            SampleSettings(token="t", signing_secret="s", keys=keys), count_file=self.count_file
        )
        self.store = store
        self.client = HttpClient(HttpSettings(timeout_s=0.5))
        self.keys = keys
        self.history = history
        self.sender: OutboxSender | None = None

    async def start(self) -> None:
        if not self.store.fleet.node:
            await self.store.fleet.join(make_id("n"))
        settings = ChannelSettings(
            base_url=self.pigeon.base_url,
            token="t",
            signing_secret="s",
            keys=self.keys,
            history=self.history,
        )
        channel = SampleChannel(settings, self.client, clock=self.clock)
        await channel.connect(accept)
        self.sender = OutboxSender(
            channel, self.store.outbox, timing=TIMING, clock=self.clock, chance=lambda: 0.5
        )
        self.sender.start()

    async def crash(self) -> None:
        assert self.sender is not None
        await self.sender.stop()
        await self.store.fleet.join(make_id("n"))

    async def reply(self, name: str, *, chat: str = "c1") -> None:
        now = self.clock.now()
        event = MessageEvent(
            account="a",
            route="r",
            external_id=name,
            source=Source(platform="pigeon", chat_id=name, user_id="u1"),
            parts=(TextPart("hi"),),
            at=now,
        )
        await self.store.inbox.accept(
            NewMessage(id=f"m_{name}", lane=name, event=event, identity=b"i", received_at=now),
            kept=lambda _: None,
        )
        view = await self.store.turns.view(name)
        assert view.message is not None
        person_id = view.message.person_id
        lease = await self.store.turns.begin(
            Begin(
                lane=name,
                owner="w",
                fence=view.fence,
                head=view.head,
                message_id=f"m_{name}",
                person_id=person_id,
                at=now,
            )
        )
        delivery = NewDelivery(
            id=name,
            target=Target(platform="pigeon", account="a", chat_id=chat),
            parts=(TextPart(name),),
            state=DeliveryState.PENDING,
        )
        await self.store.turns.commit(
            lease,
            Commit(
                message_id=f"m_{name}",
                person_id=person_id,
                outcome=Outcome.ANSWERED,
                result=TurnResult(text=""),
                at=now,
                epoch=view.epoch,
                deliveries=(delivery,),
            ),
        )
        if self.sender is not None:
            self.sender.wake()

    def fault(self, *kinds: FaultKind) -> None:
        for kind in kinds:
            self.pigeon.plan(Fault(op="send", kind=kind, retry_after=0))

    async def row(self, name: str) -> DeliveryRecord:
        timeline = await self.store.timeline(f"m_{name}")
        assert timeline is not None
        return timeline.deliveries[0]

    async def state(self, name: str) -> str:
        return (await self.row(name)).state.value

    async def until_sent(self, *names: str) -> None:
        """Wait until replies are sent; the time limit is only for a broken test."""
        async with asyncio.timeout(20):
            for name in names:
                while await self.state(name) != "sent":  # noqa: ASYNC110  the store tells nobody
                    await asyncio.sleep(0)

    def texts(self) -> list[str]:
        return [post.text for post in self.pigeon.state.posted]

    async def close(self) -> None:
        if self.sender is not None:
            await self.sender.stop()
        await self.client.close()
        await self.pigeon.stop()
        await self.store.close()


async def until(claim: Callable[[], bool]) -> None:
    """Wait for a claim to become true; the time limit is only for a broken test."""
    async with asyncio.timeout(20):
        while not claim():  # noqa: ASYNC110 - the store tells nobody of its writes
            await asyncio.sleep(0)


async def until_sent(gateway: Gateway, *names: str) -> None:
    """Wait until deliveries are sent."""
    async with asyncio.timeout(20):
        while {await gateway.state(name) for name in names} != {"sent"}:  # noqa: ASYNC110  as above
            await asyncio.sleep(0)


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Gateway]]]:
    made: list[Gateway] = []

    async def build(**options: bool) -> Gateway:
        store = await open_store(tmp_path, clock=SystemClock())
        gateway = Gateway(tmp_path, store, **options)
        made.append(gateway)
        await gateway.pigeon.start()
        return gateway

    yield build
    for gateway in made:
        await gateway.close()


@pytest.mark.req("A26", "J17", "J18")
async def test_with_keys_every_reply_stands_exactly_once_in_spite_of_faults(make) -> None:
    gateway = await make(keys=True)
    gateway.fault(
        "rate_limited",
        "reset_after",
        "server_error",
        "reset_before",
        "garbage",
        "hang",
        "reset_after",
    )
    names = [f"r{number:02}" for number in range(12)]
    for number, name in enumerate(names):
        await gateway.reply(name, chat=f"c{number % 3 + 1}")

    await gateway.start()
    await gateway.until_sent(*names)

    assert sorted(gateway.texts()) == names
    lines = read_tally(gateway.count_file)
    sends = [line for line in lines if (line["op"], line["outcome"]) == ("send", "applied")]
    assert sorted(str(line["text"]) for line in sends) == names


@pytest.mark.req("J17", "J18")
async def test_with_keys_a_crash_on_the_wire_repeats_nothing(make) -> None:
    gateway = await make(keys=True)
    gateway.fault("hang")
    await gateway.reply("once")
    await gateway.start()
    await until(lambda: gateway.texts() == ["once"])

    await gateway.crash()
    assert await gateway.state("once") == "unknown"
    await gateway.start()
    await gateway.until_sent("once")

    assert gateway.texts() == ["once"]


@pytest.mark.req("J17")
async def test_without_keys_a_lost_answer_is_repeated_once_and_says_so(make) -> None:
    gateway = await make(keys=False)
    gateway.fault("reset_after")
    await gateway.reply("hello")

    await gateway.start()
    await gateway.until_sent("hello")

    assert gateway.texts() == ["hello", "(possibly a repeat) hello"]


@pytest.mark.req("J17")
async def test_with_history_a_lost_answer_is_looked_up(make) -> None:
    gateway = await make(keys=False, history=True)
    gateway.fault("reset_after")
    await gateway.reply("hello")

    await gateway.start()
    await gateway.until_sent("hello")

    assert gateway.texts() == ["hello"]


@pytest.mark.req("A28", "J18")
async def test_a_platform_that_stays_down_ends_in_the_dead_letters(make) -> None:
    gateway = await make(keys=True)
    gateway.pigeon.plan(Fault(op="send", kind="server_error", times=16))
    await gateway.reply("doomed")
    await gateway.reply("next")

    await gateway.start()
    await gateway.until_sent("next")

    row = await gateway.row("doomed")
    assert (row.state, row.failure, gateway.texts()) == ("dead", "service_unavailable", ["next"])
