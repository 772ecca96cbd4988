"""One rule while the inbox cannot take a message: wait, ask again, give nothing up."""

import asyncio

import msgspec
import pytest
from structlog.testing import capture_logs

from hermes.channel_kit.intake import Intake, patient
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


class Chats:
    """An inbox that keeps messages, unless something else is planned for one."""

    def __init__(self, *, repeats: bool, **planned: list[HermesError]) -> None:
        self.planned = planned
        self.kept: list[str] = []
        self.naps: list[float] = []
        self.intake = Intake(self._accept, platform="demo", repeats=repeats, sleep=self._sleep)

    async def _accept(self, event: MessageEvent) -> Acceptance:
        await asyncio.sleep(0)
        failures = self.planned.get(event.external_id, [])
        if failures:
            raise failures.pop(0)
        self.kept.append(event.external_id)
        return Acceptance(message_id=event.external_id)

    async def _sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.sleep(0)


def said(name: str, chat: str = "c") -> MessageEvent:
    source = msgspec.structs.replace(EVENT.source, chat_id=chat)
    return msgspec.structs.replace(EVENT, external_id=name, source=source)


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize(
    ("error", "logged", "level"),
    [
        (BadRequest("no"), "channel.refused", "info"),
        (RateLimited("too many are waiting"), "channel.passed_over", "warning"),
        (StoreRejected("never"), "channel.message_lost", "error"),
    ],
)
async def test_what_will_never_be_kept_is_acknowledged_and_logged(
    error: HermesError, logged: str, level: str, *, repeats: bool
) -> None:
    chats = Chats(repeats=repeats, a=[error])

    with capture_logs() as logs:
        taken = [await chats.intake.take(said("a")), await chats.intake.take(said("b"))]

    assert taken == [None, Acceptance(message_id="b")]
    assert chats.naps == []
    assert [(one["event"], one["log_level"], one["id"]) for one in logs] == [(logged, level, "a")]


@pytest.mark.parametrize("error", [Overloaded("full"), StorageFull("full"), StoreError("disk")])
async def test_a_platform_that_repeats_is_told_to(error: HermesError) -> None:
    chats = Chats(repeats=True, a=[error])

    with pytest.raises(type(error)):
        await chats.intake.take(said("a"))

    assert (chats.kept, chats.naps, chats.intake.held) == ([], [], str(error))


async def test_for_a_platform_that_does_not_repeat_a_message_waits_and_its_chat_with_it() -> None:
    chats = Chats(repeats=False, a=[StoreError("disk"), StoreError("disk"), Overloaded("full")])

    with capture_logs() as logs:
        await asyncio.gather(
            *(chats.intake.take(said(name)) for name in ("a", "b", "c")),
            chats.intake.take(said("z", chat="other")),
        )

    # Another chat waits for nobody.
    assert chats.kept == ["z", "a", "b", "c"]
    assert chats.naps == [1.0, 2.0, 5.0]
    assert chats.intake.held is None
    # It is logged once for each reason, however often it is tried.
    assert [one["code"] for one in logs] == ["store", "overloaded"]


async def test_chats_are_forgotten_when_nobody_is_in_them() -> None:
    chats = Chats(repeats=True)

    for number in range(100):
        await chats.intake.take(said(f"m{number}", chat=f"chat-{number}"))

    assert chats.intake.chats == 0
