"""Reads a line as a platform's app does: which styles each character has. Written after the apps' own rules.

Discord's are those of its public parser (simple-markdown); WhatsApp and Slack read a mark only beside
words and not beside letters outside.
"""

import re
from collections.abc import Generator, Iterator

Styled = tuple[str, frozenset[str]]

_ESCAPE = re.compile(r"\\([^0-9A-Za-z\s])")
_URL = re.compile(r"""https?://[^\s<]+[^<.,:;"')\]\s]""")
_EM = re.compile(
    r"_((?:__|\\[\s\S]|[^\\_])+?)_\b"
    r"|\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)"
)
_STRONG = re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")
_UNDERLINE = re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)")
_STRIKE = re.compile(r"~~([\s\S]+?)~~(?!_)")
_CODE = re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")
_SPOILER = re.compile(r"\|\|([\s\S]+?)\|\|")
_LINK = re.compile(
    r"""\[((?:\[[^\]]*\]|[^\[\]]|\](?=[^\[]*\]))*)\]\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?\s*\)"""
)
_MENTION = re.compile(r"@everyone|@here|<@[!&]?\d+>|<#\d+>")
_LINE_START = re.compile(r" *(?:>>>|>|#{1,3} |-# |[*+-] |\d+[.)] )")
_HUG = re.compile(r"(?<![\w*_~])([*_~])(?=\S)(.+?)(?<=\S)\1(?![\w*_~])")
_HUG_STYLES = {"*": "bold", "_": "italic", "~": "strike"}


def read_discord(text: str, styles: frozenset[str] = frozenset(), *, starts: bool = True) -> Iterator[Styled]:  # fmt: skip
    """Yield each character that Discord shows, with its styles; a ping or an opened block is a style."""
    if starts and _LINE_START.match(text):
        styles |= {"block"}
    at = 0
    while at < len(text):
        if found := _ESCAPE.match(text, at):
            yield found[1], styles
        elif found := _URL.match(text, at):
            yield from ((char, styles) for char in found[0])
        elif found := _MENTION.match(text, at):
            yield from ((char, styles | {"mention"}) for char in found[0])
        else:
            found = yield from _styled(text, at, styles)
            if found is None:
                yield text[at], styles
                at += 1
                continue
        at = found.end()


def _styled(
    text: str, at: int, styles: frozenset[str]
) -> Generator[Styled, None, re.Match[str] | None]:
    longest = max(
        ((found.end(), name, found) for name, pattern in (("italic", _EM), ("bold", _STRONG), ("underline", _UNDERLINE)) if (found := pattern.match(text, at))),
        default=None, key=lambda one: (one[0], one[1] == "bold"),
    )  # fmt: skip
    if longest is not None:
        _, name, found = longest
        inner = next(group for group in found.groups() if group is not None)
        yield from read_discord(inner, styles | {name}, starts=False)
        return found
    for name, pattern in (("strike", _STRIKE), ("spoiler", _SPOILER), ("link", _LINK)):
        if found := pattern.match(text, at):
            yield from read_discord(found[1], styles | {name}, starts=False)
            return found
    if found := _CODE.match(text, at):
        yield from ((char, styles | {"code"}) for char in found[2])
        return found
    return None


def read_hugging(text: str) -> Iterator[Styled]:
    """Yield each character that WhatsApp shows in a line, with its styles."""
    codes: list[str] = []

    def hidden(found: re.Match[str]) -> str:
        codes.append(found[1])
        return "\ue000"

    places = iter(codes)
    for char, styles in _hugged(re.sub(r"`([^`\n]+)`", hidden, text), frozenset()):
        if char == "\ue000":
            yield from ((one, styles | {"code"}) for one in next(places))
        else:
            yield char, styles


def _hugged(text: str, styles: frozenset[str]) -> Iterator[Styled]:
    at = 0
    while found := _HUG.search(text, at):
        yield from ((char, styles) for char in text[at : found.start()])
        yield from _hugged(found[2], styles | {_HUG_STYLES[found[1]]})
        at = found.end()
    yield from ((char, styles) for char in text[at:])
