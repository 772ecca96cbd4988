"""Telegram's HTML as its servers parse it: the visible text, and the refusals with their texts."""

import html
import re
from typing import Final

import msgspec

from hermes.testing.telegram.refusal import ApiError, bad

_TAGS: Final = {
    "a": "text_link",
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "span": "spoiler",
    "tg-spoiler": "spoiler",
    "tg-emoji": "custom_emoji",
    "pre": "pre",
    "code": "code",
    "blockquote": "blockquote",
}
_NAMED: Final = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_ENTITY: Final = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(lt|gt|amp|quot));")
_NAME: Final = re.compile(r"[^\s>]*")
_ATTRIBUTE: Final = re.compile(r"\s*([a-zA-Z-]+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s>\"']+)")
_FLAG: Final = re.compile(r"\s*(expandable)(?=[\s>])")


class Mark(msgspec.Struct, frozen=True):
    """One entity; offsets count UTF-16 units."""

    type: str
    offset: int
    length: int
    url: str = ""


class ParsedText(msgspec.Struct, frozen=True):
    """The visible text, with its marks."""

    text: str
    marks: tuple[Mark, ...] = ()


def units(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def parse_html(markup: str) -> ParsedText:
    """Return the visible text of the markup; raise Telegram's error for bad markup."""
    reader = _Reader(markup)
    reader.run()
    return ParsedText(reader.text, _checked(reader.marks))


class _Reader:
    def __init__(self, markup: str) -> None:
        self._markup = markup
        self._at = 0
        self._open: list[tuple[str, int, str]] = []
        self.text = ""
        self.marks: list[Mark] = []

    def run(self) -> None:
        while self._at < len(self._markup):
            char = self._markup[self._at]
            if char == "<":
                self._tag()
            elif char == "&":
                self._entity()
            else:
                self.text += char
                self._at += 1
        if self._open:
            raise _broken(f'Can\'t find end tag corresponding to start tag "{self._open[-1][0]}"')

    def _entity(self) -> None:
        found = _ENTITY.match(self._markup, self._at)
        if found is None:
            self.text += "&"
            self._at += 1
            return
        decimal, hexadecimal, name = found.groups()
        code = int(decimal) if decimal else int(hexadecimal, 16) if hexadecimal else 0
        self.text += _NAMED[name] if name else html.unescape(f"&#{code};")
        self._at = found.end()

    def _tag(self) -> None:
        start = self._at
        is_end = self._markup.startswith("</", start)
        named = _NAME.match(self._markup, start + 1 + is_end)
        name = named.group().lower() if named else ""
        self._at = start + 1 + is_end + len(name)
        if is_end:
            self._close(name, start)
            return
        if name not in _TAGS:
            raise _broken(f'Unsupported start tag "{name}" at byte offset {self._bytes(start)}')
        attributes = self._attributes(name, start)
        if name == "span" and attributes.get("class") != "tg-spoiler":
            raise _broken(
                f'Tag "span" must have class "tg-spoiler" at byte offset {self._bytes(start)}'
            )
        self._open.append((name, units(self.text), attributes.get("href", "")))

    def _attributes(self, name: str, start: int) -> dict[str, str]:
        found: dict[str, str] = {}
        while True:
            flag = _FLAG.match(self._markup, self._at)
            match = flag or _ATTRIBUTE.match(self._markup, self._at)
            if match is None:
                break
            value = "" if flag else match.group(2).strip("\"'")
            found[match.group(1).lower()] = html.unescape(value)
            self._at = match.end()
        rest = self._markup[self._at :].lstrip()
        if not rest:
            raise _broken(f"Unclosed start tag at byte offset {self._bytes(start)}")
        if not rest.startswith(">"):
            raise _broken(
                f'Expected "=" in declaration of an attribute of the tag "{name}" at byte offset '
                f"{self._bytes(self._at)}"
            )
        self._at = len(self._markup) - len(rest) + 1
        return found

    def _close(self, name: str, start: int) -> None:
        if not self._markup.startswith(">", self._at):
            raise _broken(f"Unclosed end tag at byte offset {self._bytes(start)}")
        self._at += 1
        if not self._open:
            raise _broken(f"Unexpected end tag at byte offset {self._bytes(start)}")
        expected, offset, url = self._open.pop()
        if name not in {expected, ""}:
            raise _broken(
                f"Unmatched end tag at byte offset {self._bytes(start)}, expected "
                f'"</{expected}>", found "</{name}>"'
            )
        length = units(self.text) - offset
        if length:
            self.marks.append(Mark(_TAGS[expected], offset, length, url))

    def _bytes(self, at: int) -> int:
        return len(self._markup[:at].encode())


def _checked(marks: list[Mark]) -> tuple[Mark, ...]:
    """Refuse what Telegram silently drops: marks around or in code, quotes in quotes."""
    for number, inner in enumerate(marks):
        # What is around another mark is closed after it.
        for outer in marks[number + 1 :]:
            if not _covers(outer, inner):
                continue
            if {inner.type, outer.type} == {"pre", "code"}:
                continue
            if outer.type in {"pre", "code"} or (
                inner.type in {"pre", "code"} and outer.type != "blockquote"
            ):
                raise bad(f"{inner.type} inside {outer.type} would be dropped")
            if inner.type == outer.type == "blockquote":
                raise bad("blockquote entities can't be nested")
    return tuple(marks)


def _covers(outer: Mark, inner: Mark) -> bool:
    ends_inside = inner.offset + inner.length <= outer.offset + outer.length
    return outer.offset <= inner.offset and ends_inside


def _broken(text: str) -> ApiError:
    return bad(f"can't parse entities: {text}")
