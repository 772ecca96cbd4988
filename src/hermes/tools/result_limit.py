"""Shortens results that are too long for a model: cut in the middle, with a note. Pure."""

import msgspec

from hermes.message.parts import ToolResultPart

MAX_KEPT_CHARS = 4_000_000


def shortened(result: ToolResultPart, *, limit: int, message_id: str, step: int) -> ToolResultPart:
    """Return a result that is longer than `limit` characters as the model sees it.

    Both ends stay, because tools report first what they did and last how it ended.
    """
    total = len(result.text)
    note = _note(total, total, message_id=message_id, step=step)
    room = max(0, limit - len(note))
    head = room - room // 2
    tail = room // 2
    note = _note(total - head - tail, total, message_id=message_id, step=step)
    text = result.text[:head] + note + result.text[total - tail :]
    return msgspec.structs.replace(result, text=text)


def kept_text(text: str) -> str:
    """Return the part of a result that is stored."""
    if len(text) <= MAX_KEPT_CHARS:
        return text
    lost = len(text) - MAX_KEPT_CHARS
    return f"{text[:MAX_KEPT_CHARS]}\n[{lost} more characters were not stored]"


def _note(missing: int, total: int, *, message_id: str, step: int) -> str:
    return (
        f"\n\n[{missing} of {total} characters are left out here. To see them, call the tool again "
        f"and ask for less. The whole result is kept as step {step} of {message_id}; people read it "
        f"with: hermes why {message_id} --text]\n\n"
    )
