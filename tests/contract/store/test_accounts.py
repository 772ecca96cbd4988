"""The same person writing to two bots of a platform is one person, however they are let in or linked."""

from pathlib import Path

import pytest

from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ports.inbox import NewMessage
from hermes.ports.store import Store
from hermes.sessions.keys import session_key
from tests.stores.opening import opened

NOW = 1_700_000_000.0


async def say(store: Store, channel: str, *, name: str = "e1") -> tuple[str, str]:
    """Accept a message; return its lane and its person. Both bots number their messages alike."""
    source = Source(platform=channel, chat_id="7", user_id="7", user_name="Ada")
    event = MessageEvent(
        account=channel.partition("/")[2] or "default",
        route="bot",
        external_id=name,
        source=source,
        parts=(TextPart("hi"),),
        at=NOW,
    )
    lane = str(session_key(source, "main"))
    accepted = await store.inbox.accept(
        NewMessage(
            id=f"m_{channel.replace('/', '_')}_{name}",
            event=event,
            lane=lane,
            identity=name.encode(),
            received_at=NOW,
        ),
        kept=lambda _result: None,
    )
    assert not accepted.duplicate
    record = await store.inbox.get(accepted.message_id)
    assert record is not None
    return lane, record.person_id


@pytest.mark.req("W13", "W22")
async def test_one_person_has_a_conversation_with_each_bot(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        own, person = await say(store, "telegram")
        sales, same = await say(store, "telegram/sales")

        assert person == same
        assert (own, sales) == ("agent:main:telegram:dm:7", "agent:main:telegram%2Fsales:dm:7")
        access = await store.users.channel_access("telegram/sales", "7")
        assert access.person_id == person


@pytest.mark.req("W13")
async def test_what_is_linked_or_let_in_counts_for_every_bot(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await say(store, "telegram")
        await say(store, "telegram/sales")
        other = await store.users.add("slack", "U1", name=None, at=NOW)

        await store.users.link("telegram/sales", "7", person_id=other, at=NOW)

        access = await store.users.channel_access("telegram", "7")
        assert (access.person_id, access.is_active) == (other, True)
        found = {
            one.person_id
            for channel in ("telegram", "telegram/sales")
            for one in await store.sends.sessions(channel, "7", thread_id=None, agents=("main",))
        }
        assert found == {other}
