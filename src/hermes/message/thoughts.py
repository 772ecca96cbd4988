"""Removes what a model writes between <think> tags. Pure.

A tag counts where a block may begin: with only whitespace before it on its line, and outside code.
So prose and code may mention the tag. The stream filter holds back only what may become a tag; a
text without a `<` passes unchanged.
"""

from collections.abc import Iterable
from typing import Final

from hermes.message.parts import ChoicesPart, Part, ReasoningPart, TextPart, choices_of, text_of

_NAMES: Final = ("think", "thinking")
_OPENINGS: Final = tuple(f"<{name}>" for name in _NAMES)
_SIGN: Final = "<think"


def thoughts_in(parts: Iterable[Part]) -> str:
    """Return what a model thought apart from its text, as far as it can be read."""
    # A list: nearly no answer has any.
    found = [part.text for part in parts if isinstance(part, ReasoningPart) and part.text]
    return "\n\n".join(found)


class ThoughtFilter:
    """Takes a text in pieces and returns the part of it that may be shown."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._held = ""
        self._closing: str | None = None
        self._hidden: list[str] = []
        # Whitespace after a thought belongs to the thought.
        self._skips_space = False

    def feed(self, piece: str) -> str:
        """Take the next piece; return what may be shown now."""
        if self._skips_space:
            piece = piece.lstrip()
            self._skips_space = not piece
        if self._closing is None and not self._held and "<" not in piece:
            self._shown.append(piece)
            return piece
        text, self._held = self._held + piece, ""
        out: list[str] = []
        while text:
            text = self._hide(text) if self._closing else self._show(text, out)
        return "".join(out)

    def end(self) -> str:
        """Return what is left to show once the text is complete.

        A block that was never closed is a thought only if the text began with it.
        """
        held, self._held = self._held, ""
        if self._closing is None:
            return held
        self._closing = None
        is_begun = not "".join(self._shown).strip()
        return "" if is_begun else "".join(self._hidden) + held

    def _hide(self, text: str) -> str:
        """Drop the thought at the beginning of `text`; return what follows it."""
        assert self._closing is not None
        at = text.find(self._closing)
        if at < 0:
            keep = _overlap(text, self._closing)
            cut = len(text) - keep
            self._hidden.append(text[:cut])
            self._held = text[cut:]
            return ""
        rest = text[at + len(self._closing) :].lstrip()
        self._closing = None
        self._hidden.clear()
        self._skips_space = not rest
        return rest

    def _show(self, text: str, out: list[str]) -> str:
        """Put visible text into `out`; return what must be examined again."""
        at = text.find("<")
        if at < 0:
            self._say(text, out)
            return ""
        self._say(text[:at], out)
        text = text[at:]
        opening = next((one for one in _OPENINGS if text.startswith(one)), None)
        may_become = any(one.startswith(text) for one in _OPENINGS)
        if (opening is None and not may_become) or not self._may_begin():
            self._say("<", out)
            return text[1:]
        if opening is None:
            self._held = text
            return ""
        self._closing = f"</{opening[1:]}"
        self._hidden = [opening]
        return text[len(opening) :]

    def _say(self, text: str, out: list[str]) -> None:
        if text:
            self._shown.append(text)
            out.append(text)

    def _may_begin(self) -> bool:
        said = "".join(self._shown)
        self._shown = [said]
        return not said.rpartition("\n")[2].strip() and not _in_code(said)


def without_thoughts(text: str) -> str:
    """Return a complete text without its thoughts."""
    if _SIGN not in text:
        return text
    thoughts = ThoughtFilter()
    return thoughts.feed(text) + thoughts.end()


def spoken(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return a reply's parts without the thoughts in their text."""
    text = text_of(parts)
    said = without_thoughts(text)
    if said == text:
        return parts
    choices = choices_of(parts)
    words = ChoicesPart(said, choices) if choices else TextPart(said)
    return (words, *(part for part in parts if not isinstance(part, TextPart | ChoicesPart)))


def _overlap(text: str, closing: str) -> int:
    """Return how many characters at the end of `text` may be the beginning of `closing`."""
    sizes = range(min(len(text), len(closing) - 1), 0, -1)
    return next((size for size in sizes if closing.startswith(text[-size:])), 0)


def _in_code(said: str) -> bool:
    """Return whether a code fence is open at the end of `said`."""
    mark = ""
    for line in said.split("\n"):
        bare = line.strip()
        if not mark and bare.startswith(("```", "~~~")):
            mark = bare[:3]
        elif mark and bare.startswith(mark) and not bare.strip(mark[0]):
            mark = ""
    return bool(mark)
