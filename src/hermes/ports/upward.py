"""What the core needs from parts that it must not import; `app` passes them in."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from hermes.message.outcome import BusyPolicy, Outcome
from hermes.ports.channel import Target
from hermes.ports.steps import Lease
from hermes.ports.turns import TurnResult


class Progress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened in a running turn, for whoever watches it.

    `kind` is one of: snapshot (text so far), restart (a new answer begins, forget the text so
    far), delta, tool, status, question (a tool asks the person, and waits), settled (it no longer
    does), parked, done, stopping (this process ends; ask again later).
    """

    kind: str
    text: str = ""
    outcome: Outcome | None = None
    result: TurnResult | None = None


class Watch(Protocol):
    """Publishes progress of running turns to watchers (in memory only)."""

    def publish(self, message_id: str, progress: Progress) -> None:
        """Tell everyone who watches this message."""
        ...

    def text(self, message_id: str) -> str:
        """Return the text that a running turn has shown so far."""
        ...

    def subscribe(self, message_id: str) -> AsyncIterator[Progress]:
        """Yield a snapshot, then everything until `done` or `parked`."""
        ...


class Preview(Protocol):
    """A reply that is shown while it is being written."""

    async def update(self, text: str) -> None:
        """Show the text so far; bounded in rate, never fails the turn."""
        ...

    async def close(self) -> None:
        """Stop showing; the commit decides what the row becomes."""
        ...


class Previewer(Protocol):
    """Opens previews on platforms that can show them."""

    def can_preview(self, target: Target) -> bool:
        """Return whether the target's platform shows previews."""
        ...

    def working(self, target: Target) -> AbstractAsyncContextManager[object]:
        """Return a block that shows, where the platform can, that an answer is worked on."""
        ...

    async def open(
        self, lease: Lease, *, target: Target, message_id: str, person_id: str
    ) -> Preview:
        """Open (or, on resume, continue) the preview of a message's reply."""
        ...


class Wake(Protocol):
    """Told that there is something new to do; losing a call only delays it."""

    def arrived(self, lane: str, *, message_id: str, busy: BusyPolicy) -> None:
        """Handle a new message on a lane."""
        ...
