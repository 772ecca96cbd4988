"""One message as a model sees it: a role and its parts."""

from typing import Literal

import msgspec

from hermes.message.parts import NotePart, Part, TextPart, text_of

Role = Literal["system", "user", "assistant", "tool"]


class ChatMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A frozen entry of a transcript; as JSON it is what the message graph keeps."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The plain text of this message."""
        return text_of(self.parts)


def user_text(text: str) -> ChatMessage:
    """Return a user message holding only `text`."""
    return ChatMessage("user", (TextPart(text),))


def as_read(message: ChatMessage) -> ChatMessage:
    """Return a message as models are given it: notes are text to them."""
    # A note never stands alone, and most messages have one part.
    if len(message.parts) == 1 or not any(isinstance(part, NotePart) for part in message.parts):
        return message
    parts = tuple(TextPart(p.text) if isinstance(p, NotePart) else p for p in message.parts)
    return ChatMessage(message.role, parts)
