"""A channel lives while the platform accepts its credential, and hears as long as its socket is open."""

import asyncio
from typing import Any

import pytest

from hermes.channel_kit.account_life import AccountLife
from hermes.channel_kit.webhook_door import WebhookDoor
from hermes.errors import (
    ConfigurationError,
    DeliveryRejected,
    FailureClass,
    NotDelivered,
    NotFound,
)
from hermes.ports.channel import Accept, Capabilities, HttpRequest, HttpResponse
from hermes.ports.channel_rows import ChannelRows, ProofRow, WebhookRow
from hermes.ports.channel_setup import ChannelSetup
from hermes.testing.channel_state import memory_state
from hermes.testing.manual_time import ManualClock
from hermes.testing.setup_channel import MemoryFiles
from tests.unit.channel_kit.door_rig import DoorInbox

pytestmark = pytest.mark.req("W2")
CALL = HttpRequest(method="POST", path="/webhooks/example", query={}, headers={}, body=b"{}")
REVOKED = DeliveryRejected("it was revoked", FailureClass.UNAUTHORIZED, credential=True)


def setup_of(**given: Any) -> ChannelSetup:
    return ChannelSetup(
        name="example/sales",
        account="sales",
        settings={"token": "t", "secret": "the secret"},
        capabilities=Capabilities(delivery="push"),
        client=None,
        clock=ManualClock(),
        make_id=lambda prefix: f"{prefix}_1",
        media=MemoryFiles(),
        state=memory_state("example"),
        **given,
    )


class Account:
    """What a platform says of a credential; each answer once, then that it is good."""

    def __init__(self, *, unused: str = "") -> None:
        self.errors: list[Exception] = []
        self.taken = 0
        setup = setup_of()
        self.door = WebhookDoor.of(setup, self.take, unused=unused)
        self.life = AccountLife(setup, self.door, credential="token", check=self.check)

    async def take(self, _request: HttpRequest, _accept: Accept) -> HttpResponse | None:
        self.taken += 1
        return None

    async def check(self) -> str:
        for error in self.errors:
            raise error
        return "Example Inc."


async def test_calls_are_taken_from_the_check_of_the_credential_to_the_disconnect() -> None:
    account, inbox = Account(), DoorInbox()
    statuses = [(await account.door.answer(CALL)).status]
    found = await account.life.start()
    account.life.open_door(inbox.accept)
    statuses.append((await account.door.answer(CALL)).status)
    await account.life.disconnect()
    statuses.append((await account.door.answer(CALL)).status)

    assert (found, statuses, account.taken) == ("Example Inc.", [503, 200, 503], 1)


async def test_a_credential_that_is_refused_is_for_the_operator_and_a_failure_passes() -> None:
    account, inbox = Account(), DoorInbox()
    account.errors = [REVOKED]
    with pytest.raises(ConfigurationError) as refused:
        await account.life.connect(inbox.accept)
    account.errors = [NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)]
    with pytest.raises(NotDelivered):
        await account.life.probe()

    assert str(refused.value) == "platforms.example.token: it was revoked"
    assert refused.value.__context__ is None
    assert (await account.door.answer(CALL)).status == 503


async def test_only_a_refused_credential_ends_the_life() -> None:
    account, inbox = Account(), DoorInbox()
    await account.life.connect(inbox.accept)
    lost = asyncio.create_task(account.life.lost())
    account.life.refused(DeliveryRejected("blocked", FailureClass.INVALID_RECIPIENT))
    account.life.refused(NotDelivered("later", FailureClass.RATE_LIMITED))
    await asyncio.sleep(0)
    assert not lost.done()

    account.life.refused(REVOKED)

    with pytest.raises(ConfigurationError, match=r"platforms\.example\.token"):
        await lost


async def test_a_webhook_that_is_not_used_says_what_to_set() -> None:
    account, inbox = Account(unused="set platforms.example.mode"), DoorInbox()
    await account.life.connect(inbox.accept)

    with pytest.raises(NotFound, match=r"set platforms\.example\.mode"):
        account.door.glance({}, path="")
    with pytest.raises(NotFound, match=r"set platforms\.example\.mode"):
        await account.door.answer(CALL)
    assert account.taken == 0


async def test_a_webhook_by_its_manifest_is_proven_by_the_setting_that_the_row_names() -> None:
    row = WebhookRow(proof=ProofRow(kind="shared", at="header:x-secret", secret="secret"))
    setup = setup_of(rows=ChannelRows(webhook=row))
    taken: list[str] = []

    async def take(request: HttpRequest, _accept: Accept) -> None:
        taken.append(request.headers["x-secret"])

    door = WebhookDoor.of(setup, take)
    door.open(DoorInbox().accept)
    calls = [
        HttpRequest(method="POST", path="", query={}, headers={"x-secret": shown}, body=b"{}")
        for shown in ("", "another", "the secret")
    ]

    assert [(await door.answer(call)).status for call in calls] == [401, 401, 200]
    assert taken == ["the secret"]
