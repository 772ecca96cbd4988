"""J1: a message is known by its id, or by its signed content, only where it came the same way."""

import msgspec
import pytest

from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ports.inbox import NewMessage
from hermes.ports.store import Store

HELLO = MessageEvent(
    account="default",
    route="api",
    external_id="one",
    source=Source(platform="rest", chat_id="ann", user_id="ann"),
    parts=(TextPart("hello"),),
    at=1.0,
)
SIGNED = msgspec.structs.replace(HELLO, content_key="what was signed")


async def accept(store: Store, event: MessageEvent, name: str) -> str:
    """Keep an event as a new message; return the id of the message that it is."""
    message = NewMessage(
        id=name, lane="agent:main:rest:dm:ann", event=event, identity=b"same", received_at=1.0
    )
    return (await store.inbox.accept(message, kept=lambda _: None)).message_id


@pytest.mark.req("A28")
async def test_the_newest_message_that_any_caller_named_so_is_explained(store: Store) -> None:
    hooks = msgspec.structs.replace(HELLO, route="hooks")
    second = msgspec.structs.replace(HELLO, account="second")
    await accept(store, hooks, "m_1")
    await accept(store, second, "m_2")
    await accept(store, HELLO, "m_3")
    await accept(store, msgspec.structs.replace(second, external_id="two"), "m_4")

    found = [await store.timeline(name) for name in ("one", "two", "three", "")]

    assert [one and one.message and one.message.id for one in found] == ["m_3", "m_4", None, None]


@pytest.mark.req("J1")
@pytest.mark.parametrize("first", [HELLO, SIGNED])
@pytest.mark.parametrize(
    "changes",
    [
        {"account": "second"},
        {"route": "hooks"},
        {"source": Source(platform="push", chat_id="ann", user_id="ann")},
    ],
)
async def test_j1_what_came_another_way_is_another_message(
    store: Store, first: MessageEvent, changes: dict[str, object]
) -> None:
    other = msgspec.structs.replace(first, **changes)
    await accept(store, first, "m_1")

    assert await store.inbox.knows(first)
    assert not await store.inbox.knows(other)
    assert await accept(store, first, "m_2") == "m_1"
    assert await accept(store, other, "m_3") == "m_3"
