"""One message as a model sees it: a role and its parts."""

from typing import Literal

import msgspec

from hermes.message.parts import Part, TextPart, text_of

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
