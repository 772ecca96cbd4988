"""Reads the entities in a Telegram text: mentions of the bot, commands, links and code. Pure.

Telegram counts in UTF-16 units, so every offset is converted before it is applied.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from hermes.channel_kit.events import Span, utf16_places
from hermes.channels.telegram.wire import Entity, User

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
    edits: list[tuple[Span, str]] = []
    names_bot = is_command = is_for_another = False
    for entity, (start, end) in _placed(text, entities):
        words = text[start:end]
        if _is_bot(entity, words, bot=bot):
            names_bot = True
            edits.append(((start, end), ""))
        elif entity.type == "bot_command":
            command, _, named = words.partition("@")
            is_command = is_command or start == 0
            is_own = named.lower() == bot.username.lower()
            names_bot = names_bot or (bool(named) and is_own)
            is_for_another = is_for_another or (bool(named) and not is_own)
            edits.extend([((start, end), command)] if named and is_own else [])
        else:
            opening, closing = _as_markdown(entity, words)
            edits.extend([((start, start), opening), ((end, end), closing)] if opening else [])
    # A message that is only the bot's name is still addressed to it: the name is then the text.
    read = _apply(text, edits).strip() or text.strip()
    return MarkedText(read, names_bot, is_command and not is_for_another, is_for_another)


def _placed(text: str, entities: Iterable[Entity]) -> Iterator[tuple[Entity, Span]]:
    """Yield the entities that fit the text, with where they are in it."""
    places = utf16_places(text)
    for one in entities:
        end = one.offset + one.length
        if one.length and one.offset in places and end in places:
            yield one, (places[one.offset], places[end])


def _is_bot(entity: Entity, words: str, *, bot: User) -> bool:
    if entity.type == "text_mention":
        return entity.user is not None and entity.user.id == bot.id
    return bool(
        entity.type == "mention" and bot.username and words.lower() == f"@{bot.username.lower()}"
    )


def _as_markdown(entity: Entity, words: str) -> tuple[str, str]:
    """Return the Markdown around an entity that carries information: link targets and code."""
    if entity.type == "text_link" and entity.url.startswith(("http://", "https://")):
        return "[", f"]({entity.url})"
    if entity.type == "code" and "`" not in words:
        return "`", "`"
    if entity.type == "pre" and _FENCE not in words:
        language = "".join(char for char in entity.language if char.isalnum())
        return f"{_FENCE}{language}\n", f"\n{_FENCE}"
    return "", ""


def _apply(text: str, edits: list[tuple[Span, str]]) -> str:
    done = 0
    pieces: list[str] = []
    for (start, end), words in sorted(edits, key=lambda edit: edit[0]):
        if start < done:
            continue
        pieces.extend((text[done:start], words))
        # The space after a name that is left out goes with it.
        done = end + (end > start and not words and text[end : end + 1] == " ")
    pieces.append(text[done:])
    return "".join(pieces)
