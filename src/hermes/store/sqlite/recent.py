"""The transcripts of the latest sessions, decoded; bounded by what they weigh, not by their number.

A cached transcript is what reading it again would give: commits extend it, an erasure drops all.
"""

from collections import OrderedDict
from typing import NamedTuple

import msgspec

from hermes.message.chat import ChatMessage

_MAX_WEIGHT = 4 * 1024 * 1024
# What a message and a session take in memory beside their text.
_MESSAGE_WEIGHT = 300
_SESSION_WEIGHT = 600
_encode = msgspec.json.Encoder().encode


class _Session(NamedTuple):
    epoch: int
    head: int
    limit: int
    messages: tuple[ChatMessage, ...]
    weight: int


class RecentTranscripts:
    """Sessions by lane, the least recently used first."""

    def __init__(self, max_weight: int = _MAX_WEIGHT) -> None:
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._max_weight = max_weight
        self._weight = 0

    def get(
        self, lane: str, *, epoch: int, head: int, limit: int
    ) -> tuple[ChatMessage, ...] | None:
        """Return the transcript if it is known exactly as asked for."""
        session = self._sessions.get(lane)
        if session is None or session[:3] != (epoch, head, limit):
            return None
        self._sessions.move_to_end(lane)
        return session.messages

    def put(
        self, lane: str, messages: tuple[ChatMessage, ...], *, epoch: int, head: int, limit: int
    ) -> None:
        """Keep a transcript that was read."""
        weight = _SESSION_WEIGHT + _weigh(messages)
        self._replace(lane, _Session(epoch, head, limit, messages, weight))

    def extend(self, lane: str, entries: tuple[ChatMessage, ...], *, epoch: int, head: int) -> None:
        """Add what a commit wrote to the session, if that is where it belongs."""
        session = self._sessions.get(lane)
        if session is None:
            return
        if (session.epoch, session.head + len(entries)) != (epoch, head):
            self._drop(lane)
            return
        messages = session.messages + entries
        surplus = _beyond(messages, limit=session.limit)
        weight = session.weight + _weigh(entries) - _weigh(surplus)
        kept = messages[len(surplus) :]
        self._replace(lane, _Session(epoch, head, session.limit, kept, weight))

    def clear(self) -> None:
        """Forget everything."""
        self._sessions.clear()
        self._weight = 0

    def _replace(self, lane: str, session: _Session) -> None:
        self._drop(lane)
        self._sessions[lane] = session
        self._weight += session.weight
        while self._weight > self._max_weight:
            self._drop(next(iter(self._sessions)))

    def _drop(self, lane: str) -> None:
        session = self._sessions.pop(lane, None)
        if session is not None:
            self._weight -= session.weight


def _weigh(messages: tuple[ChatMessage, ...]) -> int:
    return sum(_MESSAGE_WEIGHT + len(_encode(message)) for message in messages)


def _beyond(messages: tuple[ChatMessage, ...], *, limit: int) -> tuple[ChatMessage, ...]:
    """Return the oldest messages that no longer fit, with results whose calls are among them."""
    cut = max(0, len(messages) - limit)
    while cut and cut < len(messages) and messages[cut].role == "tool":
        cut += 1
    return messages[:cut]
