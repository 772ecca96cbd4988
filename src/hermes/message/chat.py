"""One message as a model sees it: a role and its parts."""

from typing import Literal

import msgspec

from hermes.message.parts import NotePart, Part, TextPart, ToolResultPart, text_of

Role = Literal["system", "user", "assistant", "tool"]


class ChatMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A frozen entry of a transcript; its JSON form is stored in the message graph."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The plain text of this message."""
        return text_of(self.parts)


def user_text(text: str) -> ChatMessage:
    """Return a user message holding only `text`."""
    return ChatMessage("user", (TextPart(text),))


UNANSWERED = NotePart("\n\n[This message got no answer.]")
"""What stands beside a message whose turn failed before a model had said anything."""


def is_unanswered(message: ChatMessage) -> bool:
    """Return whether a message's turn failed before a model had said anything."""
    return len(message.parts) > 1 and message.parts[-1] == UNANSWERED


def has_note(message: ChatMessage) -> bool:
    """Return whether a message carries a note."""
    return any(isinstance(part, NotePart) for part in message.parts)


def as_read(message: ChatMessage) -> ChatMessage:
    """Return a message as models get it: a note becomes text, or the end of a tool's result."""
    if not has_note(message):
        return message
    if message.role == "tool":
        return ChatMessage("tool", _with_notes(message.parts))
    parts = tuple(TextPart(p.text) if isinstance(p, NotePart) else p for p in message.parts)
    return ChatMessage(message.role, parts)


def _with_notes(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return results with the notes after them added to their texts: no service accepts text
    beside."""
    read: list[Part] = []
    for part in parts:
        last = read[-1] if read else None
        if isinstance(part, NotePart) and isinstance(last, ToolResultPart):
            read[-1] = msgspec.structs.replace(last, text=last.text + part.text)
        else:
            read.append(part)
    return tuple(read)
