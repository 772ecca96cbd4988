"""Converts a model request to plain text turns, cut to fit the small model's context; pure."""

from collections.abc import Sequence

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import AudioPart, Part, TextPart, ToolCallPart, ToolResultPart
from hermes.ports.provider import ModelRequest

_CHARS_PER_TOKEN = 3.0
_SAFETY = 0.9
_MAX_FITS = 6
_PER_MESSAGE = 24  # what the template puts around each message, in characters


class PromptMessage(msgspec.Struct, frozen=True):
    """One message for the engine's chat template."""

    role: str
    content: str
    is_verbatim: bool = True

    @property
    def size(self) -> int:
        """Its share of the context, in characters."""
        return len(self.content) + _PER_MESSAGE


class FittedPrompt(msgspec.Struct, frozen=True):
    """The messages that fit, how many older ones were dropped, and whether the system text was cut."""

    lines: tuple[PromptMessage, ...]
    dropped: int = 0
    cut: bool = False


def lines_of(request: ModelRequest, *, told: str | None = None) -> tuple[PromptMessage, ...]:
    """Return the system blocks, the additional `told` text, and the turns as text."""
    system = [
        PromptMessage("system", _plain(block), _plain(block) == block)
        for block in (*request.system, told)
        if block
    ]
    return (*system, *(_line(message) for message in request.messages))


def first_budget(prompt_tokens: int) -> int:
    """Return how many characters probably fit into `prompt_tokens`."""
    return max(1, int(prompt_tokens * _CHARS_PER_TOKEN))


def next_budget(budget: int, *, counted: int, allowed: int) -> int:
    """Return a smaller budget after the engine counted `counted` tokens instead of `allowed`."""
    return max(1, min(int(budget * _SAFETY), int(budget * allowed / max(1, counted) * _SAFETY)))


def fit(lines: Sequence[PromptMessage], budget: int) -> FittedPrompt:
    """Drop the oldest turns until the rest fits `budget` characters; the last one always stays
    complete.

    If even that is too long, the text exceeds the budget: only the engine can tell whether it fits
    the context.
    """
    system, cut = _fit_system([one for one in lines if one.role == "system"], budget // 2)
    turns = [line for line in lines if line.role != "system"]
    room = budget - sum(line.size for line in system)
    kept: list[PromptMessage] = []
    for line in reversed(turns):
        if kept and line.size > room:
            break
        kept.append(line)
        room -= line.size
    while len(kept) > 1 and kept[-1].role == "assistant":
        kept.pop()
    kept.reverse()
    return FittedPrompt((*system, *kept), len(turns) - len(kept), cut)


class PromptFit:
    """The part of a request that is sent: all of it or, with `may_cut`, less after each refusal of
    the engine."""

    def __init__(self, lines: Sequence[PromptMessage], *, allowed: int, may_cut: bool) -> None:
        self._lines = lines
        self._allowed = allowed
        self._budget = first_budget(allowed)
        self._left = _MAX_FITS - 1 if may_cut else 0
        self.fitted = fit(lines, self._budget) if may_cut else FittedPrompt(tuple(lines))

    def shrink(self, counted: int) -> bool:
        """Send less than the engine counted; False if nothing more may be left out."""
        if not self._left:
            return False
        self._left -= 1
        before = self.fitted
        size = min(self._budget, sum(line.size for line in before.lines))
        self._budget = next_budget(size, counted=counted, allowed=self._allowed)
        self.fitted = fit(self._lines, self._budget)
        return self.fitted != before


def _fit_system(system: list[PromptMessage], budget: int) -> tuple[list[PromptMessage], bool]:
    kept: list[PromptMessage] = []
    for line in system:
        if line.size <= budget:
            kept.append(line)
            budget -= line.size
            continue
        if budget > _PER_MESSAGE:
            kept.append(PromptMessage(line.role, line.content[: budget - _PER_MESSAGE]))
        return kept, True
    return kept, False


def _line(message: ChatMessage) -> PromptMessage:
    role = "user" if message.role == "tool" else message.role
    is_verbatim = all(
        isinstance(part, TextPart) and _plain(part.text) == part.text for part in message.parts
    )
    return PromptMessage(
        role, "\n".join(filter(None, (_text(part) for part in message.parts))), is_verbatim
    )


def _text(part: Part) -> str:
    if isinstance(part, TextPart):
        return _plain(part.text)
    if isinstance(part, ToolResultPart):
        return _plain(f"[{part.name} answered: {part.text}]")
    if isinstance(part, ToolCallPart):
        return f"[asked {part.name}]"
    if isinstance(part, AudioPart) and part.transcript:
        return _plain(part.transcript)
    return "[an attachment that this model cannot read]"


def _plain(text: str) -> str:
    """Return `text` with the template's own markers made harmless."""
    return text.replace("<|", "< |")
