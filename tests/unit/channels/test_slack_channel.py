"""The Slack channel against its stand-in: both doors in, every call out, and what goes wrong."""

import asyncio
import re
from pathlib import Path

import msgspec
import pytest

from hermes.channel_kit import intake, socket_session
from hermes.errors import (
    AddressRefused,
    BadRequest,
    ConfigurationError,
    ConnectFailed,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
    NotFound,
    Overloaded,
    RateLimited,
    Skipped,
    StoreError,
    TooLarge,
)
from hermes.message.event import PressedChoice, Reaction
from hermes.message.parts import Choice, ChoicesPart, FilePart, ImagePart, Media
from hermes.ports.channel import ArrivedDelivery, Target
from hermes.testing.slack.platform import BOT_USER, TEAM
from hermes.testing.stand_in import Fault, File, PersonMessage
from tests.unit.channels.slack_rig import MANIFEST, as_request, slack_rig

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.mark.req("W9", "W11", "A2")
@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_a_message_comes_in_whole(tmp_path: Path, mode) -> None:
    async with slack_rig(tmp_path, mode) as rig:
        name = await rig.slack.say(
            PersonMessage(text="a <b> & https://x.org", chat="lab", chat_type="channel")
        )

    event = rig.inbox.events[0]
    source = event.source
    assert (event.text, event.external_id, event.addressed) == (
        "a <b> & https://x.org",
        name,
        False,
    )
    assert (source.chat_type, source.user_name, source.guild_id) == ("channel", "Ada", TEAM)
    assert (source.thread_id, source.is_bot, rig.slack.rejections) == (None, False, ())


@pytest.mark.req("J1", "W9")
@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_a_mention_tells_twice_and_is_one_event(tmp_path: Path, mode) -> None:
    async with slack_rig(tmp_path, mode) as rig:
        said = PersonMessage(
            text="hi", chat="lab", chat_type="channel", mentions=True, thread="t1", times=2,
            files=(File(data=PNG, mime="image/png", name="a.png"),),
        )  # fmt: skip
        await rig.slack.say(said)

    kinds = [msgspec.json.decode(bytes(one.raw))["type"] for one in rig.inbox.calls]
    bare = [msgspec.structs.replace(one, raw=msgspec.Raw()) for one in rig.inbox.calls]
    assert kinds == ["message", "app_mention"] * 2
    assert bare == [bare[0]] * 4
    assert (rig.inbox.texts, bare[0].addressed) == (["hi"], True)


@pytest.mark.req("W9")
async def test_a_mention_begins_a_thread_that_is_followed(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        name = await rig.slack.say(
            PersonMessage(text="hi", chat="lab", chat_type="channel", mentions=True)
        )
        ts = name.partition(":")[2]
        await rig.slack.say(PersonMessage(text="and?", chat="lab", chat_type="channel", thread=ts))
        other = PersonMessage(text="other", chat="lab", chat_type="channel", thread="t2")
        await rig.slack.say(other)
        # A thread that was only overheard is not followed.
        await rig.slack.say(msgspec.structs.replace(other, text="more"))

    found = [(one.text, one.source.thread_id == ts, one.addressed) for one in rig.inbox.events]
    assert found == [
        ("hi", True, True),
        ("and?", True, True),
        ("other", False, False),
        ("more", False, False),
    ]


@pytest.mark.req("W9")
async def test_a_thread_is_followed_after_a_restart(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        said = PersonMessage(text="hi", chat="lab", chat_type="channel")
        asked, answered, other = [
            (await rig.slack.say(msgspec.structs.replace(said, mentions=mentions))).split(":")[1]
            for mentions in (True, False, False)
        ]
        await rig.channel.send(rig.delivery("lab", "news", thread_id=answered))
        await rig.channel.disconnect()
        again = rig.speak()
        await again.connect(rig.inbox.accept)

        for thread in (asked, answered, other):
            await rig.slack.say(msgspec.structs.replace(said, thread=thread))
        await again.disconnect()

    before, after = [True, False, False], [True, True, False]
    assert [one.addressed for one in rig.inbox.events] == before + after


@pytest.mark.req("W9", "J17")
async def test_a_reply_is_sent_though_the_store_takes_nothing_and_a_file_is_not(
    tmp_path: Path,
) -> None:
    async with slack_rig(tmp_path) as rig:
        said = PersonMessage(text="hi", chat="lab", chat_type="channel")
        thread = (await rig.slack.say(said)).split(":")[1]
        media = await rig.channel._setup.media.keep(PNG, mime="image/png", name="a.png")
        rig.broken.append(StoreError("the disk is gone"))

        sent = await rig.channel.send(rig.delivery("lab", "news", thread_id=thread))
        with pytest.raises(NotDelivered, match="cannot be recorded"):
            await rig.channel.send(rig.delivery("lab", ImagePart(media), key="o_7.1"))

        assert [post.id for post in rig.slack.posts("lab")] == [sent.platform_message_id]


@pytest.mark.req("W9")
async def test_a_reply_to_the_bot_is_addressed_to_it(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        await rig.slack.say(PersonMessage(text="x", chat="lab", chat_type="channel"))
        receipt = await rig.channel.send(rig.delivery("lab", "news"))
        await rig.slack.say(
            PersonMessage(
                text="why?", chat="lab", chat_type="channel", reply_to=receipt.platform_message_id
            )
        )

    assert [one.addressed for one in rig.inbox.events] == [False, True]


@pytest.mark.req("W9")
@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_commands_and_buttons_are_messages(tmp_path: Path, mode) -> None:
    async with slack_rig(tmp_path, mode) as rig:
        await rig.slack.command(PersonMessage(text="what is up", chat="lab", chat_type="channel"))
        await rig.slack.command(PersonMessage(text="now"), "/new")
        await rig.slack.command(PersonMessage(text=""))
        await rig.slack.press(PersonMessage(text="yes", chat="lab", chat_type="channel"))

    assert rig.inbox.texts == ["what is up", "/new now", "/help", "yes"]
    assert [one.addressed for one in rig.inbox.events] == [True] * 4


@pytest.mark.req("W9", "J1")
@pytest.mark.parametrize("mode", ["socket", "http"])
@pytest.mark.quality("acknowledged after it is kept")
async def test_only_what_is_kept_is_acknowledged(tmp_path: Path, mode) -> None:
    async with slack_rig(tmp_path, mode) as rig:
        rig.inbox.failures += [Overloaded("full", 0.1), Overloaded("full", 0.1)]
        await rig.slack.say(PersonMessage(text="one"))
        rig.inbox.failures.append(Skipped("a hook"))
        await rig.slack.say(PersonMessage(text="two"))
        rig.inbox.failures.append(BadRequest("never"))
        await rig.slack.say(PersonMessage(text="three"))

    assert [one.text for one in rig.inbox.calls] == ["one", "one", "one", "two", "three"]
    assert rig.inbox.texts == ["one"]


@pytest.mark.req("W9", "J1")
async def test_while_too_much_waits_no_more_envelopes_are_taken_and_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_session, "MOST_HELD_BYTES", 15_000)
    monkeypatch.setattr(intake, "_FIRST_S", 0.01)
    people = [f"person-{number}" for number in range(20)]
    async with slack_rig(tmp_path) as rig:
        rig.inbox.failures = [StoreError("disk I/O error")] * 500
        said = [PersonMessage(text=f"from {one}", chat=one, user=one) for one in people]
        saying = [asyncio.create_task(rig.slack.say(one)) for one in said]
        while len(rig.inbox.failures) > 450:  # noqa: ASYNC110 - the channel tells nobody
            await asyncio.sleep(0.01)
        taken = {one.text for one in rig.inbox.calls}
        rig.inbox.failures.clear()
        await asyncio.gather(*saying)

    assert 0 < len(taken) < len(people)
    assert sorted(rig.inbox.texts) == sorted(one.text for one in said)


@pytest.mark.req("W9", "A28")
@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_what_a_sender_with_too_many_waiting_writes_is_passed_over(
    tmp_path: Path, mode
) -> None:
    async with slack_rig(tmp_path, mode) as rig:
        rig.inbox.failures.append(RateLimited("too many are waiting", 30.0))
        await rig.slack.say(PersonMessage(text="one more"))
        await rig.slack.say(PersonMessage(text="hi", user="ann"))

    assert [one.text for one in rig.inbox.calls] == ["one more", "hi"]
    assert rig.inbox.texts == ["hi"]


@pytest.mark.req("W9")
async def test_a_name_that_cannot_be_had_holds_nothing_up(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        rig.slack.plan(Fault(op="any", kind="hang"))
        await rig.slack.say(PersonMessage(text="one", user="eve", user_name="Eve"))
        await rig.slack.say(PersonMessage(text="two", user="eve", user_name="Eve"))
        await rig.slack.say(PersonMessage(text="three", user="bob", user_name="Bob"))

    found = [(one.text, one.source.user_name) for one in rig.inbox.events]
    assert found == [("one", None), ("two", None), ("three", "Bob")]
    assert [method for method, _ in rig.slack.log].count("users.info") == 2


@pytest.mark.req("W9")
async def test_messages_of_a_chat_keep_their_order_while_names_are_looked_up(
    tmp_path: Path,
) -> None:
    async with slack_rig(tmp_path) as rig:
        rig.slack.plan(Fault(op="any", kind="hang"))
        slow = rig.slack.happen(PersonMessage(text="slow", chat="lab", chat_type="channel"))
        quick = rig.slack.happen(
            PersonMessage(text="quick", chat="lab", chat_type="channel", user="U0QUICK001")
        )
        other = rig.slack.happen(
            PersonMessage(text="other", chat="x", chat_type="channel", user="z")
        )
        await asyncio.gather(*(rig.slack.tell(one[1][0]) for one in (slow, quick, other)))

    assert rig.inbox.texts == ["other", "slow", "quick"]


@pytest.mark.req("W2", "W9")
@pytest.mark.quality("connection renewed without a gap")
async def test_a_warning_brings_a_new_connection_before_the_old_one_goes(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        lost = asyncio.create_task(rig.channel.lost())
        await rig.slack.sockets.replace({"type": "disconnect", "reason": "warning"})
        await rig.slack.say(PersonMessage(text="after the warning"))
        await rig.slack.sockets.replace({"type": "disconnect", "reason": "refresh_requested"})
        await rig.slack.say(PersonMessage(text="after the refresh"))
        await rig.channel.probe()

        assert (rig.inbox.texts, lost.done()) == (["after the warning", "after the refresh"], False)
        assert rig.slack.sockets.opened == 3
        lost.cancel()


@pytest.mark.req("W2", "W9")
async def test_a_cut_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        await rig.slack.cut()
        with pytest.raises(ConnectFailed):
            await rig.channel.lost()
        with pytest.raises(ConnectFailed, match="socket is closed"):
            await rig.channel.probe()
        saying = asyncio.create_task(rig.slack.say(PersonMessage(text="meanwhile")))
        await rig.channel.disconnect()
        await rig.channel.connect(rig.inbox.accept)
        await saying

    assert rig.inbox.texts == ["meanwhile"]


@pytest.mark.req("W2")
async def test_socket_mode_switched_off_is_final(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        await rig.slack.sockets.tell({"type": "disconnect", "reason": "link_disabled"})
        with pytest.raises(ConfigurationError, match="switched off"):
            await rig.channel.lost()


@pytest.mark.req("W2")
@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_a_revoked_token_is_final_and_told(tmp_path: Path, mode) -> None:
    async with slack_rig(tmp_path, mode) as rig:
        rig.slack.town.open_chat("lab", chat_type="channel")
        rig.slack.revoke()
        with pytest.raises(DeliveryRejected) as refused:
            await rig.channel.send(rig.delivery("lab", "hello"))
        # Over a socket Slack has said so before.
        with pytest.raises(ConfigurationError, match=r"token_revoked|tokens revoked") as final:
            await rig.channel.lost()
        with pytest.raises(ConfigurationError, match="bot_token"):
            await rig.channel.probe()
        with pytest.raises(ConfigurationError, match="bot_token"):
            await rig.speak().connect(rig.inbox.accept)

    assert refused.value.failure is FailureClass.UNAUTHORIZED
    assert "not-a-real" not in f"{final.value}{refused.value}{rig.channel!r}"


@pytest.mark.req("W2")
async def test_slack_itself_tells_that_the_app_was_removed(tmp_path: Path) -> None:
    async with slack_rig(tmp_path, "http") as rig:
        rig.slack.revoke()
        await rig.slack.tell(rig.slack.event_call({"type": "app_uninstalled"}))
        with pytest.raises(ConfigurationError, match="token_revoked"):
            await rig.channel.lost()


@pytest.mark.req("W2")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bot_token": "xoxb-wrong"}, "bot_token.*invalid_auth"),
        ({"app_token": "xapp-wrong"}, "app_token.*invalid_auth"),
        ({"bot_token": "xapp-x"}, "bot_token: expected the bot.*which is app_token"),
        ({"app_token": "xoxb-x"}, "app_token: expected the app-level.*which is bot_token"),
        ({"app_token": ""}, "found none, and mode is socket"),
        ({"mode": "http"}, "found none, and mode is http"),
        ({"mode": "", "app_token": ""}, "signing_secret.*mode is not set and app_token is not set"),
        ({"bot_token": " "}, "expected a value, found none"),
        ({"ping_s": 0}, "ping_s"),
        ({"base_url": "ftp://x"}, "base_url"),
    ],
)
async def test_a_wrong_setting_refuses_the_start(tmp_path: Path, settings, words) -> None:
    async with slack_rig(tmp_path, connect=False) as rig:
        with pytest.raises(ConfigurationError, match=words):
            await rig.speak(**settings).connect(rig.inbox.accept)


@pytest.mark.req("W10", "A26")
async def test_a_reply_is_posted_edited_found_and_deleted(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        name = await rig.slack.say(
            PersonMessage(text="hi", chat="lab", chat_type="channel", mentions=True)
        )
        thread = rig.inbox.events[0].source.thread_id or ""
        delivery = rig.delivery("lab", "**bold** & <b>", key="o_1.0", thread_id=thread)
        receipt = await rig.channel.send(delivery)
        await rig.channel.edit(delivery.target, receipt.platform_message_id, text="# Done")
        found = await rig.channel.find(delivery.target, "o_1.0")
        missed = await rig.channel.find(delivery.target, "o_2.0")
        post = rig.slack.posts("lab")[0]
        for _ in range(2):
            await rig.channel.delete(delivery.target, receipt.platform_message_id)

        assert (found, missed) == (receipt, None)
        assert (post.text, post.markup, post.edits) == ("Done", "*Done*", 1)
        assert (post.thread, post.reply_to, post.id) == (thread, name, receipt.platform_message_id)
        assert rig.slack.posts("lab")[0].deleted
        assert [rule.partition(" (")[0] for rule in rig.slack.rejections] == [
            "chat.delete: message_not_found"
        ]


@pytest.mark.req("W10")
async def test_a_reply_without_a_thread_begins_one_where_it_is_wanted(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        name = await rig.slack.say(PersonMessage(text="hi", chat="lab", chat_type="channel"))
        direct = await rig.slack.say(PersonMessage(text="hi", chat="ada"))
        await rig.channel.send(rig.delivery("lab", "one", reply_to=name))
        await rig.channel.send(rig.delivery("ada", "two", reply_to=direct))
        plain = rig.speak(reply_in_thread=False)
        await plain.send(rig.delivery("lab", "three", reply_to=name))

        threads = [post.thread for post in (*rig.slack.posts("lab"), *rig.slack.posts("ada"))]
        assert threads == [name.partition(":")[2], None, None]


@pytest.mark.req("J17")
@pytest.mark.parametrize("kind", ["reset_after", "hang"])
@pytest.mark.parametrize("thread", [None, "t1"])
async def test_a_lost_answer_is_unknown_and_found_in_the_history(
    tmp_path: Path, kind, thread
) -> None:
    async with slack_rig(tmp_path) as rig:
        await rig.slack.say(PersonMessage(text="hi", chat="ada", thread=thread))
        ts = rig.inbox.events[0].source.thread_id
        target = rig.target("ada", **({} if ts is None else {"thread_id": ts}))
        rig.slack.plan(Fault(kind=kind))
        delivery = msgspec.structs.replace(rig.delivery("ada", "once", key="o_9.0"), target=target)
        with pytest.raises(DeliveryUnknown) as lost:
            await rig.channel.send(delivery)
        for _ in range(250):
            rig.slack.happen(PersonMessage(text="chatter", chat="ada", thread=thread))
        found = await rig.channel.find(target, "o_9.0")

        assert lost.value.failure is FailureClass.NETWORK_TIMEOUT
        assert found is not None
        assert found.platform_message_id == rig.slack.posts("ada")[0].id
        assert await rig.channel.find(target, "o_8.0") is None


@pytest.mark.req("J17", "W17")
async def test_a_file_whose_answer_was_lost_is_found_after_a_restart(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        media = await rig.channel._setup.media.keep(PNG, mime="image/png", name="a.png")
        rig.slack.town.open_chat("ada")
        rig.slack.plan(Fault(kind="reset_after"))
        delivery = rig.delivery("ada", ImagePart(media), key="o_7.1")
        with pytest.raises(DeliveryUnknown):
            await rig.channel.send(delivery)

        found = await rig.speak().find(delivery.target, "o_7.1")
        assert found is not None
        assert (found.platform_message_id[0], rig.slack.posts("ada")[0].files) == ("F", ("a.png",))


@pytest.mark.req("A26", "A28")
@pytest.mark.parametrize(
    ("kind", "error", "failure", "wait"),
    [
        ("rate_limited", NotDelivered, FailureClass.RATE_LIMITED, 7.0),
        ("server_error", NotDelivered, FailureClass.SERVICE_UNAVAILABLE, None),
        ("rejected", DeliveryRejected, FailureClass.INVALID_RECIPIENT, None),
        ("unauthorized", DeliveryRejected, FailureClass.UNAUTHORIZED, None),
        ("refuse_connection", NotDelivered, FailureClass.SERVICE_UNAVAILABLE, None),
    ],
)
async def test_a_send_that_fails_says_what_is_known(
    tmp_path: Path, kind, error, failure, wait
) -> None:
    async with slack_rig(tmp_path) as rig:
        rig.slack.town.open_chat("ada")
        rig.slack.plan(Fault(kind=kind))
        with pytest.raises(error) as failed:
            await rig.channel.send(rig.delivery("ada", "secret words"))

        assert (failed.value.failure, failed.value.retry_after) == (failure, wait)
        assert rig.slack.posts("ada") == ()
        assert "secret" not in str(failed.value)


@pytest.mark.req("A28")
async def test_chats_that_cannot_be_written_in_are_invalid_recipients(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        codes = []
        archived = rig.slack.town.open_chat("old", chat_type="channel")
        rig.slack.town.chats[archived].refuses = "is_archived"
        foreign = rig.slack.town.open_chat("foreign", chat_type="channel")
        rig.slack.town.chats[foreign].refuses = "not_in_channel"
        for chat_id in (archived, foreign, "C0NOTHING1"):
            target = Target(platform="slack", account="default", chat_id=chat_id)
            delivery = msgspec.structs.replace(rig.delivery("old", "x"), target=target)
            with pytest.raises(DeliveryRejected) as refused:
                await rig.channel.send(delivery)
            code = str(refused.value).partition("(200 ")[2].partition(")")[0]
            codes.append((code, refused.value.failure.value))

    kind = "invalid_recipient"
    assert codes == [("is_archived", kind), ("not_in_channel", kind), ("channel_not_found", kind)]


@pytest.mark.req("W17")
async def test_files_go_in_and_out(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        said = PersonMessage(
            text="look", chat="ada", files=(File(data=PNG, mime="image/png", name="a.png"),)
        )
        await rig.slack.say(said)
        part = rig.inbox.events[0].parts[1]
        assert isinstance(part, ImagePart)
        data = await rig.channel.fetch(part.media, limit=1000)
        with pytest.raises(TooLarge):
            await rig.channel.fetch(part.media, limit=10)
        kept = await rig.channel._setup.media.keep(data, mime="text/plain", name="b.txt")
        receipt = await rig.channel.send(rig.delivery("ada", "*a* <note>", FilePart(kept)))
        stored = rig.slack.town.files[receipt.platform_message_id]
        await rig.channel.delete(rig.target("ada"), receipt.platform_message_id)
        post = rig.slack.posts("ada")[0]

    assert (part.media.mime, part.media.name, part.media.size) == ("image/png", "a.png", len(PNG))
    assert (data, stored.data, stored.name) == (PNG, PNG, "b.txt")
    assert (post.files, post.text, post.deleted) == (("b.txt",), "a <note>", True)
    assert rig.slack.rejections == ()


@pytest.mark.req("W17", "W34")
@pytest.mark.parametrize(
    "address",
    [
        *("https://evil.example/f", "http://slack.com/f", "https://slack.com.evil.example/f"),
        *("https://evilslack.com/f", "http://127.0.0.1:1/f", "file:///etc/passwd", "", "http://[x"),
        *("https://slack.com@evil.example/f", "https://xn--a.example/f"),
    ],
)
async def test_the_token_goes_to_no_other_host(tmp_path: Path, address) -> None:
    async with slack_rig(tmp_path, connect=False) as rig:
        with pytest.raises(AddressRefused):
            await rig.channel.fetch(Media("image/png", ref=address), limit=10)


@pytest.mark.req("W17")
async def test_a_sign_in_page_is_not_taken_for_a_file(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        said = PersonMessage(text="look", files=(File(data=PNG, mime="image/png", name="a.png"),))
        await rig.slack.say(said)
        rig.slack.revoke()
        part = rig.inbox.events[0].parts[1]
        assert isinstance(part, ImagePart)
        with pytest.raises(DeliveryRejected, match="files:read"):
            await rig.channel.fetch(part.media, limit=1000)


@pytest.mark.req("W10")
async def test_chats_people_and_status(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        await rig.slack.say(PersonMessage(text="x", chat="lab", chat_type="channel", thread="t1"))
        await rig.slack.say(PersonMessage(text="x", chat="dm-ada"))
        thread = rig.inbox.events[0].source.thread_id or ""
        rig.slack.town.chats[
            rig.slack.town.open_chat("no", chat_type="channel")
        ].refuses = "not_in_channel"
        directory = await rig.channel.directory()
        info = await rig.channel.chat_info(rig.target("lab"))
        await rig.channel.typing(rig.target("lab", thread_id=thread))
        await rig.channel.typing(rig.target("dm-ada"))
        user = rig.inbox.events[1].source.user_id
        direct = Target(platform="slack", account="default", chat_id=user)
        sent = await rig.channel.send(
            msgspec.structs.replace(rig.delivery("lab", "x"), target=direct)
        )
        found = await rig.channel.find(direct, "k1")

    told = [(entry.name, entry.kind, entry.user_id, entry.guild) for entry in directory]
    assert told == [("lab", "channel", None, TEAM), ("Ada", "dm", user, TEAM)]
    assert (info.name, info.topic, info.members) == ("lab", "All about lab", 2)
    assert [status[1] for status in rig.slack.statuses] == [thread]
    assert sent == found


@pytest.mark.req("W9")
@pytest.mark.quality("authentication before reading")
@pytest.mark.quality("replays refused")
async def test_webhooks_are_authentic_fresh_and_new(tmp_path: Path) -> None:
    async with slack_rig(tmp_path, "http") as rig:
        call = rig.slack.happen(PersonMessage(text="hi"))[1][0]
        body = msgspec.json.encode(call)
        kind = "application/json"
        good = rig.slack.push.signed(body, kind).headers
        calls = (
            (body, good),
            (body, good),
            (body + b" ", rig.slack.push.signed(body, kind).headers),
            (body, {"content-type": kind}),
        )
        answers = [await rig.channel.webhook(as_request(*call)) for call in calls]

    told = [
        next(iter(re.findall(b"already accepted|does not match|missing", one.body)), b"")
        for one in answers
    ]
    assert [one.status for one in answers] == [200, 401, 401, 401]
    assert told == [b"", b"already accepted", b"does not match", b"missing"]
    assert (answers[0].body, rig.inbox.texts) == (b"", ["hi"])


@pytest.mark.req("W9")
async def test_a_call_that_was_not_taken_may_come_again_as_it_was(tmp_path: Path) -> None:
    async with slack_rig(tmp_path, "http") as rig:
        rig.inbox.failures.append(Overloaded("full"))
        body = msgspec.json.encode(rig.slack.happen(PersonMessage(text="hi"))[1][0])
        headers = rig.slack.push.signed(body, "application/json").headers
        answers = [await rig.channel.webhook(as_request(body, headers)) for _ in range(2)]

    assert ([one.status for one in answers], rig.inbox.texts) == ([503, 200], ["hi"])


@pytest.mark.req("W9")
async def test_what_is_signed_but_no_call_is_not_repeated(tmp_path: Path) -> None:
    async with slack_rig(tmp_path, "http") as rig:
        answers = []
        for body, kind in (
            (b"[" * 3000, "application/json"),
            (b"%ff%fe=1", "application/x-www-form-urlencoded"),
            (b"payload=%7B", "application/x-www-form-urlencoded"),
            (b"x", "text/plain"),
        ):
            headers = rig.slack.push.signed(body, kind).headers
            answer = await rig.channel.webhook(as_request(body, headers))
            answers.append((answer.status, answer.headers["x-slack-no-retry"]))

    assert answers == [(400, "1")] * 4


@pytest.mark.req("W9")
async def test_before_it_is_connected_only_the_challenge_is_answered(tmp_path: Path) -> None:
    async with slack_rig(tmp_path, "http", connect=False) as rig:
        challenge = b'{"type":"url_verification","challenge":"abc"}'
        event = msgspec.json.encode(rig.slack.happen(PersonMessage(text="hi"))[1][0])
        headers = rig.slack.push.signed(challenge, "application/json").headers
        answer = await rig.channel.webhook(as_request(challenge, headers))
        headers = rig.slack.push.signed(event, "application/json").headers
        later = await rig.channel.webhook(as_request(event, headers))

    assert (answer.body, later.status) == (b'{"challenge":"abc"}', 503)


@pytest.mark.req("W9")
async def test_with_a_socket_no_webhook_is_taken(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        with pytest.raises(NotFound):
            await rig.channel.webhook(as_request(b"{}", {}))


@pytest.mark.req("W9")
async def test_the_bots_own_messages_are_not_heard(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        own = {
            "type": "message",
            "channel": "C0LAB00001",
            "user": BOT_USER,
            "text": "me",
            "ts": "1.1",
        }
        await rig.slack.tell(rig.slack.event_call(own))
        await rig.slack.say(PersonMessage(text="barrier"))

    assert rig.inbox.texts == ["barrier"]


@pytest.mark.req("W10")
@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_choices_are_buttons_and_a_press_is_the_value_of_one(tmp_path: Path, mode) -> None:
    choices = (
        Choice("Yes", "a_17.yes", "good"),
        Choice("No", "a_17.no", "bad"),
        Choice("Later", "a_17.later"),
    )
    async with slack_rig(tmp_path, mode) as rig:
        await rig.slack.say(PersonMessage(text="hi", chat="lab", chat_type="channel"))
        asked = await rig.channel.send(
            rig.delivery("lab", ChoicesPart("Run `rm -r x`? Answer yes or no.", choices))
        )
        name = asked.platform_message_id
        before = rig.slack.town.find_own(*name.split(":")).more["blocks"]
        await rig.slack.press(
            PersonMessage(text="a_17.no", chat="lab", chat_type="channel", reply_to=name)
        )
        await rig.channel.edit(rig.target("lab"), name, text="Denied by Ada.")
        after = rig.slack.town.find_own(*name.split(":")).more["blocks"]

    pressed = rig.inbox.events[-1]
    assert (pressed.type, pressed.parts) == ("choice", ())
    assert pressed.pressed == PressedChoice(value="a_17.no", message_id=name)
    assert [one.get("style", "") for one in before[-1]["elements"]] == [*("primary", "danger", "")]
    assert [one["text"]["text"] for one in before[-1]["elements"]] == ["Yes", "No", "Later"]
    assert [one["type"] for one in after] == ["section"]
    assert rig.slack.rejections == ()


@pytest.mark.req("W10")
async def test_as_many_choices_as_the_manifest_allows_fit_under_the_longest_text(
    tmp_path: Path,
) -> None:
    able = MANIFEST.capabilities.buttons
    assert able is not None
    most = tuple(
        Choice("x" * able.label_chars, f"{number:0{able.value_bytes}}")
        for number in range(able.most)
    )
    rules = "\n\n".join(["a", "---"] * 25)
    async with slack_rig(tmp_path) as rig:
        rig.slack.town.open_chat("ada")
        sent = await rig.channel.send(rig.delivery("ada", ChoicesPart(rules, most)))
        posted = rig.slack.town.find_own(*sent.platform_message_id.split(":"))

    words = "".join(one["text"]["text"] for one in posted.more["blocks"] if "text" in one)
    assert (words.count("a"), rig.slack.rejections) == (25, ())


@pytest.mark.req("W10")
@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_reactions_to_the_bots_messages_come_in_as_emoji(tmp_path: Path, mode) -> None:
    async with slack_rig(tmp_path, mode) as rig:
        theirs = await rig.slack.say(PersonMessage(text="hi", chat="ada"))
        sent = await rig.channel.send(rig.delivery("ada", "news"))
        name, ada = sent.platform_message_id, PersonMessage(chat="ada")
        await rig.slack.react(ada, "thumbsup", message_id=name)
        await rig.slack.react(ada, "+1::skin-tone-3", message_id=name, is_removed=True)
        await rig.slack.react(ada, "party-parrot", message_id=name)
        await rig.slack.react(ada, "heart", message_id=theirs)

    found = [(one.type, one.parts, one.reaction) for one in rig.inbox.events[1:]]
    assert found == [
        ("reaction", (), Reaction(message_id=name, emoji="👍")),
        ("reaction", (), Reaction(message_id=name, emoji="👍", is_removed=True)),
    ]
    assert len({one.external_id for one in rig.inbox.events}) == 3


@pytest.mark.req("W10")
async def test_the_bots_reaction_is_the_last_one_also_after_a_restart(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        name = await rig.slack.say(PersonMessage(text="hi", chat="ada"))
        message = rig.slack.town.find(*name.split(":"))
        there = []
        channel = rig.channel
        for state in ("seen", "working", "working"):
            await channel.react(rig.target("ada"), name, state)
            there.append([emoji for emoji, who in message.reactions.items() if who])
        await rig.speak().react(rig.target("ada"), name, "done")
        there.append([emoji for emoji, who in message.reactions.items() if who])

    working = ["hourglass_flowing_sand"]
    assert there == [["eyes"], working, working, ["white_check_mark"]]


@pytest.mark.req("J17")
@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_the_bots_own_message_says_that_it_has_arrived(tmp_path: Path, mode) -> None:
    async with slack_rig(tmp_path, mode) as rig:
        await rig.slack.say(PersonMessage(text="hi", chat="lab", chat_type="channel"))
        rig.slack.plan(Fault(kind="reset_after"))
        with pytest.raises(DeliveryUnknown):
            await rig.channel.send(rig.delivery("lab", "news", key="o_9.0"))
        name = rig.slack.posts("lab")[0].id
        await rig.slack.echo(name)
        posted = {
            "type": "message_metadata_posted",
            "user_id": BOT_USER,
            "channel_id": name.partition(":")[0],
            "message_ts": name.partition(":")[2],
            "metadata": {"event_type": "hermes_delivery", "event_payload": {"key": "o_9.0"}},
        }
        other = {**posted, "user_id": "U0OTHER001"}
        odd = {**posted, "metadata": {"event_type": "hermes_delivery", "event_payload": ["key"]}}
        for event in (posted, other, odd):
            await rig.slack.tell(rig.slack.event_call(event))

    assert rig.arrived == [ArrivedDelivery(key="o_9.0", platform_message_id=name)] * 2
    assert rig.inbox.texts == ["hi"]


@pytest.mark.req("J17")
async def test_an_arrival_that_cannot_be_stored_holds_nothing_up(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        await rig.slack.say(PersonMessage(text="one", chat="ada"))
        sent = await rig.channel.send(rig.delivery("ada", "news"))
        rig.broken.append(StoreError("the disk is gone"))
        await rig.slack.echo(sent.platform_message_id)
        await rig.slack.say(PersonMessage(text="two", chat="ada"))

    assert (rig.arrived, rig.inbox.texts) == ([], ["one", "two"])


@pytest.mark.req("W10")
async def test_a_missing_scope_is_named(tmp_path: Path) -> None:
    async with slack_rig(tmp_path) as rig:
        rig.slack.town.open_chat("ada")
        rig.slack.scopes = rig.slack.scopes - {
            "im:history",
            "channels:history",
            "groups:history",
            "mpim:history",
        }
        with pytest.raises(DeliveryRejected, match=r"missing_scope.*channels:history") as refused:
            await rig.channel.find(rig.target("ada"), "k")

    assert refused.value.failure is FailureClass.UNAUTHORIZED
