"""Reads an answer of the demonstration model that has no form: all of it is text. Pure.

A caller that gives no limit gets whole sentences: after `enough` pieces the answer ends with its
next sentence. Only an answer that goes on to the engine's limit without one is cut, and shows it.
"""

import re

from hermes.message.parts import Part, TextPart
from hermes.ports.provider import ModelEvent, TextDelta

_CUT = " …"
_FENCE = "```"
_NEED_NO_SPACE = "。！？"
# A dot behind a short word is often an abbreviation, and behind a digit a number or a list. An end
# that is missed costs one more sentence; one that is made up would cut a sentence.
_END = re.compile(r"(?:[^\W\d_]{4}\.|[!?…。！？])[\"'”’)\]*]{0,3}\Z")
_LONGEST_END = 8


class FreeAnswer:
    """One answer in the making; `is_full` says that no more of it is wanted."""

    is_whole = True

    def __init__(self, enough: int | None = None) -> None:
        self._enough = enough
        self._said: list[str] = []
        self.is_full = False
        self.is_verbatim = True

    @property
    def has_begun(self) -> bool:
        """Whether anything of the answer was told."""
        return bool(self._said)

    def feed(self, text: str) -> list[ModelEvent]:
        """Take the next piece of what is written and return what it adds."""
        if self._enough is not None and len(self._said) >= self._enough:
            self.is_full = self.is_full or may_end("".join(self._said), text)
        if not text or self.is_full:
            return []
        self._said.append(text)
        return [TextDelta(text)]

    def cut(self) -> list[ModelEvent]:
        """Return what shows that the engine's limit has cut the answer in the middle of a sentence."""
        text = "".join(self._said).rstrip()
        if self._enough is None or not text or ends_sentence(text):
            return []
        self._said.append(_CUT)
        self.is_verbatim = False
        return [TextDelta(_CUT)]

    def parts(self) -> tuple[Part, ...]:
        """Return the whole text."""
        return (TextPart("".join(self._said)),) if self._said else ()


def may_end(text: str, following: str) -> bool:
    """Tell whether a text ends with a whole sentence, though the model goes on with `following`.

    In a block of code nothing does.
    """
    bare = text.rstrip()
    is_apart = following[:1].isspace() or len(bare) < len(text) or bare[-1:] in _NEED_NO_SPACE
    return is_apart and ends_sentence(bare) and text.count(_FENCE) % 2 == 0


def ends_sentence(text: str) -> bool:
    """Tell whether a text seems to end with a whole sentence."""
    return _END.search(text[-_LONGEST_END:]) is not None
