"""The WhatsApp channel with the Cloud API and with 360dialog: what it takes, sends, refuses and proves."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channel_kit.proof import check_proof
from hermes.channel_kit.setup_calls import SetupCalls
from hermes.channels.meta.channel import make_whatsapp
from hermes.channels.meta.inbound import CallReader, read_whatsapp
from hermes.channels.meta.pages import read_pages
from hermes.errors import (
    AddressRefused,
    ConfigurationError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
    Overloaded,
    Refused,
    ReplyClosed,
    StoreRejected,
    Unauthenticated,
)
from hermes.message.ids import make_id
from hermes.message.parts import AudioPart, Choice, ChoicesPart, FilePart, ImagePart, Media
from hermes.net.client import HttpClient, HttpSettings
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.ports.channel import ArrivedDelivery, HttpRequest, ReturnedDelivery
from hermes.testing.channel_state import memory_state
from hermes.testing.meta.platform import MetaStandIn
from hermes.testing.setup_channel import channel_setup
from hermes.testing.stand_in import Fault, PersonMessage
from tests.unit.channels.webhook_rig import Inbox, Rig, webhook_rig

whatsapp_rig = partial(
    webhook_rig, make=make_whatsapp, package="hermes.channels.meta", file="whatsapp.toml"
)
ADA = "4917000000000"
DAY_S = 86_400.0
READER = CallReader(platform="whatsapp", account="default", own_id="", now=2e9)
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with whatsapp_rig(MetaStandIn()) as made:
        yield made


async def told(rig: Rig, count: int) -> None:
    """Wait until the platform has told what became of so many messages."""
    async with asyncio.timeout(10):
        while len(rig.arrived) + len(rig.returned) < count:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


def handshake(**query: str) -> HttpRequest:
    named = {f"hub.{name}": value for name, value in query.items()}
    return HttpRequest(method="GET", path="", query=named, headers={}, body=b"")


@pytest.mark.req("W9")
@pytest.mark.quality("authentication before reading")
async def test_the_address_is_checked_with_the_word_and_calls_with_the_signature(rig: Rig) -> None:
    word = rig.site.settings["verify_token"]
    checks = [
        await rig.webhook(handshake(mode="subscribe", verify_token=shown, challenge="1158201444"))
        for shown in (word, "", "another word")
    ]
    body = json.dumps(
        rig.site.event_of(ADA, {"id": "wamid.1", "text": {"body": "grüß 👋"}})
    ).encode()
    good = rig.site.push.signed(body)
    proof = good.headers["x-hub-signature-256"]
    spoiled = [
        {"x-hub-signature-256": ""},
        {"x-hub-signature-256": proof.removeprefix("sha256=")},
        {"x-hub-signature-256": proof.replace("sha256", "sha1")},
        {"x-hub-signature-256": proof[:-1] + ("0" if proof[-1] != "0" else "1")},
        {"x-hub-signature-256": "sha256="},
    ]
    refused = [
        (await rig.webhook(msgspec.structs.replace(good, headers={**good.headers, **one}))).status
        for one in spoiled
    ]
    changed = msgspec.structs.replace(good, body=body.replace(b"\\u00fc", b"\xc3\xbc"))
    assert (await rig.webhook(changed)).status == 401
    with pytest.raises(Unauthenticated):
        rig.channel.glance({}, path="/webhooks/whatsapp")
    assert rig.inbox.events == []

    taken = [(await rig.webhook(good)).status for _ in range(2)]

    assert [(one.status, one.body) for one in checks[:1]] == [(200, b"1158201444")]
    assert [one.status for one in checks[1:]] == [403, 403]
    assert (refused, taken, rig.inbox.texts) == ([401] * 5, [200, 200], ["grüß 👋"])


ROW = load_manifest("hermes.channels.meta", "whatsapp.toml").rows.webhook


@pytest.mark.req("W9")
@given(st.binary(max_size=200), st.binary(max_size=80))
def test_no_signature_that_anybody_makes_up_is_taken(body: bytes, shown: bytes) -> None:
    assert ROW is not None
    assert ROW.proof is not None
    headers = {"x-hub-signature-256": shown.decode("latin-1")}
    request = HttpRequest(method="POST", path="", query={}, headers=headers, body=body)

    with pytest.raises(Unauthenticated):
        check_proof(ROW.proof, request, secret="a secret", now=1.0)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                (
                    "entry",
                    "changes",
                    "value",
                    "field",
                    "messages",
                    "statuses",
                    "contacts",
                    "id",
                    "from",
                    "type",
                    "text",
                    "body",
                    "image",
                    "reaction",
                    "interactive",
                    "context",
                    "metadata",
                    "messaging",
                    "sender",
                    "message",
                    "mid",
                    "attachments",
                    "payload",
                    "postback",
                )
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@pytest.mark.req("W9")
@given(VALUES)
def test_whatever_a_signed_call_holds_is_read_or_refused(value: Any) -> None:
    found = {"entry": [{"changes": [{"field": "messages", "value": value}], "messaging": value}]}
    body = msgspec.json.encode([found, value])
    for read in (read_whatsapp, read_pages):
        for raw in (msgspec.json.encode(found), body):
            with contextlib.suppress(Refused):
                for heard in read(raw, READER).heard:
                    msgspec.json.encode(heard.event)


@pytest.mark.req("W9", "J1")
@pytest.mark.quality("acknowledged after it is kept")
async def test_one_refused_message_of_a_call_repeats_no_other_and_one_that_waits_repeats_all(
    rig: Rig,
) -> None:
    wires = [{"id": f"wamid.{name}", "text": {"body": name}} for name in ("a", "b", "c")]
    call = json.dumps(rig.site.event_of(ADA, *wires)).encode()
    rig.inbox.failures = {"wamid.b": [StoreRejected("never"), StoreRejected("never")]}
    first = await rig.call(call)
    assert (first.status, rig.inbox.texts) == (200, ["a", "c"])

    again = [{**one, "id": f"{one['id']}2"} for one in wires]
    later = json.dumps(rig.site.event_of(ADA, *again))
    rig.inbox.failures = {"wamid.b2": [Overloaded("full")]}
    answers = [(await rig.call(later.encode())).status for _ in range(2)]

    assert (answers, rig.inbox.texts) == ([503, 200], ["a", "c", "a", "b", "c"])


@pytest.mark.req("J17", "W9")
@pytest.mark.quality("late proof")
async def test_what_becomes_of_a_message_comes_back_with_its_key(rig: Rig) -> None:
    await rig.site.say(PersonMessage(text="hello", chat=ADA))
    receipt = await rig.channel.send(rig.delivery(ADA, "hi", key="o_1.0"))
    rig.site.plan(Fault(kind="reset_after"))
    with pytest.raises(DeliveryUnknown):
        await rig.channel.send(rig.delivery(ADA, "again", key="o_2.0"))
    await told(rig, 4)

    lost = rig.site.posts(ADA)[1].id
    assert sorted(rig.arrived, key=lambda one: one.key) == [
        *[ArrivedDelivery(key="o_1.0", platform_message_id=receipt.platform_message_id)] * 2,
        *[ArrivedDelivery(key="o_2.0", platform_message_id=lost)] * 2,
    ]
    assert rig.returned == []


@pytest.mark.req("A28", "W9")
@pytest.mark.quality("reply window")
async def test_a_day_after_the_last_message_a_reply_is_refused_and_says_so(rig: Rig) -> None:
    await rig.site.say(PersonMessage(text="hello", chat=ADA))
    rig.clock.advance(DAY_S - 1)
    await rig.channel.send(rig.delivery(ADA, "just in time"))
    rig.clock.advance(1)

    with pytest.raises(
        ReplyClosed, match=r"24 h after their last message.*whatsapp\.template"
    ) as late:
        await rig.channel.send(rig.delivery(ADA, "too late"))
    await rig.site.say(PersonMessage(text="me again", chat=ADA))
    await rig.channel.send(rig.delivery(ADA, "open again"))

    assert late.value.failure is FailureClass.REPLY_CLOSED
    assert [one.text for one in rig.site.posts(ADA)] == ["just in time", "open again"]


@pytest.mark.req("A28", "W9")
async def test_with_a_template_a_late_reply_is_sent_in_it_and_an_unheard_person_is_told_apart() -> (
    None
):
    state = memory_state("whatsapp")
    async with whatsapp_rig(MetaStandIn(), state=state, template="agent_update") as rig:
        await rig.site.say(PersonMessage(text="hello", chat=ADA))
        rig.clock.advance(DAY_S)
        await rig.channel.send(rig.delivery(ADA, "line one\n\nline **two** " + "x" * 2000))
        stranger = rig.site.town.open_chat("4917000000555")
        await rig.channel.send(rig.delivery(stranger, "hi", key="o_9.0"))
        await told(rig, 3)

        (post,) = rig.site.posts(ADA)
        message = rig.site.town.find(ADA, post.id)
        filled = message.more["components"][0]["parameters"][0]["text"]
        assert (message.more["name"], len(filled)) == ("agent_update", 1024)
        assert post.text.startswith("line one line two x")
        assert rig.returned == [
            ReturnedDelivery(key="o_9.0", failure=FailureClass.REPLY_CLOSED, status="131047")
        ]
        assert rig.site.rejections == ()


@pytest.mark.req("W9", "W14")
async def test_one_person_has_one_chat_whatever_id_a_message_shows(rig: Rig) -> None:
    chat = rig.site.town.open_chat(ADA)
    hidden = rig.site.event_of(
        chat, {"id": "wamid.2", "from": "", "from_user_id": "DE.1", "text": {"body": "b"}}
    )
    del hidden["entry"][0]["changes"][0]["value"]["contacts"][0]["wa_id"]
    rig.site.scoped[chat] = "DE.1"
    await rig.site.say(PersonMessage(text="a", chat=ADA))
    await rig.site.tell(hidden)
    for written in (ADA, f"+{ADA[:4]} {ADA[4:]}", f"{ADA}@s.whatsapp.net", "DE.1"):
        await rig.channel.send(rig.delivery(written, "one chat"))
    assert len(rig.site.posts(ADA)) == 4
    moved = rig.site.event_of(chat, {"id": "wamid.3", "system": {"wa_id": "4917000000999"}})
    await rig.site.tell(moved)
    new = rig.site.event_of("4917000000999", {"id": "wamid.4", "text": {"body": "c"}})
    await rig.site.tell(new)

    assert [(one.text, one.source.chat_id, one.source.user_id) for one in rig.inbox.events] == [
        (text, ADA, ADA) for text in ("a", "b", "c")
    ]
    assert rig.site.rejections == ()


@pytest.mark.req("W9", "W14")
async def test_who_gets_a_number_that_was_given_up_is_somebody_else(rig: Rig) -> None:
    # given Ada, who has taken a new number
    new = "4917000000999"
    for chat in (ADA, new):
        rig.site.town.open_chat(chat)
    await rig.site.say(PersonMessage(text="a", chat=ADA))
    moved = rig.site.event_of(ADA, {"id": "wamid.3", "system": {"wa_id": new}})
    for _ in range(2):
        # WhatsApp tells again what it does not know to be taken.
        await rig.site.tell(moved)

    # when a stranger writes from the old number, and Ada from hers
    await rig.site.say(PersonMessage(text="b", chat=ADA))
    await rig.site.say(PersonMessage(text="c", chat=new))
    await rig.site.tell(moved)
    await rig.site.say(PersonMessage(text="d", chat=ADA))

    stranger = f"{ADA}@{int(rig.clock.now())}"
    assert [(one.text, one.source.chat_id, one.source.user_id) for one in rig.inbox.events] == [
        ("a", ADA, ADA),
        ("b", stranger, stranger),
        ("c", ADA, ADA),
        ("d", stranger, stranger),
    ]
    # then each is answered where they are, over restarts
    for chat, text in ((ADA, "for Ada"), (stranger, "for the stranger")):
        await rig.channel.send(rig.delivery(chat, text))
    assert [one.text for one in rig.site.posts(new)] == ["for Ada"]
    assert [one.text for one in rig.site.posts(ADA)] == ["for the stranger"]

    # and back again
    back = rig.site.event_of(new, {"id": "wamid.4", "system": {"wa_id": ADA}})
    await rig.site.tell(back)
    await rig.site.say(PersonMessage(text="e", chat=ADA))
    await rig.channel.send(rig.delivery(ADA, "back"))
    assert rig.inbox.events[-1].source.user_id == ADA
    assert [one.text for one in rig.site.posts(ADA)] == ["for the stranger", "back"]


@pytest.mark.req("W9", "W14")
async def test_a_number_that_comes_with_another_scoped_id_is_somebody_else(rig: Rig) -> None:
    # given Ada, whose number passes on without a word of the platform
    bob, new = "DE.2", "4917000000999"
    rig.site.scoped[ADA] = "DE.1"
    await rig.site.say(PersonMessage(text="a", chat=ADA))
    rig.clock.advance(60.0)
    rig.site.scoped[ADA] = bob
    await rig.site.say(PersonMessage(text="b", chat=ADA))

    # when each is answered, and Ada writes from a new one
    rig.site.scoped[rig.site.town.open_chat(new)] = "DE.1"
    await rig.channel.send(rig.delivery(bob, "for Bob"))
    await rig.channel.send(rig.delivery(ADA, "for Ada"))
    await rig.site.say(PersonMessage(text="c", chat=new))

    # then nothing of hers reached the old one
    assert [(one.text, one.source.chat_id, one.source.user_id) for one in rig.inbox.events] == [
        ("a", ADA, ADA),
        ("b", bob, bob),
        ("c", ADA, ADA),
    ]
    assert [one.text for one in rig.site.posts(new)] == ["for Ada"]
    assert [one.text for one in rig.site.posts(ADA)] == ["for Bob"]


@pytest.mark.req("W9", "W14")
async def test_who_is_known_by_a_lost_number_alone_is_not_written_to(rig: Rig) -> None:
    await rig.site.say(PersonMessage(text="a", chat=ADA))
    number = "4917000000555"
    rig.site.scoped[number] = "DE.2"
    await rig.site.say(PersonMessage(text="b", chat=number))
    rig.clock.advance(60.0)
    rig.site.scoped[ADA] = "DE.2"
    await rig.site.say(PersonMessage(text="d", chat=ADA))

    with pytest.raises(DeliveryRejected, match="belongs to somebody else now"):
        await rig.channel.send(rig.delivery(ADA, "for who had it"))
    await rig.channel.send(rig.delivery(number, "for who has it"))

    assert rig.inbox.events[-1].source.chat_id == number


@pytest.mark.req("W9")
async def test_questions_have_buttons_a_list_or_neither(rig: Rig) -> None:
    await rig.site.say(PersonMessage(text="hello", chat=ADA))
    choices = tuple(Choice(f"Number {number}", f"c_{number}") for number in range(11))
    long = (Choice("a label that is longer than a button", "c_1"),)
    for question, some in (("Yes?", choices[:3]), ("Which?", choices[:10]), ("Long?", long)):
        await rig.channel.send(rig.delivery(ADA, ChoicesPart(question, some)))
    await rig.channel.send(rig.delivery(ADA, ChoicesPart("Too many? Write /pick 1", choices)))
    await rig.channel.send(rig.delivery(ADA, ChoicesPart("q" * 1025, choices[:2])))

    kept = [one.more for one in rig.site.town.history(ADA, is_own=True)]
    assert [one.get("type") for one in kept] == ["button", "list", "list", None, None]
    assert kept[0]["action"]["buttons"][1]["reply"] == {"id": "c_1", "title": "Number 1"}
    assert kept[2]["action"]["sections"][0]["rows"] == [
        {"id": "c_1", "title": "a label that is longer …"}
    ]
    assert rig.site.rejections == ()


@pytest.mark.req("W9")
async def test_files_are_sent_as_what_they_are_and_voice_as_voice(rig: Rig) -> None:
    await rig.site.say(PersonMessage(text="hello", chat=ADA))
    kept = {
        mime: await rig.setup.media.keep(b"x" * 10, mime=mime, name="a.bin")
        for mime in ("image/png", "image/webp", "audio/ogg", "text/plain")
    }
    for part in (
        ImagePart(kept["image/png"]),
        ImagePart(kept["image/webp"]),
        AudioPart(kept["audio/ogg"], is_voice=True),
        AudioPart(kept["audio/ogg"]),
        FilePart(kept["text/plain"]),
    ):
        await rig.channel.send(rig.delivery(ADA, part))

    sent = [one.more for one in rig.site.town.history(ADA, is_own=True)]
    assert [sorted(one) for one in sent] == [
        ["id"],
        ["filename", "id"],
        ["id", "voice"],
        ["id"],
        ["filename", "id"],
    ]
    assert rig.site.rejections == ()
    with pytest.raises(DeliveryRejected, match="cannot be sent"):
        await rig.channel.send(rig.delivery(ADA, FilePart(Media("text/plain", path="gone"))))


@pytest.mark.req("W9", "W17")
async def test_files_come_from_metas_hosts_only(rig: Rig) -> None:
    file = rig.site.town.keep_file("a.png", PNG, mime="image/png")
    assert await rig.channel.fetch(Media("image/png", ref=file.id), limit=100) == PNG
    for url in (
        "https://evil.example/a.png",
        "http://fbsbx.com/a.png",
        "https://fbsbx.com.evil.example/",
    ):
        with pytest.raises(AddressRefused):
            await rig.channel.fetch(Media("image/png", ref=url), limit=100)
    with pytest.raises(Refused):
        await rig.channel.fetch(Media("image/png", ref=file.id), limit=3)


@pytest.mark.req("W9", "W10")
async def test_seen_typing_and_reactions_are_about_the_last_message(rig: Rig) -> None:
    await rig.channel.typing(rig.target(ADA))
    name = await rig.site.say(PersonMessage(text="hello", chat=ADA))
    await rig.channel.typing(rig.target(ADA))
    await rig.channel.react(rig.target(ADA), name, "done")

    read = {"messaging_product": "whatsapp", "status": "read", "message_id": name}
    assert rig.site.actions == [{**read, "typing_indicator": {"type": "text"}}]
    assert rig.site.town.find(ADA, name).reactions == {"us": {"✅"}}
    assert rig.site.rejections == ()


@pytest.mark.req("A28", "W2")
async def test_refusals_say_what_follows_and_show_no_secret(rig: Rig) -> None:
    await rig.site.say(PersonMessage(text="hello", chat=ADA))
    rig.site.plan(Fault(kind="rate_limited", retry_after=7.0))
    with pytest.raises(NotDelivered) as limited:
        await rig.channel.send(rig.delivery(ADA, "hi"))
    rig.site.plan(Fault(kind="rejected"))
    with pytest.raises(DeliveryRejected) as gone:
        await rig.channel.send(rig.delivery(ADA, "hi"))
    rig.site.revoke()
    with pytest.raises(DeliveryRejected) as revoked:
        await rig.channel.send(rig.delivery(ADA, "hi"))
    with pytest.raises(ConfigurationError, match=r"platforms\.whatsapp\.access_token") as lost:
        await rig.channel.lost()

    assert (limited.value.retry_after, limited.value.platform_wide) == (7.0, True)
    assert (gone.value.failure, gone.value.credential) == (FailureClass.INVALID_RECIPIENT, False)
    assert revoked.value.credential
    shown = f"{limited.value}{gone.value}{revoked.value}{lost.value}{rig.channel._account!r}"
    assert "not-a-real" not in shown


@pytest.mark.req("W9", "W33")
async def test_a_further_account_is_the_same_platform_under_its_own_name() -> None:
    site = MetaStandIn()
    await site.start()
    client = HttpClient(HttpSettings(timeout_s=2.0))
    made = channel_setup("hermes.channels.meta", site.settings, client=client, file="whatsapp.toml")
    channel = make_whatsapp(msgspec.structs.replace(made, name="whatsapp/sales", account="sales"))
    inbox = Inbox()
    await channel.connect(inbox.accept)
    body = json.dumps(site.event_of(ADA, {"id": "wamid.1", "text": {"body": "hi"}})).encode()
    answer = await channel.webhook(
        msgspec.structs.replace(site.push.signed(body), path="/webhooks/whatsapp/sales")
    )
    site.revoke()
    with pytest.raises(ConfigurationError, match=r"platforms\.whatsapp\.access_token"):
        await channel.probe()
    await channel.disconnect()
    await client.close()
    await site.stop()

    assert (answer.status, channel.name) == (200, "whatsapp/sales")
    assert [(one.source.platform, one.account) for one in inbox.events] == [("whatsapp", "sales")]


@pytest.mark.req("W9")
async def test_360dialog_has_its_own_address_header_and_proof() -> None:
    async with whatsapp_rig(MetaStandIn(provider="360dialog")) as rig:
        await rig.site.say(PersonMessage(text="hello", chat=ADA))
        await rig.channel.send(rig.delivery(ADA, "*hi*"))
        media = await rig.setup.media.keep(PNG, mime="image/png", name="a.png")
        await rig.channel.send(rig.delivery(ADA, ImagePart(media)))
        file = rig.site.town.keep_file("b.png", PNG, mime="image/png")
        fetched = await rig.channel.fetch(Media("image/png", ref=file.id), limit=100)
        wrong = [
            (await rig.call(b"{}", authorization=shown)).status
            for shown in (
                "",
                "Bearer ",
                "Bearer not-a-real-webhook-secre",
                "not-a-real-webhook-secret",
            )
        ]

        assert (rig.inbox.texts, fetched, wrong) == (["hello"], PNG, [401] * 4)
        assert len(rig.site.posts(ADA)) == 2
        assert rig.site.rejections == ()


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("left_out", "provider"),
    [
        *((name, "meta") for name in ("access_token", "app_secret", "verify_token")),
        ("phone_number_id", "meta"),
        *((name, "360dialog") for name in ("api_key", "webhook_secret")),
    ],
)
def test_without_what_the_provider_needs_the_channel_does_not_start(
    left_out: str, provider: str
) -> None:
    address = {"base_url" if provider == "meta" else "dialog_url": "https://x.example"}
    given = {**MetaStandIn(provider=provider).settings, **address, left_out: ""}

    with pytest.raises(ConfigurationError, match=rf"platforms\.whatsapp\.{left_out}"):
        make_whatsapp(channel_setup("hermes.channels.meta", given, file="whatsapp.toml"))


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("whatsapp", "The token is for Hermes (+1 555-078-3881)."),
        ("instagram", "The token is that of the page Hermes (108700000000001)."),
        ("messenger", "The token is that of the page Hermes (108700000000001)."),
    ],
)
async def test_the_set_up_says_whose_the_token_is(name: str, shown: str) -> None:
    site, client = MetaStandIn(name), HttpClient(HttpSettings(timeout_s=2.0))
    manifest = load_manifest("hermes.channels.meta", f"{name}.toml")
    await site.start()
    try:
        calls = SetupCalls(
            client,
            manifest.setup,
            platform=name,
            settings=read_settings(manifest, site.settings),
            secrets=("access_token",),
            make_id=make_id,
            wire=manifest.rows,
        )
        proof = await calls.prove()
        site.revoke()
        with pytest.raises(ConfigurationError) as refused:
            await calls.prove()
    finally:
        await client.close()
        await site.stop()

    assert proof is not None
    assert proof.shows == shown
    assert "not-a-real" not in str(refused.value)
