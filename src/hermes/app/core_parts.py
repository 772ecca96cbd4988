"""The dependencies of a core: the parts that are passed in, and its own lower parts."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from hermes.app.make_memory import MemoryLayer, make_memory_layer
from hermes.app.make_models import ModelLayer, make_model_layer
from hermes.app.make_terminal import Terminal
from hermes.config import DisplaySettings, Settings
from hermes.memory.fact_vectors import TextEmbedder
from hermes.message.channel_name import of_channel
from hermes.message.ids import MakeId
from hermes.outbox.channel_calls import LongReplies
from hermes.outbox.intervals import OutboxTiming
from hermes.outbox.platforms import PushPlatforms
from hermes.pipeline.comebacks import ALL_TAKEN_UP, Comeback
from hermes.pipeline.observer import NOBODY, Observer
from hermes.pipeline.services import ReloadMcp, Restart, cannot_restart
from hermes.pipeline.watch import WatchHub
from hermes.plugins.hook_book import HookBook
from hermes.ports.adapter import Adapter
from hermes.ports.channel import Channel
from hermes.ports.clock import Clock
from hermes.ports.command import ChatCommand
from hermes.ports.media import Attachments, ReplyFiles
from hermes.ports.observer import CallMeter
from hermes.ports.operations import OnRecord, off_record
from hermes.ports.provider import Provider
from hermes.ports.search import Search
from hermes.ports.signals import Signals
from hermes.ports.spend import SpendCounters
from hermes.ports.store import Store
from hermes.ports.tool import Tool
from hermes.ports.vision import VisionPipeline
from hermes.server.auth import Access
from hermes.skills.book import SkillBook
from hermes.tools.executor import MaskResult, unmasked
from hermes.tools.mcp.chat_offers import ChatOffers
from hermes.tools.mcp.report import Diff


async def no_servers() -> Diff:
    """Reload nothing; used without MCP servers."""
    return Diff()


class CoreParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that the gateway, or a test, builds before the core; parts with a default are
    optional.

    Without a `home` nothing can be sent to other chats. `models` are built from the providers if
    they are missing.
    """

    providers: Mapping[str, Provider]
    tools: Mapping[str, Tool]
    channels: Mapping[str, Channel]
    access: Access
    watch: WatchHub
    clock: Clock
    make_id: MakeId
    home: Path | None = None
    models: ModelLayer | None = None
    # Makes the vectors of recall; without one a provider does.
    embedder: TextEmbedder | None = None
    # Whether the built-in tools that work on the core itself are enabled.
    own_tools: bool = False
    counter: SpendCounters | None = None
    meter: CallMeter | None = None
    reload_mcp: ReloadMcp = no_servers
    mcp: ChatOffers | None = None
    on_record: OnRecord = off_record
    adapters: Mapping[str, Adapter] = {}
    visions: Mapping[str, VisionPipeline] = {}
    plugged: Mapping[str, ChatCommand] = {}
    search: Search | None = None
    # Runs commands, and keeps the files of sessions.
    terminal: Terminal | None = None
    # Instructions that agents use by name.
    skills: SkillBook | None = None
    media: Attachments | None = None
    # Keeps replies that are too long for a chat; without it they are only cut.
    reply_files: ReplyFiles | None = None
    comeback: Comeback = ALL_TAKEN_UP
    restart: Restart = cannot_restart
    observer: Observer = NOBODY
    hooks: HookBook | None = None
    # Masks secrets in texts from platforms.
    mask: Callable[[str], str] = str
    # Masks secrets in the results of tools.
    mask_result: MaskResult = unmasked


class CoreBase(msgspec.Struct, frozen=True, kw_only=True):
    """The lower parts of a core, which the parts above them share."""

    store: Store
    settings: Settings
    given: CoreParts
    signals: Signals
    push: PushPlatforms
    models: ModelLayer
    memory: MemoryLayer


def make_base(store: Store, settings: Settings, *, given: CoreParts) -> CoreBase:
    """Build the lower parts of a core."""
    signals = Signals()
    models = given.models or make_model_layer(
        store,
        settings,
        providers=given.providers,
        clock=given.clock,
        counter=given.counter,
        meter=given.meter,
        locate=None if given.media is None else given.media.located,
    )
    return CoreBase(
        store=store,
        settings=settings,
        given=given,
        signals=signals,
        push=PushPlatforms(
            store.outbox,
            timing=outbox_timing(settings),
            clock=given.clock,
            signals=signals,
            mask=given.mask,
            long=LongReplies(settings.outbox.max_messages, given.reply_files),
            offers=store.offers,
            reacts=_reacts(settings.display),
        ),
        models=models,
        memory=make_memory_layer(
            store,
            settings,
            models=models,
            providers=given.providers,
            own_embedder=given.embedder,
            clock=given.clock,
            make_id=given.make_id,
        ),
    )


def _reacts(display: DisplaySettings) -> Callable[[str], bool]:
    """Return a function that says whether messages on a platform show how far they are."""

    def reacts(platform: str) -> bool:
        chosen = of_channel(display.reaction_platforms, platform)
        return display.reactions if chosen is None else chosen

    return reacts


def outbox_timing(settings: Settings) -> OutboxTiming:
    """Return the settings of the outbox as its sender takes them."""
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
