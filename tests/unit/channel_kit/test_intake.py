"""One rule while the inbox cannot take a message: wait, ask again, give nothing up."""

import asyncio

import pytest

from hermes.channel_kit.intake import patient
from hermes.errors import (
    BadRequest,
    HermesError,
    Overloaded,
    RateLimited,
    StorageFull,
    StoreError,
    StoreRejected,
)
from hermes.message.event import NO_RAW, MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ports.channel import Acceptance

pytestmark = pytest.mark.req("J1", "W2")

EVENT = MessageEvent(
    account="default",
    route="connection",
    external_id="e1",
    source=Source(platform="irc", chat_id="c", chat_type="dm", user_id="ada"),
    parts=(TextPart("hello"),),
    at=0.0,
    type="text",
    raw=NO_RAW,
)


class Inbox:
    """Fails as it was told, then keeps; `naps` are the waits between."""

    def __init__(self, *failures: HermesError) -> None:
        self.failures = list(failures)
        self.naps: list[float] = []
        self.told: list[HermesError] = []
        self.keep = patient(self._accept, sleep=self._sleep, on_wait=self.told.append)

    async def _accept(self, event: MessageEvent) -> Acceptance:
        if self.failures:
            raise self.failures.pop(0)
        return Acceptance(message_id=event.external_id)

    async def _sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.sleep(0)


async def test_a_database_that_fails_is_asked_again_for_ever_and_less_and_less_often() -> None:
    inbox = Inbox(*(StoreError("disk I/O error") for _ in range(100)))

    assert await inbox.keep(EVENT) == Acceptance(message_id="e1")

    assert inbox.naps == [1.0, 2.0, 4.0, 8.0, 16.0, *[30.0] * 95]
    assert len(inbox.told) == 100


async def test_a_full_inbox_says_itself_when_to_ask_again() -> None:
    inbox = Inbox(
        Overloaded("full", retry_after=2.0),
        StorageFull("full", retry_after=3600.0),
        StoreError("disk I/O error"),
        Overloaded("full", retry_after=0.0),
    )

    await inbox.keep(EVENT)

    assert inbox.naps == [2.0, 30.0, 1.0, 0.1]


@pytest.mark.parametrize(
    "error", [BadRequest("no"), RateLimited("too many are waiting"), StoreRejected("never")]
)
async def test_what_waiting_would_not_help_is_raised_at_once(error: HermesError) -> None:
    inbox = Inbox(error)

    with pytest.raises(type(error)):
        await inbox.keep(EVENT)

    assert inbox.naps == []
