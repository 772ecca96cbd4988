"""The core of a gateway: store, inbox, lanes and outbox, built in order of their dependencies."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from hermes.agents.roster import Roster
from hermes.app.core_parts import CoreBase, CoreParts, make_base
from hermes.app.lifecycle import Component, Components
from hermes.app.make_agents import make_check
from hermes.app.make_courier import make_courier
from hermes.app.make_memory import MemoryLayer
from hermes.app.make_models import ModelLayer
from hermes.app.make_pipeline import (
    InboundParts,
    Sessions,
    make_entrance,
    make_services,
    make_sessions,
)
from hermes.app.make_schedule import CronLayer, make_cron_layer
from hermes.app.make_skills import make_skill_check
from hermes.app.make_terminal import Terminal
from hermes.config import Settings
from hermes.inbox.accept import Inbox
from hermes.memory.facts import PeoplesFacts
from hermes.outbox.platforms import PushPlatforms
from hermes.pipeline.lanes import Lanes
from hermes.pipeline.questions import Questions
from hermes.pipeline.replays.run import ReplayRunner
from hermes.pipeline.tool_questions import reopen_questions
from hermes.ports.adapter import Adapter
from hermes.ports.channel import Accept, Capabilities, Channel
from hermes.ports.search import Search
from hermes.ports.sends import Courier
from hermes.ports.signals import Signals
from hermes.ports.store import Store
from hermes.ports.tool import Tool
from hermes.schedule.agent_checks import AgentChecks
from hermes.schedule.directory_watch import DirectoryWatch
from hermes.schedule.early_reactions import EarlyReactions
from hermes.schedule.pruning import SessionPruner
from hermes.schedule.schedules import Schedules
from hermes.schedule.search_fill import SearchFill
from hermes.schedule.upkeep import Upkeep
from hermes.server.gateway_api import GatewayApiServer
from hermes.skills.book import SkillBook
from hermes.skills.tool import READ_SKILL, skill_tool
from hermes.tools.builtin.delegate import Delegate
from hermes.tools.builtin.memory import Memory
from hermes.tools.builtin.schedule import Schedule
from hermes.tools.builtin.send_message import SendMessage
from hermes.tools.builtin.session_search import SessionSearch
from hermes.tools.builtin.team import team_tools
from hermes.tools.together import ToolsTogether

_EVERYBODY = "*"
# How long a stop waits for platforms to accept the last replies.
_FLUSH_S = 5.0


class Maintenance(msgspec.Struct, frozen=True, kw_only=True):
    """The workers that maintain the store and its index in the background."""

    upkeep: Upkeep
    pruning: SessionPruner
    directory: DirectoryWatch
    early_reactions: EarlyReactions
    search_fill: SearchFill | None


class Core(msgspec.Struct, frozen=True, kw_only=True):
    """Everything between the channels and the database; nothing runs before its components
    start.
    """

    store: Store
    settings: Settings
    channels: Mapping[str, Channel]
    signals: Signals
    push: PushPlatforms
    models: ModelLayer
    memory: MemoryLayer
    questions: Questions
    inbox: Inbox
    gateway_api: GatewayApiServer
    roster: Roster
    agent_checks: AgentChecks
    courier: Courier
    cron: CronLayer
    sessions: Sessions
    lanes: Lanes
    replays: ReplayRunner
    maintenance: Maintenance
    adapters: Mapping[str, Adapter]
    search: Search | None
    terminal: Terminal | None
    skills: SkillBook | None

    @property
    def platforms(self) -> tuple[str, ...]:
        """Every platform that delivers messages."""
        return tuple(self.channels)

    @property
    def abilities(self) -> dict[str, Capabilities]:
        """The capabilities of every platform."""
        return {name: channel.capabilities for name, channel in self.channels.items()}

    def components(self, drain_turns: Callable[[], object]) -> Components:
        """Return the parts with a lifecycle; `drain_turns` waits for the running turns."""
        workers = tuple(
            Component(name=name, start=start, stop=stop) for name, start, stop in self._workers()
        )
        fill = self.maintenance.search_fill
        filling = (
            ()
            if fill is None
            else (Component(name="search fill", start=fill.start, stop=fill.stop),)
        )
        senders = Component(
            name="senders", drain=lambda: self.push.drain(_FLUSH_S), stop=self.push.stop
        )
        recall = Component(name="recall", stop=self.memory.recall.close)
        ledger = Component(name="ledger", stop=self.models.ledger.close)
        terminal = () if self.terminal is None else (self.terminal.component(),)
        return Components(
            start=(*terminal, *workers, *filling),
            drain=(
                Component(name="inbox", drain=self._close_inbox),
                Component(name="lanes", drain=drain_turns),
                senders,
            ),
            stop=(*workers, *terminal, recall, senders, ledger, *filling),
        )

    def _workers(self) -> tuple[tuple[str, Callable[[], object], Callable[[], object]], ...]:
        maintenance, watch, memory = self.maintenance, self.sessions.watch, self.memory.worker
        return (
            ("lanes", self.lanes.start, self.lanes.stop),
            ("agent checks", self.agent_checks.start, self.agent_checks.stop),
            ("upkeep", maintenance.upkeep.start, maintenance.upkeep.stop),
            ("session watch", watch.start, watch.stop),
            ("pruning", maintenance.pruning.start, maintenance.pruning.stop),
            ("directory", maintenance.directory.start, maintenance.directory.stop),
            (
                "early reactions",
                maintenance.early_reactions.start,
                maintenance.early_reactions.stop,
            ),
            ("cron", self._start_cron, self.cron.worker.stop),
            ("memory worker", memory.start, memory.stop),
        )

    def _close_inbox(self) -> None:
        self.inbox.draining = True
        self.questions.close()

    def _start_cron(self) -> None:
        if self.settings.cron.enabled:
            self.cron.worker.start()


async def build_core(store: Store, settings: Settings, *, given: CoreParts) -> Core:
    """Build a core: every part after those that it needs; signals connect it to the others."""
    base = make_base(store, settings, given=given)
    entrance = make_entrance(base)
    courier = make_courier(
        store,
        settings,
        channels=given.channels,
        home=given.home,
        signals=base.signals,
        clock=given.clock,
    )
    cron = _cron(base, entrance, courier=courier)
    sessions = make_sessions(base)
    tools = _tools(base, courier=courier, cron=cron)
    services = make_services(
        base, entrance, sessions=sessions, cron=cron, courier=courier, tools=tools
    )
    lanes = Lanes(services, settings=settings.lanes, signals=base.signals)
    await reopen_questions(services)
    base.push.pause(frozenset(one.platform for one in await store.paused.all()))
    return Core(
        store=store,
        settings=settings,
        channels=given.channels,
        signals=base.signals,
        push=base.push,
        models=base.models,
        memory=base.memory,
        questions=entrance.questions,
        inbox=entrance.inbox,
        gateway_api=entrance.gateway_api,
        roster=entrance.roster,
        agent_checks=AgentChecks(
            store.agents,
            entrance.roster,
            feed=store.feed,
            check=make_check(base.models, settings, adapters=given.adapters),
            gone=lanes.agent_gone,
            clock=given.clock,
        ),
        courier=courier,
        cron=cron,
        sessions=sessions,
        lanes=lanes,
        replays=ReplayRunner(services),
        maintenance=_maintenance(base, accept=entrance.inbox.accept),
        adapters=given.adapters,
        search=given.search,
        terminal=given.terminal,
        skills=given.skills,
    )


def _cron(base: CoreBase, entrance: InboundParts, *, courier: Courier) -> CronLayer:
    store, limit = base.store, base.settings.inbox.max_waiting

    def has_room() -> bool:
        if entrance.inbox.draining or store.writable() is not None:
            return False
        return store.inbox.waiting() < limit

    return make_cron_layer(
        store,
        base.settings,
        facts=base.memory.facts,
        courier=courier,
        admits=entrance.admits,
        runs_skill=make_skill_check(base.given.skills, entrance.roster),
        has_room=has_room,
        wake=base.signals,
        clock=base.given.clock,
        make_id=base.given.make_id,
    )


def _tools(base: CoreBase, *, courier: Courier, cron: CronLayer) -> Mapping[str, Tool]:
    if not base.given.own_tools:
        return base.given.tools
    own = _own_tools(
        base.settings,
        facts=base.memory.facts,
        courier=courier,
        schedules=cron.schedules,
        search=base.given.search,
    )
    skills = base.given.skills
    if skills is not None:
        own[READ_SKILL] = skill_tool(skills)
    terminal = base.given.terminal
    if terminal is not None:
        own = {**{tool.spec.name: tool for tool in terminal.tools}, **own}
    return ToolsTogether(base.given.tools, own)


def _maintenance(base: CoreBase, *, accept: Accept) -> Maintenance:
    store, settings, given = base.store, base.settings, base.given
    search = given.search
    return Maintenance(
        upkeep=Upkeep(
            store,
            wake=base.signals.wake_lane,
            served=base.push.served,
            clock=given.clock,
            settings=settings,
            tidy=_tidy(given),
        ),
        pruning=SessionPruner(
            store.pruning,
            days=_prune_days(settings),
            forget=None if search is None else search.pruned,
            clock=given.clock,
        ),
        directory=DirectoryWatch(
            store.directory,
            connected=lambda: tuple(base.push.sending.values()),
            clock=given.clock,
            every_s=settings.outbox.directory_s,
        ),
        early_reactions=EarlyReactions(store.offers, accept=accept, clock=given.clock),
        search_fill=None if search is None else SearchFill(search),
    )


def _tidy(given: CoreParts) -> Callable[[], Awaitable[None]]:
    """Return what removes the files that nobody needs any more."""

    async def tidy() -> None:
        if given.media is not None:
            await given.media.tidy()
        if given.terminal is not None:
            await given.terminal.tidy()

    return tidy


def _prune_days(settings: Settings) -> int:
    """Return after how many days an ended conversation is deleted; 0 for never."""
    sessions = settings.sessions
    days = (sessions.prune_days if sessions.prune else 0, sessions.retention_days)
    return min(filter(None, days), default=0)


def _own_tools(
    settings: Settings,
    *,
    facts: PeoplesFacts,
    courier: Courier,
    schedules: Schedules,
    search: Search | None,
) -> dict[str, Tool]:
    """Return the enabled built-in tools that work on the gateway itself, by name."""
    tools: list[Tool] = []
    if settings.tools.memory:
        tools.append(Memory(facts))
    if settings.tools.send_message:
        tools.append(SendMessage(courier))
    if settings.tools.schedule and settings.cron.enabled:
        tools.append(Schedule(schedules))
    if settings.tools.session_search and search is not None:
        tools.append(SessionSearch(search))
    if settings.tools.delegate:
        tools += [Delegate(_delegates(settings)), *team_tools(settings.tools.delegate_limit_s)]
    return {tool.spec.name: tool for tool in tools}


def _delegates(settings: Settings) -> dict[str, str]:
    named = settings.tools.delegate_to
    return {
        name: agent.description
        for name, agent in settings.agents.items()
        if name in named or _EVERYBODY in named
    }
