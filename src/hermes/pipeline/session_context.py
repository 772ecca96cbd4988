"""The surroundings of a turn's session, for its first system blocks and for later changes."""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from hermes.memory.session_context import SessionContext, is_of_program, told_day
from hermes.pipeline.needs import HasClock, HasSettings
from hermes.pipeline.turn import Turn
from hermes.ports.work_files import SessionOwner


class HasZone(Protocol):
    """Knows the time zone in which days begin and end."""

    @property
    def zone(self) -> ZoneInfo: ...


# Returns which background processes of a session ended since the turn before the named one.
ProcessNews = Callable[[SessionOwner, str], Awaitable[tuple[str, ...]]]
ENDED: Final = "Background processes of this conversation that have ended:"


async def no_news(_owner: SessionOwner, _turn_id: str) -> tuple[str, ...]:
    """Return no news; used without a terminal."""
    return ()


class PlaceServices(HasSettings, HasClock, Protocol):
    """What the blocks about a session's place need: the platforms and the day."""

    @property
    def resets(self) -> HasZone: ...


def begins_alike(turn: Turn) -> bool:
    """Return whether nothing may stand in a session's beginning that is this session's alone.

    Programs say themselves what was said before, and an answer could never be given again if every
    session began differently.
    """
    event = turn.event
    return event.key is not None or bool(event.history) or bool(turn.agent.settings.cache)


def around(turn: Turn, services: PlaceServices) -> SessionContext | None:
    """Return the surroundings of a session, or None if its model receives none."""
    event, settings = turn.event, services.settings
    if event.internal or is_of_program(event.source):
        return None
    if not settings.sessions.context or begins_alike(turn):
        return None
    platforms = settings.channels.items()
    return SessionContext(
        tuple([(name, one.home_channel) for name, one in platforms if one.enabled]),
        told_day(services.clock.now(), services.resets.zone),
    )
