"""Mirrors: rows that add to a chat's sessions what was delivered into it from elsewhere."""

from collections.abc import Sequence
from typing import Any

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.outcome import BusyPolicy
from hermes.message.session_key import read_session_key
from hermes.message.source import Source
from hermes.ports.sends import MIRROR
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.places import event_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("sends")
_INBOX = load("inbox")


class DeliveredMessage(msgspec.Struct, frozen=True):
    """What was delivered: its id, account, content and time."""

    id: str
    account: str
    said: ChatMessage
    at: float


class Mirrors:
    """Writes mirrors inside the current transaction."""

    def __init__(self, engine: Engine, *, make_id: MakeId) -> None:
        self._engine = engine
        self._make_id = make_id

    async def write(
        self, tx: Tx, lanes: Sequence[str], delivered: DeliveredMessage
    ) -> tuple[str, ...]:
        """Add a delivery to sessions; return the lanes of those that exist.

        Each returned lane has one more open message: the caller counts them (`Engine.waiting`),
        clears `Engine.fresh` and wakes them.
        """
        found = [row for lane in lanes for row in await tx.rows(_SQL["session"], lane)]
        for number, row in enumerate(found):
            await self._mirror(tx, delivered, row=row, number=number)
        return tuple(str(row[0]) for row in found)

    # Any: SQLite's values, in the order of the columns that `session` names.
    async def _mirror(
        self, tx: Tx, delivered: DeliveredMessage, *, row: tuple[Any, ...], number: int
    ) -> None:
        lane, person_id, _, epoch, _ = row
        key = read_session_key(lane)
        event = MessageEvent(
            account=delivered.account,
            route=MIRROR,
            external_id=f"{delivered.id}.{number}",
            source=Source(
                platform=key.platform,
                chat_id=key.chat_id,
                chat_type="dm" if key.chat_type == "dm" else "group",
                thread_id=key.thread,
                user_id=key.user or "",
            ),
            parts=(),
            history=(delivered.said,),
            at=delivered.at,
            agent=key.agent,
            internal=True,
        )
        content, message_id = encode(event), self._make_id("m")
        body = await self._engine.sealer.put(tx, person_id, content, place=event_place(message_id))
        tx.put(
            _INBOX["accept"],
            message_id,
            event.account,
            key.platform,
            MIRROR,
            event.external_id,
            self._engine.sealer.digest(content),
            lane,
            False,
            BusyPolicy.QUEUE.value,
            person_id,
            body,
            delivered.at,
            epoch,
            "",
            None,
            None,
        )
