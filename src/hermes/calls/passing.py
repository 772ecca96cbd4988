"""Which pieces of a candidate's answer pass on to the caller: pure.

Where the caller takes one tool call at a time, later ones are dropped, whether or not the service
knows the wish. What repeats text that was already shown is skipped.
"""

from collections.abc import Iterator

import msgspec

from hermes.calls.continuation import Continuation
from hermes.calls.events import Piece
from hermes.message.parts import Part, ToolCallPart, tool_calls_of
from hermes.ports.provider import CallEnd, TextDelta, ToolCallDelta


class Passing:
    """The answer of one try, on its way to the caller."""

    def __init__(self, continuation: Continuation | None, *, one_call: bool) -> None:
        self._continuation = continuation
        self._one_call = one_call
        self._first: int | None = None
        self.dropped_calls = 0

    def pieces(self, piece: Piece) -> Iterator[Piece]:
        """Yield what passes on once `piece` has come."""
        if self._one_call and isinstance(piece, ToolCallDelta):
            if self._first is None:
                self._first = piece.index
            if piece.index != self._first:
                return
        if self._continuation is None:
            yield piece
        else:
            yield from self._continuation.pieces(piece)

    def rest(self) -> Iterator[Piece]:
        """Yield what was held back, once everything has come."""
        held = self._continuation
        if held is not None and held.is_holding and (text := held.close()):
            yield TextDelta(text)

    def whole(self, end: CallEnd) -> CallEnd:
        """Return the whole answer as far as it passes on; its usage stays what the service said."""
        if self._one_call:
            end = self._with_one_call(end)
        return end if self._continuation is None else self._continuation.joined(end)

    def _with_one_call(self, end: CallEnd) -> CallEnd:
        others = tool_calls_of(end.parts)[1:]
        if not others:
            return end
        self.dropped_calls = len(others)
        kept: list[Part] = []
        has_call = False
        for part in end.parts:
            is_call = isinstance(part, ToolCallPart)
            if not (is_call and has_call):
                kept.append(part)
            has_call = has_call or is_call
        return msgspec.structs.replace(end, parts=tuple(kept), is_verbatim=False)
