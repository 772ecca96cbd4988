"""What every channel reads from a message in the same way: commands, types, times, mentions. Pure."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from hermes.message.event import NO_RAW, EventType
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart

# As `sessions.commands` reads them: a slash and a word, perhaps with the name of a bot.
_COMMAND: Final = re.compile(r"/[A-Za-z][A-Za-z0-9_-]{0,31}(?:@\S{0,100})?(?:\s|\Z)")
# What models are shown as pictures; any other image is a file.
_PICTURES: Final = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif"})
_SPACES: Final = " \t\u00a0"
# From here on a number of seconds would be far in the future: it counts milliseconds.
_LEAST_MILLIS: Final = 100_000_000_000.0

Span = tuple[int, int]


def is_command(text: str) -> bool:
    """Return True if a text is a command; a path, a number or a slash alone is none."""
    return _COMMAND.match(text) is not None


def part_of(media: Media) -> Part:
    """Return the part of an attachment, by its type."""
    mime = plain_mime(media.mime)
    if mime in _PICTURES:
        return ImagePart(media)
    return AudioPart(media) if mime.startswith("audio/") else FilePart(media)


def plain_mime(mime: str) -> str:
    """Return a type in small letters and without its parameters."""
    return mime.partition(";")[0].strip().lower()


def event_type(parts: Sequence[Part]) -> EventType:
    """Return the type of a message: that of its last attachment, otherwise command or text."""
    for part in reversed(parts):
        if isinstance(part, ImagePart):
            return "image"
        if isinstance(part, AudioPart):
            return "audio"
        if isinstance(part, FilePart):
            return "video" if plain_mime(part.media.mime).startswith("video/") else "file"
    words = "".join(part.text for part in parts if isinstance(part, TextPart))
    return "command" if is_command(words) else "text"


def sent_at(told: float | None, *, now: float) -> float:
    """Return when a message was sent, of seconds or milliseconds; none, or a future one, is now."""
    seconds = told or 0.0
    if seconds >= _LEAST_MILLIS:
        seconds /= 1000
    return seconds if 0 < seconds <= now else now


def raw_of(wire: object) -> msgspec.Raw:
    """Return an event as it is kept for debugging: its JSON, or the JSON of any other value."""
    try:
        # A copy: a part of a batch must not keep the whole batch in memory.
        return msgspec.Raw(bytes(wire) if isinstance(wire, bytes) else msgspec.json.encode(wire))
    except (UnicodeEncodeError, TypeError, msgspec.MsgspecError):
        return NO_RAW


def without_spans(text: str, spans: Iterable[Span]) -> str:
    """Return a text without the spans in it, such as mentions of the bot.

    The space after a span goes with it, and at the start of the text a comma or colon, too. A text of
    nothing else stays: a message that is only the bot's name is still one. Spans that do not fit are
    ignored.
    """
    kept: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if not done <= start < end <= len(text):
            continue
        kept.append(text[done:start])
        done = _after(text, end, marks="" if "".join(kept).strip() else ",:")
    kept.append(text[done:])
    return "".join(kept).strip() or text.strip()


def with_names(
    text: str, mention: re.Pattern[str], *, names: Mapping[str, str], own: Collection[str]
) -> str:
    """Return a text that shows who is mentioned in it by name, and without the mentions of the bot.

    The first group of `mention` is an id; `own` are those of the bot.
    """
    shown = mention.sub(
        lambda found: f"@{names[found[1]]}" if names.get(found[1]) else found[0], text
    )
    return without_spans(shown, (one.span() for one in mention.finditer(shown) if one[1] in own))


def named_spans(text: str, names: Iterable[str], *, sign: str = "@") -> tuple[Span, ...]:
    """Return where a text names the bot: `@name` anywhere, and `name:` or `name,` at its start.

    A name inside a longer word or an address is none.
    """
    known = sorted({name for name in names if name.strip()}, key=len, reverse=True)
    if not known:
        return ()
    one_of = "|".join(map(re.escape, known))
    mark = re.escape(sign)
    begins = re.compile(rf"\s*{mark}?(?:{one_of})\s*(?=[:,])", re.IGNORECASE)
    inside = re.compile(rf"(?<![\w{mark}.]){mark}(?:{one_of})(?![\w-])", re.IGNORECASE)
    first = begins.match(text)
    found = [] if first is None else [first.span()]
    found += [one.span() for one in inside.finditer(text, found[0][1] if found else 0)]
    return tuple(found)


def utf16_spans(text: str, spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans that count UTF-16 units as spans of characters; without those that do not fit."""
    places = utf16_places(text)
    return tuple(
        (places[start], places[end])
        for start, end in spans
        if start in places and end in places and start < end
    )


def utf16_places(text: str) -> Mapping[int, int] | range:
    """Return where the character begins that begins at a UTF-16 unit; none begins inside another."""
    if text.isascii():
        return range(len(text) + 1)
    places: dict[int, int] = {}
    unit = 0
    for place, char in enumerate(text):
        places[unit] = place
        unit += 2 if ord(char) > 0xFFFF else 1
    places[unit] = len(text)
    return places


def _after(text: str, end: int, *, marks: str) -> int:
    """Return where a text goes on behind a span."""
    while marks and end < len(text) and text[end] in marks:
        end += 1
    while end < len(text) and text[end] in _SPACES:
        end += 1
    return end
