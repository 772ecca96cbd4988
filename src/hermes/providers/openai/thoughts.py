"""The reasoning of one answer: shown as it comes, and kept where the service wants it back; pure."""

from typing import Any

import msgspec

from hermes.message.parts import ReasoningPart
from hermes.providers.openai.chunks import ContentBlock, Delta
from hermes.providers.openai.presets import Quirks
from hermes.providers.openai.wire import DIALECT, join_detail


class ThoughtCollector:
    """Reasoning in the making; `size` counts its characters."""

    def __init__(self, quirks: Quirks) -> None:
        self._field = quirks.reasoning_back
        self._text: list[str] = []
        # Any: objects of the service's own making.
        self._details: list[dict[str, Any]] = []
        self.size = 0

    def add(self, delta: Delta) -> str:
        """Take one chunk's delta and return the reasoning in it."""
        text = delta.reasoning_content or delta.reasoning or ""
        if delta.reasoning_details:
            text = text or "".join(_words(detail) for detail in delta.reasoning_details)
            if self._field == "reasoning_details":
                for detail in delta.reasoning_details:
                    join_detail(self._details, detail)
        if isinstance(delta.content, list):
            text += "".join(_thinking(block) for block in delta.content)
        if text:
            self.size += len(text)
            if self._field is not None:
                self._text.append(text)
        return text

    def __bool__(self) -> bool:
        """Whether a thought that the service wants back has begun and not ended."""
        return bool(self._text or self._details)

    def close(self) -> ReasoningPart:
        """End the thought and return what goes back to the service with the next call."""
        sealed = msgspec.json.encode(self._details).decode() if self._details else None
        part = ReasoningPart("".join(self._text), DIALECT, sealed=sealed)
        self._text, self._details = [], []
        return part


def _words(detail: dict[str, Any]) -> str:
    text = detail.get("text") or detail.get("summary")
    return text if isinstance(text, str) else ""


def _thinking(block: ContentBlock) -> str:
    return "".join(piece.text or "" for piece in block.thinking or ())
