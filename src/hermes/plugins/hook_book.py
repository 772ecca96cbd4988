"""All hooks of a gateway, by the events they subscribe to.

Hooks are called in the order of their names. Without hooks there is no book.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hermes.errors import ConfigurationError
from hermes.plugins.hook_worker import HookLimits, HookReport, HookWorker
from hermes.ports.hooks import COMMAND, Context, Hook, expand

_ALL_COMMANDS = f"{COMMAND}*"
_T = TypeVar("_T")


class HookBook:
    """Sends events to hooks, and asks those that decide."""

    def __init__(self, hooks: Iterable[Hook], *, limits: HookLimits) -> None:
        self._workers: dict[str, HookWorker] = {}
        for hook in hooks:
            known = self._workers.setdefault(hook.name, HookWorker(hook, limits=limits))
            if known.hook is not hook:
                raise ConfigurationError(
                    f"two hooks are named {hook.name!r}: {known.hook.place} and {hook.place}; "
                    "rename one of them, or remove it"
                )
        self._by_event: dict[str, tuple[HookWorker, ...]] = {}
        for name in sorted(self._workers):
            worker = self._workers[name]
            for event in expand(worker.hook.events):
                self._by_event[event] = (*self._by_event.get(event, ()), worker)

    async def stop(self) -> None:
        """Let hooks process the events that are queued, then stop them."""
        await asyncio.gather(*(worker.stop() for worker in self._workers.values()))

    def hears(self, event: str) -> bool:
        """Return whether any hook subscribes to an event."""
        return bool(self._hearing(event))

    def tell(self, event: str, context: Context) -> None:
        """Send an event to every subscribed hook; nobody waits for them."""
        for worker in self._hearing(event):
            worker.tell(event, context)

    def deciding(self, event: str) -> tuple[HookWorker, ...]:
        """Return the hooks whose answers to an event count."""
        return tuple(one for one in self._hearing(event) if one.hook.decides and not one.is_off)

    async def collect(
        self, event: str, context: Context, *, read: Callable[[Any], _T | None]
    ) -> list[tuple[str, _T]]:
        """Send an event to every hook; return the answers of those that decide, with names.

        They are asked in parallel, so that together they take no longer than the slowest may.
        """
        deciding = self.deciding(event)
        for worker in self._hearing(event):
            if not worker.hook.decides:
                worker.tell(event, context)
        answers = await asyncio.gather(
            *(worker.ask(event, context, read=read) for worker in deciding)
        )
        return [
            (worker.hook.name, answer)
            for worker, answer in zip(deciding, answers, strict=True)
            if answer is not None
        ]

    def report(self) -> tuple[HookReport, ...]:
        """Return the state of every hook."""
        return tuple(self._workers[name].report() for name in sorted(self._workers))

    def _hearing(self, event: str) -> tuple[HookWorker, ...]:
        exact = self._by_event.get(event, ())
        if not event.startswith(COMMAND):
            return exact
        every = self._by_event.get(_ALL_COMMANDS, ())
        if not exact or not every:
            return exact or every
        both = {worker.hook.name: worker for worker in (*exact, *every)}
        return tuple(both[name] for name in sorted(both))
