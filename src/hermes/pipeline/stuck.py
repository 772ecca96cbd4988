"""Turns that make no step any more, although every limit that could end them has passed.

Looked at now and then from outside, so that a turn itself pays nothing for it.
"""

from collections.abc import Mapping

from hermes.config import Settings
from hermes.ports.tool import Tool

# The message a lane works on, and how many steps it has written and ended.
Mark = tuple[str, int, int]


class StuckTurns:
    """Remembers since when each lane has stood where it stands."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[Mark, float]] = {}

    def look(self, marks: Mapping[str, Mark], now: float, *, limit_s: float) -> list[str]:
        """Return the lanes that have stood where they stand for longer than the limit."""
        since = {
            lane: known if (known := self._since.get(lane)) and known[0] == mark else (mark, now)
            for lane, mark in marks.items()
        }
        self._since = since
        return [lane for lane, (_, at) in since.items() if now - at > limit_s]


def longest_step_s(settings: Settings, tools: Mapping[str, Tool]) -> float:
    """Return how long a single step may take: a model call with its waits, or a tool."""
    turns = settings.turns
    call_s = turns.call_wait_s + turns.wait_s + turns.call_limit_s
    return max(call_s, turns.tool_timeout_s, *(_limit_of(tool) for tool in tools.values()), 0.0)


def _limit_of(tool: Tool) -> float:
    return tool.traits.timeout_s or 0.0
