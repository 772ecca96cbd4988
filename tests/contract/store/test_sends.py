"""Deliveries that are no replies: kept once, told to the sessions that are there; W27, J5, J24."""

from pathlib import Path

import msgspec
import pytest

from hermes.control.why import explain
from hermes.message.event import MessageEvent
from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.message.session_key import SessionKey
from hermes.message.source import ChatType, Source
from hermes.ports.channel import Target
from hermes.ports.inbox import NewMessage
from hermes.ports.sends import MIRROR, NewSend
from hermes.ports.store import Store
from tests.stores.opening import deliveries_of, opened, raw_bytes

SECRET = "the word is xylophone"
AGENTS = ("main", "other")


def lane_of(chat: str, *, kind: ChatType = "dm", user: str | None = None, thread: str = "") -> str:
    key = SessionKey(
        agent="main",
        platform="push",
        chat_type=kind,
        chat_id=chat,
        user=user,
        thread=thread or None,
    )
    return str(key)


async def write(store: Store, user: str, lane: str, *, chat: str, at: float = 1.0) -> str:
    """Let somebody write on a lane; returns their person's id."""
    event = MessageEvent(
        account="acc",
        route="api",
        external_id=f"{user} in {lane} at {at}",
        source=Source(platform="push", chat_id=chat, user_id=user),
        parts=(TextPart("hello"),),
        at=at,
    )
    message = NewMessage(
        id=f"m_{event.external_id}",
        lane=lane,
        event=event,
        identity=event.external_id.encode(),
        received_at=at,
    )
    await store.inbox.accept(message, kept=lambda _: None)
    found = await store.people.find("push", user)
    assert found is not None
    return found.id


def new_send(person_id: str, *mirrors: str, name: str = "o_1") -> NewSend:
    return NewSend(
        id=name,
        message_id="m_1",
        person_id=person_id,
        target=Target(platform="push", account="acc", chat_id="bob"),
        parts=(TextPart(SECRET),),
        state=DeliveryState.PENDING,
        at=5.0,
        mirrors=mirrors,
    )


@pytest.mark.req("W27", "J5", "J24")
async def test_w27_a_delivery_and_its_mirrors_are_kept_once_and_sealed(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await write(store, "ann", lane_of("ann"), chat="ann")
        bob = await write(store, "bob", lane_of("bob"), chat="bob")
        told: list[tuple[str, ...]] = []
        send = new_send(ann, lane_of("bob"), lane_of("nobody"))

        assert await store.sends.put(send, kept=told.append)
        assert not await store.sends.put(send, kept=told.append)

        (delivery,) = await deliveries_of(store, "m_1")
        assert (delivery.parts, delivery.purpose) == ((TextPart(SECRET),), "tool")
        assert (told, store.inbox.waiting()) == ([(lane_of("bob"),)], 3)
        _, mirror = (await store.transcripts.conversation(lane_of("bob"), limit=9)).messages
        record = mirror.record
        assert record.event is not None
        assert (record.person_id, record.event.route, record.event.internal) == (bob, MIRROR, True)
        assert record.event.history[0].text == SECRET
    assert SECRET.encode() not in raw_bytes(tmp_path)


@pytest.mark.req("W27", "J24")
async def test_w27_a_session_of_somebody_who_is_gone_is_told_nothing(store: Store) -> None:
    ann = await write(store, "ann", lane_of("ann"), chat="ann")
    bob = await write(store, "bob", lane_of("bob"), chat="bob")
    await store.people.erase(bob, at=2.0)

    assert await store.sends.sessions("push", "bob", thread_id=None, agents=AGENTS) == ()
    assert await store.sends.put(new_send(ann, lane_of("bob")), kept=lambda _: None)
    assert len((await store.transcripts.conversation(lane_of("bob"), limit=9)).messages) == 1


@pytest.mark.req("W27")
async def test_w27_the_sessions_of_a_chat_are_found_by_its_kind(store: Store) -> None:
    ann, bob = lane_of("room", kind="group", user="ann"), lane_of("room", kind="group", user="bob")
    for user, lane, at in (("ann", ann, 1.0), ("bob", bob, 2.0)):
        await write(store, user, lane, chat="room", at=at)
    await write(store, "ann", f"{ann}/m_1.1", chat="room")
    await write(store, "ann", f"{ann}#control", chat="room")
    await write(store, "ann", lane_of("rooms", kind="group", user="ann"), chat="rooms")
    thread = lane_of("room", thread="7")
    await write(store, "ann", thread, chat="room")

    found = await store.sends.sessions("push", "room", thread_id=None, agents=AGENTS)
    assert [(one.lane, one.account) for one in found] == [(bob, "acc"), (ann, "acc")]
    found = await store.sends.sessions("push", "room", thread_id="7", agents=AGENTS)
    assert [one.lane for one in found] == [thread]


@pytest.mark.req("W27", "W22")
async def test_w27_sessions_of_whole_groups_and_of_each_in_a_thread_are_found(store: Store) -> None:
    group, thread = lane_of("room", kind="group"), lane_of("room", thread="7", user="ann")
    ann = await write(store, "ann", group, chat="room")
    bob = await write(store, "bob", group, chat="room", at=2.0)
    await write(store, "ann", thread, chat="room", at=3.0)
    await write(store, "ann", lane_of("room", thread="71"), chat="room")

    found = await store.sends.sessions("push", "room", thread_id=None, agents=AGENTS)
    assert [one.lane for one in found] == [group]
    found = await store.sends.sessions("push", "room", thread_id="7", agents=AGENTS)
    assert [(one.lane, one.person_id) for one in found] == [(thread, ann)]
    assert await store.sends.has_written(bob, lane=group)
    assert not await store.sends.has_written(bob, lane=thread)


@pytest.mark.req("W27")
async def test_w27_the_direct_chats_of_a_person_are_theirs_alone(store: Store) -> None:
    ann = await write(store, "ann", lane_of("ann"), chat="ann", at=1.0)
    await write(store, "ann", lane_of("two"), chat="two", at=2.0)
    await write(store, "bob", lane_of("bob"), chat="bob", at=3.0)
    await write(store, "ann", lane_of("bob"), chat="bob", at=4.0)
    await write(store, "ann", lane_of("room", kind="group", user="ann"), chat="room", at=5.0)

    chats = await store.sends.direct_chats(ann, limit=9)
    assert [one.lane for one in chats] == [lane_of("two"), lane_of("ann")]


@pytest.mark.req("J2", "W27")
async def test_j2_a_delivery_tells_its_own_story_or_that_of_the_message_that_it_answers(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        ann = await write(store, "ann", lane_of("ann"), chat="ann")
        asked = f"m_ann in {lane_of('ann')} at 1.0"
        ending = asked[-9:]
        own = msgspec.structs.replace(new_send(ann, name="o_0001own"), message_id="o_0001own")
        reply = msgspec.structs.replace(new_send(ann, name=f"o_2{ending}"), message_id=asked)
        for send in (own, reply):
            await store.sends.put(send, kept=lambda _: None)

        stories = [
            await explain(store, name, now=7.0)
            for name in ("o_0001own", "1own", f"o_2{ending}", ending)
        ]

    told = "Sent in answer to no message, written at 1970-01-01 00:00:05 UTC; "
    assert [(one.kind, one.id) for one in stories] == [
        ("delivery", "o_0001own"),
        ("delivery", "o_0001own"),
        ("message", asked),
        ("message", asked),
    ]
    assert stories[0].answer == f"{told}the message to push is waiting to be sent."
    assert [line.what for line in stories[0].lines] == ["written"]
    assert SECRET not in str(stories)
