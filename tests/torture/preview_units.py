"""The units of a reply that is shown over several messages, or sent anew, for `store_kills`."""

from collections.abc import Awaitable, Callable

from hermes.message.outcome import DeliveryState
from hermes.ports.channel import Target
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.torture.store_rig import accept, answer, begin

Act = Callable[[Store, ManualClock], Awaitable[object]]
LANE = "gil"
SHOWN = "o_shown"
ANEW = "o_anew"


async def prepare_preview(store: Store, clock: ManualClock) -> None:
    """Let one reply be shown in a first message, and another one wait to be sent."""
    await accept(store, "shown", user=LANE, clock=clock)
    lease, message = await begin(store, LANE, clock=clock)
    target = Target(platform="gone", account="a", chat_id=LANE)
    shown = NewDelivery(id=SHOWN, target=target, parts=None, state=DeliveryState.PREVIEW)
    await store.outbox.open_preview(
        lease, shown, message_id=message.id, person_id=message.person_id
    )
    await store.outbox.preview_sent(lease, SHOWN, platform_message_id="x1")
    await answer(store, "anew", user="hal", clock=clock, platform="gone")


async def _open(store: Store, _clock: ManualClock) -> None:
    lease = Lease(LANE, "w", (await store.turns.view(LANE)).fence)
    timeline = await store.timeline("m_shown")
    assert timeline is not None
    (row,) = timeline.deliveries
    if not row.more:
        await store.outbox.preview_opens(lease, SHOWN, number=1)


async def _fresh(store: Store, _clock: ManualClock) -> None:
    await store.outbox.fresh(ANEW)


UNITS: dict[str, Act] = {"store.preview_opens": _open, "store.delivery_fresh": _fresh}
