"""The core of a gateway: store, inbox, lanes and outbox, wired to each other."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from zoneinfo import ZoneInfo

from hermes.agents.roster import Roster
from hermes.app.core_parts import CoreParts
from hermes.app.maintenance import make_chores
from hermes.app.make_memory import make_memory_layer
from hermes.app.make_models import make_model_layer
from hermes.app.make_schedule import CronLayer, LateCourier, make_cron_layer
from hermes.config import Settings, system_zone
from hermes.control.status import MemoryStatus
from hermes.inbox.accept import Inbox
from hermes.inbox.pre_dispatch import PreDispatch
from hermes.memory.session_context import platform_block
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.outcome import BusyPolicy, DeliveryState
from hermes.outbox.intervals import OutboxTiming, PreviewTiming
from hermes.outbox.live_previews import LivePreviews
from hermes.outbox.previewer import OutboxPreviewer, Wanted
from hermes.outbox.rates import Rates
from hermes.outbox.sender import OutboxSender
from hermes.outbox.traffic import Traffic
from hermes.people.groups import Groups
from hermes.people.reception import Reception
from hermes.pipeline.lanes import Lanes
from hermes.pipeline.questions import Questions
from hermes.pipeline.services import Services
from hermes.pipeline.session_keep import SessionKeep
from hermes.pipeline.targets import reply_id
from hermes.pipeline.turn_hooks import TurnHooks
from hermes.ports.channel import Accepted, Capabilities, Channel, PushChannel
from hermes.ports.clock import Clock
from hermes.ports.command import ChatCommand
from hermes.ports.hooks import DISPATCH
from hermes.ports.upward import Progress
from hermes.schedule.search_fill import SearchFill
from hermes.schedule.session_watch import SessionWatch
from hermes.schedule.upkeep import Upkeep
from hermes.server.gateway_api import GatewayApiServer
from hermes.sessions.commands import CommandBook, CommandSpec
from hermes.sessions.keys import SessionKeys
from hermes.sessions.resets import Resets
from hermes.store.sqlite.store import SqliteStore
from hermes.tools.gate_rules import gate_rules
from hermes.tools.image_intents import ImageIntents
from hermes.tools.tool_sets import ToolSets

# How long a stop waits for platforms to take the last replies.
_FLUSH_S = 5.0


class Core:
    """Everything between the channels and the database."""

    def __init__(self, store: SqliteStore, settings: Settings, *, given: CoreParts) -> None:
        clock, make_id = given.clock, given.make_id
        self.store = store
        self._settings = settings
        self._given = given
        self._clock = clock
        self._channels = given.channels
        self.hooks, self.search = given.hooks, given.search
        self._turn_hooks = None if self.hooks is None else TurnHooks(self.hooks, store.sessions)
        self._search_filling = None if self.search is None else SearchFill(self.search)
        self.senders: dict[str, OutboxSender] = {}
        self.traffic, self._rates, self._screens = Traffic(clock), Rates(clock), LivePreviews()
        self._connected: dict[str, PushChannel] = {}
        # Those of them that do not rest: previews are shown there.
        self._push: dict[str, PushChannel] = {}
        self.models = make_model_layer(
            store,
            settings,
            providers=given.providers,
            clock=clock,
            counter=given.counter,
            meter=given.meter,
        )
        self.memory = make_memory_layer(
            store,
            settings,
            models=self.models,
            providers=given.providers,
            clock=clock,
            make_id=make_id,
        )
        roster = Roster(settings.agents, default=settings.default_agent, rules=settings.agent_rules)
        reception = _reception(store, settings, given.channels, clock=clock)
        self.commands = CommandBook(map(_spec_of, given.plugged.values()))
        self.questions = Questions(self._can_answer, self.commands)
        self.courier = LateCourier()
        self.cron = self._make_cron(reception, make_id=make_id)
        self._make_keepers()
        self.lanes = Lanes(self._services(roster, reception), settings=settings.lanes)
        self.inbox = self._make_inbox(roster, reception, make_id=make_id)
        self.lanes.let_first(self.inbox.accepting)
        self.gateway_api = GatewayApiServer(
            store,
            inbox=self.inbox,
            watch=given.watch,
            access=given.access,
            roster=roster,
            traffic=self.traffic,
        )
        self.upkeep = self._make_upkeep()
        self.rest(frozenset(one.platform for one in store.paused.all()))

    def _make_keepers(self) -> None:
        """Make what ends and forgets sessions, and what knows the chats' names."""
        store, settings = self.store, self._settings
        self.resets = Resets(
            settings.sessions,
            zone=ZoneInfo(settings.time_zone or system_zone()),
            lasting={
                name: one.capabilities.lasting_senders for name, one in self._channels.items()
            },
            person_of=lambda platform, sender: store.users.standing(platform, sender).person_id,
        )
        self.session_keep = SessionKeep(
            settings.sessions.cache,
            clock=self._clock,
            release=self._release,
            is_running=lambda lane: self.lanes.is_running(lane),  # noqa: PLW0108  made later
        )
        self.session_watch = SessionWatch(
            store.sessions,
            self.resets,
            platforms=tuple(self._channels),
            ended=self.session_ended,
            clock=self._clock,
            sweep=self.session_keep.sweep,
        )
        self._pruning, self.directory = make_chores(
            store,
            settings,
            search=self.search,
            connected=lambda: tuple(self._push.values()),
            clock=self._clock,
        )

    def _services(self, roster: Roster, reception: Reception) -> Services:
        given, settings = self._given, self._settings
        return Services(
            store=self.store,
            settings=settings,
            roster=roster,
            reception=reception,
            resets=self.resets,
            session_keep=self.session_keep,
            commands=self.commands,
            plugged=given.plugged,
            planner=self.models.planner,
            calls=self.models.calls,
            tools=given.tools,
            gate_rules=gate_rules(settings.tools.gate),
            tool_sets=ToolSets(given.tools),
            visions=given.visions,
            image_intents=ImageIntents(settings.vision.intents, given.visions.values()),
            souls=self.memory.souls,
            facts=self.memory.facts,
            recall=self.memory.recall,
            schedules=self.cron.schedules,
            courier=self.courier,
            watch=given.watch,
            previewer=self._previewer(),
            clock=given.clock,
            make_id=given.make_id,
            sleep=asyncio.sleep,
            put_child=self._put_child,
            follow=self._follow,
            wake_outbox=self.wake_outbox,
            first_state=self._first_state,
            hints=_hints(self._channels, self._settings.media.link_hosts),
            merging=self._merging(),
            questions=self.questions,
            reload_mcp=given.reload_mcp,
            on_record=given.on_record,
            owner=given.make_id("w"),
            observer=given.observer,
            hooks=self._turn_hooks,
            search=self.search,
            media=given.media,
            comeback=given.comeback,
            restart=given.restart,
        )

    def _make_cron(self, reception: Reception, *, make_id: MakeId) -> CronLayer:
        return make_cron_layer(
            self.store,
            self._settings,
            facts=self.memory.facts,
            courier=self.courier,
            admits=lambda event: reception.admit(event).is_in,
            has_room=self._has_room,
            wake=self,
            clock=self._clock,
            make_id=make_id,
        )

    def _make_upkeep(self) -> Upkeep:
        return Upkeep(
            self.store,
            wake=self.lanes.wake,
            # What waits for a lost connection grows old, as with one that was never made.
            served=lambda: (*self._connected, *self.inbox.resting),
            clock=self._clock,
            settings=self._settings,
            tidy=None if self._given.media is None else self._given.media.tidy,
        )

    def _make_inbox(self, roster: Roster, reception: Reception, *, make_id: MakeId) -> Inbox:
        settings, channels = self._settings, self._channels
        return Inbox(
            self.store,
            wake=self.lanes,
            roster=roster,
            admission=reception.admit,
            may_use=reception.may_use,
            groups=Groups(settings),
            answers=self.questions.expects,
            commands=self.commands,
            clock=self._clock,
            make_id=make_id,
            settings=settings.inbox,
            busy=settings.busy,
            manifests={name: BusyPolicy(item.capabilities.busy) for name, item in channels.items()},
            keys=SessionKeys(
                [name for name, item in channels.items() if item.capabilities.own_chats],
                self.store.sessions.old_writers,
            ),
            pushed=[name for name, item in channels.items() if _is_push(item)],
            programs=[name for name, item in channels.items() if item.capabilities.is_program],
            outbox_limit=settings.outbox.max_waiting,
            dispatch=PreDispatch(self.hooks)
            if self.hooks is not None and self.hooks.hears(DISPATCH)
            else None,
        )

    def session_ended(self, lane: str, reason: str) -> None:
        """A session was ended outside a turn: what was cached of it goes, and hooks hear of it."""
        self.session_keep.drop(lane)
        if self._turn_hooks is not None:
            self._turn_hooks.session_ended(lane, reason)

    def _release(self, lane: str) -> None:
        """Let go of what was read and decoded of a session; its next turn reads it again."""
        self.store.transcripts.drop(lane)
        self.store.souls.drop(lane)

    def _previewer(self) -> OutboxPreviewer:
        return OutboxPreviewer(
            self._push,
            self.store.outbox,
            delivery_id=reply_id,
            timing=_preview_timing(self._settings),
            clock=self._clock,
            wanted=self._transport,
            rates=self._rates,
            screens=self._screens,
            traffic=self.traffic,
        )

    def _transport(self, platform: str) -> Wanted:
        chosen = self._settings.platforms.get(platform)
        return (chosen.streaming if chosen else None) or self._settings.streaming.transport

    def start(self) -> None:
        """Take up what earlier processes left, and look after the store."""
        self.lanes.start()
        self.upkeep.start()
        self.session_watch.start()
        self._pruning.start()
        self.directory.start()
        if self._settings.cron.enabled:
            self.cron.worker.start()
        self.memory.worker.start()
        if self._search_filling is not None:
            self._search_filling.start()

    def memory_status(self) -> MemoryStatus:
        """Return whether facts are recalled and learnt."""
        recall = self.memory.recall
        return MemoryStatus(
            recall=recall.problem or "on",
            learning="on" if self._settings.memory.extract else "off (memory.extract)",
            dreams="on" if self._settings.memory.dream else "off (memory.dream)",
            recalled=recall.counts["semantic_recall_used"],
            skipped_trivial=recall.counts["semantic_recall_skipped_trivial"],
            parked_jobs=self.store.jobs.parked(),
        )

    def start_sending(self, channel: PushChannel) -> None:
        """Send a platform's replies, now that its transport has proven itself (again)."""
        self._connected[channel.name] = channel
        if channel.name not in self.senders:
            self.senders[channel.name] = OutboxSender(
                channel,
                self.store.outbox,
                timing=_outbox_timing(self._settings),
                clock=self._clock,
                traffic=self.traffic,
                rates=self._rates.of(channel),
                screens=self._screens,
                mask=self._given.mask,
            )
        # Another channel may have taken the place of the one that the sender began with.
        self.senders[channel.name].use(channel)
        self.rest(self.inbox.resting)
        self.senders[channel.name].start()

    def pause_sending(self, platform: str) -> None:
        """Send nothing to a platform until its transport has proven itself again."""
        self._connected.pop(platform, None)
        self.rest(self.inbox.resting)

    def breaker_of(self, platform: str) -> tuple[float, int] | None:
        """Return until when nothing is sent to a platform, and after how many failures."""
        sender = self.senders.get(platform)
        breaker = None if sender is None else sender.breaker
        if breaker is None or breaker.open_until is None:
            return None
        is_open = breaker.open_until > self._clock.now()
        return (breaker.open_until, breaker.count) if is_open else None

    @property
    def platforms(self) -> tuple[str, ...]:
        """Every platform that brings messages."""
        return tuple(self._channels)

    @property
    def abilities(self) -> dict[str, Capabilities]:
        """What every platform can do."""
        return {name: channel.capabilities for name, channel in self._channels.items()}

    def rest(self, platforms: Collection[str]) -> None:
        """Accept and send nothing on these platforms, and on all others again."""
        self.inbox.resting = platforms
        self._push.clear()
        for name, sender in self.senders.items():
            is_resting = name in platforms or name not in self._connected
            sender.rest(is_resting)
            if not is_resting:
                self._push[name] = self._connected[name]

    async def drain(self, timeout_s: float, *, hurry: asyncio.Event | None = None) -> int:
        """Accept nothing, end what runs; returns how many turns were cut off.

        `hurry` ends the waiting for them.
        """
        self.inbox.draining = True
        self.questions.close()
        tells = self._settings.process.tell_stop
        cut_off = await self.lanes.drain(timeout_s, hurry=hurry, tells=tells)
        await asyncio.gather(*(sender.flush(_FLUSH_S) for sender in self.senders.values()))
        await asyncio.gather(*(sender.drain() for sender in self.senders.values()))
        return cut_off

    async def stop(self) -> None:
        """End every task and close the store."""
        await self.upkeep.stop()
        await self.session_watch.stop()
        await self._pruning.stop()
        await self.directory.stop()
        await self.cron.worker.stop()
        await self.memory.worker.stop()
        await self.memory.recall.close()
        await asyncio.gather(*(sender.stop() for sender in self.senders.values()))
        await self.models.ledger.close()
        if self._search_filling is not None:
            await self._search_filling.stop()
        await self.store.close()

    async def _put_child(self, event: MessageEvent, lane: str) -> Accepted:
        return await self.inbox.put(event, lane=lane)

    def _follow(self, message_id: str) -> AsyncIterator[Progress]:
        return self.gateway_api.watch(message_id)

    def wake_outbox(self, platform: str) -> None:
        """Look at once for what is to be sent to a platform."""
        sender = self.senders.get(platform)
        if sender is not None:
            sender.wake()

    def arrived(self, lane: str, *, message_id: str, busy: BusyPolicy) -> None:
        """A scheduled message stands on a lane."""
        self.lanes.arrived(lane, message_id=message_id, busy=busy)

    def _has_room(self) -> bool:
        if self.inbox.draining or self.store.writable() is not None:
            return False
        return self.store.inbox.waiting() < self._settings.inbox.max_waiting

    def _can_answer(self, platform: str) -> bool:
        channel = self._channels.get(platform)
        return channel is not None and channel.capabilities.answers

    def _merging(self) -> frozenset[str]:
        """Return the platforms whose messages are answered as one if they wait behind one another.

        Unless the operator says otherwise, programs and people who wait for their own reply get it.
        """
        busy = self._settings.busy
        return frozenset(
            name
            for name, item in self._channels.items()
            if busy.merge_platforms.get(
                name, busy.merge_follow_ups and _is_push(item) and item.capabilities.answers
            )
        )

    def _first_state(self, platform: str) -> DeliveryState:
        channel = self._channels.get(platform)
        if channel is not None and not _is_push(channel):
            return DeliveryState.SENT
        return DeliveryState.PENDING


def _reception(
    store: SqliteStore, settings: Settings, channels: Mapping[str, Channel], *, clock: Clock
) -> Reception:
    return Reception(
        store.users,
        store.pairing,
        settings=settings,
        manifests={name: item.capabilities.strangers for name, item in channels.items()},
        clock=clock,
        random_bytes=secrets.token_bytes,
    )


def _spec_of(command: ChatCommand) -> CommandSpec:
    return CommandSpec(
        name=command.name, about=command.about, use=command.use, beside=command.beside
    )


def _is_push(channel: Channel) -> bool:
    return channel.capabilities.delivery == "push"


def _outbox_timing(settings: Settings) -> OutboxTiming:
    outbox = settings.outbox
    return OutboxTiming(
        quick_delays_s=tuple(outbox.quick_delays_s),
        later_delays_s=tuple(outbox.later_delays_s),
        max_age_s=outbox.max_age_s,
        send_timeout_s=outbox.send_timeout_s,
        breaker_failures=outbox.breaker_failures,
        breaker_window_s=outbox.breaker_window_s,
        breaker_open_s=outbox.breaker_open_s,
        fresh_after_s=settings.streaming.fresh_after_s,
    )


def _preview_timing(settings: Settings) -> PreviewTiming:
    return PreviewTiming(
        interval_s=settings.streaming.interval_s,
        min_chars=settings.streaming.min_chars,
        cursor=settings.streaming.cursor,
        send_timeout_s=settings.outbox.send_timeout_s,
    )


def _hints(channels: Mapping[str, Channel], link_hosts: Sequence[str]) -> Mapping[str, str]:
    """Return what models are told of the platforms that they write on."""
    all_of_them = {name: item.capabilities for name, item in channels.items()}
    told = {
        name: platform_block(one.hint, link_hosts=link_hosts if one.media else ())
        for name, one in all_of_them.items()
    }
    return {name: hint for name, hint in told.items() if hint}
