"""The reception over rules alone: what passes without a look at anybody."""

import pytest

from hermes.config import Settings
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.people.reception import Reception
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.contract.store.conftest import store

__all__ = ["store"]


def event(*, internal: bool) -> MessageEvent:
    return MessageEvent(
        account="a",
        route="r",
        external_id="x",
        source=Source(platform="telegram", chat_id="c", user_id="7"),
        parts=(TextPart("hi"),),
        at=1.0,
        internal=internal,
    )


@pytest.mark.req("W30")
async def test_internal_events_pass_where_strangers_do_not(store: Store) -> None:
    reception = Reception(
        store.users,
        store.pairing,
        settings=Settings(),
        manifests={"telegram": "ignore"},
        clock=ManualClock(),
        random_bytes=bytes,
    )

    verdicts = [(await reception.admit(event(internal=word))).verdict for word in (False, True)]

    assert verdicts == ["ignore", "in"]
