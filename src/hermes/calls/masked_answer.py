"""Masks stored secrets in the answer of a model, piece by piece and as a whole.

What may be the beginning of a secret is held back until more of the answer has arrived. The arguments
of tool calls stay as the model wrote them, and so do thoughts that only their service may change.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from hermes.agents.secret_mask import SecretMask, StreamedMask
from hermes.calls.events import Piece
from hermes.message.parts import Part, ReasoningPart, TextPart
from hermes.ports.provider import CallEnd, ModelName, ReasoningDelta, TextDelta

_Shown = Piece | ModelName
_Next = Callable[[_Shown], Iterable[_Shown]]


class MaskedAnswer:
    """The answer of one try without secrets."""

    def __init__(self, mask: SecretMask) -> None:
        self._mask = mask
        self._text = StreamedMask(mask)
        self._thought = StreamedMask(mask)

    def pieces(self, piece: _Shown, then: _Next) -> Iterable[_Shown]:
        """Return what `then` makes of what can be shown after `piece` has arrived."""
        # Nearly always, and for every piece of every answer.
        if self._mask.is_empty:
            return then(piece)
        return (one for safe in self._masked(piece) for one in then(safe))

    def rest(self, then: _Next) -> Iterator[_Shown]:
        """Yield what `then` makes of what was held back, after everything has arrived."""
        for piece in self._held():
            yield from then(piece)

    def _held(self) -> Iterator[Piece]:
        if thought := self._thought.close():
            yield ReasoningDelta(thought)
        if text := self._text.close():
            yield TextDelta(text)

    def whole(self, end: CallEnd) -> CallEnd:
        """Return the whole answer without secrets; it is no faithful sample then."""
        if self._mask.is_empty:
            return end
        parts = tuple(map(self._part, end.parts))
        refusal = None if end.refusal is None else self._mask.text(end.refusal)
        if (parts, refusal) == (end.parts, end.refusal):
            return end
        return msgspec.structs.replace(
            end, parts=parts, refusal=refusal, is_verbatim=False, logprobs=()
        )

    def _masked(self, piece: _Shown) -> Iterator[_Shown]:
        if isinstance(piece, TextDelta):
            if piece.starts_part:
                yield from self._held()
            text = self._text.feed(piece.text)
            if text == piece.text:
                yield piece
            elif text:
                yield msgspec.structs.replace(piece, text=text, logprobs=())
        elif isinstance(piece, ReasoningDelta):
            text = self._thought.feed(piece.text)
            if piece.signature or piece.sealed or piece.whole:
                text += self._thought.close()
            if text == piece.text:
                yield piece
            elif text or piece.signature or piece.sealed or piece.whole:
                yield msgspec.structs.replace(piece, text=text)
        else:
            yield from self._held()
            yield piece

    def _part(self, part: Part) -> Part:
        if isinstance(part, TextPart):
            return TextPart(self._mask.text(part.text))
        if isinstance(part, ReasoningPart) and part.signature is None and part.sealed is None:
            return msgspec.structs.replace(part, text=self._mask.text(part.text))
        return part
