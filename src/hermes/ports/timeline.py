"""The timeline of a message: everything the journal knows of it."""

from typing import Any

import msgspec

from hermes.ports.inbox import RefusedMessage
from hermes.ports.outbox import DeliveryRecord
from hermes.ports.steps import (
    Step,
    TimelineEvent,
)
from hermes.ports.turns import (
    WAITS_FOR_PLACE,
    MessageRecord,
    TurnResult,
)


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the journal knows of one message."""

    message: MessageRecord | None
    result: TurnResult | None
    steps: tuple[Step, ...]
    events: tuple[TimelineEvent, ...]
    deliveries: tuple[DeliveryRecord, ...]
    ledger: tuple[dict[str, Any], ...]
    interaction: dict[str, Any] | None
    refusal: RefusedMessage | None = None

    @property
    def has_waited_for_place(self) -> bool:
        """Whether a model call of the message had to wait for a free place."""
        return any(event.kind == WAITS_FOR_PLACE for event in self.events)
