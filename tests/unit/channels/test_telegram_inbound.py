"""Telegram's updates as events: every kind of message, who is addressed, and bytes of all sorts."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.channels.telegram.inbound import (
    message_id_of,
    migration_of,
    read_update,
    to_events,
)
from hermes.channels.telegram.receiver import read_batch
from hermes.channels.telegram.wire import User
from hermes.errors import BadRequest, DeliveryUnknown, TooLarge
from hermes.message.event import MessageEvent, PressedChoice, Reaction, ReplyContext
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, TextPart
from hermes.message.source import Source

BOT = User(id=77, is_bot=True, first_name="Hermes", username="HermesBot")
ADA = {"id": 5, "is_bot": False, "first_name": "Ada", "last_name": "L", "username": "ada"}
DM = {"id": 5, "type": "private", "first_name": "Ada"}
GROUP = {"id": -1001, "type": "supergroup", "title": "Engines"}


def events_of(kind: str, wire: dict[str, Any]) -> tuple[MessageEvent, ...]:
    body = json.dumps({"update_id": 1, kind: wire}).encode()
    raw = msgspec.Raw(body)
    return to_events(read_update(body), bot=BOT, account="default", now=7.0, raw=raw)


def event_of(kind: str = "message", **message: Any) -> MessageEvent | None:
    wire = {"message_id": 9, "date": 1_700_000_000, "chat": DM, "from": ADA, **message}
    return next(iter(events_of(kind, wire)), None)


def got(kind: str = "message", **message: Any) -> MessageEvent:
    event = event_of(kind, **message)
    assert event is not None
    return event


def sent_by(sender: dict[str, Any] | None) -> dict[str, Any]:
    return {"from": sender}


def entity(kind: str, offset: int, length: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.req("A2", "W11")
def test_a_private_message_is_an_event_with_all_that_is_known() -> None:
    event = got(text="hello")

    assert msgspec.structs.replace(event, raw=msgspec.Raw()) == MessageEvent(
        account="default",
        route="bot",
        external_id="9@5",
        source=Source(
            platform="telegram", chat_id="5", chat_name="Ada", user_id="5", user_name="Ada L"
        ),
        parts=(TextPart("hello"),),
        at=1_700_000_000.0,
    )
    assert json.loads(bytes(event.raw))["message"]["text"] == "hello"


@pytest.mark.req("W11")
@pytest.mark.parametrize(
    ("message", "parts", "kind"),
    [
        (
            {
                "photo": [
                    {"file_id": "s", "width": 90, "height": 60},
                    {"file_id": "l", "width": 1280, "height": 853, "file_size": 9},
                    {"file_id": "m", "width": 320, "height": 213},
                ],
                "caption": "look",
            },
            (TextPart("look"), ImagePart(Media("image/jpeg", size=9, ref="l"))),
            "image",
        ),
        (
            {"voice": {"file_id": "v", "mime_type": "audio/ogg", "file_size": 3}},
            (AudioPart(Media("audio/ogg", size=3, ref="v"), is_voice=True),),
            "audio",
        ),
        (
            {"audio": {"file_id": "a", "mime_type": "audio/mpeg", "file_name": "s.mp3"}},
            (AudioPart(Media("audio/mpeg", name="s.mp3", ref="a")),),
            "audio",
        ),
        (
            {"video": {"file_id": "w", "mime_type": "video/mp4"}, "caption": "see"},
            (TextPart("see"), FilePart(Media("video/mp4", ref="w"))),
            "video",
        ),
        ({"video_note": {"file_id": "n"}}, (FilePart(Media("video/mp4", ref="n")),), "video"),
        (
            {"document": {"file_id": "d", "mime_type": "application/pdf", "file_name": "a.pdf"}},
            (FilePart(Media("application/pdf", name="a.pdf", ref="d")),),
            "file",
        ),
        (
            {"document": {"file_id": "p", "mime_type": "image/png", "file_name": "p.png"}},
            (ImagePart(Media("image/png", name="p.png", ref="p")),),
            "image",
        ),
        (
            {"animation": {"file_id": "g"}, "document": {"file_id": "g"}},
            (FilePart(Media("video/mp4", ref="g")),),
            "video",
        ),
        (
            {"sticker": {"file_id": "t", "emoji": "🙂"}},
            (TextPart("🙂"), ImagePart(Media("image/webp", ref="t"))),
            "image",
        ),
        (
            {"sticker": {"file_id": "t", "emoji": "🙂", "is_animated": True}},
            (TextPart("🙂"),),
            "text",
        ),
        (
            {"location": {"latitude": 48.2082, "longitude": 16.3738}},
            (TextPart("Location: 48.2082, 16.3738"),),
            "location",
        ),
        (
            {
                "venue": {
                    "location": {"latitude": 48.2, "longitude": 16.3},
                    "title": "Prater",
                    "address": "Wien",
                },
                "location": {"latitude": 48.2, "longitude": 16.3},
            },
            (TextPart("Location: Prater, Wien (48.2, 16.3)"),),
            "location",
        ),
        (
            {"contact": {"phone_number": "+43 1", "first_name": "Bo", "last_name": "B"}},
            (TextPart("Contact: Bo B, +43 1"),),
            "text",
        ),
    ],
)
def test_every_kind_of_message_is_taken(
    message: dict[str, Any], parts: tuple[object, ...], kind: str
) -> None:
    event = got(**message)

    assert (event.parts, event.type) == (parts, kind)


@pytest.mark.req("W17")
@pytest.mark.quality("albums")
def test_pictures_of_an_album_name_it() -> None:
    photo = [{"file_id": "l", "width": 1, "height": 1}]

    assert got(photo=photo, media_group_id="133").album == "133"
    assert got(photo=photo).album is None


@pytest.mark.req("W11")
def test_a_topic_is_a_thread_and_a_chain_of_replies_is_none() -> None:
    in_topic = got(chat=GROUP, text="x", message_thread_id=4, is_topic_message=True).source
    in_chain = got(chat=GROUP, text="x", message_thread_id=4).source
    own_topic = got(chat=DM, text="x", message_thread_id=4, is_topic_message=True).source

    assert (in_topic.chat_type, in_topic.thread_id, in_topic.parent_chat_id) == (
        "thread",
        "4",
        "-1001",
    )
    assert (in_chain.chat_type, in_chain.thread_id) == ("group", None)
    assert (own_topic.chat_type, own_topic.thread_id) == ("dm", "4")


@pytest.mark.req("W11")
def test_channels_and_anonymous_admins_write_as_the_chat_that_they_are() -> None:
    channel = {"id": -1009, "type": "channel", "title": "News"}
    post = event_of("channel_post", chat=channel, sender_chat=channel, text="x", **sent_by(None))
    admin = got(
        chat=GROUP, sender_chat=GROUP, text="x", **sent_by({"id": 1087968824, "is_bot": True})
    )

    signed = event_of(
        "channel_post",
        chat=channel,
        sender_chat=channel,
        author_signature="Ann",
        text="x",
        **sent_by(None),
    )

    assert post is not None
    assert signed is not None
    assert (post.source.user_name, signed.source.user_name) == ("News", "Ann")
    assert (post.source.chat_type, post.source.user_id, post.addressed) == (
        "channel",
        "-1009",
        False,
    )
    assert (admin.source.user_id, admin.source.user_name, admin.source.is_bot) == (
        "-1001",
        "Engines",
        False,
    )


@pytest.mark.req("W11")
def test_bots_are_known_as_bots_and_the_own_messages_are_nothing() -> None:
    other = {"id": 8, "is_bot": True, "first_name": "Other"}
    own = {"id": 77, "is_bot": True, "first_name": "Hermes"}

    assert got(text="x", **sent_by(other)).source.is_bot
    assert event_of(text="x", **sent_by(own)) is None


@pytest.mark.req("W30")
@pytest.mark.parametrize(
    ("message", "text", "addressed"),
    [
        ({"text": "hi all"}, "hi all", False),
        (
            {"text": "@hermesbot hi", "entities": [entity("mention", 0, 10)]},
            "hi",
            True,
        ),
        (
            {"text": "👩‍👧 hi @HermesBot!", "entities": [entity("mention", 9, 10)]},
            "👩‍👧 hi !",
            True,
        ),
        ({"text": "@other hi", "entities": [entity("mention", 0, 6)]}, "@other hi", False),
        (
            {"text": "Hermes hi", "entities": [entity("text_mention", 0, 6, user={"id": 77})]},
            "hi",
            True,
        ),
        (
            {"text": "Bo hi", "entities": [entity("text_mention", 0, 2, user={"id": 8})]},
            "Bo hi",
            False,
        ),
        (
            {"text": "/new@HermesBot now", "entities": [entity("bot_command", 0, 14)]},
            "/new now",
            True,
        ),
        (
            {"text": "/new@OtherBot", "entities": [entity("bot_command", 0, 13)]},
            "/new@OtherBot",
            False,
        ),
        ({"text": "@HermesBot hi"}, "@HermesBot hi", False),
        ({"text": "@HermesBot", "entities": [entity("mention", 0, 10)]}, "@HermesBot", True),
        (
            {
                "caption": "@HermesBot what is it",
                "caption_entities": [entity("mention", 0, 10)],
                "photo": [{"file_id": "l"}],
            },
            "what is it",
            True,
        ),
    ],
)
def test_who_names_the_bot_is_heard_and_its_name_is_taken_out(
    message: dict[str, Any], text: str, addressed: bool
) -> None:
    event = got(chat=GROUP, **message)

    assert (event.text, event.addressed) == (text, addressed)


@pytest.mark.req("W11", "W30")
def test_a_reply_brings_what_it_answers_and_addresses_its_author() -> None:
    said = {"message_id": 3, "date": 1, "chat": GROUP, "from": {"id": 77}, "text": "the plan"}
    whole = got(chat=GROUP, text="why", reply_to_message=said)
    part = got(chat=GROUP, text="why", reply_to_message=said, quote={"text": "plan", "position": 4})
    other = got(chat=GROUP, text="why", reply_to_message={**said, "from": ADA})
    opening = got(chat=GROUP, text="why", reply_to_message={**said, "forum_topic_created": {}})
    abroad = got(text="why", external_reply={"message_id": 4}, quote={"text": "far"})

    assert (whole.reply_to, whole.addressed) == (
        ReplyContext(message_id="3@-1001", text="the plan", user_id="77"),
        True,
    )
    assert part.reply_to == ReplyContext(message_id="3@-1001", text="plan", user_id="77")
    assert not other.addressed
    assert (opening.reply_to, opening.addressed) == (None, False)
    assert abroad.reply_to == ReplyContext(message_id="4", text="far")


@pytest.mark.req("A2")
def test_marks_that_mean_something_stay_in_the_text() -> None:
    event = got(
        text="😀 see docs and x=1",
        entities=[
            entity("text_link", 7, 4, url="https://e.org/a"),
            entity("code", 16, 3),
            entity("bold", 3, 3),
        ],
    )

    assert event.text == "😀 see [docs](https://e.org/a) and `x=1`"


@pytest.mark.req("A2")
@pytest.mark.parametrize("entities", [[entity("mention", 1, 3)], [entity("mention", 900, 9)]])
def test_marks_that_do_not_fit_the_text_are_left_alone(entities: list[dict[str, Any]]) -> None:
    assert got(text="😀😀😀", entities=entities).text == "😀😀😀"


@pytest.mark.req("A2")
def test_a_command_is_one() -> None:
    event = got(text="/help me", entities=[entity("bot_command", 0, 5)])

    assert (event.type, event.text) == ("command", "/help me")


@pytest.mark.req("A2")
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("edited_message", {"text": "new"}),
        ("edited_channel_post", {"text": "new"}),
        ("my_chat_member", {}),
        ("message", {"new_chat_members": [ADA]}),
        ("message", {"migrate_to_chat_id": -1005}),
    ],
)
def test_what_is_no_message_of_a_person_gives_no_event(kind: str, message: dict[str, Any]) -> None:
    assert event_of(kind, **message) is None


@pytest.mark.req("A2")
def test_a_group_that_became_a_supergroup_says_where_it_is_now() -> None:
    wire = {"message_id": 9, "date": 1, "chat": GROUP, "migrate_to_chat_id": -1005}
    body = json.dumps({"update_id": 1, "message": wire}).encode()

    assert migration_of(read_update(body)) == (-1001, -1005)


@pytest.mark.req("W10")
def test_a_press_names_the_value_and_the_message_and_one_without_either_is_nothing() -> None:
    message = {"message_id": 9, "date": 0, "chat": GROUP, "message_thread_id": 4}
    query = {"id": "q1", "from": ADA, "message": message, "chat_instance": "1", "data": "c_1"}
    in_topic = {**query, "message": {**message, "is_topic_message": True}}

    (pressed,) = events_of("callback_query", query)

    assert msgspec.structs.replace(pressed, raw=msgspec.Raw()) == MessageEvent(
        account="default",
        route="bot",
        external_id="button:q1",
        source=Source(
            platform="telegram",
            chat_id="-1001",
            chat_type="group",
            chat_name="Engines",
            user_id="5",
            user_name="Ada L",
        ),
        parts=(),
        at=7.0,
        type="choice",
        pressed=PressedChoice(value="c_1", message_id="9"),
    )
    assert events_of("callback_query", in_topic)[0].source.thread_id == "4"
    assert events_of("callback_query", {**query, "data": ""}) == ()
    assert events_of("callback_query", {**query, "message": None}) == ()


def emoji(*found: str) -> list[dict[str, str]]:
    return [{"type": "emoji", "emoji": one} for one in found]


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ((), ("👍",), [("👍", False)]),
        (("👍",), (), [("👍", True)]),
        (("👍",), ("👎",), [("👍", True), ("👎", False)]),
        (("👍",), ("👍", "🔥"), [("🔥", False)]),
        (("👍",), ("👍",), []),
    ],
)
def test_a_reaction_is_what_was_put_on_and_what_was_taken_away(
    before: tuple[str, ...], after: tuple[str, ...], changed: list[tuple[str, bool]]
) -> None:
    told = {"chat": GROUP, "message_id": 9, "user": ADA, "date": 3}
    found = events_of(
        "message_reaction",
        {
            **told,
            "old_reaction": [*emoji(*before), {"type": "custom_emoji", "custom_emoji_id": "5"}],
            "new_reaction": emoji(*after),
        },
    )

    assert [event.reaction for event in found] == [
        Reaction(message_id="9", emoji=one, is_removed=is_removed) for one, is_removed in changed
    ]
    assert [event.external_id for event in found] == [
        f"reaction:1.{number}" for number in range(len(changed))
    ]
    assert all((event.source.user_id, event.type) == ("5", "reaction") for event in found)


@pytest.mark.req("W11")
def test_who_reacts_as_a_chat_is_that_chat() -> None:
    told = {"chat": GROUP, "message_id": 9, "date": 3, "old_reaction": []}
    (found,) = events_of(
        "message_reaction", {**told, "actor_chat": GROUP, "new_reaction": emoji("👍")}
    )

    assert (found.source.user_id, found.source.user_name, found.at) == ("-1001", "Engines", 3.0)


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", BadRequest),
        (b"null", BadRequest),
        (b'{"update_id": "1"}', BadRequest),
        (b'{"update_id": NaN}', BadRequest),
        (b'{"update_id": 99999999999999999999999999}', BadRequest),
        (b'{"update_id": 1, "message": {"text": "\\ud800"}}', BadRequest),
        (b'{"update_id":1,"message":' * 5000, BadRequest),
        (b"[" * 100_000, BadRequest),
        (b"\xff\xfe", BadRequest),
        (b" " * 1_048_577, TooLarge),
        # As large as an update may be: it is read, and found to be none.
        (b" " * 1_048_576, BadRequest),
    ],
)
def test_bytes_that_are_no_update_are_refused(body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        read_update(body)


_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
)  # floats give NaN and Infinity, which JSON has not
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=8,
)
_NAMES = st.sampled_from(
    [
        *("message_id", "date", "chat", "from", "text", "entities", "photo", "sticker", "voice"),
        *("location", "reply_to_message", "message_thread_id", "is_topic_message", "quote"),
        *("caption", "caption_entities", "contact", "venue", "media_group_id", "sender_chat"),
    ]
)
_ENTITIES = st.lists(
    st.builds(
        entity,
        st.sampled_from(["mention", "bot_command", "text_link", "code", "pre", "text_mention"]),
        st.integers(-1, 12),
        st.integers(0, 12),
        url=st.just("https://e.org"),
    ),
    max_size=5,
)


def outcome(body: bytes) -> None:
    """Anything but an event, None or a refusal of the tree fails the test by itself."""
    try:
        update = read_update(body)
    except (BadRequest, TooLarge):
        return
    migration_of(update)
    for event in to_events(update, bot=BOT, account="default", now=7.0, raw=msgspec.Raw(body)):
        assert msgspec.json.decode(msgspec.json.encode(event), type=MessageEvent) == event


@pytest.mark.req("A8")
@given(st.binary(max_size=300))
@pytest.mark.quality("strict types")
def test_any_bytes_give_an_event_nothing_or_a_refusal(body: bytes) -> None:
    outcome(body)


@pytest.mark.req("A8")
@settings(max_examples=200)
@given(st.dictionaries(_NAMES, _VALUES, max_size=5), st.text(max_size=12), _ENTITIES)
def test_any_message_gives_an_event_nothing_or_a_refusal(
    odd: dict[str, Any], text: str, entities: list[dict[str, Any]]
) -> None:
    wire = {"message_id": 9, "date": 1, "chat": GROUP, "text": text, "entities": entities, **odd}
    outcome(json.dumps({"update_id": 1, "message": wire}, default=str).encode())


_KINDS = st.sampled_from(
    [
        *("message", "channel_post", "callback_query", "message_reaction", "edited_message"),
        *("message_reaction_count", "business_message", "poll", "managed_bot", "of_next_year"),
    ]
)
_IDS = st.integers(-(2**70), 2**70) | st.sampled_from([2**53, 2**53 + 1, -(2**63), 2**63, 77])
_CHATS = st.fixed_dictionaries({"id": _IDS, "type": st.sampled_from(["private", "supergroup"])})
_PEOPLE = st.fixed_dictionaries({"id": _IDS, "is_bot": st.booleans(), "first_name": st.just("A")})
_BODIES = st.fixed_dictionaries(
    {"message_id": _IDS, "date": st.just(1), "chat": _CHATS, "from": _PEOPLE, "text": st.just("x")},
    optional={
        "id": st.text(max_size=5),
        "data": st.text(max_size=70),
        "message": st.fixed_dictionaries({"message_id": _IDS, "date": st.just(0), "chat": _CHATS}),
        "user": _PEOPLE,
        "old_reaction": st.just(emoji("👍")),
        "new_reaction": st.lists(_VALUES, max_size=2) | st.just(emoji("👎", "🔥")),
    },
)


@pytest.mark.req("A8")
@settings(max_examples=300)
@given(_IDS, _KINDS, _BODIES)
def test_an_update_of_any_kind_with_ids_of_any_size_gives_events_with_these_ids_or_none(
    number: int, kind: str, body: dict[str, Any]
) -> None:
    wire = {"update_id": number, kind: body}
    try:
        update = read_update(json.dumps(wire).encode())
    except BadRequest:
        return
    found = to_events(update, bot=BOT, account="default", now=7.0)

    chats = {str(body["chat"]["id"]), str(body.get("message", body).get("chat", {}).get("id"))}
    assert all(event.source.chat_id in chats for event in found)
    assert not found or kind in {"message", "channel_post", "callback_query", "message_reaction"}
    assert not any(event.type == "text" and event.source.user_id == "77" for event in found)
    assert len({event.external_id for event in found}) == len(found)


@pytest.mark.req("A8", "J1")
@given(st.lists(st.tuples(st.integers(0, 2**53), _KINDS, _BODIES | _VALUES), max_size=6))
def test_a_batch_passes_over_what_cannot_be_read_and_confirms_all_of_it(
    told: list[tuple[int, str, Any]],
) -> None:
    batch = read_batch([{"update_id": number, kind: body} for number, kind, body in told])

    numbers = [number for number, _, _ in told]
    assert batch.cursor == (str(max(numbers) + 1) if numbers else None)
    assert {polled.cursor for polled in batch.events} <= {str(number) for number in numbers}


@pytest.mark.req("A8", "J1")
@pytest.mark.parametrize("wires", [["x"], [{}], [{"update_id": "1"}], [{"update_id": 2**54}]])
def test_a_batch_without_ids_is_no_answer_of_telegrams(wires: list[Any]) -> None:
    with pytest.raises(DeliveryUnknown):
        read_batch(wires)


@pytest.mark.req("A2")
@given(st.text(alphabet="ab @😀é\u200d", max_size=20), _ENTITIES)
def test_marks_never_break_a_text(text: str, entities: list[dict[str, Any]]) -> None:
    fitting = [one for one in entities if one["offset"] >= 0]
    event = event_of(text=text, entities=fitting)

    assert event is None or event.text.strip() == event.text


@pytest.mark.req("A2")
@given(st.text(max_size=30))
def test_only_the_ids_of_messages_are_message_ids(text: str) -> None:
    assert message_id_of(text) is None or text.partition("@")[0].isdigit()
    assert message_id_of("12@-5") == 12
