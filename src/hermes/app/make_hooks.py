"""The hooks of a gateway: found in the home, in plugins and packages, and connected to events."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog

from hermes import __version__
from hermes.config import Settings
from hermes.config.findings import raise_all
from hermes.config.hook_files import read_hook_files
from hermes.control.hooks import HooksReport
from hermes.ops.gateway_metrics import GatewayMetrics
from hermes.ops.metrics import MetricReader, Reading
from hermes.plugins.hook_book import HookBook
from hermes.plugins.hook_loader import installed_hooks, load_hook
from hermes.plugins.hook_worker import HookLimits, HookReport
from hermes.plugins.registry import Registry
from hermes.ports.hooks import SHUTDOWN, STARTUP, Hook

_log = structlog.get_logger(__name__)


def make_hooks(settings: Settings, registry: Registry, *, home: Path) -> HookBook | None:
    """Return the hooks of a gateway, or None if there are none."""
    chosen = settings.hooks
    if not chosen.enabled:
        return None
    hooks = [*_of_folders(home), *registry.hooks.values()]
    if chosen.entry_points:
        hooks += installed_hooks()
    if not hooks:
        return None
    limits = HookLimits(timeout_s=chosen.timeout_s, queue=chosen.queue, failures=chosen.failures)
    book = HookBook(hooks, limits=limits)
    _log.info("hooks", names=[one.name for one in book.report()])
    return book


class GatewayHooks:
    """The hooks of a gateway during its life; without hooks it does nothing.

    Their error texts are masked: they come from other people's code.
    """

    def __init__(self, book: HookBook | None, *, mask: Callable[[str], str] = str) -> None:
        self.book = book
        self._mask = mask

    def started(self, address: str) -> None:
        """Notify hooks that the gateway runs."""
        if self.book is not None:
            self.book.tell(STARTUP, {"version": __version__, "address": address})

    def ending(self, reason: str) -> None:
        """Notify hooks that the gateway stops; they are notified of its last turns after this."""
        if self.book is not None:
            self.book.tell(SHUTDOWN, {"version": __version__, "reason": reason})

    async def stop(self) -> None:
        """Deliver pending events to hooks, and end them."""
        if self.book is not None:
            await self.book.stop()

    def off(self) -> tuple[str, ...]:
        """Return the disabled hooks, each with its last error."""
        return tuple(
            f"{one.name} ({one.last_error})" for one in self._report() if one.state == "off"
        )

    async def report(self) -> HooksReport:
        """Return the state of every hook."""
        return HooksReport(running=True, hooks=self._report())

    def count_in(self, metrics: GatewayMetrics) -> None:
        """Count the calls of hooks by their outcome."""
        if self.book is not None:
            text = "Calls of hooks by their outcome."
            labels = ("hook", "result")
            metrics.include(
                MetricReader("hook_calls", text, labels=labels, read=self._read, kind="counter")
            )

    def _report(self) -> tuple[HookReport, ...]:
        reports = () if self.book is None else self.book.report()
        return tuple(
            one
            if one.last_error is None
            else msgspec.structs.replace(one, last_error=self._mask(one.last_error))
            for one in reports
        )

    def _read(self) -> Reading:
        return [
            ((one.name, result), float(count))
            for one in self._report()
            for result, count in (
                ("done", one.runs - one.failures),
                ("failed", one.failures),
                ("dropped", one.dropped),
            )
        ]


def _of_folders(home: Path) -> list[Hook]:
    files, problems = read_hook_files(home)
    if problems:
        raise_all(problems)
    return [load_hook(file, home=home) for file in files]
