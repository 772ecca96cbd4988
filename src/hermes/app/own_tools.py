"""The built-in tools that work on the gateway itself: memory, messages and subagents."""

from collections.abc import Mapping
from pathlib import Path

from hermes.app.core import Core
from hermes.config import Settings
from hermes.outbox.courier import OutboxCourier, Platforms
from hermes.outbox.local_file import LocalFiles
from hermes.ports.channel import Channel
from hermes.ports.clock import Clock
from hermes.ports.sends import Courier
from hermes.ports.tool import Tool
from hermes.tools.builtin.delegate import Delegate
from hermes.tools.builtin.memory import Memory
from hermes.tools.builtin.schedule import Schedule
from hermes.tools.builtin.send_message import SendMessage
from hermes.tools.builtin.session_search import SessionSearch

_EVERYBODY = "*"


def make_courier(
    core: Core,
    settings: Settings,
    *,
    channels: Mapping[str, Channel],
    home: Path,
    clock: Clock,
) -> OutboxCourier:
    """Return who sends to named targets, for tools and schedules."""
    pushed = [name for name, item in channels.items() if item.capabilities.delivery == "push"]
    homes = {
        name: platform.home_channel
        for name, platform in settings.platforms.items()
        if platform.home_channel is not None and name in channels
    }
    return OutboxCourier(
        core.store,
        platforms=Platforms(names=tuple(channels), pushed=pushed, homes=homes),
        agents=tuple(settings.agents),
        has_admins=bool(settings.approvals.admins),
        files=LocalFiles(home),
        wake_lane=core.lanes.wake,
        wake_outbox=core.wake_outbox,
        clock=clock,
    )


def make_own_tools(core: Core, settings: Settings, *, courier: Courier) -> dict[str, Tool]:
    """Return the tools that are switched on, by name."""
    tools: list[Tool] = []
    if settings.tools.memory:
        tools.append(Memory(core.memory.facts))
    if settings.tools.send_message:
        tools.append(SendMessage(courier))
    if settings.tools.schedule and settings.cron.enabled:
        tools.append(Schedule(core.cron.schedules))
    if settings.tools.session_search and core.search is not None:
        tools.append(SessionSearch(core.search))
    if settings.tools.delegate:
        tools.append(Delegate(_delegates(settings)))
    return {tool.spec.name: tool for tool in tools}


def _delegates(settings: Settings) -> dict[str, str]:
    named = settings.tools.delegate_to
    return {
        name: agent.description
        for name, agent in settings.agents.items()
        if name in named or _EVERYBODY in named
    }
