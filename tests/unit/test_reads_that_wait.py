"""A read of the store may wait; whatever was true before it may be over when it returns.

Each test holds up one read and lets the rest go on meanwhile.
"""

import asyncio
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from hermes.calls.counter import LedgerCounter
from hermes.config import InboxSettings
from hermes.control.channels import ChannelOperations, ChannelOrder
from hermes.control.runtime import RuntimeHandles
from hermes.errors import RateLimited
from hermes.inbox.space import InboxSpace
from hermes.memory.fact_vectors import FactPlacement
from hermes.message.event import MessageEvent
from hermes.message.outcome import MessageState, Outcome
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.outbox.sender import OutboxSender
from hermes.pipeline.watch import WatchHub
from hermes.ports.operations import PausedPlatform
from hermes.ports.outbox import DeliveryRecord
from hermes.ports.shares import ShareCounts
from hermes.ports.spend import Meter, MeterClaim
from hermes.ports.upward import Progress
from hermes.schedule.cron_worker import CronWorker
from hermes.server.gateway_api import GatewayApiServer
from hermes.testing.manual_time import ManualClock, settle
from hermes.testing.outbox_store import MemoryOutboxStore
from tests.unit.outbox.conftest import Bench

TODAY = Meter("platform", "", "usd", "2026-11-16")


class Gate:
    """Holds up whoever comes while it is shut."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    async def pass_through(self) -> None:
        await self._open.wait()


@pytest.mark.req("W19")
async def test_the_end_of_a_turn_is_heard_that_ends_while_its_state_is_read() -> None:
    gate, hub = Gate(), WatchHub()
    gate.shut()

    async def state(_message_id: str) -> MessageState:
        await gate.pass_through()
        return MessageState.RUNNING

    store: Any = SimpleNamespace(inbox=SimpleNamespace(state=state))
    nobody: Any = SimpleNamespace(taken=lambda _message_id: None)
    gateway_api = GatewayApiServer(
        store,
        inbox=nobody,
        watch=hub,
        access=nobody,
        roster=nobody,
        keys=nobody,
        traffic=nobody,
        zone=ZoneInfo("UTC"),
        signals=nobody,
    )
    waiting = asyncio.create_task(gateway_api.end("m_1"))
    await settle()
    hub.publish("m_1", Progress(kind="done", outcome=Outcome.ANSWERED))
    gate.open()

    async with asyncio.timeout(30):
        assert (await waiting).outcome is Outcome.ANSWERED


@pytest.mark.req("A22", "J21")
async def test_two_callers_cannot_both_take_the_last_of_a_budget() -> None:
    gate = Gate()
    gate.shut()

    async def total(_meter: Meter) -> float:
        await gate.pass_through()
        return 5.0

    counter = LedgerCounter(total)
    claim = MeterClaim(TODAY, 3.0, 10.0)
    takes = [asyncio.create_task(counter.take((claim,))) for _ in range(2)]
    await settle()
    gate.open()

    assert sorted([await one is None for one in takes]) == [False, True]
    assert await counter.read((TODAY,)) == (8.0,)


class Crowd:
    """The part of the store that the inbox asks for space: two messages wait."""

    def __init__(self, gate: Gate) -> None:
        self.inbox, self.users = self, self
        self._gate = gate
        self._counts = ShareCounts()

    def shares(self) -> ShareCounts:
        return self._counts

    def waiting(self) -> int:
        return 2

    async def channel_access(self, _platform: str, _user_id: str) -> Any:
        await self._gate.pass_through()
        return SimpleNamespace(person_id=None)


@pytest.mark.req("J2", "A28")
async def test_a_share_holds_though_many_senders_are_looked_up_at_once() -> None:
    gate = Gate()
    gate.shut()
    crowd: Any = Crowd(gate)
    space = InboxSpace(crowd, settings=InboxSettings(max_waiting_each=2))
    event = MessageEvent(
        account="a",
        route="r",
        external_id="x",
        source=Source(platform="telegram", chat_id="1", user_id="1"),
        parts=(TextPart("hello"),),
        at=0.0,
    )
    claims = [asyncio.create_task(space.claim(event, is_command=False)) for _ in range(5)]
    await settle()
    gate.open()
    ended = await asyncio.gather(*claims, return_exceptions=True)

    assert sum(isinstance(one, RateLimited) for one in ended) == 3


class SlowOutbox(MemoryOutboxStore):
    """Says what is due as it was when it was asked."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.time)
        self.gate = Gate()
        self.reads = 0

    async def due(self, *given: Any, **named: Any) -> tuple[DeliveryRecord, ...]:
        self.reads += 1
        found = await super().due(*given, **named)
        await self.gate.pass_through()
        return found


@pytest.mark.req("J18")
async def test_a_reply_is_not_taken_up_again_that_was_sent_while_the_due_ones_were_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    bench.store = store = SlowOutbox(bench)
    served: list[str] = []
    serve = OutboxSender._serve

    async def noting(sender: OutboxSender, record: DeliveryRecord) -> None:
        served.append(record.id)
        await serve(sender, record)

    monkeypatch.setattr(OutboxSender, "_serve", noting)
    bench.channel.hold("c1")
    bench.reply("one")
    sender = await bench.start()
    # The next pass reads `one` as it stands before the platform has answered.
    store._rows["one"] = msgspec.structs.replace(bench.row("one"), state="pending")
    store.gate.shut()
    sender.wake()
    await settle()
    store._rows["one"] = msgspec.structs.replace(bench.row("one"), state="sending")
    bench.channel.let_go("c1")
    await settle()
    store.gate.open()
    await settle()
    await bench.stop()

    assert store.reads > 1
    assert (served, bench.channel.texts("c1")) == (["one"], ["one"])


@pytest.mark.req("J18")
async def test_nothing_is_begun_by_a_pass_that_a_drain_finds_under_way() -> None:
    bench = Bench()
    bench.store = store = SlowOutbox(bench)
    sender = await bench.start()
    store.gate.shut()
    bench.reply("late")
    await settle()
    draining = asyncio.create_task(sender.drain())
    await settle()
    assert not draining.done()
    bench.channel.hold("c1")
    store.gate.open()
    await settle()
    # The pass had begun before the drain: what it starts is waited for.
    assert (draining.done(), sender.in_flight) == (False, 1)
    bench.channel.let_go("c1")
    await draining
    assert bench.states("late") == ["sent"]
    await bench.stop()


@pytest.mark.req("A12")
async def test_a_person_is_placed_once_though_two_turns_ask_at_once() -> None:
    gate, placed = Gate(), list[str]()
    gate.shut()

    async def is_foreign(_person_id: str, _model: str) -> bool:
        await gate.pass_through()
        return False

    async def waiting(_person_id: str, *, limit: int) -> tuple[str, ...]:
        return () if len(placed) > 1 else ("fact",)

    class Placement(FactPlacement):
        async def _place(self, person_id: str, model: str) -> None:
            placed.append(person_id)
            await asyncio.sleep(0)

    vectors: Any = SimpleNamespace(is_foreign=is_foreign, waiting=waiting)
    nobody: Any = None
    placement = Placement(vectors, nobody)
    both = [placement.catch_up("p_1", model="m", timeout_s=5.0) for _ in range(2)]
    asking = asyncio.gather(*both)
    await settle()
    gate.open()
    await asking

    assert placed == ["p_1"]


@pytest.mark.req("W23")
async def test_of_two_orders_about_platforms_the_later_one_holds() -> None:
    gate, stored, applied = Gate(), {"rest"}, list[frozenset[str]]()

    async def all_paused() -> tuple[PausedPlatform, ...]:
        found = tuple(PausedPlatform(platform=name, at=0.0) for name in sorted(stored))
        if asyncio.current_task() is first:
            await gate.pass_through()
        return found

    async def pause(platform: str, *, at: float) -> bool:
        stored.add(platform)
        gate.shut()
        return True

    async def resume(platform: str, *, at: float) -> bool:
        stored.discard(platform)
        return True

    async def no_replies(_platform: str) -> int:
        return 0

    async def no_traffic(_platform: str) -> Any:
        return SimpleNamespace(came=None, went=None)

    paused = SimpleNamespace(all=all_paused, pause=pause, resume=resume, last_traffic=no_traffic)
    store: Any = SimpleNamespace(paused=paused, outbox=SimpleNamespace(waiting=no_replies))
    handles = RuntimeHandles(platforms=("rest", "web"), pause=applied.append)
    operations = ChannelOperations(store, handles, clock=ManualClock())
    first = asyncio.create_task(operations.pause(ChannelOrder(platform="web", by="ann")))
    await settle()
    second = asyncio.create_task(operations.resume(ChannelOrder(platform="rest", by="ann")))
    await settle()
    gate.open()
    await asyncio.gather(first, second)

    assert applied[-1] == frozenset(stored)


@pytest.mark.req("W27")
async def test_schedules_go_on_after_a_store_that_could_not_say_when_the_next_is_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds = []

    class Worker(CronWorker):
        async def round(self) -> int:
            rounds.append(1)
            return 0

        async def pause(self) -> float:
            raise OSError("the store is gone")

    monkeypatch.setattr("hermes.schedule.cron_worker._LOOK_S", 0.0)
    nothing: Any = None
    worker = Worker(
        nothing,
        admits=nothing,
        has_room=lambda: True,
        wake=nothing,
        clock=ManualClock(),
        make_id=nothing,
    )
    worker.start()
    await settle()
    await worker.stop()

    assert len(rounds) > 1
