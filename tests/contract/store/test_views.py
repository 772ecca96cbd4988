"""What a turn costs does not grow with the store: the next message is known without a read."""

import asyncio

import pytest

from hermes.message.event import MessageEvent
from hermes.message.ids import make_id
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ports.inbox import NewMessage
from hermes.ports.steps import Lease
from hermes.ports.store import Store
from hermes.ports.turns import Begin, Commit, TurnResult

LANE = "agent:main:rest:dm:ann"


def new_message(text: str, *, lane: str = LANE) -> NewMessage:
    event = MessageEvent(
        account="default",
        route="api",
        external_id=make_id("x"),
        source=Source(platform="rest", chat_id="ann", user_id="ann"),
        parts=(TextPart(text),),
        at=1.0,
    )
    return NewMessage(
        id=make_id("m"), lane=lane, event=event, identity=text.encode(), received_at=1.0
    )


async def accept(store: Store, message: NewMessage) -> None:
    await store.inbox.accept(message, kept=lambda _: None)


@pytest.mark.req("J4")
async def test_the_view_after_an_accept_is_what_a_read_finds(store: Store) -> None:
    await accept(store, new_message("hello"))

    without_reading = await store.turns.view(LANE)
    read = await store.turns.view(LANE)

    assert without_reading.message is not None
    assert without_reading == read


@pytest.mark.req("J4")
async def test_a_view_is_no_longer_handed_out_after_the_next_transaction(
    store: Store,
) -> None:
    message = new_message("hello")
    await accept(store, message)
    await begin(store, message)

    view = await store.turns.view(LANE)

    assert view.fence == 1
    assert view.message is not None
    assert view.message.state == "running"


async def begin(store: Store, message: NewMessage) -> Lease:
    return await store.turns.begin(
        Begin(
            lane=message.lane,
            owner="w",
            fence=0,
            head=0,
            message_id=message.id,
            person_id="",
            at=1.0,
        )
    )


async def end_of(store: Store, message: NewMessage, *, reset_lane: str | None = None) -> Commit:
    record = await store.inbox.get(message.id)
    assert record is not None
    return Commit(
        message_id=message.id,
        person_id=record.person_id,
        outcome=Outcome.ANSWERED,
        result=TurnResult(text=""),
        at=1.0,
        epoch=0,
        reset_lane=reset_lane,
    )


@pytest.mark.req("J4", "J6")
async def test_a_reset_in_the_same_transaction_is_seen(store: Store) -> None:
    command = new_message("/new", lane=f"{LANE}#control")
    await accept(store, command)
    lease = await begin(store, command)
    reset = await end_of(store, command, reset_lane=LANE)

    await asyncio.gather(accept(store, new_message("hello")), store.turns.commit(lease, reset))

    assert (await store.turns.view(LANE)).epoch == 1


@pytest.mark.req("J4")
async def test_the_view_after_a_commit_is_what_a_read_finds(store: Store) -> None:
    message = new_message("hello")
    await accept(store, message)
    lease = await begin(store, message)

    await store.turns.commit(lease, await end_of(store, message))
    without_reading = await store.turns.view(LANE)
    read = await store.turns.view(LANE)

    assert without_reading.message is None
    assert without_reading == read


@pytest.mark.req("J4")
@pytest.mark.parametrize("accept_first", [True, False])
async def test_a_message_beside_a_commit_is_found_next(store: Store, accept_first: bool) -> None:
    message, following = new_message("hello"), new_message("and then?")
    await accept(store, message)
    lease = await begin(store, message)
    beside = [accept(store, following), store.turns.commit(lease, await end_of(store, message))]

    await asyncio.gather(*(beside if accept_first else reversed(beside)))

    found = (await store.turns.view(LANE)).message
    assert found is not None
    assert found.id == following.id
