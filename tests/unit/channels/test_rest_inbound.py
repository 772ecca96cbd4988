"""The REST body becomes the one event shape."""

import pytest

from hermes.channels.rest.inbound import RestMessage, read_message, source_of, to_event
from hermes.errors import BadRequest
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source


def made_id(prefix: str) -> str:
    return f"{prefix}_made"


def event_of(message: RestMessage, *, sender: str = "ann") -> MessageEvent:
    source = source_of(sender, message.context, shared=message.shared)
    return to_event(message, source=source, now=5.0, make_id=made_id)


@pytest.mark.req("A2", "W11")
def test_a_whole_body_becomes_an_event() -> None:
    raw = b'{"sender":"ann","text":"hi","conversation":"c","id":"7","agent":"main"}'
    event = event_of(read_message(raw))
    assert event == MessageEvent(
        account="default",
        route="api",
        external_id="7",
        source=Source(platform="rest", chat_id="c", chat_type="dm", user_id="ann"),
        parts=(TextPart("hi"),),
        at=5.0,
        agent="main",
    )


@pytest.mark.req("A2")
def test_without_conversation_and_id_the_sender_and_a_new_id_stand_in() -> None:
    event = event_of(RestMessage(sender="ann", text="hi"))
    assert (event.source.chat_id, event.external_id, event.agent) == ("ann", "x_made", None)


@pytest.mark.req("W18")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("/stop", "command"),
        ("/model gpt", "command"),
        ("/reload-mcp", "command"),
        ("/etc/passwd is a file", "text"),
        ("/", "text"),
        ("// note", "text"),
        (" /stop", "text"),
    ],
)
def test_only_a_slash_word_is_a_command(text: str, kind: str) -> None:
    assert event_of(RestMessage(sender="ann", text=text)).type == kind


@pytest.mark.req("P3")
def test_p3_a_message_may_ask_for_a_task_type_that_is_known() -> None:
    asked = read_message(b'{"sender":"ann","text":"hi","task":"large_reasoning"}')

    assert event_of(asked).task == "large_reasoning"
    with pytest.raises(BadRequest, match="task"):
        read_message(b'{"sender":"ann","text":"hi","task":"huge"}')


@pytest.mark.req("M8")
def test_m8_a_call_of_an_agent_needs_no_sender_and_may_name_its_context() -> None:
    call = read_message(b'{"text":"hi","agent":"helper","context_id":"c"}')

    assert (call.sender, call.agent, call.context) == (None, "helper", "c")
    with pytest.raises(BadRequest, match="no 'sender'"):
        read_message(b'{"text":"hi"}')
    with pytest.raises(BadRequest, match="are the same"):
        read_message(b'{"text":"hi","sender":"a","context_id":"c","conversation":"d"}')
