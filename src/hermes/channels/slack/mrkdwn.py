"""What people wrote, from Slack's markup to plain text: mentions, links, channels, escapes. Pure."""

import re
from collections.abc import Mapping

_ANGLE = re.compile(r"<([^<>\s][^<>]{0,4000})>")
_USER = re.compile(r"<@([UW][A-Z0-9]{1,30})(?:\|[^<>]*)?>")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_SPACES = re.compile(r"[ \t]{2,}")
_MOST_NAMES = 10


def mentioned(text: str) -> tuple[str, ...]:
    """Return the ids of the people that a text names, each once, the first few."""
    return tuple(dict.fromkeys(_USER.findall(text)))[:_MOST_NAMES]


def without_mention(text: str, user_id: str) -> str:
    """Return the text without the naming of one user, and without what that leaves behind."""
    found = re.compile(rf"<@{re.escape(user_id)}(?:\|[^<>]*)?>")
    start = found.match(text.lstrip())
    if start is not None:
        text = text.lstrip()[start.end() :].lstrip(" \t,:")
    if not found.search(text):
        return text.strip() if start is not None else text
    return _SPACES.sub(" ", found.sub("", text)).strip()


def plain(text: str, names: Mapping[str, str]) -> str:
    """Return the text as a person reads it; `names` are those of the people in it."""

    def read(match: re.Match[str]) -> str:
        return _read(match.group(1), names)

    text = _ANGLE.sub(read, text)
    for escaped, char in _ESCAPES:
        text = text.replace(escaped, char)
    return text


def _read(inner: str, names: Mapping[str, str]) -> str:
    target, _, words = inner.partition("|")
    kind, rest = target[:1], target[1:]
    if kind == "@":
        return f"@{names.get(rest) or words or rest}"
    if kind == "#":
        return f"#{words or rest}"
    if kind == "!":
        return _special(rest, words)
    address = target.removeprefix("mailto:").removeprefix("tel:")
    if not words or words in (target, address) or target.endswith(f"://{words}"):
        return address if target != address else target
    return f"{words} ({address})"


def _special(name: str, words: str) -> str:
    if words:
        return words
    return f"@{name.partition('^')[0]}"
