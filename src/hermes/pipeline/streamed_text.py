"""What the person has been shown of a call so far: watchers and the platform's preview."""

from typing import Protocol

import structlog

from hermes.calls.continuation import RestOfAnswer
from hermes.errors import StorageFull, StoreError
from hermes.message.reply_tags import TagFilter, visible
from hermes.message.session_key import is_background
from hermes.message.thoughts import ThoughtFilter
from hermes.pipeline.exchange import is_going_on, said_so_far
from hermes.pipeline.needs import ModelJournal, ModelServices, StageContext
from hermes.pipeline.targets import target_of
from hermes.pipeline.turn import Turn
from hermes.ports.channel import Target
from hermes.ports.steps import Lease
from hermes.ports.upward import Preview, Progress

_log = structlog.get_logger(__name__)


class PreviewOpener(Protocol):
    """Shows a reply on its platform while it is written."""

    def can_preview(self, target: Target) -> bool: ...
    async def open(
        self, lease: Lease, *, target: Target, message_id: str, person_id: str
    ) -> Preview: ...


class ShownModelServices(ModelServices, Protocol):
    """What a stage needs that calls a model and shows what it says."""

    @property
    def previewer(self) -> PreviewOpener: ...


class StreamedText:
    """The text of one model call while it streams, behind that of the answer it continues."""

    def __init__(self, turn: Turn, ctx: StageContext[ShownModelServices, ModelJournal]) -> None:
        before = said_so_far(turn) if is_going_on(turn) else ""
        self._turn = turn
        self._ctx = ctx
        self._before = before
        self._rest = RestOfAnswer(before) if before else None
        self._pieces: list[str] = [before] if before else []
        self._preview: Preview | None = None
        self._target = target_of(turn.event)
        self._thoughts = ThoughtFilter()
        self._tags = TagFilter()
        # Whether the platform shows the text while it is written.
        self.previews = is_awaited(turn) and ctx.services.previewer.can_preview(self._target)

    @property
    def text(self) -> str:
        """Everything shown so far."""
        return "".join(self._pieces)

    async def add(self, text: str) -> None:
        """Show more of the answer, without the reasoning."""
        text = self._thoughts.feed(text)
        if self._rest is not None:
            text = self._rest.feed(text)
        if text:
            await self._show(text)

    async def finish(self, whole: str) -> None:
        """Show what was not yet shown of a continued answer, whose call has ended with `whole`."""
        if self._rest is None:
            return
        if not self._rest.has_begun:
            await self.add(whole)
        text = self._rest.close()
        if text:
            await self._show(text)

    async def _show(self, text: str) -> None:
        first = not self._pieces
        self._pieces.append(text)
        watch = self._ctx.services.watch
        if first and watch.text(self._turn.id):
            watch.publish(self._turn.id, Progress(kind="restart"))
        lead = self._take_up() if self._before else ""
        spoken = lead + self._tags.feed(text)
        if spoken:
            watch.publish(self._turn.id, Progress(kind="delta", text=spoken))
        if self.previews:
            await self._update_preview()

    def _take_up(self) -> str:
        """Return the beginning of a continued answer if another process had shown it."""
        spoken, self._before = self._tags.feed(self._before), ""
        return "" if self._ctx.services.watch.text(self._turn.id) else spoken

    async def _update_preview(self) -> None:
        text = visible(self.text)
        if not text:
            return
        lease = self._ctx.journal.lease
        if self._preview is None and lease is not None:
            try:
                self._preview = await self._ctx.services.previewer.open(
                    lease,
                    target=self._target,
                    message_id=self._turn.id,
                    person_id=self._turn.person_id,
                )
            except (StorageFull, StoreError) as error:
                # The answer is worth more than its preview; the commit will say what is wrong.
                self.previews = False
                _log.warning("no_preview", message_id=self._turn.id, problem=str(error))
        if self._preview is not None:
            await self._preview.update(text)

    async def close(self) -> None:
        """Stop showing; the commit decides what stays."""
        if self._preview is not None:
            await self._preview.close()


def is_awaited(turn: Turn) -> bool:
    """Return whether a person waits in the chat: not for scheduled or background turns."""
    is_open = turn.event.scheduled is None and not is_background(turn.lane)
    return is_open and not turn.event.internal
