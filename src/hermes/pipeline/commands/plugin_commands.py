"""Commands of plugins: their code may be slow or fail, and neither ends more than the command."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

import structlog

from hermes.message.session_key import base_lane
from hermes.pipeline.turn import Turn
from hermes.ports.command import ChatCommand, CommandCall
from hermes.sessions.commands import TypedCommand
from hermes.texts.say import say

_LONGEST_S = 30.0
_LONGEST_BESIDE_S = 5.0
_log = structlog.get_logger(__name__)


class HasPluginCommands(Protocol):
    """Knows the commands of plugins, by name."""

    @property
    def plugged(self) -> Mapping[str, ChatCommand]: ...


async def run_plugged(written: TypedCommand, turn: Turn, services: HasPluginCommands) -> str:
    """Return what a plugin's command says, or that it failed."""
    command = services.plugged[written.name]
    call = CommandCall(
        argument=written.argument,
        person_id=turn.person_id,
        message_id=turn.id,
        session=base_lane(turn.lane),
        source=turn.event.source,
    )
    limit = _LONGEST_BESIDE_S if written.is_beside else _LONGEST_S
    try:
        async with asyncio.timeout(limit):
            return str(await command.run(call))
    except TimeoutError:
        _log.warning("command_too_slow", command=written.name, message_id=turn.id, limit_s=limit)
        return say(
            "/{name} took longer than {limit} s, so I gave up on it.",
            name=written.name,
            limit=f"{limit:g}",
        )
    except Exception:  # noqa: BLE001  plugin boundary: its defect ends the command alone
        _log.exception("command_failed", command=written.name, message_id=turn.id)
        return say(
            "/{name} failed. Whoever runs this gateway finds the reason in its log.",
            name=written.name,
        )
