"""Sessions as operators see and end them; what was said in them is not shown here."""

from collections.abc import Callable

import msgspec
import structlog

from hermes.errors import BadRequest, Conflict, NotFound
from hermes.message.short_ids import find_short
from hermes.ports.clock import Clock
from hermes.ports.operations import OpenSession
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store

_log = structlog.get_logger(__name__)
# Told of a session's lane, and why it ended.
Ended = Callable[[str, str], None]
MOST_SESSIONS = 10_000
_ID_CHARS = 12


class SessionsAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which sessions, the most recently used first."""

    platform: str = ""
    limit: WholeNumber = 50


class SessionOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An order about a session, by its id or its whole key."""

    session: str
    by: str = ""


class SessionLine(msgspec.Struct, frozen=True, kw_only=True):
    """A session: `messages` were answered since it began; it `is_busy` while something runs."""

    id: str
    key: str
    platform: str
    person_id: str
    messages: int
    used_at: float
    is_busy: bool


class SessionsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions, the most recently used first."""

    sessions: tuple[SessionLine, ...] = ()


class SessionReport(msgspec.Struct, frozen=True, kw_only=True):
    """A session that an order ended."""

    session: SessionLine


class SessionOperations:
    """Where operators' orders about sessions arrive."""

    def __init__(self, store: Store, *, clock: Clock, ended: Ended) -> None:
        self._store = store
        self._clock = clock
        self._ended = ended

    async def list(self, ask: SessionsAsk) -> SessionsReport:
        """Return sessions."""
        if not 1 <= ask.limit <= MOST_SESSIONS:
            raise BadRequest(f"{ask.limit} sessions: expected 1 to {MOST_SESSIONS:,}.")
        found = await self._store.open_sessions.page(platform=ask.platform, limit=ask.limit)
        return SessionsReport(sessions=tuple(map(self._line, found)))

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of open sessions, the most recently used first."""
        found = await self._store.open_sessions.page(platform="", limit=MOST_SESSIONS)
        return tuple(self._id(one.key) for one in found)

    async def end(self, order: SessionOrder) -> SessionReport:
        """End a session: the next message starts a new conversation; the old one stays readable."""
        found = await self.find(order.session)
        line = self._line(found)
        if not await self._store.sessions.end(
            found.key, epoch=found.epoch, reason="ended", at=self._clock.now()
        ):
            raise Conflict(
                f"The session {line.id} was not ended: something is under way in it, or it has "
                "ended already. Try again in a moment, or have its person write /stop."
            )
        self._ended(found.key, "ended")
        _log.info("session_ended", session=line.id, person_id=line.person_id, by=order.by)
        return SessionReport(session=line)

    async def find(self, name: str) -> OpenSession:
        """Return a session by its id or its whole key; raises `NotFound`."""
        sessions = self._store.open_sessions
        found = await sessions.get(name)
        if found is not None:
            return found
        ids = {
            self._id(one.key): one for one in await sessions.page(platform="", limit=MOST_SESSIONS)
        }
        found = find_short(name, ids)
        if found is not None:
            return found
        raise NotFound(
            f"No session that has not ended is known as {name[:80]!r}: write an id as `hermes "
            "sessions list` shows it, or the whole key of a session."
        )

    def _line(self, session: OpenSession) -> SessionLine:
        return SessionLine(
            id=self._id(session.key),
            key=session.key,
            platform=session.platform,
            person_id=session.person_id,
            messages=session.messages,
            used_at=session.used_at,
            is_busy=session.is_busy,
        )

    def _id(self, key: str) -> str:
        """Return a name that reveals nothing: a key contains the ids of chats and people."""
        return session_id(self._store, key)


def session_id(store: Store, key: str) -> str:
    """Return the name of a session as operators see it."""
    return "s_" + store.digest(key.encode()).hex()[:_ID_CHARS]
