"""The Discord channel against its stand-in: sessions that go on, interactions, keys, rates, files."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from hermes.channels.discord.channel import DiscordChannel
from hermes.errors import (
    AddressRefused,
    ConfigurationError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    HermesError,
    NotDelivered,
    NotFound,
    Refused,
    TooLarge,
    Unauthenticated,
)
from hermes.message.event import PressedChoice, Reaction, ReplyHandle
from hermes.message.parts import Choice, ChoicesPart, FilePart, ImagePart, Media
from hermes.ports.channel import ArrivedDelivery, ChatInfo, ReactionName
from hermes.ports.clock import SystemClock
from hermes.ports.directory import ChatEntry
from hermes.testing.discord.platform import BOT_USER, GUILD
from hermes.testing.stand_in import Fault, File, PersonMessage
from tests.unit.channels.discord_rig import KEY, Rig, discord_rig
from tests.unit.channels.irc_rig import until

LAB: dict[str, Any] = {"chat": "lab", "chat_type": "group"}

STEPS: tuple[ReactionName, ...] = ("seen", "working", "working", "done")


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with discord_rig() as made:
        yield made
        assert made.discord.rejections == ()


@pytest.fixture
async def channel(rig: Rig) -> AsyncIterator[DiscordChannel]:
    async with rig.connected() as made:
        yield made


async def reason(channel: DiscordChannel) -> str:
    with pytest.raises(HermesError) as lost:
        await asyncio.wait_for(channel.lost(), 5)
    return str(lost.value)


@pytest.mark.req("W9", "J1")
@pytest.mark.quality("resume after restart")
async def test_a_new_process_gets_what_happened_meanwhile_and_nothing_twice(rig: Rig) -> None:
    async with rig.connected():
        await rig.discord.say(PersonMessage(text="before"))
    meanwhile = asyncio.create_task(rig.discord.say(PersonMessage(text="meanwhile")))

    async with rig.connected():
        await meanwhile
        await rig.discord.say(PersonMessage(text="after"))

    assert [event.text for event in rig.inbox.calls] == ["before", "meanwhile", "after"]
    assert len(rig.discord.sockets.identified) == 1


@pytest.mark.req("J1", "W2")
@pytest.mark.quality("acknowledged after it is kept")
async def test_the_sequence_does_not_move_before_an_event_is_kept(rig: Rig) -> None:
    # given an inbox that never answers
    taken = asyncio.Event()

    async def never(_event: object) -> None:
        taken.set()
        await asyncio.Event().wait()

    channel = rig.make()
    await channel.connect(never)  # type: ignore[arg-type]
    saying = asyncio.create_task(rig.discord.say(PersonMessage(text="not lost")))
    await taken.wait()
    # when the process ends
    await channel.disconnect()

    # then the next one gets the event by resuming
    assert not saying.done()
    async with rig.connected():
        await saying
    assert (rig.inbox.texts, len(rig.discord.sockets.identified)) == (["not lost"], 1)


@pytest.mark.req("W2")
async def test_leaving_keeps_the_session(rig: Rig) -> None:
    async with rig.connected():
        (connection,) = rig.discord.sockets.connections

    await until(connection.gone.is_set)
    assert connection.socket.close_code == 4000


@pytest.mark.req("W2")
async def test_a_session_that_is_over_is_begun_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes.channel_kit.socket_session._ANEW_S", 0.0)
    monkeypatch.setattr("hermes.channel_kit.socket_session._ANEW_SPREAD_S", 0.0)
    async with rig.connected():
        await rig.discord.say(PersonMessage(text="one"))
    rig.discord.sockets.forget()

    async with rig.connected():
        await rig.discord.say(PersonMessage(text="two"))

    assert (rig.inbox.texts, len(rig.discord.sockets.identified)) == (["one", "two"], 2)


@pytest.mark.req("W2", "W4")
@pytest.mark.parametrize(
    ("code", "said"),
    [(4004, "bot_token"), (4011, "too many servers"), (4014, "Message Content Intent")],
)
async def test_a_close_code_that_needs_the_operator_is_final(
    rig: Rig, channel: DiscordChannel, code: int, said: str
) -> None:
    await rig.discord.cut_off(code)

    with pytest.raises(ConfigurationError, match=said):
        await asyncio.wait_for(channel.lost(), 5)


@pytest.mark.req("W4")
async def test_a_missing_intent_is_told_and_can_be_done_without(rig: Rig) -> None:
    rig.discord.may_read_content = False

    with pytest.raises(ConfigurationError, match="switch on 'Message Content Intent'"):
        await rig.make().connect(rig.inbox.accept)
    async with rig.connected(message_content=False):
        await rig.discord.say(PersonMessage(text="hello"))

    assert rig.inbox.texts == ["hello"]
    assert not rig.discord.sockets.identified[-1]["intents"] & 1 << 15


@pytest.mark.req("W2")
async def test_no_session_is_begun_if_discord_would_replace_the_token(rig: Rig) -> None:
    rig.discord.rows.event["limit"]["remaining"] = 0
    try:
        with pytest.raises(HermesError, match=r"no session can begin for 24\.0 h"):
            await rig.make().connect(rig.inbox.accept)
    finally:
        rig.discord.rows.event["limit"]["remaining"] = 999

    assert rig.discord.sockets.identified == []


@pytest.mark.req("A28")
@pytest.mark.quality("revoked token")
async def test_a_revoked_token_ends_the_channel(rig: Rig, channel: DiscordChannel) -> None:
    rig.discord.revoke()

    with pytest.raises(DeliveryRejected) as failed:
        await channel.send(rig.delivery("hello"))

    assert failed.value.credential
    assert "platforms.discord.bot_token: " in await reason(channel)
    assert "not-a.real" not in str(failed.value)


@pytest.mark.req("W9")
async def test_a_command_of_the_gateway_is_kept_and_then_shown(
    rig: Rig, channel: DiscordChannel
) -> None:
    token = await rig.discord.command(PersonMessage(text="/model fast", **LAB))
    await until(lambda: rig.discord.answers[token] is not None)

    (event,) = rig.inbox.events
    assert (event.text, event.type, event.source.chat_type) == ("/model fast", "command", "group")
    assert (event.handle, event.external_id[:1]) == (None, "i")
    assert rig.discord.answers[token] == {
        "type": 4,
        "data": {
            "content": "/model fast",
            "allowed_mentions": {"parse": [], "replied_user": False},
        },
    }


@pytest.mark.req("W10", "W9")
async def test_a_private_command_is_answered_to_its_person_alone(
    rig: Rig, channel: DiscordChannel
) -> None:
    token = await rig.discord.command(PersonMessage(text="/whoami", **LAB))
    await until(lambda: rig.discord.answers[token] is not None)
    (event,) = rig.inbox.events
    assert event.handle is not None
    assert event.handle.until == pytest.approx(SystemClock().now() + 900, abs=30)

    await channel.send(rig.delivery("first", handle=event.handle))
    await channel.send(rig.delivery("first", handle=event.handle))
    await channel.send(rig.delivery("second", key=KEY.replace(".0", ".1"), handle=event.handle))

    town = rig.discord.town
    sent = [one for chat in town.chats for one in town.history(chat, is_own=True)]
    assert rig.discord.answers[token] == {
        "type": 5,
        "data": {"flags": 64},
        "message": sent[0].id,
    }
    assert [(one.text, one.more["flags"]) for one in sent] == [("first", 64), ("second", 64)]
    assert event.handle.token not in str(event)


@pytest.mark.req("W10")
async def test_an_answer_to_an_interaction_that_is_gone_says_so(
    rig: Rig, channel: DiscordChannel
) -> None:
    handle = ReplyHandle(token="100000000000000002/aSecretToken")

    with pytest.raises(DeliveryRejected, match="for 15 minutes") as failed:
        await channel.send(rig.delivery("late", handle=handle))

    assert failed.value.failure is FailureClass.REPLY_CLOSED
    assert "aSecretToken" not in str(failed.value)
    rig.discord._rejections.clear()


@pytest.mark.req("W9")
async def test_a_command_that_is_refused_is_told_to_its_person(
    rig: Rig, channel: DiscordChannel
) -> None:
    rig.inbox.failures.append(Refused("no"))

    token = await rig.discord.command(PersonMessage(text="/model fast", **LAB))
    await until(lambda: rig.discord.answers[token] is not None)

    assert rig.discord.answers[token] == {
        "type": 4,
        "data": {"content": "Hermes did not take this command.", "flags": 64},
    }


@pytest.mark.req("W9")
async def test_a_command_of_a_stranger_is_not_repeated_to_the_server(
    rig: Rig, channel: DiscordChannel
) -> None:
    rig.inbox.are_strangers = True

    token = await rig.discord.command(PersonMessage(text="/search bad words", **LAB))
    direct = await rig.discord.command(PersonMessage(text="/model fast", chat="c"))
    await until(lambda: None not in (rig.discord.answers[token], rig.discord.answers[direct]))

    assert rig.discord.answers[token] == {
        "type": 4,
        "data": {"content": "Hermes has your command, but does not know you yet.", "flags": 64},
    }
    shown = rig.discord.answers[direct]
    assert shown is not None
    assert shown["data"]["content"] == "/model fast"


@pytest.mark.req("W9", "J9")
async def test_a_pressed_button_is_acknowledged_once_it_is_kept(
    rig: Rig, channel: DiscordChannel
) -> None:
    choices = ChoicesPart("sure?", (Choice("Yes", "v1", "good"), Choice("No", "v2", "bad")))
    sent = (await channel.send(rig.delivery(choices))).platform_message_id

    token = await rig.discord.press(PersonMessage(text="v1", reply_to=sent, **LAB))
    await until(lambda: rig.discord.answers[token] is not None)
    await channel.edit(rig.target(), sent, text="sure? Yes")

    (event,) = rig.inbox.events
    assert (event.type, event.parts) == ("choice", ())
    assert event.pressed == PressedChoice(value="v1", message_id=sent)
    assert rig.discord.answers[token] == {"type": 6, "data": {}}
    (message,) = rig.discord.town.history(rig.target().chat_id, is_own=True)
    assert (message.text, message.more["components"]) == ("sure? Yes", [])


@pytest.mark.req("W9")
async def test_reactions_come_in_and_go_out(rig: Rig, channel: DiscordChannel) -> None:
    sent = (await channel.send(rig.delivery("hello"))).platform_message_id

    for name in STEPS:
        await channel.react(rig.target(), sent, name)
    await rig.discord.react(PersonMessage(text="👍", reply_to=sent, **LAB))
    await rig.discord.react(PersonMessage(text="👍", reply_to=sent, **LAB), is_removed=True)

    (message,) = rig.discord.town.history(rig.target().chat_id, is_own=True)
    assert {emoji for emoji, people in message.reactions.items() if people} == {"✅"}
    assert [event.reaction for event in rig.inbox.events] == [
        Reaction(message_id=sent, emoji="👍"),
        Reaction(message_id=sent, emoji="👍", is_removed=True),
    ]


@pytest.mark.req("J17")
@pytest.mark.quality("transaction ids")
async def test_a_key_is_one_message_and_is_told_by_the_gateway_later(
    rig: Rig, channel: DiscordChannel
) -> None:
    rig.discord.plan(Fault(kind="reset_after"))
    with pytest.raises(DeliveryUnknown):
        await channel.send(rig.delivery("once"))

    await until(lambda: rig.arrived)
    receipt = await channel.send(rig.delivery("once"))

    there = ArrivedDelivery(key=KEY, platform_message_id=receipt.platform_message_id)
    assert rig.arrived == [there]
    assert [post.text for post in rig.discord.posts("lab")] == ["once"]
    assert rig.inbox.events == []


@pytest.mark.req("A26", "A28")
@pytest.mark.quality("retry-after")
async def test_a_limit_that_is_used_up_is_waited_for_without_a_call(
    rig: Rig, channel: DiscordChannel
) -> None:
    rig.discord.limit_headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "1.5"}
    await channel.send(rig.delivery("one"))
    calls = len(rig.discord.calls)

    with pytest.raises(NotDelivered) as failed:
        await channel.send(rig.delivery("two", key="k2"))
    rig.discord.limit_headers = {}
    await channel.send(rig.delivery("other", key="k3", target=rig.target("other")))

    assert failed.value.failure is FailureClass.RATE_LIMITED
    assert 0 < (failed.value.retry_after or 0) <= 1.5
    assert len(rig.discord.calls) == calls + 1


@pytest.mark.req("W17", "W9")
@pytest.mark.quality("own hosts only")
async def test_a_file_is_read_from_discords_hosts_only_and_without_the_token(
    rig: Rig, channel: DiscordChannel
) -> None:
    file = File(data=b"\x89PNG" + b"x" * 40, mime="image/png", name="a.png")
    await rig.discord.say(PersonMessage(text="look", files=(file,)))
    (part,) = [one for one in rig.inbox.events[0].parts if isinstance(one, ImagePart)]

    assert await channel.fetch(part.media, limit=1000) == file.data
    with pytest.raises(TooLarge):
        await channel.fetch(part.media, limit=10)
    for url in ("https://evil.example/a.png", "https://discordapp.com.evil.example/a", "ftp://x/a"):
        with pytest.raises(AddressRefused):
            await channel.fetch(Media("image/png", ref=url), limit=1000)


@pytest.mark.req("W9", "W17")
async def test_words_and_files_go_out_as_one_message(rig: Rig, channel: DiscordChannel) -> None:
    files = channel._setup.media
    kept = [await files.keep(name.encode(), mime="text/plain", name=name) for name in "ab"]

    await channel.send(rig.delivery("both", *map(FilePart, kept)))

    (post,) = rig.discord.posts("lab")
    assert (post.text, post.files) == ("both", ("a", "b"))


@pytest.mark.req("W11")
@pytest.mark.quality("threads")
async def test_a_thread_is_a_conversation_of_its_channel(rig: Rig, channel: DiscordChannel) -> None:
    root = await rig.discord.say(PersonMessage(text="root", **LAB))
    await rig.discord.say(PersonMessage(text="in it", thread=root, **LAB))
    first, second = (event.source for event in rig.inbox.events)

    await channel.send(rig.delivery("there", target=rig.target(thread_id=second.thread_id)))

    assert (first.chat_type, first.thread_id, first.guild_id) == ("group", None, GUILD)
    assert (second.chat_type, second.thread_id) == ("thread", root)
    assert second.chat_id == first.chat_id
    assert [post.thread for post in rig.discord.posts("lab")] == [root]


@pytest.mark.req("W11", "W10")
async def test_what_discord_tells_of_its_chats(rig: Rig, channel: DiscordChannel) -> None:
    lab = rig.target("lab").chat_id
    await rig.discord.say(PersonMessage(text="hi", chat="ada"))
    direct = rig.inbox.events[0].source.chat_id

    assert await channel.chat_info(rig.target("lab")) == ChatInfo(
        chat_id=lab, chat_type="group", name="lab", topic="All about lab"
    )
    found = await channel.chat_info(msgspec.structs.replace(rig.target(), chat_id=direct))
    assert (found.chat_type, found.name) == ("dm", "Ada")
    assert await channel.directory() == (
        ChatEntry(platform="discord", chat_id=lab, kind="group", name="lab", guild="Hermes"),
    )


@pytest.mark.req("A28")
@pytest.mark.parametrize("chat", ["general", "1/../2", "", "1\n"])
async def test_only_an_id_is_put_into_an_address(
    rig: Rig, channel: DiscordChannel, chat: str
) -> None:
    calls = len(rig.discord.calls)

    with pytest.raises(DeliveryRejected, match="expected the id of a channel"):
        await channel.send(
            rig.delivery("hi", target=msgspec.structs.replace(rig.target(), chat_id=chat))
        )

    assert len(rig.discord.calls) == calls


@pytest.mark.req("W9", "A28")
async def test_a_message_is_deleted_once_and_typing_is_shown(
    rig: Rig, channel: DiscordChannel
) -> None:
    sent = (await channel.send(rig.delivery("hello"))).platform_message_id

    await channel.typing(rig.target())
    await channel.delete(rig.target(), sent)
    rig.discord.town.messages[rig.target().chat_id].clear()
    await channel.delete(rig.target(), sent)

    assert rig.discord.typing == [rig.target().chat_id]
    assert [post for post in rig.discord.posts("lab") if not post.deleted] == []
    rig.discord._rejections.clear()


@pytest.mark.req("W9", "W11")
async def test_a_reply_in_a_group_names_what_it_answers_and_pings_nobody(
    rig: Rig, channel: DiscordChannel
) -> None:
    asked = await rig.discord.say(PersonMessage(text="who?", **LAB))

    await channel.send(rig.delivery("@everyone <@7>", target=rig.target(reply_to=asked)))

    (post,) = rig.discord.posts("lab")
    assert post.reply_to == asked
    assert rig.discord.pings == []
    assert "@everyone" not in post.markup


def interaction(**more: object) -> dict[str, object]:
    return {
        "id": "200000000000000001",
        "application_id": "100000000000000002",
        "token": "aToken",
        "type": 2,
        "channel_id": "300000000000000001",
        "user": {"id": "400000000000000001", "username": "ada"},
        "data": {"name": "model", "options": [{"name": "text", "type": 3, "value": "fast"}]},
        **more,
    }


@pytest.mark.req("W9")
@pytest.mark.quality("authentication before reading", "replays refused")
async def test_interactions_come_by_http_with_a_proof() -> None:
    async with discord_rig("http") as rig, rig.connected() as channel:
        call, answer = await rig.call(channel, interaction())
        ping, pong = await rig.call(channel, {"type": 1})
        _, unreadable = await rig.call(channel, interaction(type=99))

        assert (answer.status, msgspec.json.decode(answer.body)["type"]) == (200, 4)
        assert (pong.status, msgspec.json.decode(pong.body)) == (200, {"type": 1})
        assert unreadable.status == 400
        assert rig.inbox.texts == ["/model fast"]
        # Every part of the proof counts, and a call is taken once.
        spoiled = (
            msgspec.structs.replace(call, body=call.body + b" "),
            _with(call, "x-signature-timestamp", "1700000000"),
            _with(call, "x-signature-ed25519", "00" * 64),
            _with(call, "x-signature-ed25519", "zz"),
            _with(ping, "x-signature-ed25519", ""),
            call,
        )
        for one in spoiled:
            assert (await channel.webhook(one)).status == 401
        with pytest.raises(Unauthenticated):
            channel.glance({}, path="/webhooks/discord")
        assert len(rig.inbox.calls) == 1


@pytest.mark.req("W9")
async def test_http_answers_what_the_inbox_says() -> None:
    async with discord_rig("http") as rig, rig.connected() as channel:
        rig.inbox.failures.append(Refused("no"))
        _, refused = await rig.call(channel, interaction())

        assert msgspec.json.decode(refused.body)["data"]["flags"] == 64
    assert (await rig.call(channel, interaction(id="5")))[1].status == 503


@pytest.mark.req("W9")
async def test_there_is_no_door_without_a_key_and_a_wrong_key_is_named(
    rig: Rig, channel: DiscordChannel
) -> None:
    with pytest.raises(NotFound, match="public_key"):
        channel.glance({}, path="/webhooks/discord")
    with pytest.raises(ConfigurationError, match="expected 64 hexadecimal digits"):
        rig.make(public_key="abc")


def _with(call, name: str, value: str):
    return msgspec.structs.replace(call, headers={**call.headers, name: value})


@pytest.mark.req("W9")
async def test_an_event_that_cannot_be_read_holds_nothing_back(
    rig: Rig, channel: DiscordChannel
) -> None:
    for d in ({}, {"id": 5, "channel_id": "x"}, {"id": "1\n", "author": {"id": "2"}}):
        await rig.discord.tell({"t": "MESSAGE_CREATE", "d": d})
    await rig.discord.tell({"t": "SOMETHING_NEW", "d": {"x": 1}})
    await rig.discord.say(PersonMessage(text="hello"))

    assert rig.inbox.texts == ["hello"]
    assert rig.inbox.events[0].source.user_id != BOT_USER
