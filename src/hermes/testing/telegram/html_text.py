"""Telegram's HTML as its servers parse it: the visible text, and the refusals with their texts."""

import html
import re
from typing import Final

import msgspec

from hermes.testing.call_rules import SiteRefusal

_TAGS: Final = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em"), "italic"),
    **dict.fromkeys(("u", "ins"), "underline"),
    **dict.fromkeys(("s", "strike", "del"), "strikethrough"),
    **dict.fromkeys(("span", "tg-spoiler"), "spoiler"),
    "a": "text_link",
    "tg-emoji": "custom_emoji",
    "blockquote": "blockquote",
    "pre": "pre",
    "code": "code",
}
_CODE: Final = frozenset({"pre", "code"})
_PIECE: Final = re.compile(
    r"(?P<text>[^<&]+)|<(?P<end>/?)(?P<tag>[^\s>]*)"
    r"|&(?:#(?P<dec>\d{1,7})|#[xX](?P<hex>[0-9a-fA-F]{1,6})|(?P<name>lt|gt|amp|quot));|&"
)
_ATTRIBUTE: Final = re.compile(
    r"\s*(?:(?P<flag>expandable)(?=[\s>])"
    r"|(?P<name>[a-zA-Z-]+)\s*=\s*(?P<value>\"[^\"]*\"|'[^']*'|[^\s>\"']+))"
)


class Mark(msgspec.Struct, frozen=True):
    """One entity; offsets count UTF-16 units."""

    type: str
    offset: int
    length: int


def units(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def parse_html(markup: str) -> str:
    """Return the visible text of the markup; refuse bad markup in Telegram's words."""
    text, at = "", 0
    opened: list[tuple[str, int]] = []
    marks: list[Mark] = []
    while found := _PIECE.match(markup, at):
        start, at = at, found.end()
        if found["tag"] is None:
            text += _shown(found)
            continue
        name, where = found["tag"].lower(), f"at byte offset {len(markup[:start].encode())}"
        if not found["end"]:
            at = _opened(markup, at, name=name, where=where)
            opened.append((name, units(text)))
            continue
        if markup[at : at + 1] != ">":
            raise _broken(f"Unclosed end tag {where}")
        at += 1
        if not opened:
            raise _broken(f"Unexpected end tag {where}")
        expected, offset = opened.pop()
        if name not in {expected, ""}:
            raise _broken(f'Unmatched end tag {where}, expected "</{expected}>", found "</{name}>"')
        if units(text) > offset:
            marks.append(Mark(_TAGS[expected], offset, units(text) - offset))
    if opened:
        raise _broken(f'Can\'t find end tag corresponding to start tag "{opened[-1][0]}"')
    _check_nesting(marks)
    return text


def _shown(found: re.Match[str]) -> str:
    """Return what people read of a text or an entity."""
    code = found["dec"] or (f"x{found['hex']}" if found["hex"] else "")
    return html.unescape(f"&#{code};") if code else html.unescape(found[0])


def _opened(markup: str, at: int, *, name: str, where: str) -> int:
    """Check a start tag from its attributes on; return where it ends."""
    if name not in _TAGS:
        raise _broken(f'Unsupported start tag "{name}" {where}')
    given: dict[str, str] = {}
    while found := _ATTRIBUTE.match(markup, at):
        at = found.end()
        given[(found["flag"] or found["name"]).lower()] = (found["value"] or "").strip("\"'")
    rest = markup[at:].lstrip()
    if not rest:
        raise _broken(f"Unclosed start tag {where}")
    if not rest.startswith(">"):
        raise _broken(
            f'Expected "=" in declaration of an attribute of the tag "{name}" at byte offset '
            f"{len(markup[:at].encode())}"
        )
    if name == "span" and given.get("class") != "tg-spoiler":
        raise _broken(f'Tag "span" must have class "tg-spoiler" {where}')
    return len(markup) - len(rest) + 1


def _check_nesting(marks: list[Mark]) -> None:
    """Refuse what Telegram silently drops: marks around or in code, quotes in quotes."""
    for number, inner in enumerate(marks):
        # What is around another mark is closed after it.
        for outer in marks[number + 1 :]:
            if not outer.offset <= inner.offset < outer.offset + outer.length:
                continue
            kinds = {inner.type, outer.type}
            if kinds == _CODE:
                continue
            if outer.type in _CODE or (inner.type in _CODE and outer.type != "blockquote"):
                raise SiteRefusal("bad", f"{inner.type} inside {outer.type} would be dropped")
            if kinds == {"blockquote"}:
                raise SiteRefusal("bad", "blockquote entities can't be nested")


def _broken(text: str) -> SiteRefusal:
    return SiteRefusal("bad", f"can't parse entities: {text}")
