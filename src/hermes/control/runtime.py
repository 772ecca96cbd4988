"""Orders to the running process: its state, its models, its configuration, and a restart.

`RuntimeHandles` is what these orders reach in the gateway; most of it is absent without one.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import msgspec
import structlog

from hermes.control.approvals import TellTool, tell_nobody
from hermes.control.hooks import HooksReport
from hermes.control.mcp import McpLogin, McpLogout
from hermes.control.model_refresh import RefreshOrder, RefreshReport
from hermes.control.models import ModelsReport, RouteReport
from hermes.control.replays import RunReplay
from hermes.control.sessions import Ended
from hermes.control.status import ChannelStatus, StatusReport
from hermes.control.store_keys import RotationOrder, RotationReport
from hermes.control.tokens import SignInLink, SignInLinkOrder
from hermes.errors import Conflict
from hermes.outbox.traffic import Flow
from hermes.ports.channel import Capabilities
from hermes.routing.plan import CallNeeds
from hermes.tools.mcp.report import Diff, McpReport

_log = structlog.get_logger(__name__)
# Makes a model the default from the next turn on; returns its whole name and what to tell of it,
# or raises.
Swap = Callable[[str], Awaitable[tuple[str, str]]]
# Asks the process to restart, for a reason; false where nothing would start it again.
Restart = Callable[[str], bool]
# Gives the store a new key, by the order of somebody.
Rotate = Callable[[str], Awaitable[RotationReport]]
# Makes a platform's connection anew, with the credential that the configuration has now.
Reconnect = Callable[[str], Awaitable[None]]
# Ends the turn of a message, by whom; false if it has ended.
StopTurn = Callable[[str, str], Awaitable[bool]]
# Told which platforms are paused from now on.
Pause = Callable[[frozenset[str]], None]
_Handle = TypeVar("_Handle")
_NOBODY = "No gateway runs, so there is nothing to change: `hermes up` starts one."


def unheard(_lane: str, _reason: str) -> None:
    """Do nothing: without a gateway nobody is notified of the end of a session."""


async def no_home(_platform: str) -> str | None:
    """Return None: without a gateway no platform can be asked."""
    return None


class ReloadReport(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that changed: which of them hold now, and which after a restart.

    `channels` are the platforms that were reconnected because of it.
    """

    applied: tuple[str, ...] = ()
    needs_restart: tuple[str, ...] = ()
    mcp: Diff | None = None
    channels: tuple[ChannelStatus, ...] = ()


class RuntimeHandles(msgspec.Struct, frozen=True, kw_only=True):
    """What orders reach in a running gateway; what is None exists only while one runs.

    `home` describes the home channel of a platform, if it has one. `link` makes a sign-in link for the credential with an id.
    `brief_status` is the status without counts of the store. `written` returns what a running turn has written so far; `stop_turn` ends a message's turn, by the name of who asks.
    """

    platforms: tuple[str, ...] = ()
    channels: Callable[[], tuple[ChannelStatus, ...]] = tuple
    flow: Callable[[str], Flow] = lambda _platform: Flow()
    abilities: Mapping[str, Capabilities] = {}
    home: Callable[[str], Awaitable[str | None]] = no_home
    pause: Pause = lambda _platforms: None
    session_ended: Ended = unheard
    wake_lane: Callable[[str], None] = lambda _lane: None
    tell_tool: TellTool = tell_nobody
    person_erased: Callable[[str], None] = lambda _person_id: None
    default_model: Callable[[], str] = str
    swap: Swap | None = None
    restart: Restart | None = None
    rotate: Rotate | None = None
    reconnect: Reconnect | None = None
    written: Callable[[str], str] = lambda _message_id: ""
    stop_turn: StopTurn | None = None
    status: Callable[[], Awaitable[StatusReport]] | None = None
    brief_status: Callable[[], Awaitable[StatusReport]] | None = None
    reload: Callable[[], Awaitable[ReloadReport]] | None = None
    link: Callable[[SignInLinkOrder, str], Awaitable[SignInLink]] | None = None
    hooks: Callable[[], Awaitable[HooksReport]] | None = None
    models: Callable[[], Awaitable[ModelsReport]] | None = None
    route: Callable[[CallNeeds], Awaitable[RouteReport]] | None = None
    refresh: Callable[[RefreshOrder], Awaitable[RefreshReport]] | None = None
    mcp_status: Callable[[], Awaitable[McpReport]] | None = None
    mcp_reload: Callable[[], Awaitable[Diff]] | None = None
    mcp_login: Callable[[McpLogin], Awaitable[McpReport]] | None = None
    mcp_logout: Callable[[McpLogout], Awaitable[McpReport]] | None = None
    replay: RunReplay | None = None

    @property
    def is_running(self) -> bool:
        """Whether they belong to a gateway that runs."""
        return self.swap is not None


class SwapOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The model that answers where nothing else names one; `default` is what the settings say."""

    model: str
    by: str = ""


class SwapReport(msgspec.Struct, frozen=True, kw_only=True):
    """The model by default now, and the one before; `note` warns of a name that nobody knows."""

    model: str
    before: str
    note: str = ""


class RestartOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish to restart."""

    by: str = ""


class RestartReport(msgspec.Struct, frozen=True, kw_only=True):
    """A restart that has begun."""

    text: str = "The gateway finishes running turns, then restarts."


class ModelOperations:
    """Orders about models of the running gateway."""

    def __init__(self, handles: RuntimeHandles) -> None:
        self._handles = handles

    async def list(self) -> ModelsReport:
        """Return every model service with what it can do, and whether it can be called now."""
        return await _running(self._handles.models)()

    async def names(self) -> tuple[str, ...]:
        """Return every model that answers chats as `provider:model`; none without a gateway."""
        if self._handles.models is None:
            return ()
        models = (await self._handles.models()).models
        return tuple(f"{one.provider}:{one.model}" for one in models if one.chat)

    async def route(self, ask: CallNeeds) -> RouteReport:
        """Return the plan that a call would get now, with its reasons."""
        return await _running(self._handles.route)(ask)

    async def refresh(self, order: RefreshOrder) -> RefreshReport:
        """Ask the services for their own lists of models, and use them from now on."""
        return await _running(self._handles.refresh)(order)

    async def swap(self, order: SwapOrder) -> SwapReport:
        """Change the default model, also over restarts."""
        swap = _running(self._handles.swap)
        before = self._handles.default_model()
        model, note = await swap(order.model)
        _log.info("model_swapped", model=model, before=before, by=order.by)
        return SwapReport(model=model, before=before, note=note)


class GatewayOperations:
    """Orders to the running process."""

    def __init__(self, handles: RuntimeHandles) -> None:
        self._handles = handles

    async def status(self) -> StatusReport:
        """Return the state of the gateway."""
        return await _running(self._handles.status)()

    async def reload(self) -> ReloadReport:
        """Reload the configuration; return what holds now and what needs a restart."""
        return await _running(self._handles.reload)()

    async def link(self, order: SignInLinkOrder, maker: str) -> SignInLink:
        """Return a new sign-in link; it ends with the credential `maker` that asks for it."""
        return await _running(self._handles.link)(order, maker)

    async def hooks(self) -> HooksReport:
        """Return every hook and how its calls went."""
        return await _running(self._handles.hooks)()

    async def mcp_status(self) -> McpReport:
        """Return the state of every MCP server."""
        return await _running(self._handles.mcp_status)()

    async def mcp_reload(self) -> Diff:
        """Read the MCP servers of the configuration again; return what changed."""
        return await _running(self._handles.mcp_reload)()

    async def mcp_login(self, login: McpLogin) -> McpReport:
        """Keep the tokens of a login at an MCP server's issuer, sealed, and connect the server."""
        return await _running(self._handles.mcp_login)(login)

    async def mcp_logout(self, logout: McpLogout) -> McpReport:
        """Forget the tokens of an MCP server."""
        return await _running(self._handles.mcp_logout)(logout)

    async def restart(self, order: RestartOrder) -> RestartReport:
        """Finish what runs and start again."""
        restart = _running(self._handles.restart)
        if not restart(f"an operator asked for it ({order.by or 'unnamed'})"):
            raise Conflict("The gateway cannot restart: nothing would start it again.")
        return RestartReport()

    async def rotate_keys(self, order: RotationOrder) -> RotationReport:
        """Give the store a new key, while people are answered."""
        return await _running(self._handles.rotate)(order.by)


def _running(handle: _Handle | None) -> _Handle:
    """Return a handle of the running gateway; raises `Conflict` if none runs."""
    if handle is None:
        raise Conflict(_NOBODY)
    return handle
