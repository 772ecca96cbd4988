"""Reads the entities in a Telegram text: mentions of the bot, commands, links and code. Pure.

Telegram counts in UTF-16 units, so every offset is applied in that encoding only.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from hermes.channels.telegram.wire import Entity, User

_UNIT: Final = 2
_FENCE: Final = "```"


class MarkedText(msgspec.Struct, frozen=True):
    """A text without the bot's own name, and whether the name was in it."""

    text: str
    names_bot: bool = False
    is_command: bool = False
    is_for_another: bool = False


def utf16_length(text: str) -> int:
    """Return how many UTF-16 units a text has."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def read_text(text: str, entities: Iterable[Entity], *, bot: User) -> MarkedText:
    """Return the text with its entities applied; entities that do not fit the text are ignored."""
    units = text.encode("utf-16-le")
    edits: list[tuple[int, int, str]] = []
    names_bot = is_command = is_for_another = False
    for entity in entities:
        start, end = entity.offset, entity.offset + entity.length
        words = _cut(units, start, end)
        if not words:
            continue
        if _is_bot(entity, words, bot=bot):
            names_bot = True
            edits.append((start, end, ""))
        elif entity.type == "bot_command":
            command, _, named = words.partition("@")
            is_command = is_command or start == 0
            if named and named.lower() == bot.username.lower():
                names_bot = True
                edits.append((start, end, command))
            elif named:
                is_for_another = True
        else:
            edits.extend(_as_markdown(entity, words))
    # A message that is only the bot's name is still addressed to it: the name is then the text.
    read = _apply(units, edits).strip() or text.strip()
    return MarkedText(read, names_bot, is_command and not is_for_another, is_for_another)


def _is_bot(entity: Entity, words: str, *, bot: User) -> bool:
    if entity.type == "text_mention":
        return entity.user is not None and entity.user.id == bot.id
    return bool(
        entity.type == "mention" and bot.username and words.lower() == f"@{bot.username.lower()}"
    )


def _as_markdown(entity: Entity, words: str) -> list[tuple[int, int, str]]:
    """Return the entities that carry information as Markdown: link targets and code."""
    start, end = entity.offset, entity.offset + entity.length
    if entity.type == "text_link" and entity.url.startswith(("http://", "https://")):
        return [(start, start, "["), (end, end, f"]({entity.url})")]
    if entity.type == "code" and "`" not in words:
        return [(start, start, "`"), (end, end, "`")]
    if entity.type == "pre" and _FENCE not in words:
        language = "".join(char for char in entity.language if char.isalnum())
        return [(start, start, f"{_FENCE}{language}\n"), (end, end, f"\n{_FENCE}")]
    return []


def _cut(units: bytes, start: int, end: int) -> str:
    """Return the text between two offsets; nothing if they split a character."""
    if end * _UNIT > len(units):
        return ""
    try:
        return units[start * _UNIT : end * _UNIT].decode("utf-16-le")
    except UnicodeDecodeError:
        return ""


def _apply(units: bytes, edits: list[tuple[int, int, str]]) -> str:
    done = 0
    pieces: list[str] = []
    for start, end, words in sorted(edits, key=lambda edit: (edit[0], edit[1])):
        if start < done:
            continue
        pieces.extend((units[done * _UNIT : start * _UNIT].decode("utf-16-le"), words))
        done = end
        if end > start and not words:
            # The space after the name is removed with it.
            done += units[end * _UNIT : end * _UNIT + _UNIT] == b" \x00"
    pieces.append(units[done * _UNIT :].decode("utf-16-le"))
    return "".join(pieces)
