"""Replies as posts: what is attached is in them, whole and bounded, and does not hold up the text."""

import base64
from collections.abc import AsyncIterator

import pytest

from hermes.channels.webhook.channel import make
from hermes.channels.webhook.outbound import file_of, post_of
from hermes.channels.webhook.settings import Route
from hermes.message.parts import FilePart, ImagePart, Media, Part, TextPart
from hermes.net.client import HttpClient, HttpSettings
from hermes.outbox.channel_calls import ChannelCalls
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import Delivery, Target
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.clock import SystemClock
from hermes.testing.setup_channel import channel_setup
from hermes.testing.webhook.machine import MachineStandIn

pytestmark = pytest.mark.req("W9", "W17")

PROOFS = load_manifest("hermes.channels.webhook").rows.proofs
TARGET = Target(platform="webhook", account="default", chat_id="chat-1")


@pytest.fixture
async def machine() -> AsyncIterator[MachineStandIn]:
    made = MachineStandIn()
    await made.start()
    yield made
    await made.stop()
    assert made.rejections == ()


@pytest.fixture
async def setup(machine: MachineStandIn) -> AsyncIterator[ChannelSetup]:
    client = HttpClient(HttpSettings(timeout_s=5))
    package = "hermes.channels.webhook"
    yield channel_setup(package, machine.settings, client=client, clock=SystemClock())
    await client.close()


async def send(setup: ChannelSetup, *parts: Part) -> None:
    """Send a reply as the outbox does."""
    channel = make(setup)
    for number, chunk in enumerate(ChannelCalls(channel, timeout_s=5).chunks(parts)):
        delivery = Delivery(id="d", target=TARGET, parts=chunk, key=f"d.{number}")
        await channel.send(delivery)


async def test_a_reply_with_its_files_is_one_post(
    machine: MachineStandIn, setup: ChannelSetup
) -> None:
    chart = await setup.media.keep(b"\x89PNG", mime="image/png", name="chart.png")
    notes = await setup.media.keep(b"the notes", mime="text/plain")

    await send(setup, TextPart("here"), ImagePart(chart), FilePart(notes))

    posts = [(one.text, one.files) for one in machine.posts("chat-1")]
    assert posts == [("here", ("chart.png", "file"))]


async def test_what_is_too_large_for_a_post_goes_into_the_next_and_what_is_gone_is_named(
    machine: MachineStandIn, setup: ChannelSetup
) -> None:
    half = bytes(setup.capabilities.media_bytes // 2 + 1)
    files = [await setup.media.keep(half, mime="text/plain", name=name) for name in ("a", "b")]
    gone = Media("text/plain", path="gone", name="c", size=1)

    await send(setup, TextPart("here"), *map(FilePart, (*files, gone)))

    posts = [(one.text, one.files) for one in machine.posts("chat-1")]
    assert posts == [("here", ("a",)), ("", ("b", "c"))]


def test_an_attachment_has_its_name_its_type_and_its_bytes() -> None:
    media = Media("text/plain", path="x", name="a.txt")
    delivery = Delivery(id="d", target=TARGET, parts=(TextPart("here"), FilePart(media)), key="d.0")
    attached = (file_of(media, b"the notes"), file_of(media, None))

    body = post_of(
        delivery, Route(secret="s" * 16), PROOFS["standard"], at=1, attached=attached
    ).body

    coded = base64.b64encode(b"the notes").decode()
    assert f'"name":"a.txt","type":"text/plain","size":9,"content":"{coded}"' in body.decode()
    assert (
        '"name":"a.txt","type":"text/plain","problem":"it could not be attached"' in body.decode()
    )
