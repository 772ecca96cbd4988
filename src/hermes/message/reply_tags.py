"""Tags for Hermes in a model's answer: NO_REPLY, and MEDIA: lines that name files.

An answer of exactly NO_REPLY is stored and not sent. A line `MEDIA: PLACE` outside code is removed
from the text, and the file at that place is attached. Pure; whether a place may be used is decided
elsewhere.
"""

import re
from typing import Final, NamedTuple

NO_REPLY: Final = "NO_REPLY"
TAG: Final = "MEDIA:"
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_MOST_PLACES = 20


class TaggedText(NamedTuple):
    """An answer without its tags, and the places that they named."""

    text: str
    places: tuple[str, ...]


def is_no_reply(text: str) -> bool:
    """Return whether the model chose not to reply."""
    return text.strip() == NO_REPLY


def read_tags(text: str) -> TaggedText:
    """Return the answer without its MEDIA: lines, and the places in them, in order."""
    if TAG not in text:
        return TaggedText(text, ())
    kept: list[str] = []
    places: list[str] = []
    fence = ""
    for line in text.split("\n"):
        fence = _fence_after(line, fence)
        place = None if fence or len(places) == _MOST_PLACES else _place(line)
        if place is None:
            kept.append(line)
        elif place not in places:
            places.append(place)
    return TaggedText("\n".join(kept).strip() if places else text, tuple(places))


def visible(text: str) -> str:
    """Return the part of an unfinished answer that may be shown.

    Nothing while it may still become NO_REPLY; no line that names a file, finished or not.
    """
    begun = text.strip()
    if len(begun) <= len(NO_REPLY) and NO_REPLY.startswith(begun):
        return ""
    head, newline, last = text.rpartition("\n")
    is_tag = last.lstrip().startswith(TAG) or TAG.startswith(last.strip() or "-")
    return read_tags(head).text if is_tag else read_tags(head + newline + last).text


def _place(line: str) -> str | None:
    bare = line.strip()
    if not bare.startswith(TAG):
        return None
    return bare[len(TAG) :].strip().strip("`'\"") or None


def _fence_after(line: str, fence: str) -> str:
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence


class TagFilter:
    """Takes an answer in pieces and returns it without lines that name files; holds back little
    else."""

    def __init__(self) -> None:
        self._line = ""
        self._shown = 0
        self._fence = ""
        # The current line is neither a tag nor a fence: the rest of it passes.
        self._passes = False

    def feed(self, piece: str) -> str:
        """Take the next piece; return what may be shown now."""
        if self._passes and "\n" not in piece:
            return piece
        *ended, last = piece.split("\n")
        out = [self._end_line(text) for text in ended]
        out.append(self._go_on(last))
        return "".join(out)

    def _end_line(self, text: str) -> str:
        if self._passes:
            self._passes = False
            return text + "\n"
        line, shown = self._line + text, self._shown
        self._line, self._shown = "", 0
        self._fence = _fence_after(line, self._fence)
        is_tag = not self._fence and _place(line) is not None
        return "" if is_tag else line[shown:] + "\n"

    def _go_on(self, text: str) -> str:
        if self._passes or not text:
            return text
        line = self._line + text
        bare = line.lstrip()
        if not self._fence and (bare.startswith(TAG) or TAG.startswith(bare)):
            self._line = line
            return ""
        more = line[self._shown :]
        if bare and bare[0] not in "`~":
            self._passes, self._line, self._shown = True, "", 0
        else:
            self._line, self._shown = line, len(line)
        return more
