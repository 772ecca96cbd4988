"""The tool port: something a model may ask to have done."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from hermes.ports.provider import ToolSpec


class ToolTraits(msgspec.Struct, frozen=True, kw_only=True):
    """What the core must know to run a tool safely; the defaults are the cautious ones.

    Only tools that are all `parallel` run side by side, and none that `needs_approval`. Only an
    `idempotent` one is repeated when its result was lost. Only a `cancellable` one ends early when
    the person stops the turn. One that names `intents` is sent to the model for messages that have
    one of them; one that names none is sent with every message that is not trivial.
    """

    idempotent: bool = False
    cancellable: bool = False
    needs_approval: bool = False
    parallel: bool = False
    timeout_s: float | None = None
    intents: tuple[str, ...] = ()

    @property
    def runs_beside_others(self) -> bool:
        """Tell whether it may run while other such tools do."""
        return self.parallel and not self.needs_approval


RunChild = Callable[[str, str], Awaitable[str]]


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a running tool may know; `run_child` runs a subagent's turn and returns its reply."""

    turn_id: str
    ordinal: int
    person_id: str
    lane: str
    run_child: RunChild


class Tool(Protocol):
    """One tool."""

    @property
    def spec(self) -> ToolSpec:
        """What the model is told."""
        ...

    @property
    def traits(self) -> ToolTraits:
        """How it may be run."""
        ...

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        """Do it and return the text for the model; raise `ToolError` for a failure to report."""
        ...
