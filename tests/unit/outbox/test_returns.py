"""What a platform brings back after it was sent."""

import pytest
from structlog.testing import capture_logs

from hermes.errors import FailureClass
from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.outbox.chunk_sends import sent_under
from hermes.outbox.returns import take_returns
from hermes.ports.channel import ReturnedDelivery, Target
from hermes.ports.outbox import NewDelivery
from hermes.testing.manual_time import ManualClock
from hermes.testing.outbox_store import MemoryOutboxStore


@pytest.mark.req("A26", "A28")
async def test_a_return_ends_as_a_dead_letter_that_alerts_hear_of() -> None:
    clock = ManualClock()
    store = MemoryOutboxStore(clock)
    target = Target(platform="email", account="a", chat_id="ada@x.test")
    new = NewDelivery(id="o_1", target=target, parts=(TextPart("hi"),), state=DeliveryState.PENDING)
    store.commit(new, message_id="m_1")
    await store.sending("o_1", chunk=0, at=1.0)
    await store.chunk_sent("o_1", chunk=0, platform_message_id="x", last=True, at=1.0)
    take = take_returns("email", store, clock=clock)

    with capture_logs() as logs:
        for key in ("o_1.0", "o_1.0", "o_9.0", "nothing"):
            await take(ReturnedDelivery(key=key, failure=FailureClass.REJECTED, status="5.7.1"))

    row = store.get("o_1")
    assert (row.state, row.failure, row.chunk) == ("dead", "rejected", 0)
    assert [one["event"] for one in logs] == [
        "outbox.dead",
        "outbox.returned_unknown",
        "outbox.returned_unknown",
    ]
    assert (logs[0]["delivery"], logs[0]["message"], logs[0]["returned"]) == (
        "o_1",
        "m_1",
        "5.7.1",
    )


@pytest.mark.req("A26")
@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("o_1.0", ("o_1", 0)),
        ("o_1.12.fresh", ("o_1", 12)),
        ("o.a.3", ("o.a", 3)),
        ("o_1", None),
        ("o_1.99999", None),
        (".1", None),
    ],
)
def test_a_key_names_its_delivery_and_its_chunk(key: str, sent: tuple[str, int] | None) -> None:
    assert sent_under(key) == sent
