"""The tools that an agent may use on a platform, combined once and cached until they change.

Every message of a session needs the same list in the same order, because a model service's prompt
cache begins with it.
"""

from collections.abc import Mapping, Sequence

import msgspec

from hermes.ports.provider import ToolSpec
from hermes.ports.tool import Tool
from hermes.tools.gate import GatedTools, allowed_tools, everything, nothing
from hermes.tools.mcp.tool import usable_on
from hermes.tools.together import ToolsTogether

# Agents times platforms; more than that means that somebody invents names.
_MOST_KEPT = 1_000
_encode = msgspec.json.Encoder().encode


class ToolSet(msgspec.Struct, frozen=True):
    """Tools, and the two ways to send them that do not depend on the message.

    `given` are the names of those that were switched on or that the agent's list names.
    """

    tools: Sequence[Tool]
    whole: GatedTools
    none: GatedTools
    given: frozenset[str]


class ToolSets:
    """The sets that were requested so far."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools
        self._kept: dict[tuple[tuple[str, ...], str, bool, bool, bool], ToolSet] = {}
        self._version: object = None
        self._encoded: dict[int, tuple[Sequence[ToolSpec], bytes]] = {}

    @property
    def version(self) -> object:
        """A value that changes when a tool comes or goes."""
        return self._tools.version if isinstance(self._tools, ToolsTogether) else None

    def of(
        self,
        allowed: tuple[str, ...],
        platform: str,
        *,
        has_memory: bool = True,
        has_team: bool = False,
        has_skills: bool = False,
    ) -> ToolSet:
        """Return the tools that an agent with this list may use on a platform.

        Without memory those are left out that read or write what is known of people, without a team
        those that give tasks to other agents, without skills the one that reads them.
        """
        tools, version = self._tools, self.version
        if version != self._version or len(self._kept) > _MOST_KEPT:
            self._kept.clear()
            self._version = version
        key = (allowed, platform, has_memory, has_team, has_skills)
        found = self._kept.get(key)
        if found is None:
            usable = tuple(
                one
                for one in usable_on(platform, allowed_tools(tools, allowed))
                if (has_memory or not one.traits.is_memory)
                and (has_team or not one.traits.needs_team)
                and (has_skills or not one.traits.reads_skills)
            )
            given = frozenset(
                one.spec.name
                for one in usable
                if not one.traits.on_by_default or one.spec.name in allowed
            )
            found = ToolSet(usable, everything(usable), nothing(usable), given)
            self._kept[key] = found
        return found

    def encoded(self, specs: Sequence[ToolSpec]) -> bytes:
        """Return the encoded tools for a model, as one piece; cached sets are encoded once."""
        known = self._encoded.get(id(specs))
        if known is None or known[0] is not specs:
            if len(self._encoded) > _MOST_KEPT:
                self._encoded.clear()
            known = self._encoded[id(specs)] = specs, _encode(specs)
        return known[1]
