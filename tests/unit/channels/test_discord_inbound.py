"""What happens on Discord as events: mentions, threads, voice, forwarded words; and any frame at all."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channel_kit.bodies import decode
from hermes.channels.discord.gateway import gateway_wire
from hermes.channels.discord.inbound import Me, interaction_event, message_event, reaction_event
from hermes.channels.discord.wire import (
    WireChannel,
    WireInteraction,
    WireMessage,
    WireReaction,
    direct,
    written_at,
)
from hermes.errors import BadRequest
from hermes.message.event import NO_RAW, MessageEvent, ReplyContext
from hermes.message.parts import AudioPart, FilePart, Media, TextPart
from hermes.message.source import Source

BOT = "900000000000000001"
ME = Me(user_id=BOT, application_id="900000000000000002", account="default")
LAB = WireChannel(id="31", type=0, name="lab", guild_id="7")
# 2^63 and more: a number would lose its last digits in many readers.
LARGE = "18446744073709551615"
NOW = written_at(LARGE) + 10


def message(**more: Any) -> WireMessage:
    told = {
        "id": "175928847299117063",
        "channel_id": "31",
        "author": {"id": "41", "username": "ada", "global_name": "Ada"},
        "content": "hello",
        **more,
    }
    return decode(msgspec.json.encode(told), WireMessage, platform="discord")


def event_of(place: WireChannel = LAB, **more: Any) -> MessageEvent | None:
    return message_event(message(**more), me=ME, place=place, now=NOW, raw=NO_RAW)


def read(place: WireChannel = LAB, **more: Any) -> MessageEvent:
    event = event_of(place, **more)
    assert event is not None
    return event


@pytest.mark.req("W9", "W10")
def test_a_message_of_a_server() -> None:
    assert read(guild_id="7", member={"nick": "Countess"}) == MessageEvent(
        account="default",
        route="messages",
        external_id="175928847299117063",
        source=Source(
            platform="discord",
            chat_id="31",
            chat_type="group",
            chat_name="lab",
            user_id="41",
            user_name="Countess",
            guild_id="7",
        ),
        parts=(TextPart("hello"),),
        at=written_at("175928847299117063"),
        addressed=False,
    )


@pytest.mark.req("W9")
def test_ids_of_64_bits_stay_as_they_are() -> None:
    event = read(direct(LARGE), id=LARGE, channel_id=LARGE, author={"id": LARGE, "username": "a"})

    assert (event.external_id, event.source.chat_id, event.source.user_id) == (LARGE,) * 3


@pytest.mark.req("W9")
def test_an_id_that_is_a_number_is_not_read() -> None:
    with pytest.raises(BadRequest):
        message(id=175928847299117063)


@pytest.mark.req("W17", "W30")
@pytest.mark.quality("mentions in groups")
@pytest.mark.parametrize(
    ("content", "mentions", "text", "is_addressed"),
    [
        (f"<@{BOT}> hi", [BOT], "hi", True),
        (f"<@!{BOT}>, hi", [BOT], "hi", True),
        (f"hi <@{BOT}>", [BOT], "hi", True),
        (f"<@{BOT}>", [BOT], f"<@{BOT}>", True),
        ("hi <@41> and <@42>", ["41"], "hi @Ada and <@42>", False),
        ("hi @hermes", [], "hi @hermes", False),
        # Written, but nobody was mentioned: code, or somebody who may not.
        (f"`<@{BOT}>`", [], "``", False),
    ],
)
def test_who_is_mentioned(content: str, mentions: list[str], text: str, is_addressed: bool) -> None:
    people = [{"id": one, "username": "ada", "global_name": "Ada"} for one in mentions]

    event = read(guild_id="7", content=content, mentions=people)

    assert (event.text, event.addressed) == (text, is_addressed)


@pytest.mark.req("W17")
def test_a_reply_to_the_bot_is_for_it() -> None:
    answered = {"id": "8", "channel_id": "31", "author": {"id": BOT}, "content": "the question"}

    event = read(type=19, referenced_message=answered)

    assert event.addressed
    assert event.reply_to == ReplyContext(message_id="8", text="the question", user_id=BOT)
    assert not read(type=19, referenced_message={**answered, "author": {"id": "42"}}).addressed
    assert not read(type=19, referenced_message=None).addressed


@pytest.mark.req("W11")
def test_a_thread_belongs_to_its_channel() -> None:
    thread = WireChannel(id="51", type=11, parent_id="31", name="a thread", guild_id="7")

    source = read(thread).source

    assert (source.chat_id, source.thread_id, source.chat_type) == ("31", "51", "thread")


@pytest.mark.req("W17")
def test_files_voice_stickers_and_what_was_forwarded() -> None:
    file = {"id": "1", "url": "https://cdn.discordapp.com/a", "filename": "a.ogg", "size": 5}
    sound = {**file, "content_type": "audio/ogg"}
    media = Media("audio/ogg", name="a.ogg", size=5, ref="https://cdn.discordapp.com/a")

    assert read(content="", attachments=[sound], flags=1 << 13).parts == (
        AudioPart(media, is_voice=True),
    )
    assert read(attachments=[sound]).parts == (TextPart("hello"), AudioPart(media))
    plain = msgspec.structs.replace(media, mime="application/octet-stream")
    assert read(content="", attachments=[file]).parts == (FilePart(plain),)
    assert read(content="", sticker_items=[{"id": "1", "name": "Wave"}]).text == "[sticker: Wave]"
    forwarded = {"message": {"content": "their words", "attachments": [file]}}
    assert read(content="", message_snapshots=[forwarded]).parts == (
        TextPart("their words"),
        FilePart(plain),
    )


@pytest.mark.req("W17")
@pytest.mark.quality("bots ignored")
def test_programs_are_bots_and_notices_are_nothing() -> None:
    assert read(author={"id": "42", "username": "b", "bot": True}).source.is_bot
    assert read(webhook_id="42").source.is_bot
    assert event_of(content="") is None
    assert event_of(type=7) is None


def reacted(**more: Any) -> MessageEvent | None:
    told = {"user_id": "41", "channel_id": "31", "message_id": "8", "emoji": {"name": "👍"}, **more}
    found = msgspec.convert(told, WireReaction)
    return reaction_event(found, me=ME, place=LAB, is_removed=False, name="r1", now=NOW)


@pytest.mark.req("W9")
def test_a_reaction_counts_on_messages_of_the_bot_by_others_in_unicode() -> None:
    assert reacted(message_author_id=BOT) is not None
    assert reacted() is not None
    assert reacted(message_author_id="42") is None
    assert reacted(user_id=BOT) is None
    assert reacted(emoji={"id": "5", "name": "party"}) is None
    assert reacted(emoji={"id": None, "name": None}) is None


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    "more",
    [{"type": 4}, {"type": 3, "data": {"custom_id": "v"}}, {"type": 3, "message": {"id": "8"}}],
)
def test_an_interaction_of_another_kind_is_none(more: dict[str, Any]) -> None:
    told = {
        "id": "1",
        "application_id": "2",
        "token": "t",
        "channel_id": "31",
        "user": {"id": "41"},
    }
    found = msgspec.convert(told | more, WireInteraction)

    assert interaction_event(found, me=ME, place=LAB, now=NOW, handle=None) is None


WIRE = gateway_wire(None, token="t", user_id=BOT, reads_content=True, events=frozenset({"X"}))  # type: ignore[arg-type]


@pytest.mark.req("W2")
@pytest.mark.parametrize(
    ("frame", "meaning", "more"),
    [
        ({"op": 10, "d": {"heartbeat_interval": 41250}}, "hello", {"every_s": 41.25}),
        ({"op": 1, "d": None}, "beat", {}),
        ({"op": 7, "d": None}, "renew", {}),
        ({"op": 9, "d": True}, "invalid", {"can_resume": True}),
        ({"op": 9, "d": False}, "invalid", {"can_resume": False}),
        ({"op": 11}, "alive", {}),
        ({"op": 0, "t": "RESUMED", "s": 9, "d": {}}, "ready", {"number": 9, "id": ""}),
        ({"op": 0, "t": "Y", "s": 10, "d": {}}, "other", {"number": 10, "payload": b""}),
        ({"op": 99}, "other", {"number": None}),
    ],
)
def test_what_a_frame_means(frame: dict[str, Any], meaning: str, more: dict[str, Any]) -> None:
    found = WIRE.read(msgspec.json.encode(frame))

    assert (found.meaning, {name: getattr(found, name) for name in more}) == (meaning, more)


_VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
_JSON = st.recursive(
    _VALUES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
_IDS = st.sampled_from(["1", LARGE, "", "x", "1\n", 5, None])
_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("id", "channel_id", "guild_id", "user_id", "message_id"), _IDS),
        "author": st.fixed_dictionaries({"id": _IDS}) | _JSON,
        "content": st.text(max_size=40) | _JSON,
        "emoji": st.fixed_dictionaries({"name": _JSON}),
        "type": st.integers(0, 20) | _JSON,
        "token": st.text(max_size=10),
        "data": _JSON,
        "message_snapshots": _JSON,
        "session_id": _JSON,
        "heartbeat_interval": _JSON,
    },
)


@given(
    st.fixed_dictionaries(
        {"op": st.integers(-1, 12) | _JSON},
        optional={"d": _FIELDS | _JSON, "s": st.integers() | _JSON, "t": st.text(max_size=9)},
    )
)
@pytest.mark.req("W9", "A34")
def test_any_frame_is_read_or_refused(frame: dict[str, Any]) -> None:
    data = msgspec.json.encode(frame)
    try:
        WIRE.read(data)
    except BadRequest:
        return


@given(_FIELDS)
@pytest.mark.req("W9", "A34")
def test_any_event_is_read_or_refused(fields: dict[str, Any]) -> None:
    data = msgspec.json.encode(fields)
    for shape in (WireMessage, WireReaction, WireInteraction, WireChannel):
        try:
            found = decode(data, shape, platform="discord")
        except BadRequest:
            continue
        event = None
        if isinstance(found, WireMessage):
            event = message_event(found, me=ME, place=LAB, now=NOW, raw=NO_RAW)
        elif isinstance(found, WireReaction):
            event = reaction_event(found, me=ME, place=LAB, is_removed=True, name="r", now=NOW)
        elif isinstance(found, WireInteraction):
            event = interaction_event(found, me=ME, place=LAB, now=NOW, handle=None)
        if event is not None:
            assert msgspec.json.decode(msgspec.json.encode(event), type=MessageEvent) == event
