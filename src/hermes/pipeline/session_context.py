"""The surroundings of a turn's session, for its first system blocks and for later changes."""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol
from zoneinfo import ZoneInfo

import msgspec

from hermes.memory.session_context import SessionContext, is_of_program, told_day
from hermes.message.source import Source
from hermes.pipeline.needs import HasClock, HasSettings, KnowsIds
from hermes.pipeline.targets import target_of
from hermes.pipeline.turn import Turn
from hermes.ports.channel import ChatInfo, Target
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


# Asks a platform about a chat; None if it cannot say, or not soon.
AskChatInfo = Callable[[Target], Awaitable[ChatInfo | None]]


async def no_chat_info(_target: Target) -> ChatInfo | None:
    """Return None: there is nobody to ask."""
    return None


class PlaceServices(HasSettings, HasClock, KnowsIds, Protocol):
    """What the blocks about a session's place need: the platforms and the day."""

    @property
    def resets(self) -> HasZone: ...


class ChatServices(PlaceServices, Protocol):
    """What a session's beginning needs beside that: what the platform says of the chat."""

    @property
    def chat_info(self) -> AskChatInfo: ...


async def place_of(turn: Turn, services: ChatServices) -> Source:
    """Return where a session takes place, with what its platform says of a chat of several people."""
    source = turn.event.source
    is_known = source.chat_name is not None and source.chat_topic is not None
    if source.chat_type == "dm" or is_known:
        return source
    info = await services.chat_info(target_of(turn.event))
    if info is None:
        return source
    return msgspec.structs.replace(
        source,
        chat_name=source.chat_name or info.name,
        chat_topic=source.chat_topic or info.topic,
    )


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
        services.personal_ids,
    )
