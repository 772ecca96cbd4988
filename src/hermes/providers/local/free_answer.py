"""Parses an answer of the demonstration model without a form: all of it is text. Pure.

A caller without a limit gets an answer that ends well: after `enough` pieces it ends with its next
sentence or code block. Text without sentences, such as a list, a table or a long program, ends with
a line after one and a half times `enough`. Only an answer that reaches the engine's limit without
any of these is cut, and marked as cut. Streamed text is never withdrawn.
"""

import re

from hermes.message.parts import Part, TextPart
from hermes.ports.provider import ModelEvent, TextDelta

_CUT = "…"
_FENCE = re.compile(r"(?P<mark>[ \t]*(?:`{3,}+|~{3,}+))[^`]*\Z")
_NEED_NO_SPACE = "。！？｡」』）"
# A dot after a short word is often an abbreviation, and after a digit a number or a list. A missed
# end costs one more sentence; a wrong one would cut a sentence. Letters are everything but digits
# and ASCII punctuation: the vowel signs of many scripts do not match \w.
_END = re.compile(r"(?:[^\s\d!-/:-@\[-`{-~]{4}\.|[!?…。！？｡؟۔।॥։።။។])[\"'”’»」』）)\]*_`]{0,3}\Z")
_LONGEST_END = 8
_KEPT = 2 * _LONGEST_END
_LEADS_ON = (":", "：")
_CONTINUES = "`~)]}"


class FreeAnswer:
    """One answer under construction; `is_full` means that no more of it is wanted."""

    is_whole = True

    def __init__(self, enough: int | None = None) -> None:
        self._enough = enough
        self._said: list[str] = []
        self._place = _Place()
        self.is_full = False
        self.is_verbatim = True

    @property
    def has_begun(self) -> bool:
        """Whether any of the answer was passed on."""
        return bool(self._said)

    def feed(self, text: str) -> list[ModelEvent]:
        """Take the next piece of output and return what it adds."""
        if not text or self.is_full:
            return []
        if self._may_end(text):
            self.is_full = True
            return self._added(self._place.closing)
        self._said.append(text)
        self._place.move(text)
        return [TextDelta(text)]

    def cut(self) -> list[ModelEvent]:
        """Return the mark that ends an answer which was cut at the engine's limit."""
        place, is_whole_line = self._place, self._place.is_after_line
        if self._enough is None or self.is_full or not self._said:
            return []
        place.end_line()
        if place.fence:
            return self._added(f"{place.closing}\n{_CUT}")
        if is_whole_line or place.is_after_code or ends_sentence(place.tail.rstrip()):
            return []
        return self._added(f" {_CUT}")

    def parts(self) -> tuple[Part, ...]:
        """Return the whole text."""
        return (TextPart("".join(self._said)),) if self._said else ()

    def _may_end(self, following: str) -> bool:
        """Return whether the answer reads well without `following` and the rest."""
        place, pieces = self._place, len(self._said)
        if self._enough is None or pieces < self._enough:
            return False
        is_late = pieces >= self._enough + self._enough // 2
        if place.fence:
            return is_late and place.is_between_statements(following)
        if place.is_after_code or may_end(place.tail, following):
            return True
        return is_late and place.is_after_line

    def _added(self, text: str) -> list[ModelEvent]:
        """Return what the model did not write itself."""
        if not text:
            return []
        self._said.append(text)
        self.is_verbatim = False
        return [TextDelta(text)]


class _Place:
    """Tracks the line and the code block in which a growing text is; reads each character a few
    times.

    `is_after_line` and `is_after_code` are true just after a line that can be the last one, or
    after a code block; `fence` opened the current code block.
    """

    def __init__(self) -> None:
        self.tail = ""
        self.fence = ""
        self.is_after_code = False
        self.is_after_line = False
        self._line: list[str] = []

    def move(self, text: str) -> None:
        """Advance by `text`."""
        self.tail = (self.tail + text)[-_KEPT:]
        *whole, rest = text.split("\n")
        for line in whole:
            self._line.append(line)
            self.end_line()
        if rest:
            self._line.append(rest)
            self.is_after_code = self.is_after_line = False

    def end_line(self) -> None:
        """Read the line that ends here."""
        line = "".join(self._line).rstrip()
        self._line.clear()
        if not line:
            return
        was_code, opening = bool(self.fence), _FENCE.match(line)
        if was_code and closes(line, self.fence):
            self.fence = ""
        elif not was_code and opening:
            self.fence = opening["mark"]
        self.is_after_code = was_code and not self.fence
        self.is_after_line = was_code or (not self.fence and stands_alone(line))

    @property
    def closing(self) -> str:
        """What closes the code block here; empty outside a code block."""
        if not self.fence or self.tail.endswith("\n"):
            return self.fence
        return f"\n{self.fence}"

    def is_between_statements(self, following: str) -> bool:
        """Return whether a program continues with a line that is not part of the previous one."""
        first = following[:1]
        return self.is_after_line and not (first.isspace() or first in _CONTINUES)


def may_end(text: str, following: str) -> bool:
    """Return whether a text ends with a complete sentence, although the model continues with
    `following`."""
    bare = text.rstrip()
    is_apart = following[:1].isspace() or len(bare) < len(text) or bare[-1:] in _NEED_NO_SPACE
    goes_on = following.lstrip()[:1].islower()
    return is_apart and not goes_on and ends_sentence(bare)


def ends_sentence(text: str) -> bool:
    """Return whether a text seems to end with a complete sentence."""
    return _END.search(text[-_LONGEST_END:]) is not None


def stands_alone(line: str) -> bool:
    """Return whether a line can be the last one: an item, row or verse, no title or rule."""
    bare = line.strip()
    is_title = bare.startswith("#") or (bare.startswith("**") and bare.endswith("**"))
    return not is_title and not bare.endswith(_LEADS_ON) and any(map(str.isalnum, bare))


def closes(line: str, fence: str) -> bool:
    """Return whether a line closes the code block that `fence` has opened."""
    bare, mark = line.strip(), fence.strip()
    return bare.startswith(mark) and not bare.strip(mark[0])
