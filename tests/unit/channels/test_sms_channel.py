"""The SMS channel: who may call it, what is sent, what becomes of it, and who has written STOP."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from urllib.parse import parse_qsl, urlencode, urlsplit

import aiohttp
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channel_kit.proof import check_proof
from hermes.channels.sms.channel import make
from hermes.errors import (
    AddressRefused,
    ConfigurationError,
    DeliveryRejected,
    FailureClass,
    NotDelivered,
    Unauthenticated,
)
from hermes.message.parts import FilePart, ImagePart, Media
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import ArrivedDelivery, HttpRequest, ReturnedDelivery
from hermes.testing.channel_state import memory_state
from hermes.testing.setup_channel import channel_setup
from hermes.testing.sms.platform import SmsStandIn
from hermes.testing.stand_in import Fault, File, PersonMessage
from tests.unit.channels.webhook_rig import Rig, webhook_rig

FORM = "application/x-www-form-urlencoded"
ADA = "15558675310"
sms_rig = partial(webhook_rig, make=make, package="hermes.channels.sms")
ROW = load_manifest("hermes.channels.sms").rows.webhook


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with sms_rig(SmsStandIn()) as made:
        yield made


async def told(rig: Rig, count: int) -> None:
    """Wait until Twilio has told so many states."""
    async with asyncio.timeout(10):
        while len(rig.arrived) + len(rig.returned) < count:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


@pytest.mark.req("W9")
@pytest.mark.quality("authentication before reading")
async def test_only_calls_with_a_signature_of_address_and_form_are_taken(rig: Rig) -> None:
    _, (fields,) = rig.site.happen(PersonMessage(text="grüß 👋", chat=ADA))
    body = urlencode(fields).encode()
    good = rig.site.push.signed(body, FORM)
    proof = good.headers["x-twilio-signature"]
    spoiled = [
        msgspec.structs.replace(good, headers={**good.headers, "x-twilio-signature": shown})
        for shown in ("", ("A" if proof[0] != "A" else "B") + proof[1:], proof.lower(), f" {proof}")
    ]
    spoiled.append(msgspec.structs.replace(good, body=body.replace(b"Body=", b"Body=x")))
    spoiled.append(msgspec.structs.replace(good, body=body + b"&Extra=1"))
    spoiled.append(msgspec.structs.replace(good, path="/status?key=o_1.0"))
    refused = [(await rig.webhook(call)).status for call in spoiled]
    with pytest.raises(Unauthenticated):
        rig.channel.glance({}, path="/webhooks/sms")
    assert (refused, rig.inbox.events) == ([401] * 7, [])

    answers = [await rig.webhook(good) for _ in range(2)]

    assert [(one.status, one.body) for one in answers] == [(200, b"<Response></Response>")] * 2
    assert rig.inbox.texts == ["grüß 👋"]


@pytest.mark.req("W9")
async def test_behind_a_proxy_the_public_address_is_the_one_that_is_signed() -> None:
    public = "https://hermes.example/webhooks/sms"
    async with sms_rig(SmsStandIn(public_url=public), public_url=public) as rig:
        await rig.site.say(PersonMessage(text="hello", chat=ADA))
        await rig.channel.send(rig.delivery(f"+{ADA}", "hi", key="o_1.0"))
        await told(rig, 2)
        rig.site.public_url = ""
        _, (fields,) = rig.site.happen(PersonMessage(text="by the inner address", chat=ADA))
        inner = await rig.call(urlencode(fields).encode(), kind=FORM)

        assert (inner.status, rig.inbox.texts) == (401, ["hello"])
        assert {one.key for one in rig.arrived} == {"o_1.0"}


def test_without_a_public_address_the_channel_does_not_start() -> None:
    given = {**SmsStandIn().settings, "base_url": "https://x.example"}
    with pytest.raises(ConfigurationError, match=r"server\.public_url"):
        make(channel_setup("hermes.channels.sms", given, client=object()))


@pytest.mark.req("W9")
@given(st.binary(max_size=200), st.binary(max_size=40))
def test_no_signature_that_anybody_makes_up_is_taken(body: bytes, shown: bytes) -> None:
    assert ROW is not None
    assert ROW.proof is not None
    headers = {"x-twilio-signature": shown.decode("latin-1"), "content-type": FORM}
    request = HttpRequest(method="POST", path="", query={}, headers=headers, body=body)

    with pytest.raises(Unauthenticated):
        check_proof(ROW.proof, request, secret="a secret", now=1.0, url="https://x.example/sms")


@pytest.mark.req("J17", "W9")
@pytest.mark.quality("late proof")
async def test_states_prove_that_a_message_arrived_or_bring_it_back(rig: Rig) -> None:
    lost = rig.site.town.open_chat("15558675999")
    rig.site.endings[lost] = ("undelivered", "30003")
    rig.site.town.open_chat(ADA)
    receipt = await rig.channel.send(rig.delivery(f"+{ADA}", "hi", key="o_1.0"))
    await told(rig, 2)
    await rig.channel.send(rig.delivery(f"+{lost}", "hi", key="o_2.0"))
    await told(rig, 4)

    proof = ArrivedDelivery(key="o_1.0", platform_message_id=receipt.platform_message_id)
    assert rig.arrived[:2] == [proof, proof]
    assert rig.returned == [
        ReturnedDelivery(key="o_2.0", failure=FailureClass.INVALID_RECIPIENT, status="30003")
    ]


@pytest.mark.req("W9")
async def test_who_has_written_stop_is_not_written_to_until_they_write_start() -> None:
    state = memory_state("sms")
    async with sms_rig(SmsStandIn(), state=state) as rig:
        for text in ("hello", "STOP", "HELP"):
            await rig.site.say(PersonMessage(text=text, chat=ADA))
    async with sms_rig(SmsStandIn(), state=state) as rig:
        rig.site.town.open_chat(ADA)
        with pytest.raises(DeliveryRejected, match="STOP") as stopped:
            await rig.channel.send(rig.delivery(f"+{ADA}", "buy this"))
        assert rig.site.calls == ["account"]
        await rig.site.say(PersonMessage(text="start", chat=ADA))
        await rig.channel.send(rig.delivery(ADA, "welcome back"))

        assert stopped.value.failure is FailureClass.INVALID_RECIPIENT
        assert [one.text for one in rig.site.posts(ADA)] == ["welcome back"]
        assert rig.inbox.texts == []


@pytest.mark.req("W9", "W17")
async def test_pictures_go_both_ways_and_only_to_who_has_their_address(rig: Rig) -> None:
    file = File(data=b"their png", mime="image/png", name="a.png")
    await rig.site.say(PersonMessage(text="look", chat=ADA, files=(file,)))
    part = rig.inbox.events[0].parts[1]
    assert isinstance(part, ImagePart)
    media = await rig.setup.media.keep(b"our png", mime="image/png", name="b.png")
    await rig.channel.send(rig.delivery(ADA, ImagePart(media)))
    await told(rig, 2)
    url = await rig.channel._media_url(media)
    place, query = url.partition("?")[0], dict(parse_qsl(urlsplit(url).query))
    wrong = [
        {**query, "proof": "0" * 64},
        {**query, "until": str(int(query["until"]) + 1)},
        {**query, "proof": "ä"},
        {},
    ]
    async with aiohttp.ClientSession() as http:
        refused = [(await http.get(place, params=one)).status for one in wrong]
        good = await (await http.get(url)).read()
        rig.clock.advance(3601)
        late = (await http.get(url)).status

    assert await rig.channel.fetch(part.media, limit=100) == b"their png"
    (held,) = rig.site.town.history(ADA, is_own=True)
    assert (held.files[0].data, good, refused, late) == (b"our png", b"our png", [404] * 4, 404)
    with pytest.raises(AddressRefused):
        await rig.channel.fetch(Media("image/png", ref="https://evil.example/a"), limit=100)
    notes = await rig.setup.media.keep(b"notes", mime="text/plain")
    with pytest.raises(DeliveryRejected, match="cannot be sent as an attachment"):
        await rig.channel.send(rig.delivery(ADA, FilePart(notes)))
    assert rig.site.rejections == ()


@pytest.mark.req("A28", "W2")
async def test_refusals_say_what_follows_and_show_no_secret(rig: Rig) -> None:
    rig.site.town.open_chat(ADA)
    rig.site.plan(Fault(kind="rate_limited", retry_after=3.0))
    with pytest.raises(NotDelivered) as limited:
        await rig.channel.send(rig.delivery(ADA, "hi"))
    rig.site.plan(Fault(kind="rejected"))
    with pytest.raises(DeliveryRejected) as gone:
        await rig.channel.send(rig.delivery(ADA, "hi"))
    rig.site.revoke()
    with pytest.raises(DeliveryRejected) as revoked:
        await rig.channel.send(rig.delivery(ADA, "hi"))
    with pytest.raises(ConfigurationError, match=r"platforms\.sms\.auth_token") as lost:
        await rig.channel.lost()

    assert (limited.value.retry_after, limited.value.failure) == (3.0, FailureClass.RATE_LIMITED)
    assert (gone.value.failure, revoked.value.credential) == (FailureClass.INVALID_RECIPIENT, True)
    assert "not-a-real" not in f"{limited.value}{gone.value}{revoked.value}{lost.value}"
