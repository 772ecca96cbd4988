"""What a reaction says of an answer: a thumb up or down, in any skin tone. Pure."""

from typing import Literal

Thumb = Literal["up", "down"]

_THUMBS: dict[str, Thumb] = {"\N{THUMBS UP SIGN}": "up", "\N{THUMBS DOWN SIGN}": "down"}
# Skin tones, and the sign that asks for a coloured picture.
_DRESS = dict.fromkeys([*range(0x1F3FB, 0x1F400), 0xFE0F])


def thumb_of(emoji: str) -> Thumb | None:
    """Return what an emoji says of an answer; None if it is no thumb."""
    return _THUMBS.get(emoji.translate(_DRESS)) if len(emoji) <= 8 else None
