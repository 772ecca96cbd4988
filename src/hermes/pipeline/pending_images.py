"""The pictures that a turn has to deal with, and what dealing with them left in it.

Pure. What was seen is kept in a step as a message: by the assistant if a pipeline answered, else of
the user's role with a note for the model and, as text, a word for the person.
"""

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import ImagePart, NotePart, Part, TextPart
from hermes.pipeline.turn import Turn

# Pictures that were said longer ago are not gone back to.
RECENT = 20
NOTE_BEGINS = "\n\n[Pictures"
"""How every note about pictures begins; it covers those of its own message and of all before it."""

NOTHING = ChatMessage("user", ())


def has_pictures(parts: tuple[Part, ...], history: tuple[ChatMessage, ...]) -> bool:
    """Return whether a message or a recent one contains a picture; called every turn."""
    for part in parts:
        if type(part) is ImagePart:
            return True
    for message in history[-RECENT:]:
        for part in message.parts:
            if type(part) is ImagePart:
                return True
    return False


def own_pictures(parts: tuple[Part, ...]) -> tuple[ImagePart, ...]:
    """Return the pictures among some parts."""
    return tuple(part for part in parts if isinstance(part, ImagePart))


def earlier_pictures(history: tuple[ChatMessage, ...]) -> tuple[ImagePart, ...]:
    """Return recent pictures that no note describes yet."""
    found: list[ImagePart] = []
    for message in reversed(history[-RECENT:]):
        if message.role != "user":
            continue
        if any(isinstance(part, NotePart) and _is_ours(part) for part in message.parts):
            break
        found[:0] = own_pictures(message.parts)
    return tuple(found)


def _is_ours(note: NotePart) -> bool:
    return note.text.startswith(NOTE_BEGINS)


def seen_as(note: str, *, unseen: str = "") -> ChatMessage:
    """Return the note for pictures that were described, or that could not be described."""
    parts: tuple[Part, ...] = (NotePart(note),)
    return ChatMessage("user", (*parts, TextPart(unseen)) if unseen else parts)


def without_pending_images(turn: Turn, kept: ChatMessage, *, ordinal: int) -> Turn:
    """Return the turn once its pictures were dealt with."""
    turn = msgspec.structs.replace(turn, pending_images=None)
    if kept.role == "assistant":
        return turn.plus(kept, ordinal=ordinal)
    notes = tuple(part for part in kept.parts if isinstance(part, NotePart))
    if not notes or turn.user is None:
        return turn
    user = ChatMessage("user", (*turn.user.parts, *notes))
    return msgspec.structs.replace(turn, user=user, unseen=kept.text)
