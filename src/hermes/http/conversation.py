"""A conversation over HTTP: a page of its messages as JSON, and the query that asks for one. Pure."""

from collections.abc import Mapping

import msgspec

from hermes.errors import BadRequest
from hermes.http.message_files import FileView, file_views
from hermes.http.turn import TurnView, status_view
from hermes.message.parts import files_of
from hermes.ports.gateway_api import MessageStatus
from hermes.ports.session_history import (
    Contribution,
    ConversationMessage,
    ConversationPage,
    TakenOut,
)

STOP = "/stop"
_LIMIT_DIGITS = 9


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which messages of a conversation to show: at most `limit`, those before the page `before`."""

    limit: int
    before: str | None = None


class PageMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a conversation, its files and epoch, its turn, and what was taken out of it."""

    text: str | None
    at: float
    epoch: int
    turn: TurnView
    taken_out: TakenOut
    files: tuple[FileView, ...] = ()
    replaces: str = ""


class ConversationMessages(msgspec.Struct, frozen=True, kw_only=True):
    """Some messages of a conversation, oldest first.

    The model sees only messages of the current `epoch`; `earlier` requests older ones.
    """

    id: str
    epoch: int
    earlier: str | None
    temporary: bool
    contributions: tuple[Contribution, ...]
    messages: tuple[PageMessage, ...]


def read_page(query: Mapping[str, str], *, most: int) -> PageRequest:
    """Return the page that a query asks for; raises `BadRequest`."""
    limit = query.get("limit", str(most))
    if not (limit.isascii() and limit.isdecimal() and len(limit) <= _LIMIT_DIGITS and int(limit)):
        raise BadRequest(f"limit: expected a number of at least 1, found {limit[:80]!r}.")
    return PageRequest(limit=min(int(limit), most), before=query.get("before"))


def conversation_messages(conversation: str, page: ConversationPage) -> ConversationMessages:
    """Return some messages of a conversation, without the commands that only stop something."""
    return ConversationMessages(
        id=conversation,
        epoch=page.epoch,
        earlier=page.earlier,
        temporary=page.is_temporary,
        contributions=page.contributions,
        messages=tuple(_message(one) for one in page.messages if not _is_stop(one)),
    )


def _message(message: ConversationMessage) -> PageMessage:
    record = message.record
    return PageMessage(
        text=record.event.text if record.event is not None else None,
        at=record.received_at,
        epoch=message.epoch,
        taken_out=message.taken_out,
        turn=status_view(MessageStatus(record, message.result)),
        files=() if record.event is None else file_views(files_of(record.event.parts)),
        replaces="" if record.event is None else record.event.replaces,
    )


def _is_stop(message: ConversationMessage) -> bool:
    event = message.record.event
    return event is not None and event.type == "command" and event.text == STOP
