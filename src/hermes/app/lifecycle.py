"""Start, drain and stop: ordered components, and an exit stack that releases resources.

A failed start releases everything taken before it. A stop continues after an error, so that one
failing component does not keep another open; the first error is raised at the end.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack

import msgspec
import structlog

_log = structlog.get_logger(__name__)
# One step of a component's lifecycle; it may be a coroutine function.
Step = Callable[[], Awaitable[object] | object]
# Called after every step with its name, such as "start server"; tests make a step fail here.
Checkpoint = Callable[[str], None]


def no_checkpoint(_step: str) -> None:
    """Do nothing after a step."""


def nothing() -> None:
    """Do nothing in this step."""


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the gateway with a lifecycle; `stop` must be safe before `start` and after it
    failed.
    """

    name: str
    start: Step = nothing
    drain: Step = nothing
    stop: Step = nothing


class Components(msgspec.Struct, frozen=True, kw_only=True):
    """The same components in start, drain and stop order."""

    start: tuple[Component, ...]
    drain: tuple[Component, ...]
    stop: tuple[Component, ...]


class Lifecycle:
    """Owns the resources of a gateway; the last one taken is released first."""

    def __init__(self, checkpoint: Checkpoint = no_checkpoint) -> None:
        self._checkpoint = checkpoint
        self._stack = AsyncExitStack()
        self._components = Components(start=(), drain=(), stop=())
        self._errors: list[BaseException] = []

    def own(self, name: str, release: Step) -> None:
        """Call `release` at the end, before everything that is already owned."""
        self._stack.push_async_callback(self.attempt, f"stop {name}", release)
        self._checkpoint(f"take {name}")

    def add(self, components: Components) -> None:
        """Own components; they stop before everything that is already owned."""
        for one in reversed(components.stop):
            self._stack.push_async_callback(self.attempt, f"stop {one.name}", one.stop)
        self._components = components

    async def start(self) -> None:
        """Start the components; raise what a start raised."""
        for one in self._components.start:
            await _call(one.start)
            self._checkpoint(f"start {one.name}")

    async def drain(self) -> None:
        """Let running work finish; keep errors for `stop`."""
        for one in self._components.drain:
            await self.attempt(f"drain {one.name}", one.drain)

    async def stop(self) -> None:
        """Stop and release everything; raise the first error of the drain and the stop."""
        await self.abort()
        if self._errors:
            raise self._errors[0]

    async def abort(self) -> None:
        """Stop and release everything after an error that is raised anyway."""
        await self._stack.aclose()

    async def attempt(self, name: str, step: Step) -> None:
        """Run a step of the shutdown; log an error and keep it for `stop`."""
        try:
            await _call(step)
            self._checkpoint(name)
        # Boundary: whatever one component raises, even a cancellation, the others are stopped.
        except BaseException as error:  # noqa: BLE001
            _log.exception("component_failed", step=name)
            self._errors.append(error)


async def stop_all(steps: Iterable[Awaitable[object]]) -> None:
    """Wait for all of them, even if some fail; raise the first error."""
    errors = [
        one
        for one in await asyncio.gather(*steps, return_exceptions=True)
        if isinstance(one, BaseException)
    ]
    if errors:
        raise errors[0]


async def _call(step: Step) -> None:
    made = step()
    if inspect.isawaitable(made):
        await made
