"""The units about questions for `store_kills`: a tool that asks, and somebody's "always"."""

from collections.abc import Awaitable, Callable

from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.ports.approvals import NewApproval
from hermes.ports.channel import Target
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease, StepWrite, TimelineEvent
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.torture.store_rig import accept, begin

Act = Callable[[Store, ManualClock], Awaitable[object]]
LANE = "fay"
TABLES = {"approvals": "id, message_id, state, decided_by"}


async def prepare_question(store: Store, clock: ManualClock) -> None:
    """Let a turn run whose tool will ask."""
    await accept(store, "asking", user=LANE, clock=clock)
    await begin(store, LANE, clock=clock)


async def _ask(store: Store, clock: ManualClock) -> None:
    view = await store.turns.view(LANE)
    assert view.message is not None
    if await store.approvals.get("q_1") is not None:
        return
    approval = NewApproval(
        id="q_1",
        message_id=view.message.id,
        ordinal=1,
        tool="trip",
        arguments_hash=b"x",
        requester=f"rest:{LANE}",
        chat_type="dm",
        asked_at=clock.now(),
        expires_at=clock.now() + 60,
    )
    question = NewDelivery(
        id="o_q_1",
        target=Target(platform="gone", account="a", chat_id=LANE),
        parts=(TextPart("Where to?"),),
        state=DeliveryState.PENDING,
        purpose="notice",
    )
    write = StepWrite(
        message_id=view.message.id,
        person_id=view.message.person_id,
        events=(TimelineEvent("question", clock.now(), {}),),
    )
    lease = Lease(LANE, "w", view.fence)
    await store.approvals.ask(lease, approval, question=question, write=write)


async def _stand(store: Store, _clock: ManualClock) -> None:
    await store.approvals.stand("reload-mcp", "rest:ann", is_standing=True)


UNITS: dict[str, Act] = {"store.ask": _ask, "store.stand": _stand}
