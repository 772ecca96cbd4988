"""The Pigeon channel's inbound side and its refusal to start without secrets."""

import hashlib
import hmac

import msgspec
import pytest
from pydantic import SecretStr

from hermes.errors import ConfigurationError, Conflict, Overloaded
from hermes.message.event import MessageEvent
from hermes.net.client import HttpClient, HttpSettings
from hermes.plugins.registry import Registry
from hermes.ports.channel import Acceptance, HttpRequest
from hermes.ports.channel_setup import ChannelSetup
from hermes.testing.manual_time import ManualClock
from hermes.testing.push.channel import SampleChannel
from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.plugin import register
from hermes.testing.push.settings import read_settings
from hermes.testing.push.state import SampleSettings
from hermes.testing.setup_channel import channel_setup

SECRETS = {"base_url": "http://127.0.0.1:1", "token": "t", "signing_secret": "shh"}
EVENT = {
    "event_id": "e1",
    "type": "message",
    "chat": {"id": "c1", "type": "group"},
    "user": {"id": "u1", "name": "Ann"},
    "text": "hi",
    "sent_at": 1_699_999_999.0,
}


def pigeon_setup(table: dict[str, object]) -> ChannelSetup:
    return channel_setup("hermes.testing.push", SECRETS | table)


class Inbox:
    """Takes events, or raises what it is told to."""

    def __init__(self) -> None:
        self.events: list[MessageEvent] = []
        self.error: Exception | None = None

    async def accept(self, event: MessageEvent) -> Acceptance:
        if self.error is not None:
            raise self.error
        self.events.append(event)
        return Acceptance(message_id="m1")


class Desk:
    """A connected channel, and the means to call its webhook."""

    def __init__(self, channel: SampleChannel, clock: ManualClock) -> None:
        self.channel = channel
        self.clock = clock
        self.inbox = Inbox()

    async def call(self, body: bytes, headers: dict[str, str]) -> int:
        request = HttpRequest(
            method="POST", path="/webhooks/pigeon", query={}, headers=headers, body=body
        )
        return (await self.channel.webhook(request)).status

    def signed(self, body: bytes, *, at: float = 0.0, secret: str = "shh") -> dict[str, str]:
        stamp = f"{(self.clock.now() + at) * 1000:.0f}"
        mac = hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256)
        return {
            "x-pigeon-timestamp": stamp,
            "x-pigeon-signature": f"v1={mac.hexdigest()}",
        }


@pytest.fixture
async def desk():
    clock = ManualClock()
    pigeon = SamplePlatform(SampleSettings(token="t", signing_secret="shh"), clock=clock)
    await pigeon.start()
    client = HttpClient(HttpSettings())
    settings = read_settings(pigeon_setup({"base_url": pigeon.base_url}))
    made = Desk(SampleChannel(settings, client, clock=clock), clock)
    await made.channel.connect(made.inbox.accept)
    yield made
    await client.close()
    await pigeon.stop()


def encoded(**changes: object) -> bytes:
    return msgspec.json.encode(EVENT | changes)


@pytest.mark.req("A26")
async def test_a_signed_message_becomes_an_event(desk) -> None:
    body = encoded()

    status = await desk.call(body, desk.signed(body))

    event = desk.inbox.events[0]
    assert (status, event.external_id, event.text, event.route) == (200, "e1", "hi", "webhook")
    assert (event.source.chat_id, event.source.chat_type, event.source.user_id) == (
        "c1",
        "group",
        "u1",
    )


@pytest.mark.req("J2")
@pytest.mark.parametrize(
    "headers",
    [
        lambda desk, body: {},
        lambda desk, body: desk.signed(body, secret="other"),
        lambda desk, body: desk.signed(body + b" "),
        lambda desk, body: desk.signed(body, at=-301.0),
        lambda desk, body: desk.signed(body, at=301.0),
        lambda desk, body: desk.signed(body) | {"x-pigeon-timestamp": "nan"},
    ],
    ids=["none", "wrong secret", "other body", "stale", "from the future", "no number"],
)
async def test_what_is_not_authentic_makes_no_rows(desk, headers) -> None:
    body = encoded()

    status = await desk.call(body, headers(desk, body))

    assert (status, desk.inbox.events) == (401, [])


@pytest.mark.req("J2")
async def test_a_replayed_call_is_refused(desk) -> None:
    body = encoded()
    headers = desk.signed(body)
    await desk.call(body, headers)

    assert await desk.call(body, headers) == 401
    assert len(desk.inbox.events) == 1


@pytest.mark.req("J1")
async def test_the_same_event_signed_anew_reaches_the_inbox_which_knows_it(desk) -> None:
    body = encoded()
    await desk.call(body, desk.signed(body))

    assert await desk.call(body, desk.signed(body, at=0.001)) == 200
    assert desk.inbox.events[0] == desk.inbox.events[1]


@pytest.mark.req("J2")
async def test_a_full_inbox_answers_503(desk) -> None:
    desk.inbox.error = Overloaded("full", retry_after=9.0)
    body = encoded()
    request = HttpRequest(method="POST", path="/", query={}, headers=desk.signed(body), body=body)

    answer = await desk.channel.webhook(request)

    assert (answer.status, answer.headers["retry-after"]) == (503, "9")


@pytest.mark.req("J1")
async def test_a_reused_id_with_another_body_answers_409(desk) -> None:
    desk.inbox.error = Conflict("taken")
    body = encoded()

    assert await desk.call(body, desk.signed(body)) == 409


@pytest.mark.req("A26")
@pytest.mark.parametrize(
    ("body", "status"),
    [(encoded(type="typing"), 200), (b"{", 400), (encoded(text=" "), 400)],
    ids=["another type", "no JSON", "no text"],
)
async def test_what_holds_no_message_reaches_no_inbox(desk, body, status) -> None:
    assert await desk.call(body, desk.signed(body)) == status
    assert desk.inbox.events == []


@pytest.mark.req("J18")
async def test_before_the_connect_a_webhook_is_asked_to_come_again(desk) -> None:
    await desk.channel.disconnect()
    body = encoded()

    assert await desk.call(body, desk.signed(body)) == 503


@pytest.mark.req("A26")
async def test_connect_refuses_a_wrong_token(desk) -> None:
    pigeon = SamplePlatform(SampleSettings(token="right", signing_secret="shh"))
    await pigeon.start()
    client = HttpClient(HttpSettings())
    settings = read_settings(pigeon_setup({"base_url": pigeon.base_url}))
    channel = SampleChannel(settings, client, clock=desk.clock)

    with pytest.raises(ConfigurationError, match=r"platforms\.pigeon\.token"):
        await channel.connect(desk.inbox.accept)

    await client.close()
    await pigeon.stop()


@pytest.mark.req("A26")
@pytest.mark.parametrize("name", ["base_url", "token", "signing_secret"])
@pytest.mark.parametrize("value", [None, "", "  "])
def test_without_a_secret_the_channel_refuses_to_start(name, value) -> None:
    with pytest.raises(ConfigurationError, match=name):
        pigeon_setup({name: value})


@pytest.mark.req("A26", "W12")
def test_settings_that_the_configuration_kept_secret_are_read() -> None:
    registry = Registry()
    register(registry)
    setup = pigeon_setup({"token": SecretStr("t"), "keys": SecretStr("True"), "edit": False})

    made = registry.platforms["pigeon"].make(setup)

    assert read_settings(setup).token == "t"
    assert (made.capabilities.key_window_s > 0, made.capabilities.edit) == (True, False)
