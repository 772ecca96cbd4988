"""The units about questions for `store_kills`: asked, answered, taken over, denied; an "always"."""

from collections.abc import Awaitable, Callable

import msgspec

from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.ports.approvals import NewApproval
from hermes.ports.channel import Target
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease, StepWrite, TimelineEvent
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.torture.store_rig import accept, begin, new_message

Act = Callable[[Store, ManualClock], Awaitable[object]]
LANE, RESUMED, DENIED = "fay", "ida", "joe"
TABLES = {
    "approvals": "id, message_id, state, decided_by, owner, question IS NULL, answer IS NULL",
}


async def prepare_question(store: Store, clock: ManualClock) -> None:
    """Let a turn run whose tool will ask, one that another node goes on with, and one that waits."""
    await accept(store, "asking", user=LANE, clock=clock)
    await begin(store, LANE, clock=clock)
    await accept(store, "resumed", user=RESUMED, clock=clock)
    lease, message = await begin(store, RESUMED, clock=clock)
    write = StepWrite(message_id=message.id, person_id=message.person_id)
    asked = _question("q_0", message.id, lane=RESUMED, clock=clock)
    await store.approvals.ask(lease, asked, question=None, write=write)
    await store.approvals.answer("q_0", b"so far", state="waiting", by="m_1", at=clock.now())
    waits = msgspec.structs.replace(asked, id="a_0", question=None)
    await store.approvals.park(lease, waits, question=None, write=write)
    await store.approvals.decide("a_0", "approved", by="m_1", at=clock.now())
    await begin(store, RESUMED, clock=clock, owner="w2")
    await accept(store, "denied", user=DENIED, clock=clock)
    lease, message = await begin(store, DENIED, clock=clock)
    write = StepWrite(message_id=message.id, person_id=message.person_id)
    asked = _question("a_1", message.id, lane=DENIED, clock=clock)
    waits = msgspec.structs.replace(asked, question=None)
    await store.approvals.park(lease, waits, question=None, write=write)


def _question(name: str, message_id: str, *, lane: str, clock: ManualClock) -> NewApproval:
    return NewApproval(
        id=name,
        message_id=message_id,
        ordinal=1,
        tool="trip",
        arguments_hash=b"x",
        requester=f"rest:{lane}",
        chat_type="dm",
        asked_at=clock.now(),
        expires_at=clock.now() + 60,
        question=b"Where to?",
    )


async def _ask(store: Store, clock: ManualClock) -> None:
    view = await store.turns.view(LANE)
    assert view.message is not None
    if await store.approvals.get("q_1") is not None:
        return
    approval = _question("q_1", view.message.id, lane=LANE, clock=clock)
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


async def _answer(store: Store, clock: ManualClock) -> None:
    await store.approvals.answer("q_0", b"Rome", state="approved", by="m_2", at=clock.now())


async def _adopt(store: Store, _clock: ManualClock) -> None:
    view = await store.turns.view(RESUMED)
    await store.approvals.adopt(Lease(RESUMED, "w2", view.fence), "q_0")


async def _deny(store: Store, clock: ManualClock) -> None:
    message = new_message("instead", user=DENIED, clock=clock)
    denies = msgspec.structs.replace(message, denies=True)
    await store.inbox.accept(denies, kept=lambda _result: None)


UNITS: dict[str, Act] = {
    "store.ask": _ask,
    "store.answer_question": _answer,
    "store.adopt_question": _adopt,
    "store.stand": _stand,
    # A message that denies what its conversation waits for.
    "store.accept": _deny,
}
