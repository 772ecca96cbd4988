"""What the layers below tell about their work: which turn a line belongs to, and each model call.

Whoever listens lives in `ops`; a teller never waits for a listener and never fails because of one.
"""

from contextvars import ContextVar
from typing import Protocol

from hermes.message.reply import Usage

# The message whose turn the running task works on; log lines carry it.
current_turn: ContextVar[str] = ContextVar("current_turn", default="")


class CallMeter(Protocol):
    """Is notified of every model call, whoever asked for it; `backend` is `provider:model`."""

    def called(self, backend: str, tier: str | None, *, usage: Usage, seconds: float) -> None:
        """A call has ended and was paid for."""
        ...

    def cached(self, backend: str, tier: str | None) -> None:
        """An answer was given again, and no model called."""
        ...

    def failed(self, backend: str, tier: str | None) -> None:
        """A call has ended without an answer."""
        ...


class NoMeter:
    """Fits `CallMeter`: nobody counts."""

    def called(self, backend: str, tier: str | None, *, usage: Usage, seconds: float) -> None:
        """Count nothing."""

    def cached(self, backend: str, tier: str | None) -> None:
        """Count nothing."""

    def failed(self, backend: str, tier: str | None) -> None:
        """Count nothing."""
