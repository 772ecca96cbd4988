"""Converts conversations to the JSON that the page reads. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class ConversationView(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation in the list of conversations; one that is `waiting` waits for an approval."""

    id: str
    title: str
    at: float
    temporary: bool
    waiting: bool


# Any: the rows are printed, each with the keys that its store knows.
def conversations_json(rows: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """Return the list of conversations, newest first."""
    return {"conversations": [_conversation(row) for row in rows]}


def _conversation(row: Mapping[str, Any]) -> ConversationView:
    return ConversationView(
        id=str(row["chat_id"]),
        title=str(row.get("title") or ""),
        at=float(row.get("used_at") or 0.0),
        temporary=bool(row.get("is_temporary")),
        waiting=bool(row.get("is_waiting")),
    )
