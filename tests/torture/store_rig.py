"""A store with a few messages in it, for tests that go to the store directly."""

import msgspec

from hermes.message.chat import user_text
from hermes.message.event import MessageEvent
from hermes.message.outcome import DeliveryState, Outcome
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ports.channel import Target
from hermes.ports.inbox import NewMessage
from hermes.ports.memory import NewJob
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease, Step
from hermes.ports.store import Store
from hermes.ports.transcripts import NewCall, TranscriptEntry
from hermes.ports.turns import (
    Begin,
    Charge,
    Commit,
    CreditHold,
    Interaction,
    MessageRecord,
    TurnResult,
)
from hermes.testing.manual_time import ManualClock

LEASE_S = 30.0


class Ids:
    """Ids that are the same in every run."""

    def __init__(self) -> None:
        self._next = 0

    def __call__(self, prefix: str) -> str:
        self._next += 1
        return f"{prefix}_{self._next:04}"


def new_message(name: str, *, user: str = "ann", clock: ManualClock) -> NewMessage:
    """Return a message to accept; its lane is its user's."""
    event = MessageEvent(
        account="a",
        route="r",
        external_id=name,
        source=Source(platform="rest", chat_id=user, user_id=user),
        parts=(TextPart(f"text of {name}"),),
        at=clock.now(),
    )
    return NewMessage(
        id=f"m_{name}", lane=user, event=event, identity=name.encode(), received_at=clock.now()
    )


async def accept(store: Store, name: str, *, user: str = "ann", clock: ManualClock) -> None:
    """Keep a message."""
    message = new_message(name, user=user, clock=clock)
    await store.inbox.accept(message, kept=lambda _result: None)


async def begin(
    store: Store, lane: str, *, clock: ManualClock, owner: str = "w"
) -> tuple[Lease, MessageRecord]:
    """Lease a lane and start its next message's turn."""
    view = await store.turns.view(lane)
    assert view.message is not None
    message = view.message
    lease = await store.turns.begin(
        Begin(
            lane=lane,
            owner=owner,
            fence=view.fence,
            head=view.head,
            message_id=message.id,
            person_id=message.person_id,
            at=clock.now(),
            steps=(Step(ordinal=len(view.steps), kind="prepared", state="done", body=b"{}"),),
            hold=CreditHold(message.person_id, 1),
        )
    )
    return lease, message


def ending(
    message: MessageRecord, *, clock: ManualClock, text: str = "done", platform: str = "rest"
) -> Commit:
    """Return the end of a turn: an entry, a charge and a reply, which only REST has at once."""
    reply = user_text(text)
    return Commit(
        message_id=message.id,
        person_id=message.person_id,
        outcome=Outcome.ANSWERED,
        result=TurnResult(text=""),
        at=clock.now(),
        epoch=0,
        entries=(TranscriptEntry(reply),),
        reply=reply,
        reply_entry=0,
        charge=Charge(person_id=message.person_id, amount=1, captured=True),
        deliveries=(
            NewDelivery(
                id="o" + message.id[1:],
                target=Target(platform=platform, account="a", chat_id=message.lane),
                parts=None,
                state=DeliveryState.SENT if platform == "rest" else DeliveryState.PENDING,
            ),
        ),
    )


async def answer(
    store: Store,
    name: str,
    *,
    user: str,
    clock: ManualClock,
    platform: str = "rest",
    job: NewJob | None = None,
    calls: tuple[NewCall, ...] = (),
    interaction: Interaction | None = None,
) -> None:
    """Accept a message and bring it to its end, which may leave a job, calls and a count behind."""
    await accept(store, name, user=user, clock=clock)
    lease, message = await begin(store, user, clock=clock)
    end = ending(message, clock=clock, platform=platform)
    jobs = () if job is None else (job,)
    end = msgspec.structs.replace(end, jobs=jobs, calls=calls, interaction=interaction)
    await store.turns.commit(lease, end)
