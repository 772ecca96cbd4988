"""Which pieces of a candidate's answer reach the caller. Pure.

If the caller takes one tool call at a time, later ones are dropped, even if the service ignores
that option. A thought before a dropped call is dropped too: services refuse a thought at the end. A
repeat of text that was already shown is skipped.
"""

from collections.abc import Iterable, Iterator

import msgspec

from hermes.calls.continuation import Continuation
from hermes.calls.events import Piece
from hermes.message.parts import Part, ReasoningPart, ToolCallPart, tool_calls_of
from hermes.ports.provider import CallEnd, ModelName, ReasoningDelta, ToolCallDelta


class ShownPieces:
    """Filters the answer of one try."""

    def __init__(self, continuation: Continuation | None, *, one_call: bool) -> None:
        self._continuation = continuation
        self._one_call = one_call
        self._first: int | None = None
        self._thoughts: list[ReasoningDelta] = []
        self._has_dropped = False
        self.dropped_calls = 0

    def pieces(self, piece: Piece | ModelName) -> Iterable[Piece | ModelName]:
        """Return what is shown after `piece` has arrived: nearly always the piece itself."""
        if isinstance(piece, ModelName):
            return (piece,)
        return self._of_one_call(piece) if self._one_call else self._continued(piece)

    def rest(self, end: CallEnd) -> Iterator[Piece]:
        """Yield what was held back, after everything has arrived."""
        if not self._has_dropped:
            yield from self._thoughts
        held = self._continuation
        if held is not None and held.is_holding:
            yield from held.close(end)

    def _of_one_call(self, piece: Piece) -> Iterator[Piece]:
        """Drop later calls; hold thoughts after the first until it is clear what follows."""
        if isinstance(piece, ToolCallDelta):
            if self._first is None:
                self._first = piece.index
            if piece.index != self._first:
                self._has_dropped = True
                self._thoughts.clear()
                return
        elif isinstance(piece, ReasoningDelta):
            if self._first is not None:
                self._thoughts.append(piece)
                return
        elif piece.text:
            yield from self._thoughts
            self._thoughts.clear()
        yield from self._continued(piece)

    def _continued(self, piece: Piece) -> Iterable[Piece]:
        return (piece,) if self._continuation is None else self._continuation.pieces(piece)

    def whole(self, end: CallEnd) -> CallEnd:
        """Return the whole filtered answer; its usage stays what the service reported."""
        if self._one_call:
            end = self._with_one_call(end)
        return end if self._continuation is None else self._continuation.joined(end)

    def _with_one_call(self, end: CallEnd) -> CallEnd:
        others = tool_calls_of(end.parts)[1:]
        if not others:
            return end
        self.dropped_calls = len(others)
        kept: list[Part] = []
        thoughts: list[Part] = []
        has_call = False
        for part in end.parts:
            if has_call and isinstance(part, ToolCallPart):
                thoughts.clear()
            elif has_call and isinstance(part, ReasoningPart):
                thoughts.append(part)
            else:
                kept += [*thoughts, part]
                thoughts.clear()
            has_call = has_call or isinstance(part, ToolCallPart)
        return msgspec.structs.replace(end, parts=tuple(kept), is_verbatim=False)
