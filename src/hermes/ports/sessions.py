"""Sessions that end by themselves, or by an order, outside a turn."""

from typing import Literal, Protocol

import msgspec

from hermes.message.reply import Usage

EndReason = Literal["daily", "idle", "stopped", "restarts", "ended"]


class SessionUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What a session has used since it began."""

    turns: int = 0
    usage: Usage = Usage()


class UnusedSession(msgspec.Struct, frozen=True):
    """A session that has not ended, when it was last used, and who began it."""

    lane: str
    epoch: int
    used_at: float
    person_id: str


class SessionUndo(msgspec.Struct, frozen=True, kw_only=True):
    """The last `cut` messages of a session as it was at `head`, which models shall not see again."""

    lane: str
    epoch: int
    head: int
    cut: int
    actor: str
    at: float


class SessionStore(Protocol):
    """Ends of sessions, what is taken out of them, and who wrote in old ones."""

    async def old_writers(self, lane: str) -> frozenset[str]:
        """Return who wrote in a session from before conversation names belonged to senders.

        Empty for all other sessions; the empty name for one in which several people wrote.
        """
        ...

    async def unused(
        self, platform: str, *, since: float, before: float, limit: int
    ) -> tuple[UnusedSession, ...]:
        """Return sessions of a platform that were last used in a stretch of time, oldest first."""
        ...

    async def end(
        self, lane: str, *, epoch: int, reason: EndReason, at: float, but: str = ""
    ) -> bool:
        """End a session once: what comes next starts over, and is told why.

        False if it ended meanwhile, or if something is under way in it; a message `but` that waits
        there to be worked on, and others behind it, are not.
        """
        ...

    async def undo(self, undo: SessionUndo) -> bool:
        """Take messages out of a session outside a turn; they stay in its graph.

        False if the session has moved on or ended meanwhile, or if something is under way in it.
        """
        ...

    async def usage(self, lane: str) -> SessionUsage:
        """Return what the session of a lane has used since it began."""
        ...


class OldConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that has ended: its graph, and those of the subagents that worked for it."""

    graph: int
    name: str
    children: tuple[str, ...] = ()


class PruningStore(Protocol):
    """Conversations that ended long ago, and their end on disk."""

    async def begin(self, at: float, *, every_s: float) -> bool:
        """Note that old conversations are looked for now; false if that was done a short time ago."""
        ...

    async def old(
        self, *, before: float, after: int, limit: int
    ) -> tuple[int | None, tuple[OldConversation, ...]]:
        """Return conversations that ended and were last used before then, among the next graphs.

        With them the number to go on after; None at the end.
        """
        ...

    async def find(self, name: str, *, before: float) -> OldConversation | None:
        """Return a subagent's conversation that goes with the one it worked for."""
        ...

    async def collect(self) -> int:
        """Delete what only deleted conversations used; return how many sets of tools."""
        ...

    async def prune(self, old: OldConversation, *, before: float) -> bool:
        """Delete a conversation whole; false if it may not go any more."""
        ...
