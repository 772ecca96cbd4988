"""How the next candidate continues an answer that was partly shown. Pure.

A candidate that supports prefill continues the shown text directly. Every other candidate is asked
to repeat it, and what it repeats word for word is skipped. Text that does neither is never appended
to the shown part: it could say the same things twice. So the first text of a prefilled candidate is
held back until it is clear that the answer does not start over.

An answer that reached its length limit is continued by a call of its own (`RestOfAnswer`): a model
that had to repeat the text would reach the limit again.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import takewhile

import msgspec

from hermes.calls.events import Piece
from hermes.errors import StreamTruncated
from hermes.message.chat import ChatMessage, user_text
from hermes.message.continuations import WINDOW_CHARS, repeated_chars, rest_of
from hermes.message.parts import Part, TextPart, text_of, tool_calls_of
from hermes.ports.provider import (
    CallEnd,
    ModelRequest,
    ProviderInfo,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)

REPEAT = (
    "Your answer was cut off. Write it again from its first word: repeat what you have written"
    " exactly, word for word, then continue it to its end. Do not comment on it."
)
# Whitespace may differ from what was shown; any other difference makes it another text.
_SLACK_CHARS = 256
# An answer that starts over is recognised by its first words; a script without spaces has long
# words.
_OPENING_WORDS = 4
_OPENING_CHARS = 24
# Or by a sequence of words near its beginning: models differ in the sentence before the answer.
_ROW_WORDS = 8
# An answer starts over at once or after a sentence about it, within this many characters; only this
# much can be held back.
_WINDOW_CHARS = WINDOW_CHARS
_WORD = re.compile(r"[^\W_]+")


def takes_prefill(info: ProviderInfo, model: str, *, shown: str) -> bool:
    """Return whether a model continues `shown` if that is the last message.

    A few words are not prefilled but repeated: it would be unclear whether the answer starts over.
    """
    can_tell = _opening(shown) is not None
    return can_tell and any(fnmatchcase(model, pattern) for pattern in info.prefill_models)


def continuing(request: ModelRequest, shown: str, *, prefill: bool) -> ModelRequest:
    """Return the request for the rest of an answer that begins with `shown`."""
    if not shown.strip():
        return request
    messages = request.messages
    # Services refuse, or fail on, a prefill that ends with whitespace.
    said: tuple[Part, ...] = (TextPart(shown.rstrip() if prefill else shown),)
    if messages and messages[-1].role == "assistant":
        messages, said = messages[:-1], (*messages[-1].parts, *said)
    asked = () if prefill else (user_text(REPEAT),)
    return msgspec.structs.replace(
        request,
        messages=(*messages, ChatMessage("assistant", said), *asked),
        schema=None,
        plain_chars=None,
        prefill=prefill,
        # A thought would have to come before the text that is already there.
        reasoning=None if prefill else request.reasoning,
    )


class Continuation:
    """Separates a candidate's new text from its repeat of `shown`; holds text until it is clear.

    With `prefill`, text that is not a repeat continues the shown text unless the answer starts
    over. Everything else raises `StreamTruncated`.
    """

    def __init__(self, shown: str, *, prefill: bool, name: str) -> None:
        self._shown = shown
        self._may_differ = prefill
        self._may_repeat = True
        self._name = name
        self._match = _Match(shown)
        self._held: list[str] = []
        self._held_chars = 0
        self._thoughts: list[ReasoningDelta] = []
        # After only whitespace no word can be repeated.
        self._is_first = not shown.strip()
        self._skipped: int | None = 0 if self._is_first else None

    @property
    def is_holding(self) -> bool:
        """Whether text is held back because it may not be new."""
        return self._skipped is None and self._held_chars > 0

    def pieces(self, piece: Piece) -> Iterator[Piece]:
        """Yield what may be shown after `piece` has arrived."""
        if self._skipped is not None:
            yield piece
        elif isinstance(piece, TextDelta):
            yield from self._released(self._feed(piece.text))
        elif isinstance(piece, ToolCallDelta):
            yield from self._released(self._end(is_cut=False))
            yield piece
        else:
            # A thought that was shown could not be taken back if another answer follows it.
            self._thoughts.append(piece)

    def close(self, end: CallEnd) -> Iterator[Piece]:
        """Yield the held text that turned out to be new: no more text comes."""
        if self._skipped is None:
            yield from self._released(self._end(is_cut=_is_cut(end)))

    def _released(self, text: str) -> Iterator[Piece]:
        if self._skipped is None:
            return
        yield from self._thoughts
        if text:
            yield TextDelta(text)

    def joined(self, end: CallEnd) -> CallEnd:
        """Return the whole answer: the text shown before, and what is new in `end`."""
        if self._skipped is None:
            # None of it was shown in pieces.
            self._feed(text_of(end.parts))
            if self._skipped is None:
                self._end(is_cut=_is_cut(end))
        if not (self._is_first or text_of(end.parts).strip() or tool_calls_of(end.parts)):
            raise StreamTruncated(
                f"{self._name} wrote nothing to continue the interrupted answer;"
                " the answer is not whole"
            )
        left, said = self._skipped or 0, self._shown
        parts: list[Part] = []
        for part in end.parts:
            if not isinstance(part, TextPart):
                parts.append(part)
                continue
            skipped = min(left, len(part.text))
            left -= skipped
            if rest := part.text[skipped:]:
                parts.append(TextPart(rest))
        first = parts[0] if parts else None
        if isinstance(first, TextPart):
            said += first.text
            del parts[0]
        # The tokens of what was shown before belong to another model.
        return msgspec.structs.replace(
            end, parts=(TextPart(said), *parts), is_verbatim=False, logprobs=()
        )

    def _feed(self, text: str) -> str:
        """Take more text while it is unclear what it is; return the new part of it."""
        self._held.append(text)
        self._held_chars += len(text)
        if self._may_repeat:
            repeated = self._match.take(text)
            if repeated == len(text) and self._held_chars <= 2 * len(self._shown) + _SLACK_CHARS:
                return ""
            if repeated is not None and repeated < len(text):
                self._skipped = self._held_chars - len(text) + repeated
                return text[repeated:]
            self._may_repeat = False
        if self._may_differ and self._held_chars < _WINDOW_CHARS:
            return ""
        return self._other(is_cut=False)

    def _end(self, *, is_cut: bool) -> str:
        """Return what is new in the held text, now that it is complete."""
        if self._may_repeat and self._match.is_whole:
            self._skipped = self._held_chars
            return ""
        return self._other(is_cut=is_cut)

    def _other(self, *, is_cut: bool) -> str:
        """Return text that is not a repeat; raise if it cannot be the continuation either."""
        held = "".join(self._held)
        if not self._may_differ or _begins_again(self._shown, held, is_cut=is_cut):
            raise StreamTruncated(
                f"{self._name} began another answer instead of continuing the interrupted one;"
                " the answer is not whole"
            )
        self._held.clear()
        # The white space at the end of what was shown was not sent, so the model may write it.
        trimmed = self._shown[len(self._shown.rstrip()) :]
        pairs = zip(held, trimmed, strict=False)
        self._skipped = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return held[self._skipped :]


class RestOfAnswer:
    """Shows what a call adds to an answer that reached its length limit, without repeated words.

    Raises `StreamTruncated` if the model starts over: its text would say the same things twice.
    """

    def __init__(self, before: str) -> None:
        self._before = before
        self._held: list[str] | None = []

    @property
    def has_begun(self) -> bool:
        """Whether any text has arrived."""
        return self._held is None or bool(self._held)

    def feed(self, text: str) -> str:
        """Take more text; return what is new in it, once that is clear."""
        if self._held is None:
            return text
        self._held.append(text)
        held = "".join(self._held)
        return self._new(held) if len(held) >= _WINDOW_CHARS else ""

    def close(self) -> str:
        """Return the new text that was held back: no more comes."""
        return "" if self._held is None else self._new("".join(self._held))

    def _new(self, held: str) -> str:
        self._held = None
        repeats = repeated_chars(self._before, held) is not None
        if not repeats and _begins_again(self._before, held, is_cut=False):
            raise StreamTruncated("the model began its answer again instead of continuing it")
        return rest_of(self._before, held)


def _is_cut(end: CallEnd) -> bool:
    return end.stop_reason in ("length", "refusal")


def _plain(text: str) -> str:
    """Return the words of a text, without case, punctuation and whitespace."""
    return " ".join(_WORD.findall(text.casefold()))


def _opening(shown: str) -> str | None:
    """Return the first words of a text, or None if there are too few to recognise it."""
    words = _plain(shown[:_WINDOW_CHARS]).split()
    opening = " ".join(words[:_OPENING_WORDS])[:_OPENING_CHARS]
    is_enough = len(words) >= _OPENING_WORDS or len(opening) == _OPENING_CHARS
    return opening if is_enough else None


def _rows(shown: str) -> Iterator[str]:
    words = _plain(shown[:_WINDOW_CHARS]).split()
    for at in range(len(words) - _ROW_WORDS + 1):
        yield " ".join(words[at : at + _ROW_WORDS])


def _begins_again(shown: str, said: str, *, is_cut: bool) -> bool:
    """Return whether the answer starts over near the beginning of `said`.

    With `is_cut`, the text may end inside the opening: then its last line is checked.
    """
    opening = _opening(shown)
    if opening is None:
        return False
    heard = f" {_plain(said[:_WINDOW_CHARS])}"
    if f" {opening}" in heard or any(f" {row}" in heard for row in _rows(shown)):
        return True
    tail = said[-_WINDOW_CHARS:].strip()
    last = _plain(tail[max(tail.rfind("\n"), tail.rfind(":")) + 1 :])
    return is_cut and bool(last) and opening.startswith(last)


class _Match:
    """How far a text repeats `wanted` word for word; all whitespace is equal."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted
        self._at = 0
        self._is_between = True  # behind white space, or at the beginning

    @property
    def is_whole(self) -> bool:
        """Whether every word of `wanted` was repeated."""
        return not self._wanted[self._at :].strip()

    def take(self, text: str) -> int | None:
        """Return how many characters of `text` belong to the repeat; None if it differs."""
        if text and self._wanted.startswith(text, self._at) and not text[-1].isspace():
            self._at += len(text)
            self._is_between = False
            return len(text)
        for place, letter in enumerate(text):
            if letter.isspace():
                if not self._take_space():
                    return place if self._at == len(self._wanted) else None
            elif self._at == len(self._wanted):
                return place
            elif not self._take_letter(letter):
                return None
        return len(text)

    def _take_space(self) -> bool:
        """Take whitespace, and whitespace that follows it."""
        if self._is_between:
            return True
        self._is_between = self._skip_space()
        return self._is_between

    def _take_letter(self, letter: str) -> bool:
        if not self._at:
            self._skip_space()
        is_same = self._wanted[self._at] == letter
        self._at += is_same
        self._is_between = False
        return is_same

    def _skip_space(self) -> bool:
        start = self._at
        while self._at < len(self._wanted) and self._wanted[self._at].isspace():
            self._at += 1
        return self._at > start
