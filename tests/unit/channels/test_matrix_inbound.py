"""Events of a homeserver to the one event shape; whatever strangers put into one does no harm."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.channels.matrix.inbound import (
    Bot,
    EventRoom,
    QuotedMessage,
    media_place,
    plain_body,
    to_event,
    without_name,
    without_quote,
)
from hermes.channels.matrix.rooms import RoomBook
from hermes.channels.matrix.wire import MAX_DEPTH, Summary, read_event, read_page, read_sync
from hermes.errors import BadRequest
from hermes.message.event import MessageEvent, ReplyContext
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, TextPart

BOT = Bot("@hermes:example.org", "Hermes")
NOW = 1_700_000_000.0
MXC = "mxc://example.org/abc_-1"


def wire(content: dict[str, Any], **more: Any) -> bytes:
    event = {
        "type": "m.room.message",
        "sender": "@ada:example.org",
        "event_id": "$one",
        "origin_server_ts": 1_600_000_000_000,
        "content": content,
        **more,
    }
    return json.dumps(event).encode()


def read(
    body: bytes, *, direct: bool = True, quoted: QuotedMessage | None = None
) -> MessageEvent | None:
    place = EventRoom(room_id="!r:example.org", is_direct=direct, user_name="Ada")
    return to_event(read_event(body), place, bot=BOT, account="default", now=NOW, quoted=quoted)


def said(content: dict[str, Any], **more: Any) -> MessageEvent:
    event = read(wire(content), **more)
    assert event is not None
    return event


def text(body: str, **more: Any) -> dict[str, Any]:
    return {"msgtype": "m.text", "body": body, **more}


@pytest.mark.req("A2", "W11")
def test_a_text_is_an_event_with_the_platforms_own_ids() -> None:
    event = said(text("hello"))

    assert (event.account, event.route, event.external_id) == ("default", "sync", "$one")
    assert (event.source.platform, event.source.chat_id) == ("matrix", "!r:example.org")
    assert (event.source.user_id, event.source.user_name) == ("@ada:example.org", "Ada")
    assert (event.parts, event.at, event.type) == ((TextPart("hello"),), 1_600_000_000.0, "text")


@pytest.mark.req("W11")
@pytest.mark.parametrize(
    "body",
    [
        wire({}),
        wire(text("x"), type="m.reaction"),
        wire(text("x"), sender=BOT.user_id),
        wire(text("x"), state_key=""),
        wire(text("* x", **{"m.relates_to": {"rel_type": "m.replace", "event_id": "$a"}})),
        wire(text("   ")),
    ],
    ids=["redacted", "reaction", "own", "state", "edit", "blank"],
)
def test_what_is_no_new_message_gives_nothing(body: bytes) -> None:
    assert read(body) is None


@pytest.mark.req("W11")
@pytest.mark.parametrize(
    "body",
    [
        wire({"msgtype": 1, "body": "x"}),
        wire({"msgtype": "m.text", "body": None}),
        wire({"msgtype": "m.text"}),
        wire(text("x"), event_id="one"),
        wire(text("x"), event_id="$" + "x" * 300),
        wire(text("x"), sender="ada"),
        wire({"msgtype": "m.image", "body": "x"}),
        wire({"msgtype": "m.image", "body": "x", "url": "https://evil.example/x"}),
        wire({"msgtype": "m.image", "body": "x", "url": "mxc://a/../../x"}),
        b"[]",
        b"\xff",
        b'{"type": "m.room.message", "content": []}',
        b'{"type": "m.room.message", "origin_server_ts": "now"}',
        b'{"type": "m.room.message", "origin_server_ts": NaN}',
    ],
)
def test_what_cannot_be_read_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        read(body)


@pytest.mark.req("W30")
@pytest.mark.parametrize(
    ("content", "addressed", "rest"),
    [
        (text("nice weather"), False, "nice weather"),
        (text("hermes: hello"), True, "hello"),
        (text("Hermes, hello"), True, "hello"),
        (text("@hermes hello"), True, "hello"),
        (text("@hermes:example.org hello"), True, "hello"),
        (text("@hermes:example.org: hello"), True, "hello"),
        (text("hello HERMES"), True, "hello HERMES"),
        (text("Hermes"), True, "Hermes"),
        (text("hermeship is fine"), False, "hermeship is fine"),
        (text("hey", **{"m.mentions": {"user_ids": [BOT.user_id]}}), True, "hey"),
        (text("hey", **{"m.mentions": {"user_ids": "no"}}), False, "hey"),
        (text("hey", **{"m.mentions": {"room": True}}), False, "hey"),
        (
            text(
                "you there?",
                formatted_body='<a href="https://matrix.to/#/%40hermes%3Aexample.org">you</a>',
            ),
            True,
            "you there?",
        ),
        (
            text("x", formatted_body='<a href="https://matrix.to/#/@other:example.org">x</a>'),
            False,
            "x",
        ),
    ],
)
def test_in_a_group_the_bot_is_meant_when_it_is_named(
    content: dict[str, Any], addressed: bool, rest: str
) -> None:
    event = said(content, direct=False)

    assert (event.addressed, event.text) == (addressed, rest)
    assert said(content).addressed


@pytest.mark.req("W11")
@pytest.mark.parametrize(
    ("body", "rest"),
    [
        ("/help", "/help"),
        ("!help", "/help"),
        ("!help me", "/help me"),
        ("/stop@hermes", "/stop"),
        ("/stop@hermes:example.org now", "/stop now"),
        ("/stop@other", "/stop@other"),
        ("hermes: !status", "/status"),
        ("!!", "!!"),
        ("! no", "! no"),
        ("/usr/bin is a path", "/usr/bin is a path"),
    ],
)
def test_commands_are_written_with_either_mark(body: str, rest: str) -> None:
    assert said(text(body)).text == rest


@pytest.mark.req("W11")
def test_a_reply_has_its_context_and_no_quotation() -> None:
    relation = {"m.relates_to": {"m.in_reply_to": {"event_id": "$before"}}}
    body = "> <@eve:example.org> first line\n> second\n\nI agree"

    event = said(text(body, **relation), direct=False)

    assert event.text == "I agree"
    assert event.reply_to == ReplyContext(
        message_id="$before", text="first line\nsecond", user_id="@eve:example.org"
    )
    assert not event.addressed
    own = said(text("I agree", **relation), direct=False, quoted=QuotedMessage(BOT.user_id, "mine"))
    assert own.addressed
    assert own.reply_to == ReplyContext(message_id="$before", text="mine", user_id=BOT.user_id)


@pytest.mark.req("W11")
def test_a_quotation_of_ones_own_making_stays() -> None:
    assert said(text("> <@eve:example.org> hm\n\nyes")).text == "> <@eve:example.org> hm\n\nyes"
    assert without_quote("> no sender\n\nyes") == ("> no sender\n\nyes", None)


@pytest.mark.req("W11")
def test_a_thread_has_its_root_and_its_fallback_is_no_reply() -> None:
    relation = {
        "rel_type": "m.thread",
        "event_id": "$root",
        "is_falling_back": True,
        "m.in_reply_to": {"event_id": "$last"},
    }

    event = said(text("x", **{"m.relates_to": relation}), direct=False)
    real = said(text("x", **{"m.relates_to": {**relation, "is_falling_back": False}}), direct=False)

    assert (event.source.chat_type, event.source.thread_id) == ("thread", "$root")
    assert event.source.parent_chat_id == "!r:example.org"
    assert (event.reply_to, real.reply_to) == (None, ReplyContext(message_id="$last"))
    assert said(text("x", **{"m.relates_to": relation})).source.chat_type == "dm"


@pytest.mark.req("W11", "W17")
@pytest.mark.parametrize(
    ("kind", "part", "type_", "mime"),
    [
        ("m.image", ImagePart, "image", "image/jpeg"),
        ("m.audio", AudioPart, "audio", "audio/ogg"),
        ("m.video", FilePart, "video", "video/mp4"),
        ("m.file", FilePart, "file", "application/octet-stream"),
    ],
)
def test_attachments_are_named_by_their_reference(
    kind: str, part: type[Any], type_: str, mime: str
) -> None:
    event = said({"msgtype": kind, "body": "a.bin", "url": MXC})

    assert (event.type, event.parts) == (type_, (part(Media(mime, name="a.bin", ref=MXC)),))


@pytest.mark.req("W17")
def test_what_is_said_with_an_attachment_stands_before_it() -> None:
    info = {"mimetype": "image/png", "size": 12}

    event = said(
        {"msgtype": "m.image", "body": "my cat", "filename": "c.png", "url": MXC, "info": info}
    )

    media = Media("image/png", name="c.png", size=12, ref=MXC)
    assert event.parts == (TextPart("my cat"), ImagePart(media))


@pytest.mark.req("W17")
@pytest.mark.parametrize("size", [-1, 1 << 60, True, "12", 1.5, None])
def test_a_size_or_a_type_that_cannot_be_is_not_believed(size: object) -> None:
    info = {"mimetype": "image/png\r\nx: y", "size": size}

    [part] = said({"msgtype": "m.image", "body": "x", "url": MXC, "info": info}).parts

    assert part == ImagePart(Media("image/jpeg", name="x", ref=MXC))


@pytest.mark.req("W11")
def test_other_kinds_of_message() -> None:
    assert said({"msgtype": "m.notice", "body": "beep"}).source.is_bot
    assert said({"msgtype": "m.emote", "body": "waves"}).text == "* Ada waves"
    place = said({"msgtype": "m.location", "body": "here", "geo_uri": "geo:1,2"})
    assert (place.text, place.type) == ("here (geo:1,2)", "location")
    assert said({"msgtype": "org.example.new", "body": "shown"}).text == "shown"


@pytest.mark.req("W11")
@pytest.mark.parametrize("told", [-1, 0, (NOW + 60) * 1000, 1e30])
def test_a_clock_that_cannot_be_right_is_not_believed(told: float) -> None:
    event = read(wire(text("x"), origin_server_ts=told))

    assert event is not None
    assert event.at == NOW


@pytest.mark.req("W11")
def test_a_message_is_quoted_in_its_last_version() -> None:
    new = {"content": {"m.new_content": {"body": "final"}}}
    event = read_event(wire(text("draft"), unsigned={"m.relations": {"m.replace": new}}))

    assert plain_body(event) == "final"


@pytest.mark.req("W10")
def test_one_event_that_cannot_be_read_spoils_no_other() -> None:
    deep = b'{"type": "x", "content": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}"
    half = b'{"type": "x", "content": {"a": "\\ud800", "b": "\\ud83d\\ude00 \\\\ud800"}}'
    good = wire(text("hello"))
    timeline = b'{"events": [' + b",".join((deep, half, b"7", good)) + b"]}"
    body = b'{"next_batch": "s1", "rooms": {"join": {"!r": {"timeline": ' + timeline + b"}}}}"

    sync = read_sync(body)

    events = sync.rooms.join["!r"].timeline.events
    assert (sync.next_batch, len(events)) == ("s1", 4)
    assert read_event(events[1]).content == {"a": "\ufffd", "b": "😀 \\ud800"}
    event = read(bytes(events[3]))
    assert event is not None
    assert event.text == "hello"


@pytest.mark.req("W10")
@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"next_batch": 1}', b"<html>", b"\xff"])
def test_an_answer_of_another_shape_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        read_sync(body)


@pytest.mark.req("W30")
@pytest.mark.parametrize(
    ("joined", "invited", "listed", "direct"),
    [(2, 0, False, True), (1, 1, False, True), (3, 0, False, False), (3, 0, True, False), (None, 0, True, True), (None, 0, False, False), (1, 0, True, True)],
)  # fmt: skip
def test_a_direct_chat_is_listed_or_has_two_in_it_and_never_three(
    joined: int | None, invited: int, listed: bool, direct: bool
) -> None:
    book = RoomBook(BOT.user_id)
    book.hear_summary("!r", Summary(joined=joined, invited=invited))
    book.hear_direct({"@ada:x": ["!r", 7], "@eve:x": "no"} if listed else {})

    assert book.is_direct("!r") is direct


@pytest.mark.req("W17")
@pytest.mark.parametrize("ref", [None, "", "mxc://", "mxc://a", "mxc://a/b/c", "mxc://a b/c", "http://a/b", "mxc://a/%2e%2e"])  # fmt: skip
def test_only_an_address_of_media_is_one(ref: str | None) -> None:
    assert media_place(ref) is None
    assert media_place("mxc://[::1]:80/a-b_C1") == ("[::1]:80", "a-b_C1", "")


# Half characters, too.
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.sampled_from(
        ["m.text", "m.image", "m.thread", "m.replace", MXC, "$x", "@hermes:example.org"]
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "msgtype",
                    "body",
                    "url",
                    "info",
                    "m.relates_to",
                    "m.mentions",
                    "user_ids",
                    "size",
                    "formatted_body",
                    "event_id",
                    "rel_type",
                    "m.in_reply_to",
                    "filename",
                    "mimetype",
                ]
            )
            | st.text(max_size=5),
            inner,
            max_size=8,
        )
    ),
    max_leaves=20,
)


@pytest.mark.req("W10")
@settings(max_examples=300, deadline=None)
@given(
    st.fixed_dictionaries(
        {"type": st.just("m.room.message"), "sender": st.just("@a:b"), "event_id": st.just("$e")},
        optional={"content": _json, "unsigned": _json, "origin_server_ts": _json},
    )
)
def test_any_json_gives_an_event_nothing_or_a_refusal(event: dict[str, Any]) -> None:
    body = json.dumps(event).encode()
    for direct in (True, False):
        try:
            found = read(body, direct=direct)
        except BadRequest:
            continue
        assert found is None or msgspec.json.encode(found)


@pytest.mark.req("W10")
@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=200)
    | st.text(alphabet='{}[]",:\\ud8a0 1eE-.tn', max_size=80).map(str.encode)
)
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    for reader in (read_sync, read_page, read):
        try:
            reader(body)
        except BadRequest:
            continue


@pytest.mark.req("W10")
@given(st.integers(min_value=1, max_value=3 * MAX_DEPTH))
def test_any_depth_can_be_read(depth: int) -> None:
    event = b'{"type": "x", "content": {"a": ' + b'{"b": ' * depth + b"1" + b"}" * depth + b"}}"

    assert read_event(event).type == "x"


@pytest.mark.req("W11")
@given(st.text(max_size=60))
def test_taking_the_name_off_leaves_no_less_than_nothing(body: str) -> None:
    names = ("@hermes:example.org", "hermes")

    rest = without_name(f"hermes: {body}", names)
    assert rest.strip() in {body.strip(), without_name(body, names).strip()} or not body.strip()
