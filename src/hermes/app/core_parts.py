"""What a core is made with: everything that the gateway, or a test, has made before it."""

from collections.abc import Callable, Mapping

import msgspec

from hermes.message.ids import MakeId
from hermes.pipeline.comebacks import ALL_TAKEN_UP, Comeback
from hermes.pipeline.observer import NOBODY, Observer
from hermes.pipeline.services import ReloadMcp, Restart, cannot_restart
from hermes.pipeline.watch import WatchHub
from hermes.plugins.hook_book import HookBook
from hermes.ports.channel import Channel
from hermes.ports.clock import Clock
from hermes.ports.command import ChatCommand
from hermes.ports.media import Attachments
from hermes.ports.observer import CallMeter
from hermes.ports.operations import OnRecord, off_record
from hermes.ports.provider import Provider
from hermes.ports.search import Search
from hermes.ports.spend import SpendCounters
from hermes.ports.tool import Tool
from hermes.ports.vision import VisionPipeline
from hermes.server.auth import Access
from hermes.tools.mcp.report import Diff


async def no_servers() -> Diff:
    """Reload nothing, where there are no MCP servers."""
    return Diff()


class CoreParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that a core does not make itself; those with a default may be missing."""

    providers: Mapping[str, Provider]
    tools: Mapping[str, Tool]
    channels: Mapping[str, Channel]
    access: Access
    watch: WatchHub
    clock: Clock
    make_id: MakeId
    counter: SpendCounters | None = None
    meter: CallMeter | None = None
    reload_mcp: ReloadMcp = no_servers
    on_record: OnRecord = off_record
    visions: Mapping[str, VisionPipeline] = {}
    plugged: Mapping[str, ChatCommand] = {}
    search: Search | None = None
    media: Attachments | None = None
    comeback: Comeback = ALL_TAKEN_UP
    restart: Restart = cannot_restart
    observer: Observer = NOBODY
    hooks: HookBook | None = None
    # Takes secrets out of what platforms say.
    mask: Callable[[str], str] = str
