"""WhatsApp's calls become messages, proofs and one id for each person; what cannot be read is passed over."""

import json
from typing import Any

import pytest

from hermes.channels.meta.inbound import (
    CallReader,
    HeardMessage,
    IdChange,
    MetaCall,
    SendProof,
    canonical_id,
    is_scoped,
    read_whatsapp,
)
from hermes.errors import BadRequest
from hermes.message.event import PressedChoice, Reaction, ReplyContext
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, TextPart
from hermes.message.source import Source

pytestmark = pytest.mark.req("W9", "W14")
READER = CallReader(platform="whatsapp", account="default", own_id="100", now=2_000_000_000.0)


def call_of(*messages: dict[str, Any], number: str = "100", **more: Any) -> bytes:
    value = {
        "messaging_product": "whatsapp",
        "metadata": {"phone_number_id": number},
        "contacts": [{"profile": {"name": "Ada"}, "wa_id": "4917"}],
        "messages": [{"from": "491700", "timestamp": "1700000000", **one} for one in messages],
        **more,
    }
    return json.dumps({"entry": [{"changes": [{"field": "messages", "value": value}]}]}).encode()


def read(*messages: dict[str, Any], **more: Any) -> MetaCall:
    return read_whatsapp(call_of(*messages, **more), READER)


def only(**message: Any) -> HeardMessage:
    (heard,) = read({"id": "wamid.1", **message}).heard
    return heard


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("+49 (170) 123-4567", "491701234567"),
        ("491701234567@s.whatsapp.net", "491701234567"),
        ("491701234567:12@s.whatsapp.net", "491701234567"),
        ("491701234567@c.us", "491701234567"),
        ("123456789012345:3@lid", "123456789012345@lid"),
        ("120363025246125486@g.us", "120363025246125486@g.us"),
        ("DE.13491208655302741918", "DE.13491208655302741918"),
        ("", ""),
    ],
)
def test_each_way_to_write_an_id_is_the_same_person(written: str, canonical: str) -> None:
    assert canonical_id(written) == canonical
    assert canonical_id(canonical) == canonical
    assert is_scoped(canonical) is canonical.startswith("DE.")


def test_a_text_is_an_event_of_the_number_that_wrote() -> None:
    heard = only(type="text", text={"body": "grüß"}, context={"id": "wamid.0"})

    assert heard.ids == ("491700",)
    event = heard.event
    assert event.source == Source(
        platform="whatsapp", chat_id="491700", user_id="491700", user_name="Ada"
    )
    assert (event.text, event.external_id, event.at) == ("grüß", "wamid.1", 1_700_000_000.0)
    assert event.reply_to == ReplyContext(message_id="wamid.0")
    assert json.loads(bytes(event.raw))["text"] == {"body": "grüß"}


def test_a_number_and_a_business_scoped_id_are_one_person() -> None:
    person = {"profile": {"name": "Ada"}, "user_id": "DE.1"}
    other = {"profile": {"name": "Bob"}, "wa_id": "492"}
    text = {"type": "text", "text": {"body": "hi"}}
    both = read(
        {"id": "1", "from_user_id": "DE.1", **text}, contacts=[other, {**person, "wa_id": "491700"}]
    )
    hidden = read({"id": "2", "from": "", "from_user_id": "DE.1", **text}, contacts=[other, person])

    assert [(one.ids, one.event.source.user_name) for one in (*both.heard, *hidden.heard)] == [
        (("491700", "DE.1"), "Ada"),
        (("DE.1",), "Ada"),
    ]


@pytest.mark.parametrize(
    ("message", "parts", "kind"),
    [
        (
            {"image": {"id": "7", "mime_type": "image/jpeg", "caption": "look"}},
            (TextPart("look"), ImagePart(Media("image/jpeg", ref="7"))),
            "image",
        ),
        (
            {"audio": {"id": "7", "mime_type": "audio/ogg; codecs=opus", "voice": True}},
            (AudioPart(Media("audio/ogg; codecs=opus", ref="7"), is_voice=True),),
            "audio",
        ),
        (
            {"document": {"id": 7, "mime_type": "application/pdf", "filename": "a.pdf"}},
            (FilePart(Media("application/pdf", name="a.pdf", ref="7")),),
            "file",
        ),
        (
            {"video": {"id": "7", "mime_type": "video/mp4"}},
            (FilePart(Media("video/mp4", ref="7")),),
            "video",
        ),
        (
            {"sticker": {"id": "7", "mime_type": "image/webp"}},
            (ImagePart(Media("image/webp", ref="7")),),
            "image",
        ),
        (
            {"location": {"latitude": 52.5, "longitude": 13.4, "name": "Berlin"}},
            (TextPart("Location: Berlin 52.5, 13.4"),),
            "location",
        ),
        (
            {"contacts": [{"name": {"formatted_name": "Bob"}, "phones": [{"phone": "+491"}]}]},
            (TextPart("Contact: Bob +491"),),
            "text",
        ),
        ({"button": {"text": "Yes", "payload": "y"}}, (TextPart("Yes"),), "text"),
        ({"text": {"body": "/new"}}, (TextPart("/new"),), "command"),
    ],
)
def test_each_kind_of_message_says_what_it_holds(message, parts, kind) -> None:
    event = only(**message).event

    assert (event.parts, event.type) == (parts, kind)


def test_buttons_rows_and_reactions_are_no_words() -> None:
    pressed = [
        only(interactive={kind: {"id": "c_1", "title": "Yes"}}, context={"id": "wamid.0"}).event
        for kind in ("button_reply", "list_reply")
    ]
    liked, taken = (
        only(reaction={"message_id": "wamid.0", **emoji}).event for emoji in ({"emoji": "👍"}, {})
    )

    assert [(one.type, one.pressed, one.parts) for one in pressed] == [
        ("choice", PressedChoice(value="c_1", message_id="wamid.0"), ())
    ] * 2
    assert (liked.type, liked.reaction) == ("reaction", Reaction(message_id="wamid.0", emoji="👍"))
    assert taken.reaction == Reaction(message_id="wamid.0", emoji="", is_removed=True)


def test_what_is_not_for_this_number_or_not_readable_is_passed_over() -> None:
    good = {"id": "wamid.9", "text": {"body": "good"}}
    odd: list[dict[str, Any]] = [
        {"id": "1", "type": "unheard_of", "unheard_of": {}},
        {"id": "2", "text": "no object"},
        {"id": "3", "text": {"body": 5.5}},
        {"text": {"body": "no id"}},
        {"id": "4", "group_id": "g", "text": {"body": "in a group"}},
        {"id": "5", "from": "", "text": {"body": "from nobody"}},
    ]

    assert [one.event.text for one in read(*odd, good).heard][-1:] == ["good"]
    assert read(good, number="200") == MetaCall()
    for body in (b"[]", b"5", b'{"entry": {}}', b'{"entry": [5, {"changes": [{"value": 5}]}]}'):
        assert read_whatsapp(body, READER) == MetaCall()
    for body in (b"", b"{", b"\xff", b"[" * 100 + b"]" * 100):
        with pytest.raises(BadRequest):
            read_whatsapp(body, READER)


def test_half_a_character_at_the_end_of_a_name_loses_no_message() -> None:
    body = call_of({"id": "1", "text": {"body": "hi"}}).replace(b'"Ada"', b'"Ad\\ud83d"')

    (heard,) = read_whatsapp(body, READER).heard

    assert (heard.event.text, heard.event.source.user_name) == ("hi", "Ad?")


def test_statuses_with_our_key_are_proofs_and_a_new_number_is_the_same_person() -> None:
    key = {"biz_opaque_callback_data": "o_1.0"}
    statuses = [
        {"id": "wamid.1", "status": "sent", **key},
        {"id": "wamid.1", "status": "read", **key},
        {"id": "wamid.2", "status": "delivered"},
        {"id": "wamid.3", "status": "failed", "errors": [{"code": 131047}], **key},
        {"id": "wamid.4", "status": "failed", **key},
    ]
    moved = {"id": "6", "system": {"type": "user_changed_number", "wa_id": "493"}}

    assert read(moved, statuses=statuses) == MetaCall(
        proofs=(
            SendProof("o_1.0", "wamid.1"),
            SendProof("o_1.0", "wamid.3", "131047"),
            SendProof("o_1.0", "wamid.4", "failed"),
        ),
        changes=(IdChange(id="6", at="1700000000", before=("491700",), after=("493",)),),
    )
