"""The units of a reply that is shown over several messages, sent anew or stopped, for `store_kills`."""

from collections.abc import Awaitable, Callable

import msgspec

from hermes.message.event import MessageEvent, Reaction
from hermes.message.outcome import DeliveryState
from hermes.message.source import Source
from hermes.ports.channel import Target
from hermes.ports.outbox import DeliveryNote, NewDelivery
from hermes.ports.steps import Lease
from hermes.ports.store import Store
from hermes.ports.turns import DeliveryStop
from hermes.testing.manual_time import ManualClock
from tests.torture.store_rig import accept, answer, begin, ending

Act = Callable[[Store, ManualClock], Awaitable[object]]
LANE = "gil"
SHOWN = "o_shown"
ANEW = "o_anew"
STOPPED = "o_stopped"
TABLES = {"early_reactions": "id IS NULL, platform, chat_id, platform_message_id, person_id"}


async def prepare_preview(store: Store, clock: ManualClock) -> None:
    """Let one reply be shown in a first message, one wait to be sent, and one be stopped."""
    await accept(store, "shown", user=LANE, clock=clock)
    lease, message = await begin(store, LANE, clock=clock)
    target = Target(platform="gone", account="a", chat_id=LANE)
    shown = NewDelivery(id=SHOWN, target=target, parts=None, state=DeliveryState.PREVIEW)
    await store.outbox.open_preview(
        lease, shown, message_id=message.id, person_id=message.person_id
    )
    await store.outbox.preview_sent(lease, SHOWN, platform_message_id="x1")
    await answer(store, "anew", user="hal", clock=clock, platform="gone")
    await _be_stopped(store, clock)
    await _react(store, clock, name="early")


async def _be_stopped(store: Store, clock: ManualClock) -> None:
    """Let a reply be stopped after its first message."""
    lane, at = "ivo", clock.now()
    await answer(store, "stopped", user=lane, clock=clock, platform="gone")
    await store.outbox.sending(STOPPED, chunk=0, at=at)
    await store.outbox.chunk_sent(STOPPED, chunk=0, platform_message_id="x", last=False, at=at)
    await accept(store, "stop", user=lane, clock=clock)
    lease, message = await begin(store, lane, clock=clock)
    target = Target(platform="gone", account="a", chat_id=lane)
    stop = DeliveryStop(lane, target)
    end = msgspec.structs.replace(ending(message, clock=clock), stops_sending=stop)
    await store.turns.commit(lease, end)


async def _react(store: Store, clock: ManualClock, *, name: str = "reaction") -> None:
    """Let somebody react to a message that is not known yet."""
    event = MessageEvent(
        account="a",
        route="r",
        external_id=name,
        source=Source(platform="gone", chat_id=LANE, user_id=LANE),
        parts=(),
        at=clock.now(),
        type="reaction",
        reaction=Reaction(message_id="x9", emoji="👍"),
    )
    assert await store.offers.keep_reaction(event, "x9", at=clock.now(), most=9) == "kept"


async def _forget_reactions(store: Store, clock: ManualClock) -> None:
    await store.offers.drop_reactions((), before=clock.now() + 1)


async def _open(store: Store, _clock: ManualClock) -> None:
    lease = Lease(LANE, "w", (await store.turns.view(LANE)).fence)
    timeline = await store.timeline("m_shown")
    assert timeline is not None
    (row,) = timeline.deliveries
    if not row.more:
        await store.outbox.preview_opens(lease, SHOWN, number=1)


async def _fresh(store: Store, _clock: ManualClock) -> None:
    await store.outbox.fresh(ANEW)


async def _stop(store: Store, clock: ManualClock) -> None:
    timeline = await store.timeline("m_stopped")
    assert timeline is not None
    (row,) = timeline.deliveries
    if row.state is not DeliveryState.DEAD:
        note = DeliveryNote(at=clock.now(), then="stopped", tried=False, chunk=1)
        await store.outbox.stopped(STOPPED, at=clock.now(), note=note)


UNITS: dict[str, Act] = {
    "store.keep_reaction": _react,
    "store.drop_reactions": _forget_reactions,
    "store.preview_opens": _open,
    "store.delivery_fresh": _fresh,
    "store.delivery_stopped": _stop,
}
