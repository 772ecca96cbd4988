"""Checks mrkdwn and blocks as the stand-in does, and returns what people read. Pure."""

import re
from typing import Any

from hermes.testing.call_rules import SiteRefusal

SECTION_CHARS = 3000
MOST_BLOCKS = 50
MOST_BLOCK_CHARS = 13_000
MOST_CHARS = 40_000
_ENTITY = re.compile(r"&(?!amp;|lt;|gt;)")
_ANGLE = re.compile(r"<([^<>\n]*)>")
_INSIDE = re.compile(
    r"(?:https?://|mailto:|tel:)[^|<>\s]+(?:\|[^|<>]*)?|[@#][A-Z0-9]+(?:\|[^<>]*)?|!\w[^<>]*"
)
_SECTION = frozenset({"type", "text", "block_id", "fields", "accessory", "expand"})
_BUTTON = frozenset({"type", "text", "action_id", "value", "style", "url", "confirm"})
MOST_BUTTONS = 25
_FENCED = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
_STYLES = re.compile(r"(?<![\w*_~])([*_~])(?=\S)(.+?)(?<=\S)\1(?![\w*_~])")
_DATE = re.compile(r"<!date\^[^<>|]*\|([^<>]*)>")
_HIDDEN = dict(zip(map(ord, "*_~`"), "\ue000\ue001\ue002\ue003", strict=True))
_SHOWN = {ord(hidden): chr(mark) for mark, hidden in _HIDDEN.items()}
_CODE = re.compile(r"`([^`\n]+)`")


def check_mrkdwn(text: str) -> None:
    """Raise unless every `&` and `<` is markup; Slack would show something unintended."""
    if _ENTITY.search(text):
        raise SiteRefusal("invalid_arguments", "an & that is not an escape")
    for inside in _ANGLE.findall(text):
        if not _INSIDE.fullmatch(inside):
            raise SiteRefusal("invalid_arguments", f"<{inside[:40]}> is not a link or mention")
    if "<" in _ANGLE.sub("", text) or ">" in _quoteless(_ANGLE.sub("", text)):
        raise SiteRefusal("invalid_arguments", "a < or > that is not escaped")


def _quoteless(text: str) -> str:
    return re.sub(r"^\s*>", "", text, flags=re.MULTILINE)


def check_blocks(blocks: object) -> None:
    """Raise unless Slack accepts these blocks."""
    if not isinstance(blocks, list):
        raise SiteRefusal("invalid_blocks_format")
    if len(blocks) > MOST_BLOCKS:
        raise SiteRefusal("invalid_blocks", f"{len(blocks)} blocks")
    size = 0
    for block in blocks:
        size += _check_block(block)
    if size > MOST_BLOCK_CHARS:
        raise SiteRefusal("msg_blocks_too_long", f"{size} characters")


def _check_block(block: Any) -> int:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "divider" and set(block) <= {"type", "block_id"}:
        return 0
    if kind == "actions":
        return _check_buttons(block)
    if kind != "section" or not set(block) <= _SECTION:
        raise SiteRefusal("invalid_blocks", f"a block of the type {kind!r}")
    text = block.get("text")
    words = text.get("text") if isinstance(text, dict) else None
    if not isinstance(words, str) or text["type"] not in ("mrkdwn", "plain_text"):
        raise SiteRefusal("invalid_blocks", "a section without a text")
    if not 1 <= len(words) <= SECTION_CHARS:
        raise SiteRefusal("invalid_blocks", f"a section of {len(words)} characters")
    if text["type"] == "mrkdwn":
        check_mrkdwn(words)
    return len(words)


def _check_buttons(block: Any) -> int:
    """Return the length of the buttons' labels; raise unless Slack shows them."""
    elements = block.get("elements")
    if not set(block) <= {"type", "block_id", "elements"} or not isinstance(elements, list):
        raise SiteRefusal("invalid_blocks", "actions without elements")
    names = [one.get("action_id") for one in elements]
    if not 1 <= len(elements) <= MOST_BUTTONS or len(set(names)) < len(names):
        raise SiteRefusal("invalid_blocks", f"{len(elements)} buttons, or two of one id")
    return sum(map(_check_button, elements))


def _check_button(button: Any) -> int:
    text, value, name = button.get("text"), button.get("value"), button.get("action_id")
    words = text.get("text") if isinstance(text, dict) else None
    if button.get("type") != "button" or not set(button) <= _BUTTON:
        raise SiteRefusal("invalid_blocks", "no button, or one with unknown fields")
    if button.get("style", "primary") not in ("primary", "danger"):
        raise SiteRefusal("invalid_blocks", "a style that no button has")
    if not isinstance(words, str) or not 1 <= len(words) <= 75 or text["type"] != "plain_text":
        raise SiteRefusal("invalid_blocks", "a button without a plain label of 75 characters")
    if not isinstance(name, str) or len(name) > 255 or not isinstance(value, str):
        raise SiteRefusal("invalid_blocks", "a button without an id and a value")
    if len(value) > 2000:
        raise SiteRefusal("invalid_blocks", f"a value of {len(value)} characters")
    return len(words)


def as_read(text: str) -> str:
    """Return the readable text of a mrkdwn text."""
    # The fallback text of an invalid date is shown as it is: its marks style nothing.
    text = _DATE.sub(lambda match: match.group(1).translate(_HIDDEN), text)
    pieces = []
    end = 0
    for match in _FENCED.finditer(text):
        pieces += [_read(text[end : match.start()]), match.group(1)]
        end = match.end()
    pieces.append(_read(text[end:]))
    shown = "".join(pieces).replace("\u200b", "").translate(_SHOWN)
    return shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _read(text: str) -> str:
    text = _ANGLE.sub(lambda match: match.group(1).rpartition("|")[2], text)
    pieces = _CODE.split(text)
    for place in range(0, len(pieces), 2):
        while (plain := _STYLES.sub(r"\2", pieces[place])) != pieces[place]:
            pieces[place] = plain
    return "".join(pieces)
