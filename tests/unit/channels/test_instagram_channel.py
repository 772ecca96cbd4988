"""Instagram and Messenger: one shape of messages, what each of them has of its own, and their windows."""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from hermes.channels.meta.channel import make_instagram, make_messenger
from hermes.channels.meta.inbound import CallReader, MetaCall
from hermes.channels.meta.pages import read_pages
from hermes.errors import AddressRefused, DeliveryRejected, ReplyClosed
from hermes.message.event import PressedChoice, Reaction
from hermes.message.parts import Choice, ChoicesPart, FilePart, ImagePart, Media, TextPart
from hermes.ports.channel import ArrivedDelivery, HttpRequest
from hermes.testing.meta.platform import MetaStandIn
from hermes.testing.stand_in import PersonMessage
from tests.unit.channels.webhook_rig import Rig, webhook_rig

ADA = "4917000000000"
MAKES = {"instagram": make_instagram, "messenger": make_messenger}
READER = CallReader(platform="messenger", account="default", own_id="108", now=2e9)


@pytest.fixture(params=MAKES)
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    name = request.param
    running = partial(webhook_rig, package="hermes.channels.meta", file=f"{name}.toml")
    async with running(MetaStandIn(name), MAKES[name]) as made:
        yield made


def call_of(*wires: dict[str, Any], page: str = "108") -> bytes:
    ends = {"sender": {"id": "7"}, "recipient": {"id": page}, "timestamp": 1_700_000_000_000}
    told = [{**ends, **wire} for wire in wires]
    return json.dumps({"object": "page", "entry": [{"id": page, "messaging": told}]}).encode()


@pytest.mark.req("W9")
@pytest.mark.quality("authentication before reading")
async def test_calls_are_proven_and_only_one_account_is_heard(rig: Rig) -> None:
    check = {"hub.mode": "subscribe", "hub.challenge": "115", "hub.verify_token": ""}
    word = rig.site.settings["verify_token"]
    answers = [
        await rig.webhook(
            HttpRequest(
                method="GET",
                path="",
                query={**check, "hub.verify_token": shown},
                headers={},
                body=b"",
            )
        )
        for shown in (word, word[:-1])
    ]
    body = json.dumps(rig.site.page_event(ADA, {"message": {"mid": "m_1", "text": "ä"}})).encode()
    unsigned = await rig.call(body, x_hub_signature_256="sha256=" + "0" * 64)
    other = body.replace(rig.channel._own_id.encode(), b"999")
    for call in (other, body, body):
        assert (await rig.call(call)).status == 200

    assert [(one.status, one.body[:3]) for one in answers[:1]] == [(200, b"115")]
    assert (answers[1].status, unsigned.status, rig.inbox.texts) == (403, 401, ["ä"])


@pytest.mark.req("W9")
@pytest.mark.quality("unverified")
async def test_texts_files_choices_and_typing_go_both_ways(rig: Rig) -> None:
    name = rig.setup.name
    await rig.site.say(PersonMessage(text="hello", chat=ADA))
    media = await rig.setup.media.keep(b"png", mime="image/png", name="a.png")
    await rig.channel.typing(rig.target(ADA))
    await rig.channel.send(rig.delivery(ADA, "this is **bold**"))
    await rig.channel.send(rig.delivery(ADA, ChoicesPart("ok?", (Choice("Yes", "c_1"),))))
    await rig.channel.send(rig.delivery(ADA, ImagePart(media)))
    file = rig.site.town.keep_file("b.png", b"their png", mime="image/png")
    ref = f"{rig.site.url}/files/{file.id}"

    assert [(one.text, one.files) for one in rig.site.posts(ADA)] == [
        ("this is bold", ()),
        ("ok?", ()),
        ("", ("a.png",)),
    ]
    asked = rig.site.town.history(ADA, is_own=True)[1].more
    assert asked["quick_replies"] == [{"content_type": "text", "title": "Yes", "payload": "c_1"}]
    assert ("metadata" in asked) is (name == "messenger")
    assert [one["sender_action"] for one in rig.site.actions] == ["typing_on"]
    assert await rig.channel.fetch(Media("image/png", ref=ref), limit=100) == b"their png"
    with pytest.raises(AddressRefused):
        await rig.channel.fetch(Media("image/png", ref="https://evil.example/x"), limit=100)
    assert rig.site.rejections == ()


@pytest.mark.req("A28", "W9")
@pytest.mark.quality("reply window")
async def test_a_day_after_the_last_message_nothing_is_sent(rig: Rig) -> None:
    await rig.site.say(PersonMessage(text="hello", chat=ADA))
    rig.clock.advance(86_400.0)

    with pytest.raises(ReplyClosed, match="24 h after their last message"):
        await rig.channel.send(rig.delivery(ADA, "too late"))
    stranger = rig.site.town.open_chat("4917000000555")
    with pytest.raises(DeliveryRejected, match="outside of allowed window") as unheard:
        await rig.channel.send(rig.delivery(stranger, "hi"))

    assert (unheard.value.failure, rig.site.posts(ADA)) == ("reply_closed", ())


@pytest.mark.req("J17", "W9")
@pytest.mark.quality("late proof")
async def test_what_the_page_has_sent_itself_proves_that_it_arrived() -> None:
    running = partial(webhook_rig, package="hermes.channels.meta", file="messenger.toml")
    async with running(MetaStandIn("messenger"), make_messenger) as rig:
        await rig.site.say(PersonMessage(text="hello", chat=ADA))
        receipt = await rig.channel.send(rig.delivery(ADA, "hi", key="o_1.0"))
        async with asyncio.timeout(10):
            while not rig.arrived:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)

        proof = ArrivedDelivery(key="o_1.0", platform_message_id=receipt.platform_message_id)
        assert (rig.arrived, rig.inbox.texts) == ([proof], ["hello"])


@pytest.mark.req("W9")
def test_each_thing_that_a_person_does_is_an_event() -> None:
    files = [
        {"type": "image", "payload": {"url": "https://x.fbcdn.net/a"}},
        {"type": "file", "payload": {"url": "https://x.fbcdn.net/b"}},
        {"type": "share", "payload": {"url": "https://x.example/c"}},
    ]
    heard = read_pages(
        call_of(
            {"message": {"mid": "m_1", "text": "look", "attachments": files}},
            {"message": {"mid": "m_2", "text": "Yes", "quick_reply": {"payload": "c_1"}}},
            {"postback": {"title": "Start", "payload": "c_2"}},
            {"reaction": {"mid": "m_0", "action": "react", "emoji": "❤"}},
            {"reaction": {"mid": "m_0", "action": "unreact"}},
            {"message": {"mid": "m_3", "is_echo": True, "text": "by a person of the page"}},
            {"sender": {"id": "108"}, "message": {"mid": "m_4", "text": "own"}},
            {"read": {"watermark": 5}},
            {"message": {"mid": "m_5", "is_deleted": True}},
        ),
        READER,
    ).heard

    assert [
        (one.event.type, one.event.parts, one.event.pressed, one.event.reaction) for one in heard
    ] == [
        (
            "file",
            (
                TextPart("look"),
                ImagePart(Media("image/jpeg", ref="https://x.fbcdn.net/a")),
                FilePart(Media("application/octet-stream", ref="https://x.fbcdn.net/b")),
                TextPart("\nshare: https://x.example/c"),
            ),
            None,
            None,
        ),
        ("choice", (), PressedChoice(value="c_1", message_id=""), None),
        ("choice", (), PressedChoice(value="c_2", message_id=""), None),
        ("reaction", (), None, Reaction(message_id="m_0", emoji="❤")),
        ("reaction", (), None, Reaction(message_id="m_0", emoji="", is_removed=True)),
    ]
    assert (
        read_pages(call_of({"message": {"mid": "1", "text": "hi"}}, page="109"), READER)
        == MetaCall()
    )
