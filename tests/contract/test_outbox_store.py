"""One suite over the outbox store and its in-memory twin: what the sender relies on."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from hermes.errors import GuardFailed, LeaseLost, SendingBegan
from hermes.message.event import MessageEvent, ReplyHandle
from hermes.message.outcome import DeliveryState, Outcome
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ports.channel import Target
from hermes.ports.inbox import NewMessage
from hermes.ports.outbox import DeliveryNote, DeliveryRecord, NewDelivery, OutboxStore
from hermes.ports.steps import Lease
from hermes.ports.store import Store
from hermes.ports.turns import Begin, Commit, DeliveryStop, TurnResult
from hermes.testing.manual_time import ManualClock
from hermes.testing.outbox_store import MemoryOutboxStore
from tests.stores.opening import open_store, raw_bytes

Purpose = Literal["reply", "tool", "notice"]


def new_delivery(name: str, *, chat: str, purpose: Purpose, preview: bool = False) -> NewDelivery:
    return NewDelivery(
        id=name,
        target=Target(platform="memory", account="a", chat_id=chat),
        parts=None if preview else (TextPart(name),),
        state=DeliveryState.PREVIEW if preview else DeliveryState.PENDING,
        purpose=purpose,
    )


class MemoryRig:
    """The twin."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryOutboxStore(self.clock)
        self.outbox: OutboxStore = self.store
        self.leases: dict[str, Lease] = {}
        self.people: dict[str, str] = {}

    async def begin(self, name: str) -> Lease:
        self.leases[name], self.people[name] = self.store.lease(name), "p"
        return self.leases[name]

    async def answer(self, name: str, handle: ReplyHandle) -> None:
        """Commit a reply to a message that came with a handle, in the chat of its name."""
        self.store.give_handle(name, handle)
        await self.commit(name, chat=name)

    async def commit(self, name: str, *, chat: str = "c1", purpose: Purpose = "reply") -> None:
        self.store.commit(new_delivery(name, chat=chat, purpose=purpose), message_id=name)

    async def stop(self, name: str, *, chat: str = "c1") -> None:
        self.store.stop(name, by="m_stop")

    async def recover(self) -> None:
        self.store.recover()

    async def lose(self, name: str) -> None:
        self.store.lease(name)

    async def row(self, name: str) -> DeliveryRecord:
        return self.store.get(name)

    async def close(self) -> None:
        """Nothing to close."""


class StoreRig:
    """The real one; each delivery has a message and a turn of its own."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.clock = clock
        self.store = store
        self.outbox: OutboxStore = self.store.outbox
        self.leases: dict[str, Lease] = {}
        self.people: dict[str, str] = {}
        self.nodes = 0

    @classmethod
    async def open(cls, folder: Path) -> "StoreRig":
        clock = ManualClock()
        return cls(await open_store(folder, clock=clock), clock)

    async def answer(self, name: str, handle: ReplyHandle) -> None:
        """Commit a reply to a message that came with a handle, in the chat of its name."""
        await self.begin(name, handle=handle)
        await self.commit(name, chat=name)

    async def begin(self, name: str, *, handle: ReplyHandle | None = None) -> Lease:
        if not self.nodes:
            await self._restart()
        source = Source(platform="memory", chat_id=name, user_id="u1")
        event = MessageEvent(
            account="a",
            route="r",
            external_id=name,
            source=source,
            parts=(TextPart("hi"),),
            at=self.clock.now(),
            handle=handle,
        )
        await self.store.inbox.accept(
            NewMessage(
                id=f"m_{name}",
                lane=name,
                event=event,
                identity=b"i",
                received_at=self.clock.now(),
            ),
            kept=lambda _: None,
        )
        return await self._take(name)

    async def _take(self, name: str) -> Lease:
        view = await self.store.turns.view(name)
        assert view.message is not None
        self.people[name] = view.message.person_id
        self.leases[name] = await self.store.turns.begin(
            Begin(
                lane=name,
                owner=self.store.fleet.node,
                fence=view.fence,
                head=view.head,
                message_id=view.message.id,
                person_id=view.message.person_id,
                at=self.clock.now(),
            )
        )
        return self.leases[name]

    async def commit(
        self,
        name: str,
        *,
        chat: str = "c1",
        purpose: Purpose = "reply",
        stops: DeliveryStop | None = None,
    ) -> None:
        lease = self.leases.get(name) or await self.begin(name)
        view = await self.store.turns.view(name)
        await self.store.turns.commit(
            lease,
            Commit(
                message_id=f"m_{name}",
                person_id=self.people[name],
                outcome=Outcome.ANSWERED,
                result=TurnResult(text=""),
                at=self.clock.now(),
                epoch=view.epoch,
                deliveries=(new_delivery(name, chat=chat, purpose=purpose),),
                stops_sending=stops,
            ),
        )

    async def stop(self, name: str, *, chat: str = "c1", is_expected: bool = True) -> None:
        """Commit what `/stop` commits in the session of a delivery."""
        await self.begin(f"stop_{name}")
        target = Target(platform="memory", account="a", chat_id=chat)
        stops = DeliveryStop(name, target, is_expected)
        await self.commit(f"stop_{name}", chat="elsewhere", stops=stops)

    async def recover(self) -> None:
        await self._restart()
        for name in self.leases:
            if (await self.store.turns.view(name)).message is not None:
                await self._take(name)

    async def _restart(self) -> None:
        """Join as the next process does: the one before is buried."""
        self.nodes += 1
        await self.store.fleet.join(f"n_{self.nodes}")

    async def lose(self, name: str) -> None:
        await self._restart()
        await self._take(name)

    async def row(self, name: str) -> DeliveryRecord:
        timeline = await self.store.timeline(f"m_{name}")
        assert timeline is not None
        return timeline.deliveries[0]

    async def close(self) -> None:
        await self.store.close()


Rig = MemoryRig | StoreRig


@pytest.fixture(params=["memory", "store"])
async def rig(request, tmp_path: Path) -> AsyncIterator[Rig]:
    made: Rig = MemoryRig() if request.param == "memory" else await StoreRig.open(tmp_path)
    yield made
    await made.close()


async def due(rig: Rig) -> list[str]:
    return [row.id for row in await rig.outbox.due("memory", rig.clock.now(), limit=99)]


async def preview(rig: Rig, name: str) -> Lease:
    lease = await rig.begin(name)
    await rig.outbox.open_preview(
        lease,
        new_delivery(name, chat="c1", purpose="reply", preview=True),
        message_id=f"m_{name}",
        person_id=rig.people[name],
    )
    return lease


@pytest.mark.req("J18")
async def test_each_chat_offers_its_oldest_open_reply(rig) -> None:
    await rig.commit("a1")
    await rig.commit("a2")
    await rig.commit("b1", chat="c2")

    assert await due(rig) == ["a1", "b1"]


@pytest.mark.req("J18")
async def test_a_retrying_reply_holds_back_its_chat_and_unknown_and_dead_do_not(rig) -> None:
    now = rig.clock.now()
    for chat in ("retry", "unknown", "dead"):
        await rig.commit(f"{chat}1", chat=chat)
        await rig.commit(f"{chat}2", chat=chat)
        await rig.outbox.sending(f"{chat}1", chunk=0, at=now)
    await rig.outbox.retry("retry1", at=now + 60.0, failure="rate_limited", counts=True)
    await rig.outbox.unknown("unknown1", at=now)
    await rig.outbox.dead("dead1", failure="rejected", at=now)

    assert await due(rig) == ["unknown2", "dead2"]


@pytest.mark.req("J18")
async def test_after_the_clock_was_set_back_nothing_waits_for_the_old_time(rig) -> None:
    now = rig.clock.now()
    for name, wait_s in (("soon", 60.0), ("stuck", 86_400.0)):
        await rig.commit(name, chat=name)
        await rig.outbox.sending(name, chunk=0, at=now)
        await rig.outbox.retry(name, at=now + wait_s, failure="rate_limited", counts=True)

    rows = await rig.outbox.due("memory", now, limit=99, at_most_s=3_600.0)

    assert [row.id for row in rows] == ["stuck"]
    assert await due(rig) == []


@pytest.mark.req("J18")
async def test_a_reply_on_the_wire_holds_back_its_chat(rig) -> None:
    await rig.commit("a1")
    await rig.commit("a2")

    await rig.outbox.sending("a1", chunk=0, at=rig.clock.now())

    assert await due(rig) == []


@pytest.mark.req("A28")
async def test_only_a_retry_that_counts_uses_up_an_attempt(rig) -> None:
    await rig.commit("a1")
    now = rig.clock.now()

    await rig.outbox.retry("a1", at=now, failure="rate_limited", counts=False)
    await rig.outbox.retry("a1", at=now, failure="rate_limited", counts=True)

    assert ((await rig.row("a1")).attempts, (await rig.row("a1")).failure) == (1, "rate_limited")


@pytest.mark.req("J18")
async def test_after_a_chunk_the_row_waits_with_the_next_and_is_not_on_the_wire(rig) -> None:
    await rig.commit("a1")
    now = rig.clock.now()
    await rig.outbox.sending("a1", chunk=0, at=now)

    await rig.outbox.chunk_sent("a1", chunk=0, platform_message_id="x1", last=False, at=now)
    await rig.recover()

    row = await rig.row("a1")
    assert (row.state, row.chunk, row.platform_message_id) == ("pending", 1, "x1")


@pytest.mark.req("J18")
async def test_the_next_reply_of_a_platform_is_due_when_it_says(rig) -> None:
    nothing = await rig.outbox.next_due_at("push")
    for name in ("a1", "a2"):
        await rig.commit(name, chat=name)
    now = rig.clock.now()
    await rig.outbox.retry("a1", at=now + 9, failure="rate_limited", counts=False)
    await rig.outbox.retry("a2", at=now + 5, failure="rate_limited", counts=False)
    platform = (await rig.row("a1")).target.platform

    due = await rig.outbox.next_due_at(platform)
    await rig.outbox.dead("a2", failure="rejected", at=now)
    later = await rig.outbox.next_due_at(platform)

    assert (nothing, due, later) == (None, now + 5, now + 9)
    assert await rig.outbox.next_due_at("another") is None


@pytest.mark.req("J18")
async def test_a_reply_keeps_the_message_id_of_its_first_chunk(rig) -> None:
    await rig.commit("a1")
    now = rig.clock.now()
    for chunk, is_last in enumerate([False, False, True]):
        await rig.outbox.sending("a1", chunk=chunk, at=now)
        await rig.outbox.chunk_sent(
            "a1", chunk=chunk, platform_message_id=f"x{chunk}", last=is_last, at=now
        )

    row = await rig.row("a1")
    assert (row.state, row.chunk, row.platform_message_id) == ("sent", 3, "x0")


@pytest.mark.req("J16", "J17")
async def test_what_was_on_the_wire_is_unknown_after_a_crash(rig) -> None:
    await rig.commit("a1")
    await rig.outbox.sending("a1", chunk=0, at=rig.clock.now())

    await rig.recover()

    assert [row.id for row in await rig.outbox.unsettled("memory")] == ["a1"]
    assert (await rig.row("a1")).failure == "network_timeout"


@pytest.mark.req("J17")
@pytest.mark.parametrize("mark", ["possible_repeat", "edit_rejected"])
async def test_a_mark_survives_a_crash_and_a_lost_answer(rig, mark) -> None:
    now = rig.clock.now()
    await rig.commit("crashed")
    await rig.commit("lost", chat="c2")
    for name in ("crashed", "lost"):
        await rig.outbox.retry(name, at=now, failure=mark, counts=False)
        await rig.outbox.sending(name, chunk=0, at=now)

    await rig.outbox.unknown("lost", at=now)
    await rig.recover()

    assert [(await rig.row(name)).failure for name in ("crashed", "lost")] == [mark, mark]


@pytest.mark.req("J17")
async def test_a_held_reply_is_unknown_but_no_longer_unsettled(rig) -> None:
    await rig.commit("a1")
    await rig.outbox.sending("a1", chunk=0, at=rig.clock.now())
    await rig.outbox.unknown("a1", at=rig.clock.now())

    await rig.outbox.hold("a1", at=rig.clock.now())

    assert ((await rig.row("a1")).state, await rig.outbox.unsettled("memory")) == ("unknown", ())


@pytest.mark.req("J16")
async def test_the_commit_gives_a_preview_its_parts_and_its_age(rig) -> None:
    lease = await preview(rig, "a1")
    await rig.outbox.preview_sent(lease, "a1", platform_message_id="x1")
    assert await due(rig) == []
    rig.clock.advance(50.0)

    await rig.commit("a1")

    row = await rig.row("a1")
    assert (row.state, row.platform_message_id, row.parts) == ("pending", "x1", (TextPart("a1"),))
    assert row.created_at == rig.clock.now()


@pytest.mark.req("J16")
async def test_a_preview_without_an_id_is_unknown_after_a_crash_and_unsettled_once_committed(
    rig,
) -> None:
    await preview(rig, "a1")
    await rig.recover()
    assert ((await rig.row("a1")).state, await rig.outbox.unsettled("memory")) == ("unknown", ())

    await rig.commit("a1")

    assert [row.id for row in await rig.outbox.unsettled("memory")] == ["a1"]
    assert (await rig.row("a1")).sending_at is None


@pytest.mark.req("J16")
async def test_a_preview_that_was_found_again_is_a_preview(rig) -> None:
    await preview(rig, "a1")
    await rig.recover()
    lease = rig.leases["a1"]

    await rig.outbox.preview_sent(lease, "a1", platform_message_id="x1")

    assert ((await rig.row("a1")).state, (await rig.row("a1")).platform_message_id) == (
        "preview",
        "x1",
    )


@pytest.mark.req("J4", "J16")
async def test_a_lost_lease_writes_no_preview(rig) -> None:
    lease = await preview(rig, "a1")
    await rig.lose("a1")

    with pytest.raises(LeaseLost):
        await rig.outbox.preview_sent(lease, "a1", platform_message_id="x1")


@pytest.mark.req("J19")
async def test_what_is_sent_cannot_become_anything_else(rig) -> None:
    await rig.commit("a1")
    now = rig.clock.now()
    await rig.outbox.sending("a1", chunk=0, at=now)
    await rig.outbox.chunk_sent("a1", chunk=0, platform_message_id="x1", last=True, at=now)

    with pytest.raises(GuardFailed):
        await rig.outbox.retry("a1", at=now, failure="rate_limited", counts=False)

    assert ((await rig.row("a1")).state, await rig.outbox.waiting()) == ("sent", 0)


@pytest.mark.req("J16", "W19")
async def test_a_next_message_may_stand_from_before_its_send_and_its_id_is_kept(rig) -> None:
    lease = await preview(rig, "a")
    await rig.outbox.preview_sent(lease, "a", platform_message_id="x0")
    await rig.outbox.preview_opens(lease, "a", number=1)
    opened = (await rig.row("a")).more
    await rig.outbox.preview_sent(lease, "a", platform_message_id='x"1', number=1)
    await rig.outbox.preview_opens(lease, "a", number=2)
    await rig.outbox.preview_opens(lease, "a", number=2, is_sent=False)

    row = await rig.row("a")
    assert (opened, row.platform_message_id, row.more, row.state) == (
        (None,),
        "x0",
        ('x"1',),
        "preview",
    )
    with pytest.raises(GuardFailed):
        await rig.outbox.preview_opens(lease, "a", number=1)
    with pytest.raises(GuardFailed):
        await rig.outbox.preview_sent(lease, "a", platform_message_id="x9", number=1)
    await rig.recover()
    assert (await rig.row("a")).state == "preview"


@pytest.mark.req("J16", "W19")
async def test_a_preview_that_a_second_process_went_on_with_is_lost_with_that_one(rig) -> None:
    lease = await preview(rig, "a")
    await rig.outbox.preview_sent(lease, "a", platform_message_id="x0")
    await rig.recover()
    await rig.outbox.preview_opens(rig.leases["a"], "a", number=1)

    await rig.recover()

    row = await rig.row("a")
    assert (row.state, row.more) == ("unknown", (None,))


@pytest.mark.req("J16", "W19")
async def test_a_next_message_without_an_id_is_unknown_after_a_crash_until_it_is_found(rig) -> None:
    lease = await preview(rig, "a")
    await rig.outbox.preview_sent(lease, "a", platform_message_id="x0")
    await rig.outbox.preview_opens(lease, "a", number=1)

    await rig.recover()
    assert (await rig.row("a")).state == "unknown"
    await rig.commit("a")

    row = await rig.row("a")
    assert (row.state, row.more) == ("unknown", (None,))
    assert [one.id for one in await rig.outbox.unsettled("memory")] == ["a"]


@pytest.mark.req("J4", "J16")
async def test_a_lost_lease_opens_no_next_message(rig) -> None:
    lease = await preview(rig, "a")
    await rig.outbox.preview_sent(lease, "a", platform_message_id="x0")
    await rig.lose("a")

    with pytest.raises(LeaseLost):
        await rig.outbox.preview_opens(lease, "a", number=1)


@pytest.mark.req("W19")
async def test_a_reply_that_is_sent_anew_stays_so(rig) -> None:
    await rig.commit("a")
    await rig.outbox.fresh("a")
    await rig.outbox.sending("a", chunk=0, at=rig.clock.now())
    await rig.recover()

    assert ((await rig.row("a")).fresh, (await rig.row("a")).state) == (True, "unknown")
    with pytest.raises(GuardFailed):
        await rig.outbox.fresh("a")


@pytest.mark.req("A26", "A28", "J18")
async def test_what_came_back_after_it_was_sent_is_a_dead_letter_once(rig) -> None:
    await rig.commit("a")
    early = await _come_back(rig)
    for chunk in (0, 1):
        await rig.outbox.sending("a", chunk=chunk, at=rig.clock.now())
        await rig.outbox.chunk_sent(
            "a", chunk=chunk, platform_message_id="x", last=chunk == 1, at=rig.clock.now()
        )

    elsewhere = await _come_back(rig, platform="another")
    found = [await _come_back(rig) for _ in range(2)]

    row = await rig.row("a")
    assert (early, elsewhere, found) == (None, None, [row.message_id, None])
    assert (row.state, row.failure, row.chunk, row.parts) == (
        "dead",
        "invalid_recipient",
        1,
        (TextPart("a"),),
    )
    assert await _come_back(rig, name="nobody's") is None


async def arrive(rig, name: str, chunk: int = 0, *, shown: str = "x9", fresh: bool = False):
    return await rig.outbox.arrived(
        name,
        platform="memory",
        chunk=chunk,
        is_fresh=fresh,
        platform_message_id=shown,
        at=rig.clock.now(),
    )


@pytest.mark.req("J17", "A28")
@pytest.mark.parametrize("state", ["unknown", "held", "crashed", "sending", "retry"])
async def test_late_proof_settles_what_was_on_the_wire_once(rig, state: str) -> None:
    now = rig.clock.now()
    await rig.commit("a1")
    await rig.outbox.sending("a1", chunk=0, at=now, last=True)
    if state in ("unknown", "held"):
        await rig.outbox.unknown("a1", at=now)
    if state == "crashed":
        await rig.recover()
    if state == "held":
        await rig.outbox.hold("a1", at=now)
    if state == "retry":
        await rig.outbox.retry("a1", at=now, failure="rate_limited", counts=False)

    settled = [await arrive(rig, "a1") is not None for _ in range(2)]

    row = await rig.row("a1")
    assert settled == [True, False]
    assert (row.state, row.chunk, row.platform_message_id, row.ended_at) == ("sent", 1, "x9", now)
    assert [one.then for one in row.story] == {
        "sending": [],
        "crashed": ["unknown", "arrived"],
    }.get(state, ["arrived"])
    assert await rig.outbox.unsettled("memory") == ()


@pytest.mark.req("J17")
async def test_late_proof_of_a_chunk_lets_the_next_one_go(rig) -> None:
    now = rig.clock.now()
    await rig.commit("a1")
    await rig.outbox.sending("a1", chunk=0, at=now, last=False)
    await rig.outbox.unknown("a1", at=now)

    await arrive(rig, "a1")

    row = await rig.row("a1")
    assert (row.state, row.chunk, row.platform_message_id) == ("pending", 1, "x9")
    assert await due(rig) == ["a1"]


@pytest.mark.req("J17")
async def test_late_proof_of_another_send_settles_nothing(rig) -> None:
    now = rig.clock.now()
    for name in ("never", "lost", "dead"):
        await rig.commit(name, chat=name)
    for name in ("lost", "dead"):
        await rig.outbox.sending(name, chunk=0, at=now, last=True)
    await rig.outbox.unknown("lost", at=now)
    await rig.outbox.dead("dead", failure="rejected", at=now)

    told = [
        await arrive(rig, "nobody's"),
        await arrive(rig, "never"),
        await arrive(rig, "dead"),
        await arrive(rig, "lost", 1),
        await arrive(rig, "lost", fresh=True),
    ]

    assert told == [None] * 5
    assert (await rig.row("lost")).state == "unknown"


@pytest.mark.req("J16", "J17")
async def test_late_proof_of_a_preview_gives_its_id_so_that_it_is_edited(rig) -> None:
    await preview(rig, "a1")
    await rig.recover()
    shown = await arrive(rig, "a1") is not None
    before = await rig.row("a1")
    await rig.commit("a1")

    row = await rig.row("a1")
    assert (shown, before.state, before.platform_message_id) == (True, "preview", "x9")
    assert (row.state, row.chunk, row.platform_message_id) == ("pending", 0, "x9")


@pytest.mark.req("J16", "J17")
async def test_late_proof_of_a_preview_is_none_that_the_whole_reply_stands(rig) -> None:
    await preview(rig, "a1")
    await rig.recover()
    await rig.commit("a1")
    # Its key is that of the preview: the platform may show either.
    await rig.outbox.sending("a1", chunk=0, at=rig.clock.now(), last=True)

    told = [await arrive(rig, "a1") is not None]
    await rig.recover()
    told.append(await arrive(rig, "a1") is not None)
    found = await rig.row("a1")
    # From here on it is an edit that is sent.
    await rig.outbox.sending("a1", chunk=0, at=rig.clock.now(), last=True)
    told.append(await arrive(rig, "a1") is not None)
    await rig.outbox.unknown("a1", at=rig.clock.now())
    told.append(await arrive(rig, "a1") is not None)

    row = await rig.row("a1")
    assert told == [False, True, False, False]
    assert (found.state, found.chunk, found.platform_message_id) == ("pending", 0, "x9")
    assert (row.state, row.chunk, row.platform_message_id) == ("unknown", 0, "x9")


@pytest.mark.req("J16", "A28")
async def test_a_repeated_preview_that_was_sent_has_the_time_of_its_end(rig) -> None:
    now = rig.clock.now()
    await preview(rig, "a1")
    await rig.recover()
    await rig.commit("a1")
    await rig.outbox.sending("a1", chunk=0, at=now, last=True)
    await rig.outbox.chunk_sent("a1", chunk=0, platform_message_id="x1", last=True, at=now + 9.0)

    row = await rig.row("a1")
    assert (row.state, row.sending_at, row.ended_at) == ("sent", now + 9.0, now + 9.0)


async def _come_back(rig, *, name: str = "a", platform: str = "memory") -> str | None:
    return await rig.outbox.returned(
        name,
        platform=platform,
        chunk=1,
        failure="invalid_recipient",
        status="5.1.1",
        at=rig.clock.now(),
    )


def note(at: float, *, why: str = "", then: str = "again", tried: bool = True) -> DeliveryNote:
    return DeliveryNote(at=at, failure="rate_limited", why=why, then=then, tried=tried)


@pytest.mark.req("A28")
async def test_every_change_of_a_row_can_carry_a_note_and_only_tries_are_counted(rig) -> None:
    await rig.commit("a1")
    now = rig.clock.now()
    notes = [note(now + number, then=str(number), tried=number != 2) for number in range(5)]

    await rig.outbox.sending("a1", chunk=0, at=now)
    await rig.outbox.retry("a1", at=now, failure="rate_limited", counts=False, note=notes[0])
    await rig.outbox.sending("a1", chunk=0, at=now)
    await rig.outbox.unknown("a1", at=now, note=notes[1])
    await rig.outbox.hold("a1", at=now, note=notes[2])
    await rig.outbox.sending("a1", chunk=0, at=now)
    await rig.outbox.chunk_sent(
        "a1", chunk=0, platform_message_id="x1", last=False, at=now, note=notes[3]
    )
    await rig.outbox.dead("a1", failure="rejected", at=now + 9, note=notes[4])

    row = await rig.row("a1")
    assert row.story == tuple(notes)
    assert (row.failed, row.ended_at) == (4, now + 9)


@pytest.mark.req("A28")
async def test_of_a_long_story_the_last_notes_are_kept_and_all_tries_are_counted(rig) -> None:
    await rig.commit("a1")
    for number in range(40):
        await rig.outbox.retry(
            "a1", at=0.0, failure="rate_limited", counts=False, note=note(float(number))
        )

    row = await rig.row("a1")
    assert [told.at for told in row.story] == [float(number) for number in range(8, 40)]
    assert row.failed == 40


@pytest.mark.req("J16", "J17")
async def test_what_was_on_the_wire_says_so_after_a_crash(rig) -> None:
    await rig.commit("a1")
    await rig.outbox.sending("a1", chunk=0, at=rig.clock.now())

    await rig.recover()

    (told,) = (await rig.row("a1")).story
    assert (told.then, told.tried, (await rig.row("a1")).failed) == ("unknown", True, 1)
    assert told.why == "the gateway ended while it was being sent"


@pytest.mark.req("J18")
async def test_a_reply_that_nobody_serves_says_that_it_grew_too_old(rig) -> None:
    await rig.commit("a1")

    assert await rig.outbox.expire(rig.clock.now() + 1, served=(), at=5.0) == 1

    (told,) = (await rig.row("a1")).story
    assert (told.at, told.failure, told.then, told.tried) == (5.0, "too_old", "dead", False)


@pytest.mark.req("J24")
async def test_what_a_platform_said_is_sealed_and_goes_with_the_person(tmp_path: Path) -> None:
    rig = await StoreRig.open(tmp_path)
    try:
        await rig.commit("a1")
        said = note(1.0, why="no mailbox of ada@example.org")
        await rig.outbox.retry("a1", at=0.0, failure="rate_limited", counts=False, note=said)
        assert (await rig.row("a1")).story == (said,)

        assert b"ada@example.org" not in raw_bytes(tmp_path)

        await rig.store.people.erase(rig.people["a1"], at=2.0)
        again = note(3.0, why="no mailbox of ada@example.org")
        await rig.outbox.retry("a1", at=0.0, failure="rate_limited", counts=False, note=again)
        assert ((await rig.row("a1")).story, (await rig.row("a1")).failed) == ((), 2)
    finally:
        await rig.close()


@pytest.mark.req("A28")
async def test_a_replay_and_a_drop_are_part_of_the_story(tmp_path: Path) -> None:
    rig = await StoreRig.open(tmp_path)
    try:
        await rig.commit("a1")
        await rig.outbox.dead("a1", failure="rejected", at=1.0, note=note(1.0, then="dead"))

        assert await rig.store.dead_letters.replay("a1", at=2.0)
        await rig.outbox.dead("a1", failure="rejected", at=3.0, note=note(3.0, then="dead"))
        assert await rig.store.dead_letters.drop("a1", at=4.0)

        row = await rig.row("a1")
        told = [(one.at, one.then, one.tried) for one in row.story]
        assert told == [
            (1.0, "dead", True),
            (2.0, "replay", False),
            (3.0, "dead", True),
            (4.0, "drop", False),
        ]
        assert row.failed == 2
    finally:
        await rig.close()


CHAT = Target(platform="memory", account="a", chat_id="c1")


@pytest.mark.req("W18", "J18")
async def test_a_reply_that_is_posted_in_part_can_be_stopped(rig) -> None:
    now = rig.clock.now()
    await rig.commit("long")
    before = await rig.outbox.is_sending("long", CHAT)
    await rig.outbox.sending("long", chunk=0, at=now)
    await rig.outbox.chunk_sent("long", chunk=0, platform_message_id="x1", last=False, at=now)
    during = await rig.outbox.is_sending("long", CHAT)

    await rig.stop("long")

    # Who does not know it cannot send on, and who does ends it; it is no dead letter to deal with.
    assert (before, during) == (False, True)
    assert await rig.outbox.is_sending("long", CHAT) is False
    assert (await rig.row("long")).stopped_by is not None
    with pytest.raises(GuardFailed):
        await rig.outbox.sending("long", chunk=1, at=now)
    await rig.outbox.sending("long", chunk=1, at=now, is_stopped=True)
    note = DeliveryNote(at=now, then="stopped", tried=False, chunk=1)
    await rig.outbox.stopped("long", at=now, note=note)
    row = await rig.row("long")
    assert (row.state, row.failure, row.story) == (DeliveryState.DEAD, "dropped", (note,))
    assert await rig.outbox.is_sending("long", CHAT) is False


@pytest.mark.req("W18")
async def test_a_stop_that_expects_no_reply_fails_if_one_is_being_sent(tmp_path: Path) -> None:
    rig = await StoreRig.open(tmp_path)
    try:
        await rig.commit("long")
        await rig.outbox.sending("long", chunk=0, at=rig.clock.now())

        with pytest.raises(SendingBegan):
            await rig.stop("long", is_expected=False)

        assert (await rig.row("long")).stopped_by is None
    finally:
        await rig.close()


@pytest.mark.req("W18", "J16")
async def test_a_preview_of_a_turn_that_a_crash_cut_off_is_not_stopped_as_a_reply(rig) -> None:
    lease = await preview(rig, "a1")
    await rig.outbox.preview_sent(lease, "a1", platform_message_id="x1")
    await rig.outbox.preview_opens(lease, "a1", number=1)
    await rig.recover()

    await rig.stop("a1")

    assert (await rig.row("a1")).stopped_by is None


@pytest.mark.req("W18", "J18")
async def test_a_reply_that_waits_to_be_sent_and_one_that_was_sent_are_not_stopped(rig) -> None:
    now = rig.clock.now()
    for name in ("waits", "sent"):
        await rig.commit(name, chat=name)
    await rig.outbox.sending("sent", chunk=0, at=now)
    await rig.outbox.chunk_sent("sent", chunk=0, platform_message_id="x1", last=True, at=now)

    for name in ("waits", "sent"):
        await rig.stop(name, chat=name)

    assert [(await rig.row(name)).stopped_by for name in ("waits", "sent")] == [None, None]


@pytest.mark.req("A28")
async def test_the_uses_of_a_handle_are_counted_by_key_and_survive_a_restart(rig) -> None:
    handle = ReplyHandle(token="secret-1", uses=2)
    await rig.answer("a1", handle)
    at = rig.clock.now()

    uses = [await rig.outbox.use_handle("a1", key=key, most=5) for key in ("a.0", "a.0", "a.1")]
    await rig.recover()
    again = await rig.outbox.use_handle("a1", key="a.1", most=5)
    spent = await rig.outbox.use_handle("a1", key="a.2", most=5)

    assert [(one.handle, one.number, one.received_at) for one in uses] == [
        (handle, 1, at),
        (handle, 1, at),
        (handle, 2, at),
    ]
    assert (again.number, spent.number) == (2, 0)


@pytest.mark.req("A28")
async def test_the_platforms_limit_of_uses_counts_too(rig) -> None:
    await rig.answer("a1", ReplyHandle(token="t"))

    one = await rig.outbox.use_handle("a1", key="a.0", most=1)
    two = await rig.outbox.use_handle("a1", key="a.1", most=1)

    assert (one.number, two.number) == (1, 0)


@pytest.mark.req("A28")
async def test_a_reply_to_a_message_without_a_handle_has_none(rig) -> None:
    await rig.commit("a1")

    assert await rig.outbox.use_handle("a1", key="a.0", most=1) is None


@pytest.mark.req("A28", "J24")
async def test_the_token_of_a_handle_is_not_on_disk_in_clear(tmp_path: Path) -> None:
    rig = await StoreRig.open(tmp_path)
    await rig.answer("a1", ReplyHandle(token="secret-token-of-the-platform"))
    await rig.close()

    assert b"secret-token-of-the-platform" not in raw_bytes(tmp_path)


@pytest.mark.req("A28")
async def test_a_handle_serves_its_own_chat_only(tmp_path: Path) -> None:
    rig = await StoreRig.open(tmp_path)
    await rig.begin("a1", handle=ReplyHandle(token="t"))
    await rig.commit("a1", chat="another")

    used = await rig.outbox.use_handle("a1", key="a.0", most=0)
    await rig.close()

    assert used is None
