"""A cache of the decoded transcripts of recent sessions, bounded by their size in memory.

A cached transcript equals what reading it again would return: commits extend it, an erasure clears
all.
"""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from hermes.graph.growth import Tip
from hermes.message.chat import ChatMessage
from hermes.ports.transcripts import VisibleHistory

# About 250 conversations of 70 short messages. A smaller cache is worth nothing to more of them that talk
# in turn: each would be dropped just before it is needed.
_MAX_WEIGHT = 12 * 1024 * 1024
# The memory of a message and a session beyond their text.
_MESSAGE_WEIGHT = 300
# The memory of the tree over a conversation per message, also for messages that no turn sees any
# more.
_NAME_WEIGHT = 210
_SESSION_WEIGHT = 2_500
_encode = msgspec.json.Encoder().encode


class RecentSession(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A session at the lane's `head`: what turns see of it, about `limit` bytes, and where it grows."""

    epoch: int
    head: int
    limit: int
    said: VisibleHistory
    tip: Tip
    graph: int | None
    # How many calls its branch has made; None if that has to be read.
    calls: int | None = None


class RecentTranscripts:
    """Sessions by lane, the least recently used first."""

    def __init__(self, max_weight: int = _MAX_WEIGHT) -> None:
        self._sessions: OrderedDict[str, tuple[RecentSession, int]] = OrderedDict()
        self._max_weight = max_weight
        self._weight = 0
        # Changes with everything that is dropped: what was read before is then not cached.
        self.stamp = 0

    def get(self, lane: str, *, epoch: int, head: int) -> RecentSession | None:
        """Return the session if it is cached at this `head`."""
        session, _ = self._sessions.get(lane, (None, 0))
        if session is None or (session.epoch, session.head) != (epoch, head):
            return None
        self._sessions.move_to_end(lane)
        return session

    def put(self, lane: str, session: RecentSession) -> None:
        """Cache a session that was read."""
        weight = _SESSION_WEIGHT + _NAME_WEIGHT * len(session.tip)
        self._replace(lane, session, weight + weigh(session.said.messages))

    def extend(
        self,
        lane: str,
        entries: tuple[ChatMessage, ...],
        *,
        tip: Tip,
        written: tuple[int, int | None, int],
    ) -> None:
        """Add what a commit wrote to the cached session, if it follows it.

        `written` are the graph's number, the calls of its branch, and the lane's head.
        """
        graph, calls, head = written
        session, weight = self._sessions.get(lane, (None, 0))
        if session is None:
            return
        if session.head + len(entries) != head or session.said.start is None:
            self._drop(lane)
            return
        said = msgspec.structs.replace(session.said, messages=(*session.said.messages, *entries))
        weight += weigh(entries) + _NAME_WEIGHT * len(entries)
        if weight > _NAME_WEIGHT * len(tip) + 2 * session.limit:
            # It is read again, and only as much of it as a turn can use.
            self._drop(lane)
            return
        grown = msgspec.structs.replace(
            session, head=head, said=said, tip=tip, graph=graph, calls=calls
        )
        self._replace(lane, grown, weight)

    def drop(self, lane: str) -> None:
        """Forget one session."""
        self.stamp += 1
        self._drop(lane)

    def clear(self) -> None:
        """Forget everything."""
        self.stamp += 1
        self._sessions.clear()
        self._weight = 0

    def _replace(self, lane: str, session: RecentSession, weight: int) -> None:
        self._drop(lane)
        self._sessions[lane] = (session, weight)
        self._weight += weight
        while self._weight > self._max_weight:
            self._drop(next(iter(self._sessions)))

    def _drop(self, lane: str) -> None:
        _, weight = self._sessions.pop(lane, (None, 0))
        self._weight -= weight


def without_answers(messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    """Return messages without leading tool results whose calls are before the cut."""
    cut = 0
    while cut < len(messages) and messages[cut].role == "tool":
        cut += 1
    return messages[cut:]


def weigh(messages: Sequence[ChatMessage]) -> int:
    """Return about how much memory messages take."""
    return sum(_MESSAGE_WEIGHT + len(_encode(message)) for message in messages)
