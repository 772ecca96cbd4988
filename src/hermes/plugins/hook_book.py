"""Every hook of a gateway, by the events that it hears of.

Hooks are called in the order of their names. Where there are none, there is no book either.
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
    """Tells hooks of events, and asks those that decide."""

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
        """Let hooks hear of what has happened, and end them."""
        await asyncio.gather(*(worker.stop() for worker in self._workers.values()))

    def hears(self, event: str) -> bool:
        """Tell whether any hook hears of an event."""
        return bool(self._hearing(event))

    def tell(self, event: str, context: Context) -> None:
        """Tell every hook of an event; nobody waits for them."""
        for worker in self._hearing(event):
            worker.tell(event, context)

    def deciding(self, event: str) -> tuple[HookWorker, ...]:
        """Return the hooks whose answers to an event count."""
        return tuple(one for one in self._hearing(event) if one.hook.decides and not one.is_off)

    async def collect(
        self, event: str, context: Context, *, read: Callable[[Any], _T | None]
    ) -> list[tuple[str, _T]]:
        """Tell every hook of an event, and return the answers of those that decide, with names.

        They are asked side by side, so that together they take no longer than the slowest may.
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
        """Return how every hook fares."""
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
