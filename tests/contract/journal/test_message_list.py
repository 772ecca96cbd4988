"""Operators list messages of real turns, with and without what was said."""

from pathlib import Path

import msgspec
import pytest

from hermes.control.messages import MessageOperations, MessagesAsk
from hermes.control.sessions import session_id
from hermes.errors import BadRequest, NotFound
from tests.contract.journal.rig import open_rig

LONG = "Tell me everything about the weather. " * 9


@pytest.mark.req("A32")
async def test_messages_are_listed_without_and_with_what_was_said(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        first = await rig.say(LONG, chat="ann")
        await rig.outcome(first)
        second = await rig.say("<b>hello</b>", chat="bob")
        await rig.outcome(second)
        messages = MessageOperations(rig.store)

        page = await messages.list(MessagesAsk(limit=1))
        rest = await messages.list(MessagesAsk(limit=1, before=page.next))
        of_ann = await messages.list(MessagesAsk(user="rest:ann"))
        with_text = await messages.list_with_text(MessagesAsk())
        record = await rig.store.inbox.get(second)
        session = session_id(rig.store, record.lane) if record else ""

    (newest,) = page.messages
    assert (newest.id, newest.session, newest.outcome) == (second, session, "answered")
    assert (newest.agent, newest.model) == ("main", "scripted:scripted-1")
    assert [one.id for one in rest.messages] == [one.id for one in of_ann.messages] == [first]
    assert rest.next is None
    assert (newest.text, newest.reply) == (None, None)
    assert [(one.text, one.reply) for one in with_text.messages] == [
        ("<b>hello</b>", "#1 <b>hello</b>"),
        (f"{LONG[:199]}…", f"#1 {LONG[:196]}…"),
    ]
    assert [msgspec.structs.replace(one, text=None, reply=None) for one in with_text.messages] == [
        newest,
        *rest.messages,
    ]


@pytest.mark.req("A32")
async def test_a_wrong_limit_and_an_unknown_person_are_refused(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        messages = MessageOperations(rig.store)

        with pytest.raises(BadRequest, match="501 messages: expected a number from 1 to 500"):
            await messages.list(MessagesAsk(limit=501))
        with pytest.raises(NotFound, match="Nobody is known as 'rest:nobody'"):
            await messages.list(MessagesAsk(user="rest:nobody"))
