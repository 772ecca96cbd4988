"""Orders to the running process: another model by default, and a restart.

What they move is handed in as levers; without a gateway there is little to move.
"""

from collections.abc import Awaitable, Callable, Mapping

import msgspec
import structlog

from hermes.control.sessions import Ended
from hermes.control.status import ChannelStatus
from hermes.control.store_keys import RotationOrder, RotationReport
from hermes.errors import Conflict
from hermes.outbox.traffic import Flow
from hermes.ports.channel import Capabilities

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
# Told which platforms rest from now on.
Rest = Callable[[frozenset[str]], None]
_NOBODY = "No gateway runs, so there is nothing to change: `hermes up` starts one."


def unheard(_lane: str, _reason: str) -> None:
    """Where no gateway runs, nobody hears of the end of a session."""


class RuntimeHandles(msgspec.Struct, frozen=True, kw_only=True):
    """What orders move in a running gateway; where none runs, nothing."""

    platforms: tuple[str, ...] = ()
    channels: Callable[[], tuple[ChannelStatus, ...]] = tuple
    flow: Callable[[str], Flow] = lambda _platform: Flow()
    abilities: Mapping[str, Capabilities] = {}
    rest: Rest = lambda _platforms: None
    session_ended: Ended = unheard
    person_erased: Callable[[str], None] = lambda _person_id: None
    default_model: Callable[[], str] = str
    swap: Swap | None = None
    restart: Restart | None = None
    rotate: Rotate | None = None
    reconnect: Reconnect | None = None

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

    text: str = "It finishes what runs, and restarts."


class ModelOperations:
    """Where orders about the default model arrive."""

    def __init__(self, handles: RuntimeHandles) -> None:
        self._handles = handles

    async def swap(self, order: SwapOrder) -> SwapReport:
        """Let another model answer by default, until the gateway ends."""
        swap = self._handles.swap
        if swap is None:
            raise Conflict(_NOBODY)
        before = self._handles.default_model()
        model, note = await swap(order.model)
        _log.info("model_swapped", model=model, before=before, by=order.by)
        return SwapReport(model=model, before=before, note=note)


class GatewayOperations:
    """Where orders to the process arrive."""

    def __init__(self, handles: RuntimeHandles) -> None:
        self._handles = handles

    async def restart(self, order: RestartOrder) -> RestartReport:
        """Finish what runs and start again."""
        restart = self._handles.restart
        if restart is None:
            raise Conflict(_NOBODY)
        if not restart(f"an operator asked for it ({order.by or 'unnamed'})"):
            raise Conflict("The gateway cannot restart: nothing would start it again.")
        return RestartReport()

    async def rotate_keys(self, order: RotationOrder) -> RotationReport:
        """Give the store a new key, while people are answered."""
        rotate = self._handles.rotate
        if rotate is None:
            raise Conflict(_NOBODY)
        return await rotate(order.by)
