"""What the person has been shown of a call so far: watchers and the platform's preview."""

import structlog

from hermes.errors import StorageFull, StoreError
from hermes.message.session_key import is_background
from hermes.pipeline.services import TurnContext
from hermes.pipeline.targets import target_of
from hermes.pipeline.turn import Turn
from hermes.ports.upward import Preview, Progress

_log = structlog.get_logger(__name__)


class Shown:
    """The text of one model call while it streams."""

    def __init__(self, turn: Turn, ctx: TurnContext) -> None:
        self._turn = turn
        self._ctx = ctx
        self._pieces: list[str] = []
        self._preview: Preview | None = None
        self._target = target_of(turn.event)
        # Nobody waits for a scheduled turn or one in the background, and it may go elsewhere.
        is_awaited = turn.event.scheduled is None and not is_background(turn.lane)
        is_seen = is_awaited and not turn.event.internal
        self._previews = is_seen and ctx.services.previewer.can_preview(self._target)

    @property
    def text(self) -> str:
        """Everything shown so far."""
        return "".join(self._pieces)

    async def add(self, text: str) -> None:
        """Show more."""
        first = not self._pieces
        self._pieces.append(text)
        watch = self._ctx.services.watch
        if first and watch.text(self._turn.id):
            watch.publish(self._turn.id, Progress(kind="restart"))
        watch.publish(self._turn.id, Progress(kind="delta", text=text))
        if self._previews:
            await self._update_preview()

    async def _update_preview(self) -> None:
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
                self._previews = False
                _log.warning("no_preview", message_id=self._turn.id, problem=str(error))
        if self._preview is not None:
            await self._preview.update(self.text)

    async def close(self) -> None:
        """Stop showing; the commit decides what stays."""
        if self._preview is not None:
            await self._preview.close()
