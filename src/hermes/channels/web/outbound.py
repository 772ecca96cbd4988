"""Converts conversations to the JSON that the page reads. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hermes.channels.web.inbound import STOP
from hermes.http.turn import TurnView, status_view
from hermes.ports.gateway_api import MessageStatus
from hermes.ports.session_history import ConversationMessage, ConversationPage, TakenOut


class PageMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a conversation, its epoch, its turn, and what was taken out of it."""

    text: str | None
    at: float
    epoch: int
    turn: TurnView
    taken_out: TakenOut


class ConversationView(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation in the list of conversations; one that is `waiting` waits for an approval."""

    id: str
    title: str
    at: float
    temporary: bool
    waiting: bool


def conversation_json(conversation: str, page: ConversationPage) -> dict[str, object]:
    """Return some messages of a conversation, without the page's own stop commands.

    The model sees only messages of the conversation's current `epoch`; `earlier` requests older
    ones.
    """
    shown = [_message(message) for message in page.messages if not _is_stop(message)]
    return {
        "id": conversation,
        "epoch": page.epoch,
        "earlier": page.earlier,
        "temporary": page.is_temporary,
        "contributions": page.contributions,
        "messages": shown,
    }


# Any: the rows are printed, each with the keys that its store knows.
def conversations_json(rows: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """Return the list of conversations, newest first."""
    return {"conversations": [_conversation(row) for row in rows]}


def _message(message: ConversationMessage) -> PageMessage:
    record = message.record
    return PageMessage(
        text=record.event.text if record.event is not None else None,
        at=record.received_at,
        epoch=message.epoch,
        taken_out=message.taken_out,
        turn=status_view(MessageStatus(record, message.result)),
    )


def _is_stop(message: ConversationMessage) -> bool:
    event = message.record.event
    return event is not None and event.type == "command" and event.text == STOP


def _conversation(row: Mapping[str, Any]) -> ConversationView:
    return ConversationView(
        id=str(row["chat_id"]),
        title=str(row.get("title") or ""),
        at=float(row.get("used_at") or 0.0),
        temporary=bool(row.get("is_temporary")),
        waiting=bool(row.get("is_waiting")),
    )
