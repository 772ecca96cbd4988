"""The QQ channel against its stand-in: sessions that go on, replies under one pair, links, files."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from hermes.channel_kit.setup_calls import SetupCalls
from hermes.channels.qq.channel import QqChannel
from hermes.errors import (
    AddressRefused,
    ConfigurationError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    HermesError,
    TooLarge,
)
from hermes.message.event import ReplyHandle
from hermes.message.ids import make_id
from hermes.message.parts import FilePart, ImagePart, Media
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.ports.channel import HttpRequest
from hermes.testing.stand_in import Fault, File, PersonMessage
from tests.unit.channels.irc_rig import until
from tests.unit.channels.qq_rig import KEY, Rig, qq_rig

OTHER_KEY = KEY.replace(".0", ".1")


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with qq_rig() as made:
        yield made
        assert made.qq.rejections == ()


@pytest.fixture
async def channel(rig: Rig) -> AsyncIterator[QqChannel]:
    async with rig.connected() as made:
        yield made


@pytest.mark.req("W9", "J1")
@pytest.mark.quality("resume after restart")
async def test_a_new_process_gets_what_happened_meanwhile_and_nothing_twice(rig: Rig) -> None:
    async with rig.connected():
        await rig.qq.say(PersonMessage(text="before"))
    meanwhile = asyncio.create_task(rig.qq.say(PersonMessage(text="meanwhile")))

    async with rig.connected():
        await meanwhile
        await rig.qq.say(PersonMessage(text="after"))

    assert [event.text for event in rig.inbox.calls] == ["before", "meanwhile", "after"]
    assert len(rig.qq.sockets.identified) == 1
    assert rig.qq.sockets.identified[0]["intents"] == 1 << 25


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
    saying = asyncio.create_task(rig.qq.say(PersonMessage(text="not lost")))
    await taken.wait()
    # when the process ends
    await channel.disconnect()

    # then the next one gets the event by resuming
    assert not saying.done()
    async with rig.connected():
        await saying
    assert (rig.inbox.texts, len(rig.qq.sockets.identified)) == (["not lost"], 1)


@pytest.mark.req("W2", "W4")
@pytest.mark.parametrize(
    ("code", "said"), [(4014, "direct chats and groups"), (4914, "sandbox"), (4915, "banned")]
)
async def test_a_close_code_that_needs_the_operator_is_final(
    rig: Rig, channel: QqChannel, code: int, said: str
) -> None:
    await rig.qq.sockets.close(code=code)

    with pytest.raises(ConfigurationError, match=said):
        await asyncio.wait_for(channel.lost(), 5)


@pytest.mark.req("W2", "A28")
async def test_a_token_that_has_ended_is_issued_anew(rig: Rig, channel: QqChannel) -> None:
    rig.qq.tokens["bot"] = "another-access-token"

    await channel.send(rig.delivery("hello"))

    assert rig.qq.calls.count("get_app_access_token") == 2
    assert [post.text for post in rig.qq.posts("chat-1")] == ["hello"]


@pytest.mark.req("A28")
@pytest.mark.quality("revoked token")
async def test_a_secret_that_is_refused_ends_the_channel_and_is_not_told(
    rig: Rig, channel: QqChannel
) -> None:
    rig.qq.revoke()

    with pytest.raises(DeliveryRejected) as failed:
        await channel.send(rig.delivery("hello"))

    assert failed.value.credential
    with pytest.raises(HermesError, match=r"platforms\.qq\.app_secret: ") as lost:
        await asyncio.wait_for(channel.lost(), 5)
    assert "not-a-real" not in f"{failed.value} {lost.value}"


@pytest.mark.req("J17")
@pytest.mark.quality("transaction ids")
async def test_a_repeated_reply_is_refused_as_one_that_has_arrived(
    rig: Rig, channel: QqChannel
) -> None:
    handle = await rig.asked()
    rig.qq.plan(Fault(kind="reset_after"))
    with pytest.raises(DeliveryUnknown):
        await channel.send(rig.delivery("once", handle=handle))

    receipt = await channel.send(rig.delivery("once", handle=handle))
    await channel.send(rig.delivery("twice", handle=handle, key=OTHER_KEY))

    assert receipt.platform_message_id.startswith(f"{handle.token}.")
    assert [post.text for post in rig.qq.posts("chat-1")] == ["once", "twice"]


@pytest.mark.req("J17")
async def test_what_answers_no_message_is_never_repeated_by_itself(
    rig: Rig, channel: QqChannel
) -> None:
    rig.qq.plan(Fault(kind="reset_after"))
    with pytest.raises(DeliveryUnknown):
        await channel.send(rig.delivery("report"))

    async with rig.connected() as restarted:
        with pytest.raises(DeliveryRejected, match="nobody knows whether"):
            await restarted.send(rig.delivery("report"))

    assert [post.text for post in rig.qq.posts("chat-1")] == ["report"]


@pytest.mark.req("J17", "A28")
async def test_what_certainly_did_not_arrive_is_sent_again_also_unasked(
    rig: Rig, channel: QqChannel
) -> None:
    rig.qq.plan(Fault(kind="rate_limited", times=1))
    with pytest.raises(HermesError, match="sent again later"):
        await channel.send(rig.delivery("report"))

    await channel.send(rig.delivery("report"))

    assert [post.text for post in rig.qq.posts("chat-1")] == ["report"]


@pytest.mark.req("W10", "J17")
async def test_a_reply_past_its_window_says_so(rig: Rig, channel: QqChannel) -> None:
    handle = await rig.asked(chat="lab", chat_type="group", mentions=True)
    there = rig.target("lab", group=True)
    message = rig.qq.town.messages[there.chat_id][handle.token]
    assert handle.until == pytest.approx(message.at + 300, abs=1)
    message.at -= 301

    with pytest.raises(DeliveryRejected, match="for 5 minutes in a group") as failed:
        await channel.send(rig.delivery("late", handle=handle, target=there))

    assert failed.value.failure is FailureClass.REPLY_CLOSED
    rig.qq._rejections.clear()


@pytest.mark.req("W10")
async def test_a_sixth_reply_says_so(rig: Rig, channel: QqChannel) -> None:
    handle = await rig.asked()
    for number in range(5):
        key = f"{KEY}{number}"
        await channel.send(rig.delivery("again", handle=handle, key=key))

    with pytest.raises(DeliveryRejected, match="answered five times"):
        await channel.send(rig.delivery("too often", handle=handle))

    rig.qq._rejections.clear()


@pytest.mark.req("W19", "W10")
async def test_an_address_does_not_make_qq_refuse_the_whole_reply(
    rig: Rig, channel: QqChannel
) -> None:
    handle = await rig.asked()

    await channel.send(rig.delivery("see [the docs](https://x.org/a.b?q=1)", handle=handle))

    assert [post.text for post in rig.qq.posts("chat-1")] == ["see the docs (x．org/a.b?q=1)"]


@pytest.mark.req("W10", "A28")
async def test_an_address_that_is_kept_is_refused_with_what_to_do(rig: Rig) -> None:
    async with rig.connected(links="kept") as channel:
        handle = await rig.asked()
        with pytest.raises(DeliveryRejected, match=r"set platforms\.qq\.links to hidden"):
            await channel.send(rig.delivery("see https://x.org", handle=handle))

    assert rig.qq.posts("chat-1") == ()
    rig.qq._rejections.clear()


@pytest.mark.req("W19")
async def test_markdown_goes_out_where_it_is_approved(rig: Rig) -> None:
    async with rig.connected(markdown=True) as channel:
        handle = await rig.asked()
        with pytest.raises(DeliveryRejected, match=r"set platforms\.qq\.markdown to false"):
            await channel.send(rig.delivery("**hi**", handle=handle))
        rig.qq._rejections.clear()
        rig.qq.may_markdown = True

        await channel.send(rig.delivery("**hi** [x](https://x.org)", handle=handle))

    assert [post.text for post in rig.qq.posts("chat-1")] == ["**hi** x (x．org)"]


@pytest.mark.req("W17", "W9")
@pytest.mark.quality("media both ways")
async def test_words_and_a_file_are_uploaded_and_sent_as_one_message(
    rig: Rig, channel: QqChannel
) -> None:
    handle = await rig.asked()
    kept = await channel._setup.media.keep(b"words", mime="text/plain", name="a.txt")

    await channel.send(rig.delivery("look", FilePart(kept), handle=handle))

    (post,) = rig.qq.posts("chat-1")
    assert (post.text, post.files) == ("look", ("a.txt",))


@pytest.mark.req("W17", "W9")
@pytest.mark.quality("own hosts only")
async def test_a_file_is_read_from_qqs_hosts_only_and_without_the_token(
    rig: Rig, channel: QqChannel
) -> None:
    file = File(data=b"\x89PNG" + b"x" * 40, mime="image/png", name="a.png")
    await rig.qq.say(PersonMessage(text="look", files=(file,)))
    (part,) = [one for one in rig.inbox.events[0].parts if isinstance(one, ImagePart)]

    assert await channel.fetch(part.media, limit=1000) == file.data
    with pytest.raises(TooLarge):
        await channel.fetch(part.media, limit=10)
    for url in ("https://evil.example/a", "https://qpic.cn.evil.example/a", "ftp://qpic.cn/a"):
        with pytest.raises(AddressRefused):
            await channel.fetch(Media("image/png", ref=url), limit=1000)


@pytest.mark.req("W9")
async def test_a_chat_that_is_no_openid_is_no_part_of_an_address(
    rig: Rig, channel: QqChannel
) -> None:
    target = msgspec.structs.replace(rig.target(), chat_id="../../gateway")

    with pytest.raises(DeliveryRejected, match="expected an openid"):
        await channel.send(rig.delivery("hello", target=target))


@pytest.mark.req("W9", "J13")
@pytest.mark.quality("authentication before reading")
async def test_a_call_that_is_not_signed_so_is_not_read() -> None:
    async with qq_rig("webhook") as rig, rig.connected() as channel:
        _, events = rig.qq.happen(PersonMessage(text="hello"))
        call = rig.qq.push.signed(msgspec.json.encode({"op": 0, **events[0]}))
        spoiled = msgspec.structs.replace(call, body=call.body + b" ")
        unsigned = {one: it for one, it in call.headers.items() if "ed25519" not in one}

        taken = await channel.webhook(call)
        refused = [
            (await channel.webhook(one)).status
            for one in (spoiled, msgspec.structs.replace(call, headers=unsigned))
        ]

    assert (taken.status, msgspec.json.decode(taken.body)) == (200, {"op": 12})
    assert (refused, rig.inbox.texts) == ([401, 401], ["hello"])


@pytest.mark.req("W9")
async def test_qqs_check_of_the_address_is_answered_before_anything_is_connected() -> None:
    async with qq_rig("webhook") as rig:
        body = msgspec.json.encode({"op": 13, "d": {"plain_token": "abc", "event_ts": "17"}})
        call = HttpRequest(method="POST", path="", query={}, headers={}, body=body)

        answer = await rig.make().webhook(call)

    told = msgspec.json.decode(answer.body)
    assert (answer.status, told["plain_token"], len(told["signature"])) == (200, "abc", 128)


@pytest.mark.req("A28", "W4")
async def test_a_channel_says_that_its_gateway_is_closed(rig: Rig) -> None:
    async with rig.connected() as channel:
        await channel.probe()

    with pytest.raises(HermesError, match="qq: the socket is closed; no message can come in"):
        await channel.probe()


@pytest.mark.req("W2")
async def test_a_session_that_is_over_is_begun_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes.channel_kit.socket_session._ANEW_S", 0.0)
    monkeypatch.setattr("hermes.channel_kit.socket_session._ANEW_SPREAD_S", 0.0)
    async with rig.connected():
        await rig.qq.say(PersonMessage(text="one"))
        (connection,) = rig.qq.sockets.connections
    await until(connection.gone.is_set)
    rig.qq.sockets.forget()

    async with rig.connected():
        await rig.qq.say(PersonMessage(text="two"))

    assert connection.socket.close_code == 4000
    assert (rig.inbox.texts, len(rig.qq.sockets.identified)) == (["one", "two"], 2)


def test_a_handle_is_not_shown() -> None:
    assert "secret" not in repr(ReplyHandle(token="secret"))


@pytest.mark.req("W9")
async def test_the_set_up_says_whether_the_secret_is_that_of_the_app(rig: Rig) -> None:
    manifest = load_manifest("hermes.channels.qq")

    async def prove(secret: str) -> str:
        given = {**rig.qq.settings, "app_secret": secret}
        calls = SetupCalls(
            rig.client,
            manifest.setup,
            platform="qq",
            settings=read_settings(manifest, given),
            secrets=("app_secret",),
            make_id=make_id,
            wire=manifest.rows,
        )
        proof = await calls.prove()
        assert proof is not None
        return proof.shows

    assert await prove(rig.qq.settings["app_secret"]) == (
        f"The secret is that of the app {rig.qq.settings['app_id']}."
    )
    with pytest.raises(ConfigurationError, match=r"100016.*copy a new AppSecret") as refused:
        await prove("another-secret")
    assert "another-secret" not in str(refused.value)


@pytest.mark.req("J17", "W10")
@pytest.mark.quality("transaction ids")
async def test_a_reply_that_a_dead_process_sent_is_there_once_and_takes_one_of_the_five(
    rig: Rig,
) -> None:
    # given a process that dies before it hears that its reply was taken
    async with rig.connected() as channel:
        handle = await rig.asked()
        rig.qq.plan(Fault(kind="reset_after"))
        with pytest.raises(DeliveryUnknown):
            await channel.send(rig.delivery("0", handle=handle))

    # when the next one sends it again, and four more
    async with rig.connected() as restarted:
        await restarted.send(rig.delivery("0", handle=handle))
        for number in range(1, 5):
            key = f"{KEY}{number}"
            await restarted.send(rig.delivery(str(number), handle=handle, key=key))

        # then there is no room for another one
        with pytest.raises(DeliveryRejected, match="answered five times"):
            await restarted.send(rig.delivery("5", handle=handle, key=f"{KEY}5"))

    assert [post.text for post in rig.qq.posts("chat-1")] == ["0", "1", "2", "3", "4"]
    rig.qq._rejections.clear()
