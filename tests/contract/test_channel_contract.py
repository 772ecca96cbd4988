"""One suite over every push channel: what sending, editing and looking up mean, and how they fail.

The Pigeon channel speaks HTTP to its strict stand-in platform; the in-memory twin must behave alike.
"""

from collections.abc import AsyncIterator, Callable
from typing import Protocol

import pytest

from hermes.errors import (
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.channel import (
    Acceptance,
    Capabilities,
    Delivery,
    EditingChannel,
    FindingChannel,
    PushChannel,
    Target,
)
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.push.channel import SampleChannel
from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.settings import ChannelSettings
from hermes.testing.push.state import SampleSettings
from hermes.testing.stand_in import Fault


class WholeChannel(PushChannel, EditingChannel, FindingChannel, Protocol):
    """A channel that can do what the suite asks."""


class Platform(Protocol):
    """A channel and the far side of it."""

    @property
    def channel(self) -> WholeChannel: ...
    def texts(self, chat: str) -> list[str]: ...
    def limit_rate(self) -> None: ...
    def break_down(self) -> None: ...
    def lose_answer(self, verb: str) -> None: ...


class PigeonPlatform:
    """The stand-in platform over HTTP."""

    def __init__(self, *, keys: bool) -> None:
        self.clock = ManualClock()
        self.pigeon = SamplePlatform(
            SampleSettings(token="t", signing_secret="s", keys=keys), clock=self.clock
        )
        self.client = HttpClient(HttpSettings(timeout_s=0.5))
        self.keys = keys

    async def start(self) -> None:
        await self.pigeon.start()
        self.channel = self.speak()
        await self.channel.connect(accept)

    def speak(self, *, token: str = "t") -> SampleChannel:
        settings = ChannelSettings(
            base_url=self.pigeon.base_url,
            token=token,
            signing_secret="s",
            keys=self.keys,
            history=True,
        )
        return SampleChannel(settings, self.client, clock=self.clock)

    async def stop(self) -> None:
        await self.client.close()
        await self.pigeon.stop()

    def texts(self, chat: str) -> list[str]:
        return [post.text for post in self.pigeon.state.posted if post.chat == chat]

    def limit_rate(self) -> None:
        self.pigeon.plan(Fault(op="send", kind="rate_limited", retry_after=7.0))

    def break_down(self) -> None:
        self.pigeon.plan(Fault(op="send", kind="server_error"))

    def lose_answer(self, verb: str) -> None:
        self.pigeon.plan(Fault(op=verb, kind="reset_after"))  # type: ignore[arg-type]


class MemoryPlatform:
    """The twin."""

    def __init__(self, *, keys: bool) -> None:
        self.channel = MemoryChannel(
            Capabilities(
                delivery="push",
                edit=True,
                history=True,
                key_window_s=3600.0 if keys else 0.0,
                max_chars=2000,
            )
        )

    def texts(self, chat: str) -> list[str]:
        return self.channel.texts(chat)

    def limit_rate(self) -> None:
        error = NotDelivered("slow down", FailureClass.RATE_LIMITED, retry_after=7.0)
        self.channel.fail("send", error)

    def break_down(self) -> None:
        self.channel.fail("send", NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE))

    def lose_answer(self, verb: str) -> None:
        self.channel.lose_answers(verb, 1)  # type: ignore[arg-type]


async def accept(event: MessageEvent) -> Acceptance:
    return Acceptance(message_id=f"m_{event.external_id}")


def delivery(text: str = "hello", *, key: str = "d1.0", chat: str = "c1") -> Delivery:
    return Delivery(id="d1", target=target(chat), parts=(TextPart(text),), key=key)


def target(chat: str = "c1") -> Target:
    return Target(platform="pigeon", account="default", chat_id=chat)


@pytest.fixture(params=["pigeon", "pigeon with keys"])
async def pigeon(request) -> AsyncIterator[PigeonPlatform]:
    made = PigeonPlatform(keys=request.param == "pigeon with keys")
    await made.start()
    yield made
    await made.stop()


@pytest.fixture(params=["pigeon", "pigeon with keys", "memory", "memory with keys"])
async def platform(request) -> AsyncIterator[Platform]:
    keys = request.param.endswith("with keys")
    if request.param.startswith("memory"):
        yield MemoryPlatform(keys=keys)
        return
    made = PigeonPlatform(keys=keys)
    await made.start()
    yield made
    await made.stop()


@pytest.mark.req("A26")
async def test_what_is_sent_stands_under_the_id_that_is_returned(platform) -> None:
    receipt = await platform.channel.send(delivery("hello"))

    await platform.channel.edit(target(), receipt.platform_message_id, text="changed")

    assert platform.texts("c1") == ["changed"]


@pytest.mark.req("J17")
async def test_the_history_knows_what_was_sent_by_its_key(platform) -> None:
    receipt = await platform.channel.send(delivery(key="d1.0"))

    assert await platform.channel.find(target(), "d1.0") == receipt
    assert await platform.channel.find(target(), "d2.0") is None


@pytest.mark.req("J17", "A26")
async def test_a_lost_answer_is_unknown_and_the_message_stands(platform) -> None:
    platform.lose_answer("send")

    with pytest.raises(DeliveryUnknown) as caught:
        await platform.channel.send(delivery())

    assert caught.value.failure is FailureClass.NETWORK_TIMEOUT
    assert platform.texts("c1") == ["hello"]
    assert await platform.channel.find(target(), "d1.0") is not None


@pytest.mark.req("J17")
async def test_the_same_key_is_one_message_exactly_where_keys_are_declared(platform) -> None:
    platform.lose_answer("send")
    with pytest.raises(DeliveryUnknown):
        await platform.channel.send(delivery())

    await platform.channel.send(delivery())

    takes_keys = platform.channel.capabilities.key_window_s > 0
    assert len(platform.texts("c1")) == (1 if takes_keys else 2)


@pytest.mark.req("A26", "A28")
async def test_a_rate_limit_is_certain_and_says_when_to_come_again(platform) -> None:
    platform.limit_rate()

    with pytest.raises(NotDelivered) as caught:
        await platform.channel.send(delivery())

    assert (caught.value.failure, caught.value.retry_after) == ("rate_limited", 7.0)
    assert platform.texts("c1") == []


@pytest.mark.req("A26", "A28")
async def test_an_answered_failure_is_certain(platform) -> None:
    platform.break_down()

    with pytest.raises(NotDelivered) as caught:
        await platform.channel.send(delivery())

    assert caught.value.failure is FailureClass.SERVICE_UNAVAILABLE
    assert platform.texts("c1") == []


@pytest.mark.req("J16")
async def test_a_message_that_is_not_there_cannot_be_edited(platform) -> None:
    with pytest.raises(DeliveryRejected):
        await platform.channel.edit(target(), "nowhere", text="changed")


@pytest.mark.req("J17", "A26")
async def test_a_connect_failure_is_never_unknown(pigeon) -> None:
    # Without its kept-alive connection, on which a dead server cannot be told from a lost answer.
    await pigeon.client.close()
    channel = pigeon.channel
    await pigeon.pigeon.stop()

    with pytest.raises(NotDelivered) as caught:
        await channel.send(delivery())

    assert caught.value.failure is FailureClass.SERVICE_UNAVAILABLE


@pytest.mark.req("J17", "A26")
@pytest.mark.parametrize("kind", ["reset_before", "reset_after", "hang_before", "hang"])
async def test_whatever_happens_after_the_request_left_is_unknown(pigeon, kind) -> None:
    pigeon.pigeon.plan(Fault(op="send", kind=kind))

    with pytest.raises(DeliveryUnknown):
        await pigeon.channel.send(delivery())


@pytest.mark.req("J17")
async def test_an_answer_without_an_id_is_unknown(pigeon) -> None:
    pigeon.pigeon.plan(Fault(op="send", kind="garbage"))

    with pytest.raises(DeliveryUnknown):
        await pigeon.channel.send(delivery())


@pytest.mark.req("A28")
@pytest.mark.parametrize(
    ("wrong", "failure"),
    [
        (lambda: delivery(chat="nowhere"), FailureClass.INVALID_RECIPIENT),
        (lambda: delivery("x" * 2001), FailureClass.REJECTED),
        (lambda: delivery(" "), FailureClass.REJECTED),
    ],
)
async def test_a_final_refusal_has_its_class(
    pigeon, wrong: Callable[[], Delivery], failure: FailureClass
) -> None:
    with pytest.raises(DeliveryRejected) as caught:
        await pigeon.channel.send(wrong())

    assert caught.value.failure is failure


@pytest.mark.req("A28")
async def test_a_wrong_token_is_unauthorized(pigeon) -> None:
    with pytest.raises(DeliveryRejected) as caught:
        await pigeon.speak(token="wrong").send(delivery())

    assert caught.value.failure is FailureClass.UNAUTHORIZED


@pytest.mark.req("A26")
async def test_a_history_that_breaks_is_no_answer(pigeon) -> None:
    pigeon.pigeon.plan(Fault(op="history", kind="server_error"))

    with pytest.raises(NotDelivered):
        await pigeon.channel.find(target(), "d1.0")
