"""Conversations as the page reads them."""

from typing import Any

import msgspec
import pytest

from hermes.channels.web.inbound import StopRequest, WebMessage, to_event, to_stop_event
from hermes.channels.web.outbound import conversations_json
from hermes.http.conversation import conversation_messages
from hermes.message.event import MessageEvent
from hermes.message.outcome import BusyPolicy, MessageState, Outcome
from hermes.message.reply import Usage
from hermes.ports.session_history import Contribution, ConversationMessage, ConversationPage
from hermes.ports.turns import MessageRecord, TurnResult


def shown(event: MessageEvent | None, result: TurnResult | None) -> ConversationMessage:
    record = MessageRecord(
        id="m_1",
        seq=1,
        lane="l",
        person_id="p",
        event=event,
        state=MessageState.DONE if result else MessageState.RUNNING,
        busy=BusyPolicy.QUEUE,
        control=False,
        received_at=3.0,
        attempts=0,
        external_id="1",
        platform="web",
        outcome=Outcome.ANSWERED if result else None,
    )
    return ConversationMessage(record, result, epoch=2)


def page(*messages: ConversationMessage) -> ConversationPage:
    return ConversationPage(messages=messages, epoch=3, earlier="m.1")


def as_json(value: object) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(value), type=dict[str, Any])


@pytest.mark.req("W9", "J6")
def test_a_conversation_shows_messages_and_not_the_pages_own_stops() -> None:
    asked = to_event(WebMessage(conversation="c", text="hi", id="1"), user="owner", now=0.0)
    stop = to_stop_event(StopRequest("c"), user="owner", now=0.0, make_id=lambda prefix: prefix)
    answer = TurnResult(text="day", usage=Usage(1, 2, cost_usd=0.5), model="m")
    told = conversation_messages("c", page(shown(asked, answer), shown(stop, None)))
    assert as_json(told) == {
        "id": "c",
        "epoch": 3,
        "earlier": "m.1",
        "temporary": False,
        "contributions": [],
        "messages": [
            {
                "text": "hi",
                "at": 3.0,
                "epoch": 2,
                "turn": {
                    "id": "m_1",
                    "state": "done",
                    "outcome": "answered",
                    "conversation": "c",
                    "reply": "day",
                    "tokens_in": 1,
                    "tokens_out": 2,
                    "cost_usd": 0.5,
                    "model": "m",
                    "tool_calls": [],
                    "duplicate": False,
                },
                "taken_out": "",
                "files": [],
                "replaces": "",
            }
        ],
    }


@pytest.mark.req("A20")
def test_a_cost_that_nobody_knows_is_not_shown_as_nothing() -> None:
    asked = to_event(WebMessage(conversation="c", text="hi", id="1"), user="owner", now=0.0)
    answer = TurnResult(text="day", usage=Usage(1, 2, unpriced=3), model="m")
    (message,) = as_json(conversation_messages("c", page(shown(asked, answer))))["messages"]
    assert message["turn"]["cost_usd"] is None


@pytest.mark.req("J24")
def test_an_erased_message_has_no_text() -> None:
    (message,) = as_json(conversation_messages("c", page(shown(None, None))))["messages"]
    assert (message["text"], message["turn"]["conversation"]) == (None, None)


@pytest.mark.req("W9")
def test_the_list_of_conversations_keeps_its_order() -> None:
    rows: list[dict[str, Any]] = [
        {
            "chat_id": "b",
            "title": "About b",
            "used_at": 2.0,
            "is_temporary": True,
            "is_waiting": True,
        },
        {"chat_id": "a"},
    ]
    assert as_json(conversations_json(rows)) == {
        "conversations": [
            {"id": "b", "title": "About b", "at": 2.0, "temporary": True, "waiting": True},
            {"id": "a", "title": "", "at": 0.0, "temporary": False, "waiting": False},
        ]
    }


@pytest.mark.req("J9", "W21")
def test_what_a_person_writes_denies_what_waits_and_can_be_temporary() -> None:
    event = to_event(
        WebMessage(conversation="c", text="hi", id="1", temporary=True), user="owner", now=0.0
    )
    assert (event.denies_approval, event.is_temporary) == (True, True)
    assert not to_event(
        WebMessage(conversation="c", text="hi", id="1"), user="owner", now=0.0
    ).is_temporary


@pytest.mark.req("W21")
def test_a_conversation_says_what_others_contribute_to_it() -> None:
    told = conversation_messages(
        "c",
        ConversationPage(
            is_temporary=True, contributions=(Contribution("known", ("diet: vegan",)),)
        ),
    )
    read = as_json(told)
    assert read["temporary"] is True
    assert read["contributions"] == [{"kind": "known", "lines": ["diet: vegan"]}]


@pytest.mark.req("W35")
def test_messages_of_the_same_id_by_two_people_are_two_messages() -> None:
    message = WebMessage(conversation="c", text="hi", id="1")

    events = [to_event(message, user=user, now=0.0) for user in ("owner", "ann", "bob")]

    assert [(one.external_id, one.source.user_id) for one in events] == [
        ("1", "owner"),
        ("ann:1", "ann"),
        ("bob:1", "bob"),
    ]
