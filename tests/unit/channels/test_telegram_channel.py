"""The channel on the wire, against the stand-in: what it confirms, what it repairs, what it hides."""

import asyncio
import json
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.channel_kit.api import Api
from hermes.channels.telegram.channel import TelegramChannel, make
from hermes.errors import (
    BadRequest,
    ConfigurationError,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    HermesError,
    NotDelivered,
    NotFound,
    Overloaded,
    RateLimited,
    Skipped,
    TooLarge,
    Unauthenticated,
)
from hermes.media.cache import MediaCache
from hermes.message.event import MessageEvent, PressedChoice, Reaction
from hermes.message.ids import make_id
from hermes.message.parts import AudioPart, Choice, ChoicesPart, ImagePart, Media, TextPart
from hermes.net.client import HttpClient, HttpSettings
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.ports.channel import (
    Acceptance,
    DeletingChannel,
    Delivery,
    DraftChannel,
    EditingChannel,
    HttpRequest,
    InformedChannel,
    LiveChannel,
    MeasuringChannel,
    MediaChannel,
    ProbingChannel,
    PushChannel,
    ReactingChannel,
    ReactionName,
    Target,
    TypingChannel,
    WebhookChannel,
)
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.clock import SystemClock
from hermes.testing.channel_state import memory_state
from hermes.testing.stand_in import Fault, FaultKind, File, PersonMessage
from hermes.testing.telegram.platform import SECRET, TOKEN, TelegramStandIn

HOOK = "https://hermes.example.org/webhooks/telegram"
JPEG = b"\xff\xd8\xff picture"


class Rig:
    """A channel, its platform, and the inbox that it hands to."""

    def __init__(self, telegram: TelegramStandIn, channel: TelegramChannel, folder: Path) -> None:
        self.telegram = telegram
        self.channel = channel
        self.media_cache = MediaCache(folder, HttpClient(HttpSettings()))
        self.events: list[MessageEvent] = []
        self.answers: list[HermesError] = []

    async def accept(self, event: MessageEvent) -> Acceptance:
        """Keep an event, unless something else is planned."""
        if self.answers:
            raise self.answers.pop(0)
        self.events.append(event)
        return Acceptance(message_id=event.external_id)

    async def target(self, **more: Any) -> Target:
        """Let somebody write, and return where the reply goes."""
        await self.telegram.say(PersonMessage(**{"text": "hi", **more}))
        source = self.events[-1].source
        return Target(
            platform="telegram",
            account="default",
            chat_id=source.chat_id,
            thread_id=source.thread_id,
            reply_to=self.events[-1].external_id,
        )

    async def send(self, target: Target, *parts: Any) -> str:
        """Send a reply and return its id."""
        delivery = Delivery(id="d", target=target, parts=parts, key="k")
        return (await self.channel.send(delivery)).platform_message_id

    def texts(self, chat: str = "chat-1") -> list[str]:
        return [post.text for post in self.telegram.posts(chat)]


@asynccontextmanager
async def rig(
    folder: Path,
    *,
    mode: str = "poll",
    timeout_s: float = 5.0,
    webhook_url: str = HOOK,
    api_url: str = "http://127.0.0.1:{port}",
) -> AsyncIterator[Rig]:
    telegram = TelegramStandIn(mode=mode)
    await telegram.start()
    client = HttpClient(HttpSettings(timeout_s=timeout_s))
    manifest = load_manifest("hermes.channels.telegram")
    media_cache = MediaCache(folder, client)
    changed = {"api_url": api_url.format(port=telegram.port)}
    channel = make(
        ChannelSetup(
            name="telegram",
            account="default",
            settings=read_settings(manifest, {**telegram.settings, **changed}),
            capabilities=manifest.capabilities,
            client=client,
            clock=SystemClock(),
            make_id=make_id,
            media=media_cache,
            state=memory_state("telegram"),
            webhook_url=webhook_url,
            rows=manifest.rows,
        )
    )
    try:
        yield Rig(telegram, channel, folder)
    finally:
        await channel.disconnect()
        await client.close()
        await telegram.stop()


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path) as made:
        await made.channel.connect(made.accept)
        yield made


@pytest.fixture
async def hooked(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, mode="webhook") as made:
        await made.channel.connect(made.accept)
        yield made


def json_of(value: object) -> bytes:
    return json.dumps(value).encode()


def call(body: bytes, *, secret: str = SECRET, method: str = "POST") -> HttpRequest:
    headers = {"x-telegram-bot-api-secret-token": secret}
    path = "/webhooks/telegram"
    return HttpRequest(method=method, path=path, query={}, headers=headers, body=body)


def update(number: int = 1, **message: Any) -> bytes:
    chat = {"id": 5, "type": "private"}
    wire = {"message_id": 9, "date": 1, "chat": chat, "from": {"id": 5}, "text": "hi", **message}
    return json.dumps({"update_id": number, "message": wire}).encode()


async def until(claim: Callable[[], bool]) -> None:
    """Wait for a claim to become true; the time limit is only for a broken test."""
    async with asyncio.timeout(10):
        while not claim():  # noqa: ASYNC110 - the stand-in tells nobody of its calls
            await asyncio.sleep(0.005)


@pytest.mark.req("W10")
async def test_it_has_every_ability_that_the_manifest_declares(one: Rig) -> None:
    abilities = (
        *(PushChannel, EditingChannel, ReactingChannel, WebhookChannel, LiveChannel),
        *(ProbingChannel, MeasuringChannel),
        *(DraftChannel, DeletingChannel, TypingChannel, MediaChannel, InformedChannel),
    )

    assert [kind.__name__ for kind in abilities if not isinstance(one.channel, kind)] == []


@pytest.mark.req("J1")
@pytest.mark.quality("acknowledged after it is kept")
async def test_an_update_is_confirmed_only_once_it_was_taken(one: Rig) -> None:
    one.answers = [Overloaded("full", retry_after=0.01)]
    first = asyncio.create_task(one.telegram.say(PersonMessage(text="one")))
    second = asyncio.create_task(
        one.telegram.say(PersonMessage(text="two", chat="chat-2", user="user-2"))
    )
    await asyncio.gather(first, second)

    # What came behind the one that had to come again is told twice; the inbox knows it.
    assert {"one", "two"} == {event.text for event in one.events}
    assert one.telegram.webhook_info["pending_update_count"] == 0
    assert one.telegram.rejections == ()


@pytest.mark.req("J1", "A28")
async def test_a_sender_who_has_too_many_waiting_holds_back_nobody_else(tmp_path: Path) -> None:
    async with rig(tmp_path) as made:
        group = PersonMessage(text="/stop", chat="lab", chat_type="group", user="ann")
        said = [msgspec.structs.replace(group, text="spam", user="mallory")] * 120
        said += [group, PersonMessage(text="hi", chat="chat-2")]
        tasks = [asyncio.create_task(made.telegram.say(one)) for one in said]
        await until(lambda: made.telegram.webhook_info["pending_update_count"] == len(said))

        async def accept(event: MessageEvent) -> Acceptance:
            if event.text == "spam":
                raise RateLimited("too many are waiting", 3600.0)
            return await made.accept(event)

        await made.channel.connect(accept)
        await asyncio.gather(*tasks)

    assert {event.text for event in made.events} == {"/stop", "hi"}


@pytest.mark.req("J1")
async def test_what_is_refused_for_good_is_confirmed(one: Rig) -> None:
    one.answers = [Skipped("a hook said no"), BadRequest("not that")]
    for text in ("one", "two", "three"):
        await one.telegram.say(PersonMessage(text=text))

    assert [event.text for event in one.events] == ["three"]


@pytest.mark.req("A2")
async def test_an_update_that_nobody_can_read_does_not_stop_the_others(one: Rig) -> None:
    bad = one.telegram.happened("message", {"message_id": "x"})
    await one.telegram.say(PersonMessage(text="after"))

    assert bad.taken.is_set()
    assert [event.text for event in one.events] == ["after"]


@pytest.mark.req("J3")
async def test_a_chat_keeps_its_order_within_a_batch(tmp_path: Path) -> None:
    async with rig(tmp_path) as made:
        chats = ("a", "b", "c")
        said = [
            asyncio.create_task(
                made.telegram.say(PersonMessage(text=f"{chat}{number}", chat=chat, user=chat))
            )
            for number in range(30)
            for chat in chats
        ]
        await asyncio.sleep(0)
        await made.channel.connect(made.accept)
        await asyncio.gather(*said)

        for chat in chats:
            heard = [event.text for event in made.events if event.text.startswith(chat)]
            assert heard == [f"{chat}{number}" for number in range(30)]
        assert made.telegram.calls.count("getUpdates") <= 4


@pytest.mark.req("W2")
async def test_a_cut_connection_is_polled_again_and_nothing_is_lost(one: Rig) -> None:
    await one.telegram.say(PersonMessage(text="one"))
    await one.telegram.cut()
    await one.telegram.say(PersonMessage(text="two"))
    one.telegram.plan(Fault(op="any", kind="server_error"))
    await one.telegram.cut()
    await one.telegram.say(PersonMessage(text="three"))

    assert [event.text for event in one.events] == ["one", "two", "three"]


@pytest.mark.req("W2")
async def test_a_token_revoked_while_polling_is_final(one: Rig) -> None:
    lost = asyncio.create_task(one.channel.lost())
    one.telegram.revoke()

    with pytest.raises(ConfigurationError, match=r"bot_token: .*\(401 Unauthorized\)"):
        await asyncio.wait_for(lost, 10)
    with pytest.raises(ConfigurationError):
        await one.channel.connect(one.accept)


@pytest.mark.req("W2", "W33")
async def test_another_poller_is_explained(one: Rig, tmp_path: Path) -> None:
    lost = asyncio.create_task(one.channel.lost())
    client = HttpClient(HttpSettings())
    base = f"{one.telegram.settings['api_url']}/bot{TOKEN}"
    api = Api(client, platform="thief", base_url=base, make_id=make_id)

    async def steal() -> None:
        while True:
            await api.ask("POST", "getUpdates", json={"timeout": 50}, timeout_s=60)

    thief = asyncio.create_task(steal())
    with pytest.raises(NotDelivered, match="another program polls with the same bot token"):
        await asyncio.wait_for(lost, 15)
    thief.cancel()
    await asyncio.gather(thief, return_exceptions=True)
    await client.close()


@pytest.mark.req("W2")
async def test_a_webhook_that_somebody_sets_is_explained_and_deleted_on_the_way_back(
    one: Rig,
) -> None:
    lost = asyncio.create_task(one.channel.lost())
    one.telegram.set_webhook("https://e.org/x")

    with pytest.raises(NotDelivered, match="while a webhook is set"):
        await asyncio.wait_for(lost, 15)
    await one.channel.disconnect()
    await one.channel.connect(one.accept)
    await one.telegram.say(PersonMessage(text="again"))
    assert [event.text for event in one.events] == ["again"]


@pytest.mark.req("A8", "J1")
async def test_the_webhook_takes_only_what_shows_the_secret(tmp_path: Path) -> None:
    async with rig(tmp_path, mode="webhook") as made:
        hook = made.channel.webhook
        assert (await hook(call(update()))).status == 503
        await made.channel.connect(made.accept)

        for secret in ("", "wrong", SECRET + "x"):
            assert (await hook(call(b"{never read", secret=secret))).status == 401
        assert (await hook(call(b"{never read"))).status == 400
        deep = await hook(call(b'{"update_id":1,"x":' + b"[" * 100_000))
        assert (deep.status, b"nested too deeply" in deep.body) == (400, True)
        assert (await hook(call(update(), method="GET"))).status == 405
        assert (await hook(call(b" " * 1_048_577))).status == 413
        made.answers = [
            Overloaded("full"),
            Skipped("a hook said no"),
            RateLimited("too many are waiting", 30.0),
        ]
        assert (await hook(call(update()))).status == 503
        assert (await hook(call(update()))).status == 200
        assert (await hook(call(update()))).status == 200
        assert (await hook(call(update(text="taken")))).status == 200
        assert [event.text for event in made.events] == ["taken"]
        assert (made.telegram.hook, made.telegram.secret) == (HOOK, SECRET)


# One that is not quite the secret, of which no prefix, other case or other spelling is enough.
_SPOILED = (
    st.text(max_size=300)
    | st.integers(0, len(SECRET) - 1).map(lambda end: SECRET[:end])
    | st.text(min_size=1, max_size=3).map(lambda more: SECRET + more)
    | st.sampled_from([SECRET.upper(), f" {SECRET}", f"{SECRET}\n", f'"{SECRET}"', "\udcff"])
)


@pytest.mark.req("A8")
@pytest.mark.quality("authentication before reading")
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    secret=_SPOILED,
    body=st.binary(max_size=100),
    name=st.sampled_from(["x-telegram-bot-api-secret-token", "authorization"]),
)
async def test_a_call_with_a_spoiled_secret_is_never_read(
    hooked: Rig, secret: str, body: bytes, name: str
) -> None:
    known = len(hooked.events)
    request = HttpRequest(
        method="POST", path="/webhooks/telegram", query={}, headers={name: secret}, body=body
    )

    with pytest.raises(Unauthenticated):
        hooked.channel.glance(request.headers, path=request.path)
    assert (await hooked.channel.webhook(request)).status == 401
    assert len(hooked.events) == known


@pytest.mark.req("A8", "J1")
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.binary(max_size=200) | st.dictionaries(st.text(max_size=9), st.integers()).map(json_of)
)
async def test_a_call_with_the_secret_is_taken_or_refused_and_never_breaks(
    hooked: Rig, body: bytes
) -> None:
    known = len(hooked.events)
    answer = await hooked.channel.webhook(call(body))

    assert answer.status in {200, 400}
    assert len(hooked.events) == known


@pytest.mark.req("A8")
async def test_while_polling_there_is_no_webhook(one: Rig) -> None:
    with pytest.raises(NotFound):
        await one.channel.webhook(call(update()))


@pytest.mark.req("W2")
async def test_a_webhook_address_that_telegram_refuses_is_the_operators_matter(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, mode="webhook", webhook_url="http://hermes.example.org/x") as made:
        with pytest.raises(ConfigurationError, match=r"server\.public_url.*HTTPS"):
            await made.channel.connect(made.accept)


@pytest.mark.req("W10")
async def test_what_people_press_is_answered_and_taken(one: Rig) -> None:
    chat = {"id": 5, "type": "private"}
    for number, message in enumerate(({"message_id": 3, "date": 0, "chat": chat}, None)):
        query = {
            "id": f"q{number}",
            "from": {"id": 5, "is_bot": False, "first_name": "Ada"},
            "chat_instance": "1",
            "data": "c_1",
            **({"message": message} if message else {}),
        }
        await one.telegram.happened("callback_query", query).taken.wait()
    await until(lambda: len(one.telegram.confirmed_presses) == 2)

    # One under a message that the bot did not send is confirmed, too, and is nothing.
    assert [event.pressed for event in one.events] == [PressedChoice(value="c_1", message_id="3")]
    assert sorted(one.telegram.confirmed_presses) == ["q0", "q1"]


@pytest.mark.req("W10")
async def test_a_question_has_buttons_until_its_answer_stands_in_its_place(one: Rig) -> None:
    target = await one.target()
    choices = (Choice("Yes", "c_yes", "good"), Choice("No", "c_no", "bad"), Choice("Later", "c_3"))

    sent = await one.send(target, ChoicesPart("**Delete** it?", choices))
    (message,) = one.telegram.town.history(target.chat_id, is_own=True)
    shown = message.more["reply_markup"]["inline_keyboard"]
    await one.telegram.press(PersonMessage(text="No", reply_to=sent))
    pressed = one.events[-1]
    await one.channel.edit(target, sent, text="Not deleted")

    assert shown == [
        [
            {"text": "Yes", "callback_data": "c_yes", "style": "success"},
            {"text": "No", "callback_data": "c_no", "style": "danger"},
            {"text": "Later", "callback_data": "c_3"},
        ]
    ]
    assert (pressed.type, pressed.pressed, pressed.parts) == (
        "choice",
        PressedChoice(value="c_no", message_id=sent),
        (),
    )
    assert (pressed.source.chat_id, pressed.source.user_id) == (target.chat_id, target.chat_id)
    assert (one.texts(), message.more["reply_markup"]) == (["Not deleted"], None)
    assert one.telegram.rejections == ()


@pytest.mark.req("W10")
async def test_reactions_go_both_ways(one: Rig) -> None:
    target = await one.target()
    heard = one.events[0].external_id
    sent = await one.send(target, TextPart("done"))

    names: tuple[ReactionName, ...] = ("seen", "working", "done")
    for name in names:
        await one.channel.react(target, heard, name)
        await one.channel.react(target, heard, name)
    for emoji in ("👍", "👎", ""):
        await one.telegram.react(PersonMessage(text=emoji, reply_to=sent))

    (message,) = one.telegram.town.history(target.chat_id, is_own=False)
    assert message.more["bot_reaction"] == "👌"
    assert [event.reaction for event in one.events[1:]] == [
        Reaction(message_id=sent, emoji="👍"),
        Reaction(message_id=sent, emoji="👍", is_removed=True),
        Reaction(message_id=sent, emoji="👎"),
        Reaction(message_id=sent, emoji="👎", is_removed=True),
    ]
    assert len({event.external_id for event in one.events}) == len(one.events)
    assert one.telegram.rejections == ()


@pytest.mark.req("W17")
async def test_a_voice_is_a_voice_both_ways(one: Rig) -> None:
    target = await one.target(files=(File(data=b"OggS", mime="audio/ogg"),))
    heard = one.events[0].parts[-1]
    spoken = await one.media_cache.keep(b"OggS" * 30, mime="audio/ogg", name="v.ogg")
    song = await one.media_cache.keep(b"ID3" * 30, mime="audio/mpeg", name="s.mp3")

    for part in (AudioPart(spoken, is_voice=True), AudioPart(song, is_voice=True), AudioPart(song)):
        await one.send(target, part)

    assert isinstance(heard, AudioPart)
    assert heard.is_voice
    history = one.telegram.town.history(target.chat_id, is_own=True)
    assert [message.more["kind"] for message in history] == ["sendVoice", "sendVoice", "sendAudio"]


@pytest.mark.req("W10", "W17")
async def test_text_edits_drafts_typing_pictures_and_files_both_ways(one: Rig) -> None:
    target = await one.target(files=(File(data=JPEG, mime="image/jpeg"),))
    fetched = one.events[0].parts[-1]
    picture = ImagePart(await one.media_cache.keep(JPEG, mime="image/jpeg", name="a.jpg"))
    broken = await one.media_cache.keep(b"no picture", mime="image/png", name="b.png")
    odd = ImagePart(msgspec.structs.replace(broken, mime="image/png"))

    sent = await one.send(target, TextPart("**one**"))
    await one.channel.edit(target, sent, text="**two**")
    await one.channel.typing(target)
    await one.channel.draft(target, 3, text="so *far*")
    await one.send(target, TextPart("album"), picture, picture)
    gone = await one.send(target, picture)
    await one.channel.delete(target, gone)

    assert isinstance(fetched, ImagePart)
    assert await one.channel.fetch(fetched.media, limit=100) == JPEG
    posts = one.telegram.posts("chat-1")
    assert [(post.text, post.files, post.edits, post.deleted) for post in posts] == [
        ("two", (), 1, False),
        ("album", ("a.jpg",), 0, False),
        ("", ("a.jpg",), 0, False),
        ("", ("a.jpg",), 0, True),
    ]
    assert one.telegram.drafts_in("chat-1")[0].text == "so far"
    assert one.telegram.actions == [(target.chat_id, "typing")]
    assert one.telegram.rejections == ()
    await one.send(target, odd)
    assert one.telegram.posts("chat-1")[-1].files == ("b.png",)
    assert "IMAGE_PROCESS_FAILED" in "".join(one.telegram.rejections)


@pytest.mark.req("W10")
async def test_what_is_so_already_is_no_error(one: Rig) -> None:
    target = await one.target()
    sent = await one.send(target, TextPart("same"))

    await one.channel.edit(target, sent, text="same")
    await one.channel.delete(target, sent)
    await one.channel.delete(target, sent)

    assert len(one.telegram.rejections) == 2


@pytest.mark.req("W10")
async def test_a_topic_and_a_quote_are_kept(one: Rig) -> None:
    target = await one.target(chat="g", chat_type="thread", thread="4", mentions=True)
    await one.send(target, TextPart("here"))

    post = one.telegram.posts("g")[0]
    assert (post.thread, post.reply_to) == ("4", one.events[0].external_id)
    info = await one.channel.chat_info(target)
    assert (info.chat_type, info.name, info.members) == ("group", "g", 3)


@pytest.mark.req("A26")
@pytest.mark.quality("groups that move are followed")
async def test_a_group_that_moved_is_followed(one: Rig) -> None:
    target = await one.target(chat="g", chat_type="group", mentions=True)
    new = one.telegram.open_chat(PersonMessage(chat="g2", chat_type="group")).id
    one.telegram.town.chats[target.chat_id].more["moved_to"] = new

    await one.send(target, TextPart("one"))
    await one.send(target, TextPart("two"))

    assert one.texts("g2") == ["one", "two"]
    assert one.telegram.calls.count("sendMessage") == 3


@pytest.mark.req("A28", "J17")
@pytest.mark.parametrize(
    ("kind", "error", "failure", "stands"),
    [
        ("rate_limited", NotDelivered, "rate_limited", False),
        ("server_error", NotDelivered, "service_unavailable", False),
        ("rejected", DeliveryRejected, "invalid_recipient", False),
        ("unauthorized", DeliveryRejected, "unauthorized", False),
        ("reset_after", DeliveryUnknown, "network_timeout", True),
        ("hang", DeliveryUnknown, "network_timeout", True),
    ],
)
async def test_a_failed_send_says_exactly_what_is_known(
    tmp_path: Path, kind: FaultKind, error: type[DeliveryError], failure: str, stands: bool
) -> None:
    async with rig(tmp_path, timeout_s=0.5) as made:
        await made.channel.connect(made.accept)
        target = await made.target()
        made.telegram.plan(Fault(kind=kind))

        with pytest.raises(error) as caught:
            await made.send(target, TextPart("one"))

        assert (type(caught.value), caught.value.failure) == (error, failure)
        assert bool(made.texts()) is stands
        if kind == "rate_limited":
            assert caught.value.retry_after == 7.0


@pytest.mark.req("J17")
async def test_nobody_listening_is_certainly_not_delivered(one: Rig) -> None:
    target = await one.target()
    one.telegram.plan(Fault(kind="refuse_connection", times=10))
    await until(lambda: not one.telegram.is_listening)

    with pytest.raises(NotDelivered):
        await one.send(target, TextPart("one"))


@pytest.mark.req("J17")
async def test_an_album_that_follows_its_text_half_way_is_unknown(one: Rig) -> None:
    target = await one.target()
    picture = ImagePart(await one.media_cache.keep(JPEG, mime="image/jpeg", name="a.jpg"))
    long = TextPart("x" * 1100)

    sent = await one.send(target, long, picture)
    assert sent == one.telegram.posts("chat-1")[0].id
    assert picture.media.path is not None
    place = str(Path(picture.media.path).with_name("gone"))
    gone = ImagePart(Media("image/png", path=place, name="b"))
    with pytest.raises(DeliveryRejected, match="no such file"):
        await one.send(target, gone)
    empty = ImagePart(await one.media_cache.keep(b"", mime="image/jpeg", name="e.jpg"))
    with pytest.raises(DeliveryUnknown, match="another part of the same message has arrived"):
        await one.send(target, long, empty)


@pytest.mark.req("W19")
async def test_markup_that_telegram_does_not_take_goes_out_as_plain_text(one: Rig) -> None:
    target = await one.target()
    # No text is known whose markup would be refused, so the platform refuses any.
    one.telegram.bad_markups = 1

    await one.send(target, TextPart("**bold** & plain"))

    assert one.texts() == ["bold & plain"]
    assert "can't parse entities" in one.telegram.rejections[0]


@pytest.mark.req("W19")
async def test_a_long_text_is_converted_while_other_chats_go_on(one: Rig) -> None:
    target = await one.target()
    line = "- **bold** *italic* `code` [link](https://e.org/?a=1&b=2) & ~~struck~~\n"
    editing = asyncio.create_task(one.channel.edit(target, "1", text=line * 1400))

    turns = 0
    while not one.telegram.rejections:
        await asyncio.sleep(0)
        turns += 1

    # Whatever else has to be done gets its turn meanwhile; without the thread there would be few.
    assert turns > 500
    assert one.telegram.rejections == ("editMessageText: 400 (message to edit not found)",)
    with pytest.raises(DeliveryRejected):
        await editing


@pytest.mark.req("W17")
async def test_what_is_too_large_is_not_fetched(one: Rig) -> None:
    await one.target(files=(File(data=b"0" * 300, mime="application/pdf", name="a.pdf"),))
    media = one.events[0].parts[-1].media  # type: ignore[union-attr]

    for known, limit in ((media, 100), (msgspec.structs.replace(media, size=None), 100)):
        with pytest.raises(TooLarge):
            await one.channel.fetch(known, limit=limit)
    with pytest.raises(DeliveryRejected):
        await one.channel.fetch(Media("a/b", ref="unknown"), limit=100)
    with pytest.raises(BadRequest):
        await one.channel.fetch(Media("a/b"), limit=100)


@pytest.mark.req("W2")
async def test_a_probe_finds_a_webhook_that_leads_elsewhere_or_fails(tmp_path: Path) -> None:
    async with rig(tmp_path, mode="webhook") as made:
        await made.channel.connect(made.accept)
        await made.channel.probe()

        made.telegram.hook = "https://other.example.org/"
        with pytest.raises(NotDelivered, match="points elsewhere"):
            await made.channel.probe()
        made.telegram.hook = HOOK
        made.telegram.point_at("http://127.0.0.1:9/")
        said = asyncio.create_task(made.telegram.say(PersonMessage(text="hi")))
        await until(lambda: "last_error_date" in made.telegram.webhook_info)
        with pytest.raises(NotDelivered, match="1 updates wait"):
            await made.channel.probe()
        made.telegram.revoke()
        with pytest.raises(ConfigurationError):
            await made.channel.probe()
        said.cancel()


@pytest.mark.req("W2")
async def test_a_token_revoked_shows_at_the_next_send_where_nobody_polls(tmp_path: Path) -> None:
    async with rig(tmp_path, mode="webhook") as made:
        await made.channel.connect(made.accept)
        lost = asyncio.create_task(made.channel.lost())
        made.telegram.revoke()

        with pytest.raises(DeliveryRejected):
            await made.channel.typing(Target(platform="telegram", account="default", chat_id="5"))
        with pytest.raises(ConfigurationError):
            await asyncio.wait_for(lost, 5)


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:9",  # nobody listens
        "https://127.0.0.1:{port}",  # no TLS there
        "http://no-such-host.invalid",
        "http://127.0.0.1:{port}/elsewhere",  # another page
    ],
)
async def test_no_error_shows_the_token(
    tmp_path: Path, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(tmp_path, timeout_s=2.0, api_url=address) as made:
        with pytest.raises(HermesError) as caught:
            await made.channel.connect(made.accept)
        with pytest.raises(DeliveryError) as sending:
            await made.channel.typing(Target(platform="telegram", account="default", chat_id="5"))

        shown = "".join(
            (*traceback.format_exception(caught.value), *traceback.format_exception(sending.value))
        )
        hidden = TOKEN.partition(":")[2]
        assert hidden not in shown + repr(made.channel) + caplog.text
        assert caught.value.__context__ is None
