"""Conversations to the JSON that the page reads. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hermes.channels.web.inbound import STOP
from hermes.net.http_turn import TurnView, status_view
from hermes.ports.door import MessageStatus


class MessageView(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a conversation and the turn that it caused."""

    text: str | None
    at: float
    turn: TurnView


class ConversationView(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation in the list of conversations."""

    id: str
    title: str
    at: float


def conversation_json(conversation: str, statuses: Sequence[MessageStatus]) -> dict[str, object]:
    """Return a conversation's messages; the page's own stop commands are left out."""
    shown = [_message(status) for status in statuses if not _is_stop(status)]
    return {"id": conversation, "messages": shown}


# Any: the door's rows are printed, each with the keys that its store knows.
def conversations_json(rows: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """Return the list of conversations, newest first."""
    return {"conversations": [_conversation(row) for row in rows]}


def _message(status: MessageStatus) -> MessageView:
    record = status.record
    text = record.event.text if record.event is not None else None
    return MessageView(text=text, at=record.received_at, turn=status_view(status))


def _is_stop(status: MessageStatus) -> bool:
    event = status.record.event
    return event is not None and event.type == "command" and event.text == STOP


def _conversation(row: Mapping[str, Any]) -> ConversationView:
    return ConversationView(
        id=str(row["chat_id"]),
        title=str(row.get("title") or ""),
        at=float(row.get("used_at") or 0.0),
    )
