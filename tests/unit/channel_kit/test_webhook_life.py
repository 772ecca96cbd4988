"""A channel that hears by webhook lives while the platform takes its credential."""

import asyncio

import pytest

from hermes.channel_kit.webhook_door import WebhookDoor
from hermes.channel_kit.webhook_life import WebhookLife
from hermes.errors import ConfigurationError, DeliveryRejected, FailureClass, NotDelivered
from hermes.ports.channel import Accept, HttpRequest, HttpResponse
from hermes.ports.channel_rows import WebhookRow
from hermes.testing.manual_time import ManualClock
from tests.unit.channel_kit.door_rig import DoorInbox

pytestmark = pytest.mark.req("W2")
CALL = HttpRequest(method="POST", path="/webhooks/example", query={}, headers={}, body=b"{}")
REVOKED = DeliveryRejected("revoked", FailureClass.UNAUTHORIZED, credential=True)


class Account:
    """What a platform says of a credential; each answer once, then that it is good."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self.taken = 0
        door = WebhookDoor(
            WebhookRow(), platform="example", secrets={}, clock=ManualClock(), take=self.take
        )
        self.door = door
        self.life = WebhookLife(door, platform="example", credential="token", check=self.check)

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
    found = await account.life.connect(inbox.accept)
    statuses.append((await account.door.answer(CALL)).status)
    await account.life.disconnect()
    statuses.append((await account.door.answer(CALL)).status)

    assert (found, statuses, account.taken) == ("Example Inc.", [503, 200, 503], 1)


async def test_a_credential_that_is_refused_is_for_the_operator_and_a_failure_passes() -> None:
    account, inbox = Account(), DoorInbox()
    account.errors = [REVOKED]
    with pytest.raises(ConfigurationError, match=r"platforms\.example\.token: it is refused"):
        await account.life.connect(inbox.accept)
    account.errors = [NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)]
    with pytest.raises(NotDelivered):
        await account.life.probe()
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
