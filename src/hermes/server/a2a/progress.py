"""Turns the progress of a turn into events of its task. Pure, but for the clock."""

from collections.abc import Iterator

from a2a.server.events import Event
from a2a.types import a2a_pb2 as pb

from hermes.ports.clock import Clock
from hermes.ports.turns import TurnResult
from hermes.ports.upward import Progress
from hermes.server.a2a.tasks import (
    COMPLETED,
    INPUT_REQUIRED,
    WORKING,
    state_of_outcome,
    status_event,
    text_event,
)

_NO_RESULT = TurnResult(text="")


class ReplyEvents:
    """The events of one task, of which the text so far is known."""

    def __init__(self, task_id: str, context_id: str, *, clock: Clock) -> None:
        self._ids = (task_id, context_id)
        self._clock = clock
        self._text = ""
        self._is_working = False
        self.has_ended = False

    def hear(self, progress: Progress) -> Iterator[Event]:
        """Yield what a progress event is to the caller."""
        kind = progress.kind
        if kind == "restart":
            # What follows replaces what was shown.
            self._text = ""
        elif kind in ("delta", "snapshot") and progress.text:
            yield from self._begun()
            yield self._more(progress.text)
        elif kind in ("tool", "status"):
            yield from self._begun()
        elif kind in ("question", "parked"):
            self.has_ended = True
            text = progress.text or (progress.result or _NO_RESULT).text
            yield self._status(INPUT_REQUIRED, text)
        elif kind == "done":
            self.has_ended = True
            yield from self._end(progress)
        elif kind == "stopping":
            # The turn goes on in the next process: the caller subscribes again.
            self.has_ended = True

    def _begun(self) -> Iterator[Event]:
        if not self._is_working:
            self._is_working = True
            yield self._status(WORKING, "")

    def _more(self, text: str) -> Event:
        append = bool(self._text)
        self._text += text
        return text_event(*self._ids, text=text, append=append)

    def _end(self, progress: Progress) -> Iterator[Event]:
        state, result = state_of_outcome(progress.outcome), progress.result or _NO_RESULT
        if state != COMPLETED:
            yield self._status(state, result.text)
            return
        append = bool(self._text) and result.text.startswith(self._text)
        rest = result.text[len(self._text) :] if append else result.text
        yield text_event(*self._ids, text=rest, append=append, last=True)
        yield self._status(COMPLETED, "")

    def _status(self, state: pb.TaskState, text: str) -> Event:
        return status_event(*self._ids, state=state, text=text, at=self._clock.now())
