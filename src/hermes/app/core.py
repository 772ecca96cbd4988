"""The core of a gateway: store, inbox, lanes and outbox, wired to each other."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from hermes.agents.roster import Roster
from hermes.app.calling import make_model_layer
from hermes.app.remembering import make_memory_layer
from hermes.config import Settings, read_or_create_secret_file
from hermes.control.status import MemoryStatus
from hermes.errors import StoreError
from hermes.inbox.accept import Inbox
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.outcome import BusyPolicy, DeliveryState
from hermes.outbox.preview import OutboxPreviewer
from hermes.outbox.sender import OutboxSender
from hermes.outbox.timing import OutboxTiming, PreviewTiming
from hermes.people.reception import Reception
from hermes.pipeline.lanes import Lanes
from hermes.pipeline.services import Services
from hermes.pipeline.targets import reply_id
from hermes.pipeline.watch import WatchHub
from hermes.ports.channel import Accepted, Channel, PushChannel
from hermes.ports.clock import Clock
from hermes.ports.provider import Provider
from hermes.ports.spend import Counter
from hermes.ports.tool import Tool
from hermes.ports.upward import Progress
from hermes.schedule.upkeep import Upkeep
from hermes.server.auth import Access
from hermes.server.door import GatewayDoor
from hermes.store.sqlite.seal import make_store_keys
from hermes.store.sqlite.shelf import SqliteShelf
from hermes.store.sqlite.store import SqliteStore, StoreOptions
from hermes.tools.gate_rules import gate_rules

DATABASE = "hermes.db"
KEY_FILE = "keys/store.keys"


def open_store(home: Path, settings: Settings, *, clock: Clock, make_id: MakeId) -> SqliteStore:
    """Open the database of a home, making it and its key file on the first start."""
    return SqliteStore(
        home / DATABASE,
        key_file=read_or_create_secret_file(home / KEY_FILE, make_store_keys),
        clock=clock,
        make_id=make_id,
        options=StoreOptions(
            synchronous=settings.store.synchronous,
            group_commit_max=settings.store.group_commit_max,
            disk_reserve_mb=settings.store.disk_reserve_mb,
        ),
    )


def open_shelf(home: Path) -> SqliteShelf:
    """Open the message graphs of a home for reading."""
    try:
        key_file = (home / KEY_FILE).read_bytes()
    except OSError as error:
        raise StoreError(
            f"the key file {KEY_FILE} of this home cannot be read ({error.strerror}); "
            "restore it from a backup, or run the command as the user of the gateway"
        ) from error
    return SqliteShelf.read(home / DATABASE, key_file=key_file)


class Core:
    """Everything between the channels and the database."""

    def __init__(
        self,
        store: SqliteStore,
        settings: Settings,
        *,
        providers: Mapping[str, Provider],
        tools: Mapping[str, Tool],
        channels: Mapping[str, Channel],
        access: Access,
        watch: WatchHub,
        clock: Clock,
        make_id: MakeId,
        counter: Counter | None = None,
    ) -> None:
        self.store = store
        self._settings = settings
        self._channels = channels
        self._clock = clock
        self.senders: dict[str, OutboxSender] = {}
        self._push: dict[str, PushChannel] = {}
        self.models = make_model_layer(
            store, settings, providers=providers, clock=clock, counter=counter
        )
        self.memory = make_memory_layer(
            store,
            settings,
            models=self.models,
            providers=providers,
            clock=clock,
            make_id=make_id,
        )
        roster = Roster(settings.agents, default=settings.default_agent, rules=settings.agent_rules)
        reception = _reception(store, settings, channels, clock=clock)
        services = Services(
            store=store,
            settings=settings,
            roster=roster,
            reception=reception,
            planner=self.models.planner,
            calls=self.models.calls,
            tools=tools,
            gate_rules=gate_rules(settings.tools.gate),
            souls=self.memory.souls,
            facts=self.memory.facts,
            recall=self.memory.recall,
            watch=watch,
            previewer=self._previewer(),
            clock=clock,
            make_id=make_id,
            sleep=asyncio.sleep,
            put_child=self._put_child,
            follow=self._follow,
            wake_outbox=self._wake_outbox,
            first_state=self._first_state,
            owner=make_id("w"),
        )
        self.lanes = Lanes(services, settings=settings.lanes)
        self.inbox = self._make_inbox(roster, reception, make_id=make_id)
        self.door = GatewayDoor(store, inbox=self.inbox, watch=watch, access=access, roster=roster)
        self.upkeep = self._make_upkeep()

    def _make_upkeep(self) -> Upkeep:
        return Upkeep(
            self.store,
            wake=self.lanes.wake,
            served=lambda: tuple(self.senders),
            clock=self._clock,
            settings=self._settings,
        )

    def _make_inbox(self, roster: Roster, reception: Reception, *, make_id: MakeId) -> Inbox:
        settings, channels = self._settings, self._channels
        return Inbox(
            self.store,
            wake=self.lanes,
            roster=roster,
            admits=lambda event: reception.admit(event).is_in,
            clock=self._clock,
            make_id=make_id,
            settings=settings.inbox,
            busy=settings.busy,
            manifests={name: BusyPolicy(item.capabilities.busy) for name, item in channels.items()},
            pushed=[name for name, item in channels.items() if _is_push(item)],
            outbox_limit=settings.outbox.max_waiting,
        )

    def _previewer(self) -> OutboxPreviewer:
        return OutboxPreviewer(
            self._push,
            self.store.outbox,
            delivery_id=reply_id,
            timing=_preview_timing(self._settings),
            clock=self._clock,
        )

    def start(self) -> None:
        """Take up what earlier processes left, and look after the store."""
        self.lanes.start()
        self.upkeep.start()
        if self._settings.memory.extract:
            self.memory.worker.start()

    def memory_status(self) -> MemoryStatus:
        """Return whether facts are recalled and learnt."""
        recall = self.memory.recall
        return MemoryStatus(
            recall=recall.problem or "on",
            learning="on" if self._settings.memory.extract else "off (memory.extract)",
            recalled=recall.counts["semantic_recall_used"],
            skipped_trivial=recall.counts["semantic_recall_skipped_trivial"],
            parked_jobs=self.store.jobs.parked(),
        )

    def start_sending(self, channel: PushChannel) -> None:
        """Send a platform's replies, now that its transport has proven itself."""
        self._push[channel.name] = channel
        sender = OutboxSender(
            channel, self.store.outbox, timing=_outbox_timing(self._settings), clock=self._clock
        )
        self.senders[channel.name] = sender
        sender.start()

    async def drain(self, timeout_s: float) -> int:
        """Accept nothing, end what runs; returns how many turns were cut off."""
        self.inbox.draining = True
        cut_off = await self.lanes.drain(timeout_s)
        await asyncio.gather(*(sender.drain() for sender in self.senders.values()))
        return cut_off

    async def stop(self) -> None:
        """End every task and close the store."""
        await self.upkeep.stop()
        await self.memory.worker.stop()
        await asyncio.gather(*(sender.stop() for sender in self.senders.values()))
        await self.models.ledger.close()
        await self.store.close()

    async def _put_child(self, event: MessageEvent, lane: str) -> Accepted:
        return await self.inbox.put(event, lane=lane)

    def _follow(self, message_id: str) -> AsyncIterator[Progress]:
        return self.door.watch(message_id)

    def _wake_outbox(self, platform: str) -> None:
        sender = self.senders.get(platform)
        if sender is not None:
            sender.wake()

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
        manifests={name: item.capabilities.unknown for name, item in channels.items()},
        clock=clock,
        random_bytes=secrets.token_bytes,
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
    )


def _preview_timing(settings: Settings) -> PreviewTiming:
    return PreviewTiming(
        interval_s=settings.streaming.interval_s,
        min_chars=settings.streaming.min_chars,
        cursor=settings.streaming.cursor,
        send_timeout_s=settings.outbox.send_timeout_s,
    )
