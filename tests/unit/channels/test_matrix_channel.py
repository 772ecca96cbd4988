"""The Matrix channel against its strict homeserver, without a gateway around it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.channels.matrix.encrypted_rooms import NOTICE
from hermes.channels.matrix.inbound import VOICE
from hermes.channels.matrix.sync_state import KEY
from hermes.errors import (
    BadRequest,
    ConfigurationError,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
    Overloaded,
    RateLimited,
    TooLarge,
)
from hermes.message.event import Reaction
from hermes.message.parts import AudioPart, ImagePart, Media, TextPart
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.ports.channel import (
    ArrivedDelivery,
    ChatInfo,
    DeletingChannel,
    Delivery,
    InformedChannel,
    ListingChannel,
    LiveChannel,
    MeasuringChannel,
    MediaChannel,
    ProbingChannel,
    PushChannel,
    ReactingChannel,
    Target,
    TypingChannel,
)
from hermes.ports.directory import ChatEntry
from hermes.testing.matrix.people import room_id, user_id
from hermes.testing.matrix.platform import MatrixStandIn
from hermes.testing.matrix.state import BOT
from hermes.testing.stand_in import Fault, File, PersonMessage
from tests.system.matrix_rig import Rig as AloneRig
from tests.system.matrix_rig import picture

PNG = picture(1)


class Rig(AloneRig):
    """The channel on the strict homeserver."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server = MatrixStandIn()

    @property
    def settings(self) -> Mapping[str, object]:
        return self.server.settings


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path)
    await made.server.start()
    yield made
    await made.close()
    await made.server.stop()


def to(chat: str, text: str, *, key: str = "d1.0", **more: Any) -> Delivery:
    target = Target(platform="matrix", account="default", chat_id=room_id(chat), **more)
    return Delivery(id="d1", target=target, parts=(TextPart(text),), key=key)


async def until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not claim():  # noqa: ASYNC110 - nobody tells of what the stream has done
            await asyncio.sleep(0.005)


@pytest.mark.req("W10")
async def test_it_has_every_ability_that_its_manifest_declares(rig: Rig) -> None:
    channel = rig.channel()

    for ability in (
        PushChannel, LiveChannel, ProbingChannel, MeasuringChannel, DeletingChannel,
        TypingChannel, MediaChannel, InformedChannel, ListingChannel, ReactingChannel,
    ):  # fmt: skip
        assert isinstance(channel, ability)


@pytest.mark.req("A2", "W11")
async def test_a_message_comes_in_with_its_place_and_its_author(rig: Rig) -> None:
    await rig.connected()

    event_id = await rig.server.say(
        PersonMessage(text="hello", chat="c", user="ada", user_name="Ada L.")
    )

    [event] = rig.events
    assert (event.external_id, event.text, event.addressed) == (event_id, "hello", True)
    source = event.source
    assert (source.chat_id, source.chat_type, source.chat_name) == (room_id("c"), "dm", "Ada L.")
    assert (source.user_id, source.user_name) == (user_id("ada"), "Ada L.")
    assert rig.server.rejections == ()


@pytest.mark.req("W10")
async def test_what_was_said_before_the_first_start_is_not_taken(rig: Rig) -> None:
    rig.server.write(PersonMessage(text="old", chat="c"))
    await rig.connected()

    await rig.server.say(PersonMessage(text="new", chat="c"))

    assert rig.texts() == ["new"]


@pytest.mark.req("W10")
@pytest.mark.quality("gaps filled")
async def test_what_is_said_while_it_is_away_is_taken_however_much_it_is(rig: Rig) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="before", chat="c"))
    await channel.disconnect()
    said = [f"missed {number}" for number in range(230)]
    for text in said:
        rig.server.write(PersonMessage(text=text, chat="c"))

    await rig.connected()
    await rig.server.taken()

    assert rig.handed == ["before", *said]
    assert rig.server.calls.count("messages") >= 2
    assert rig.server.rejections == ()


@pytest.mark.req("W10", "W2")
async def test_the_place_moves_on_only_when_a_batch_was_accepted(rig: Rig) -> None:
    channel = await rig.connected()
    rig.refusals = [Overloaded("full", 3600.0)]
    rig.server.write(PersonMessage(text="held", chat="c"))
    await until(lambda: not rig.refusals)
    with pytest.raises(Overloaded, match="held back"):
        await channel.probe()

    await channel.disconnect()
    assert rig.texts() == []
    await rig.connected()
    await rig.server.taken()

    assert rig.texts() == ["held"]


@pytest.mark.req("W10")
async def test_a_message_that_is_refused_for_good_holds_up_no_other(rig: Rig) -> None:
    await rig.connected()
    rig.refusals = [BadRequest("no")]

    await rig.server.say(PersonMessage(text="refused", chat="c"))
    await rig.server.say(PersonMessage(text="next", chat="c"))

    assert rig.texts() == ["next"]


@pytest.mark.req("W2")
async def test_a_full_inbox_is_asked_again(rig: Rig) -> None:
    await rig.connected()
    rig.refusals = [Overloaded("full", 0.01), Overloaded("full", 0.01)]

    await rig.server.say(PersonMessage(text="patient", chat="c"))

    assert rig.texts() == ["patient"]


@pytest.mark.req("W2", "A28")
async def test_what_a_sender_with_too_many_waiting_writes_is_passed_over(rig: Rig) -> None:
    await rig.connected()
    rig.refusals = [RateLimited("too many are waiting", 3600.0)]

    await rig.server.say(PersonMessage(text="one more", chat="c", user="mallory"))
    await rig.server.say(PersonMessage(text="/stop", chat="c", user="ann"))

    assert rig.texts() == ["/stop"]


@pytest.mark.req("W10")
async def test_in_a_new_room_what_was_said_since_the_invitation_counts(rig: Rig) -> None:
    town = rig.server.state
    await rig.connected(join="allowed")
    room = rig.server.invite("den", "ada", is_direct=True, history=("old",))
    town.add(room, user_id("ada"), "m.room.message", {"msgtype": "m.text", "body": "at once"})
    rig.server.invite("cave", "ada", is_direct=True, history=("of old",))

    await until(lambda: town.rooms[room_id("cave")].membership(BOT) == "join")
    await rig.server.taken()
    await rig.server.say(PersonMessage(text="later", chat="cave", user="ada"))

    assert rig.texts() == ["at once", "later"]
    assert town.direct == {user_id("ada"): [room, room_id("cave")]}
    assert rig.events[0].source.chat_type == "dm"
    assert rig.server.rejections == ()


@pytest.mark.req("W30")
@pytest.mark.parametrize(
    ("settings", "direct", "joined"),
    [
        ({"join": "never"}, True, False),
        ({"join": "all"}, False, True),
        ({"join": "allowed"}, True, True),
        ({"join": "allowed"}, False, False),
        ({"join": "allowed", "allowed_users": [user_id("ada")]}, False, True),
        ({"join": "allowed", "allowed_users": [user_id("eve")]}, True, False),
    ],
)
async def test_invitations_are_accepted_by_policy(
    rig: Rig, settings: dict[str, object], direct: bool, joined: bool
) -> None:
    await rig.connected(**settings)

    room = rig.server.invite("den", "ada", is_direct=direct)
    await rig.server.say(PersonMessage(text="barrier", chat="other"))

    membership = rig.server.state.rooms[room].membership(BOT)
    assert membership == ("join" if joined else "invite")


@pytest.mark.req("W11", "W30")
async def test_in_a_group_it_is_addressed_by_name_or_by_answering_it(rig: Rig) -> None:
    channel = await rig.connected()
    said = PersonMessage(chat="g", chat_type="group")

    def saying(text: str, **more: object) -> PersonMessage:
        return msgspec.structs.replace(said, text=text, **more)

    await rig.server.say(saying("just talking"))
    own = await channel.send(to("g", "I am here"))
    await rig.server.say(saying("what is up?", mentions=True))
    await rig.server.say(saying("and you?", reply_to=own.platform_message_id))
    await rig.server.say(saying("quite", reply_to=rig.events[0].external_id))

    assert [event.addressed for event in rig.events] == [False, True, True, False]
    assert rig.texts()[1] == "what is up?"
    context = rig.events[2].reply_to
    assert context is not None
    assert (context.text, context.user_id) == ("I am here", BOT)
    assert {event.source.chat_type for event in rig.events} == {"group"}


@pytest.mark.req("W11")
async def test_edits_reactions_and_its_own_words_are_no_messages(rig: Rig) -> None:
    channel = await rig.connected()
    town = rig.server.state
    first = await rig.server.say(PersonMessage(text="one", chat="c"))
    ada, room = user_id("user-1"), room_id("c")
    edit = {
        "msgtype": "m.text",
        "body": "* two",
        "m.new_content": {"msgtype": "m.text", "body": "two"},
        "m.relates_to": {"rel_type": "m.replace", "event_id": first},
    }
    town.add(room, ada, "m.room.message", edit)
    town.add(room, ada, "m.reaction", {"m.relates_to": {"rel_type": "m.annotation"}})
    town.add(room, ada, "m.room.redaction", {"redacts": first})
    await channel.send(to("c", "mine"))

    await rig.server.say(PersonMessage(text="barrier", chat="c"))

    assert rig.texts() == ["one", "barrier"]


@pytest.mark.req("W10")
async def test_the_same_event_again_is_the_same_message(rig: Rig) -> None:
    await rig.connected()

    await rig.server.say(PersonMessage(text="once", chat="c", times=3))

    assert rig.texts() == ["once"]


@pytest.mark.req("W9")
@pytest.mark.quality("encrypted rooms reported")
async def test_an_encrypted_room_is_told_once_and_the_operator_is_told(rig: Rig) -> None:
    channel = await rig.connected()
    await channel.probe()
    for _ in range(3):
        rig.server.say_encrypted("c")
        await rig.server.taken()

    with pytest.raises(BadRequest, match="all 3 messages received since the start were end-to-end"):
        await channel.probe()
    await channel.disconnect()
    await rig.connected()
    rig.server.say_encrypted("c")
    await rig.server.taken()

    assert [post.text for post in rig.server.posts("c")] == [NOTICE]
    assert rig.server.calls.count("send") == 1


@pytest.mark.req("W9")
async def test_nothing_is_said_in_the_clear_in_an_encrypted_room(rig: Rig) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="hi", chat="c"))
    content = {"algorithm": "m.megolm.v1.aes-sha2"}
    rig.server.state.add(
        room_id("c"), user_id("user-1"), "m.room.encryption", content, state_key=""
    )
    await rig.server.taken()

    with pytest.raises(DeliveryRejected, match="sends nothing there unencrypted"):
        await channel.send(to("c", "secret"))

    assert rig.server.posts("c") == ()


@pytest.mark.req("W10")
async def test_after_a_restart_at_once_the_rooms_are_those_of_now(rig: Rig) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="one", chat="c"))
    await channel.disconnect()

    await rig.connected()
    await rig.server.say(PersonMessage(text="two", chat="c"))

    assert [event.source.chat_type for event in rig.events] == ["dm", "dm"]


@pytest.mark.req("W9")
async def test_a_room_that_was_encrypted_before_the_invitation_is_known_to_be(rig: Rig) -> None:
    channel = await rig.connected()
    town = rig.server.state
    room = rig.server.invite("den", "ada")
    invitation = town.rooms[room].events.pop()
    content = {"algorithm": "m.megolm.v1.aes-sha2"}
    town.add(room, user_id("ada"), "m.room.encryption", content, state_key="")
    town.put(town.rooms[room], invitation[1])
    await until(lambda: town.rooms[room].membership(BOT) == "join")
    await rig.server.taken()

    with pytest.raises(DeliveryRejected, match="sends nothing there unencrypted"):
        await channel.send(to("den", "secret"))


@pytest.mark.req("A26", "J17")
async def test_the_key_of_a_send_finds_it_again(rig: Rig) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="hi", chat="c"))
    rig.server.plan(Fault(kind="reset_after"))
    delivery = to("c", "**once**", key="d/1 ?#.0")

    with pytest.raises(DeliveryUnknown):
        await channel.send(delivery)
    receipt = await channel.send(delivery)

    [post] = rig.server.posts("c")
    assert (post.id, post.text) == (receipt.platform_message_id, "once")
    assert post.markup == "<strong>once</strong>"
    assert rig.server.rejections == ()


@pytest.mark.req("A26", "A28")
@pytest.mark.parametrize(
    ("kind", "error", "failure"),
    [
        ("rate_limited", NotDelivered, FailureClass.RATE_LIMITED),
        ("server_error", NotDelivered, FailureClass.SERVICE_UNAVAILABLE),
        ("rejected", DeliveryRejected, FailureClass.INVALID_RECIPIENT),
        ("unauthorized", DeliveryRejected, FailureClass.UNAUTHORIZED),
        ("hang", DeliveryUnknown, FailureClass.NETWORK_TIMEOUT),
    ],
)
async def test_a_failed_send_says_what_is_known(
    rig: Rig, kind: Any, error: type[DeliveryError], failure: FailureClass
) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="hi", chat="c"))
    rig.server.plan(Fault(kind=kind))

    with pytest.raises(error) as caught:
        await channel.send(to("c", "hello"))

    assert caught.value.failure is failure
    assert getattr(caught.value, "retry_after", None) == (7.0 if kind == "rate_limited" else None)
    assert rig.server.token not in str(caught.value)


@pytest.mark.req("A26")
async def test_nobody_listening_is_certainly_not_delivered(rig: Rig) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="hi", chat="c"))
    await rig.server.stop()

    with pytest.raises(NotDelivered):
        await channel.send(to("c", "hello"))


@pytest.mark.req("W10", "W19")
async def test_a_message_is_edited_and_taken_back(rig: Rig) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="hi", chat="c"))
    sent = await channel.send(to("c", "draft"))
    target = to("c", "").target

    await channel.edit(target, sent.platform_message_id, text="final `code`")
    [edited] = rig.server.posts("c")
    await channel.delete(target, sent.platform_message_id)
    await channel.delete(target, "$gone")

    assert (edited.text, edited.edits) == ("final code", 1)
    assert edited.markup == "final <code>code</code>"
    assert [post.deleted for post in rig.server.posts("c")] == [True]
    assert [line for line in rig.server.rejections if "$gone" not in line] == []


@pytest.mark.req("W10", "W11")
async def test_an_answer_stays_in_its_thread(rig: Rig) -> None:
    channel = await rig.connected()
    root = await rig.server.say(PersonMessage(text="topic", chat="g", chat_type="group"))
    inside = await rig.server.say(
        PersonMessage(text="Hermes, and?", chat="g", chat_type="group", thread=root)
    )
    source = rig.events[1].source

    await channel.send(to("g", "so", key="d1.0", thread_id=source.thread_id))
    await channel.send(to("g", "to you", key="d2.0", thread_id=root, reply_to=inside))

    assert (source.chat_type, source.thread_id) == ("thread", root)
    posts = rig.server.posts("g")
    assert [(post.thread, post.reply_to) for post in posts] == [(root, None), (root, inside)]


@pytest.mark.req("W17")
@pytest.mark.parametrize("knows_new_media", [True, False])
async def test_pictures_go_both_ways(rig: Rig, knows_new_media: bool) -> None:
    rig.server.knows_new_media = knows_new_media
    channel = await rig.connected()
    file = File(data=PNG, mime="image/png", name="cat.png")

    await rig.server.say(PersonMessage(text="look", chat="c", files=(file,)))
    [event] = rig.events
    text, picture = event.parts
    assert isinstance(picture, ImagePart)
    fetched = await channel.fetch(picture.media, limit=1000)
    with pytest.raises(TooLarge):
        await channel.fetch(picture.media, limit=10)
    kept = await rig.media_cache.keep(PNG, mime="image/png", name="dog.png")
    delivery = msgspec.structs.replace(to("c", ""), parts=(ImagePart(kept),))
    await channel.send(delivery)

    assert (text, event.type, fetched) == (TextPart("look"), "image", PNG)
    assert (picture.media.mime, picture.media.name, picture.media.size) == (
        "image/png",
        "cat.png",
        len(PNG),
    )
    [post] = rig.server.posts("c")
    assert post.files == ("dog.png",)


@pytest.mark.req("W17")
async def test_a_reference_that_is_no_address_is_not_fetched(rig: Rig) -> None:
    channel = await rig.connected()

    with pytest.raises(BadRequest):
        await channel.fetch(Media("image/png", ref="mxc://hermes.test/../../sync"), limit=10)


@pytest.mark.req("W10")
async def test_an_attachment_that_cannot_be_uploaded_was_not_delivered(rig: Rig) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="hi", chat="c"))
    kept = await rig.media_cache.keep(PNG, mime="image/png", name="dog.png")
    delivery = msgspec.structs.replace(to("c", ""), parts=(ImagePart(kept),))
    rig.server.plan(Fault(op="any", kind="reset_after", times=2))

    with pytest.raises(NotDelivered):
        await channel.send(delivery)

    assert rig.server.posts("c") == ()


@pytest.mark.req("W10")
async def test_what_was_read_and_that_it_writes_is_shown(rig: Rig) -> None:
    channel = await rig.connected()
    event_id = await rig.server.say(PersonMessage(text="hi", chat="c"))
    await until(lambda: rig.server.read == [(room_id("c"), event_id)])

    await channel.typing(to("c", "").target)
    await channel.send(to("c", "hello"))
    await channel.send(to("c", "again", key="d2.0"))

    room = room_id("c")
    assert rig.server.typing == [(room, True), (room, False)]


@pytest.mark.req("W2")
async def test_a_cut_connection_is_opened_again_without_loss(rig: Rig) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="one", chat="c"))

    await rig.server.cut()
    await rig.server.say(PersonMessage(text="two", chat="c"))

    assert rig.texts() == ["one", "two"]
    await channel.probe()


@pytest.mark.req("W2")
async def test_a_homeserver_that_stays_away_is_told(rig: Rig) -> None:
    channel = await rig.connected()
    rig.server.plan(Fault(op="any", kind="server_error", times=100))
    sync_loop = asyncio.create_task(channel.lost())
    await rig.server.cut()

    with pytest.raises(NotDelivered):
        async with asyncio.timeout(30):
            await sync_loop


@pytest.mark.req("W2")
async def test_a_revoked_token_is_final(rig: Rig) -> None:
    channel = await rig.connected()

    rig.server.revoke()

    with pytest.raises(ConfigurationError, match="sign in as the bot and set a new one"):
        async with asyncio.timeout(20):
            await channel.lost()
    with pytest.raises(ConfigurationError):
        await channel.connect(rig.accept)


@pytest.mark.req("W2")
async def test_with_a_password_it_signs_in_again_as_the_same_device(rig: Rig) -> None:
    settings = {**rig.server.password_settings, "access_token": None}
    channel = await rig.connected(**settings)
    await rig.server.say(PersonMessage(text="one", chat="c"))
    device = rig.server.device

    rig.server.revoke()
    with pytest.raises(Exception, match="signed out") as caught:
        await channel.lost()
    assert not isinstance(caught.value, ConfigurationError)
    await channel.connect(rig.accept)
    await rig.server.say(PersonMessage(text="two", chat="c"))

    assert (rig.texts(), rig.server.device) == (["one", "two"], device)


@pytest.mark.req("W2")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"access_token": "wrong"}, "does not accept it"),
        ({"user_id": "@else:hermes.test"}, "is that of @hermes:hermes.test"),
        (
            {"access_token": None, "user_id": BOT, "password": "wrong"},
            "refused them",
        ),
    ],
)
async def test_a_wrong_credential_says_what_to_do(
    rig: Rig, settings: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        await rig.connected(**settings)


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"homeserver": "matrix.example.org", "access_token": "t"}, "homeserver: expected an http"),
        ({"homeserver": "https://u:p@example.org", "access_token": "t"}, "homeserver: expected"),
        ({"homeserver": "https://example.org"}, "user_id"),
        ({"homeserver": "https://example.org", "access_token": ""}, "user_id"),
        ({"homeserver": "https://example.org", "user_id": "@a:b"}, "password"),
        (
            {"homeserver": "https://example.org", "access_token": "t", "user_id": "ada"},
            "user_id: exp",
        ),
        (
            {"homeserver": "https://example.org", "access_token": "t", "poll_s": 0},
            "poll_s: expected 1",
        ),
    ],
)
def test_settings_that_cannot_work_are_named(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        read_settings(load_manifest("hermes.channels.matrix"), table)


@pytest.mark.req("W10")
async def test_a_place_that_the_homeserver_does_not_know_loses_nothing(rig: Rig) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="one", chat="c"))
    await channel.disconnect()
    await rig.change_place(since="s999999")
    rig.server.write(PersonMessage(text="two", chat="c"))

    await rig.connected()
    await rig.server.say(PersonMessage(text="three", chat="c"))

    assert rig.handed == ["one", "two", "three"]


@pytest.mark.req("W10")
async def test_a_place_of_another_account_is_not_used(rig: Rig) -> None:
    channel = await rig.connected()
    await channel.disconnect()
    await rig.change_place(user_id="@else:hermes.test")
    rig.server.write(PersonMessage(text="old", chat="c"))

    await rig.connected()
    await rig.server.say(PersonMessage(text="new", chat="c"))

    assert rig.texts() == ["new"]


@pytest.mark.req("W10")
async def test_rooms_are_listed_by_their_names(rig: Rig) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="hi", chat="c", user="ada", user_name="Ada"))
    await rig.server.say(PersonMessage(text="hi", chat="g", chat_type="group"))

    dm = ChatEntry(
        platform="matrix", chat_id=room_id("c"), kind="dm", name="Ada", user_id=user_id("ada")
    )
    group = ChatEntry(
        platform="matrix", chat_id=room_id("g"), kind="group", name=room_id("g"), user_id=None
    )
    assert await channel.directory() == (dm, group)
    assert await channel.chat_info(to("g", "").target) == ChatInfo(
        chat_id=room_id("g"), chat_type="group", name=room_id("g"), members=3
    )
    with pytest.raises(DeliveryRejected, match="not in this room"):
        await channel.chat_info(to("nowhere", "").target)


@pytest.mark.req("W10")
async def test_a_state_that_cannot_be_read_is_as_none(rig: Rig) -> None:
    await rig.state.put(KEY, b"{")
    rig.server.write(PersonMessage(text="old", chat="c"))

    await rig.connected()
    await rig.server.say(PersonMessage(text="new", chat="c"))

    assert rig.texts() == ["new"]


@pytest.mark.req("W10")
async def test_the_state_does_not_hold_the_token(rig: Rig) -> None:
    await rig.connected()

    stored = await rig.state.get(KEY)

    assert stored is not None
    assert rig.server.token.encode() not in stored


def annotation(of: str, emoji: object) -> dict[str, object]:
    return {"m.relates_to": {"rel_type": "m.annotation", "event_id": of, "key": emoji}}


@pytest.mark.req("W10")
async def test_a_reaction_to_the_bot_comes_in_and_goes_again(rig: Rig) -> None:
    channel = await rig.connected()
    town, room, ada = rig.server.state, room_id("c"), user_id("user-1")
    theirs = await rig.server.say(PersonMessage(text="hi", chat="c"))
    sent = (await channel.send(to("c", "hello"))).platform_message_id
    put = town.add(room, ada, "m.reaction", annotation(sent, "👍"))["event_id"]
    for strange in (annotation(theirs, "👍"), annotation(sent, 7), annotation(sent, "x" * 33), {}):
        town.add(room, ada, "m.reaction", strange)
    await channel.disconnect()
    await rig.connected()
    gone = town.add(room, user_id("moderator"), "m.room.redaction", {"redacts": put})["event_id"]
    await rig.server.say(PersonMessage(text="barrier", chat="c"))

    liked = Reaction(message_id=sent, emoji="👍")
    assert [(event.external_id, event.reaction, event.source.user_id) for event in rig.events] == [
        (theirs, None, ada),
        (put, liked, ada),
        (gone, msgspec.structs.replace(liked, is_removed=True), ada),
        (rig.events[-1].external_id, None, ada),
    ]
    assert {event.type for event in rig.events} == {"text", "reaction"}


@pytest.mark.req("W10")
async def test_the_bot_has_one_reaction_to_a_message_also_after_a_restart(rig: Rig) -> None:
    channel = await rig.connected()
    said = await rig.server.say(PersonMessage(text="hi", chat="c"))
    target = to("c", "").target

    await channel.react(target, said, "seen")
    await channel.disconnect()
    again = await rig.connected()
    await again.react(target, said, "working")
    await again.react(target, said, "seen")

    events = [event for _, event in rig.server.state.rooms[room_id("c")].events]
    shown = [event["content"] for event in events if event["type"] == "m.reaction"]
    assert shown == [{}, {}, annotation(said, "👀")]
    assert rig.server.rejections == ()


@pytest.mark.req("A26", "J17")
async def test_what_the_stream_shows_of_the_bot_proves_that_it_arrived(rig: Rig) -> None:
    channel = await rig.connected()
    await rig.server.say(PersonMessage(text="hi", chat="c"))
    rig.server.plan(Fault(kind="reset_after"))

    with pytest.raises(DeliveryUnknown):
        await channel.send(to("c", "there", key="d_1.0"))
    await rig.server.say(PersonMessage(text="barrier", chat="c"))

    [post] = rig.server.posts("c")
    assert rig.arrived == [ArrivedDelivery(key="d_1.0", platform_message_id=post.id)]


@pytest.mark.req("W17")
async def test_a_voice_message_is_one_on_both_sides(rig: Rig) -> None:
    channel = await rig.connected()
    uri = "mxc://hermes.test/voice"
    spoken = {"msgtype": "m.audio", "body": "voice.ogg", "url": uri, VOICE: {}}
    rig.server.write(PersonMessage(text="hi", chat="c"))
    rig.server.state.add(room_id("c"), user_id("user-1"), "m.room.message", spoken)
    await rig.server.say(PersonMessage(text="barrier", chat="c"))
    kept = await rig.media_cache.keep(picture(1), mime="image/png", name="voice.ogg")
    voice = AudioPart(kept, is_voice=True)
    await channel.send(msgspec.structs.replace(to("c", ""), parts=(voice,)))

    [part] = rig.events[1].parts
    assert part == AudioPart(Media("audio/ogg", name="voice.ogg", ref=uri), is_voice=True)
    sent = rig.server.state.rooms[room_id("c")].events[-1][1]["content"]
    assert (sent["msgtype"], sent[VOICE]) == ("m.audio", {})
