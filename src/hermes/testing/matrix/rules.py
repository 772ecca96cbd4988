"""What a homeserver refuses in an event: JSON that is not canonical, too much, wrong shapes.

Clients silently drop unknown markup; here it is refused, too. Pure.
"""

import json
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from hermes.testing.call_rules import Json, SiteRefusal
from hermes.testing.site import load_platform

MAX_EVENT_BYTES = 65_536
# What a homeserver adds to an event: ids, hashes, a signature, references.
_ADDED_BYTES = 2_000
_MAX_INT = (1 << 53) - 1
_MAX_DEPTH = 100
_HTML = load_platform("hermes.testing.matrix").more["html"]
_TAGS: Mapping[str, str] = {**dict.fromkeys(_HTML["plain"].split(), ""), **_HTML["with"]}
_VOID, _SCHEMES = _HTML["void"].split(), tuple(_HTML["schemes"].split())
_FILES = frozenset({"m.image", "m.audio", "m.video", "m.file"})


def bad_json(text: str) -> SiteRefusal:
    """Return the refusal of what does not have the right shape."""
    return SiteRefusal("M_BAD_JSON", text)


def read_object(body: bytes) -> Json:
    """Return a body as an object of canonical JSON."""
    try:
        found = json.loads(body.decode(), parse_float=_no_float, parse_constant=_no_float)
    except (ValueError, RecursionError):
        raise SiteRefusal("bad_json", "Content not JSON.") from None
    if not isinstance(found, dict):
        raise bad_json("Content must be a JSON object.")
    _check_values(found, 0)
    return found


def check_size(event: Mapping[str, Any]) -> None:
    """Refuse an event that is too large with everything that is added to it."""
    size = len(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode())
    if size + _ADDED_BYTES > MAX_EVENT_BYTES:
        raise SiteRefusal("M_TOO_LARGE", "event too large")


def check_message(content: Mapping[str, Any]) -> None:
    """Refuse a message that clients could not show as intended."""
    if not isinstance(content.get("msgtype"), str) or not isinstance(content.get("body"), str):
        raise bad_json("msgtype and body must be text")
    if not content["body"].strip():
        raise bad_json("a message without text")
    if ("format" in content) != ("formatted_body" in content):
        raise bad_json("format goes with formatted_body")
    if "format" in content:
        if content["format"] != "org.matrix.custom.html":
            raise bad_json(f"unknown format {content['format']!r}")
        check_html(content["formatted_body"])
    mentions = content.get("m.mentions", {})
    if not isinstance(mentions, dict) or set(mentions) - {"user_ids", "room"}:
        raise bad_json("m.mentions is wrong")
    if content["msgtype"] in _FILES and not str(content.get("url")).startswith("mxc://"):
        raise bad_json("an attachment needs an mxc address")
    if content.get("m.new_content") is not None:
        check_message(content["m.new_content"])


def check_html(text: object) -> None:
    """Refuse tags and attributes that clients drop, and unclosed tags."""
    if not isinstance(text, str):
        raise bad_json("formatted_body must be text")
    reader = _Html()
    reader.feed(text)
    reader.close()
    if reader.open_tags:
        raise bad_json(f"unclosed {reader.open_tags}")


def passes(event: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Return whether an event passes a filter."""
    kind, sender = event["type"], event.get("sender", "")
    if any(_fits(kind, one) for one in asked.get("not_types", ())):
        return False
    if sender in asked.get("not_senders", ()):
        return False
    if "senders" in asked and sender not in asked["senders"]:
        return False
    return "types" not in asked or any(_fits(kind, one) for one in asked["types"])


def _fits(kind: str, pattern: str) -> bool:
    return kind.startswith(pattern[:-1]) if pattern.endswith("*") else kind == pattern


def _no_float(_text: str) -> None:
    raise bad_json("Bad JSON value: float")


def _check_values(value: object, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise bad_json("nested too deep")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _MAX_INT:
        raise bad_json("JSON integer out of range")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise bad_json("half a character") from None
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        _check_values(item, depth + 1)


class _Html(HTMLParser):
    """Tracks the tags."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open_tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS:
            raise bad_json(f"clients drop <{tag}>")
        for name, value in attrs:
            if name not in _TAGS[tag].split():
                raise bad_json(f"clients drop {name} of <{tag}>")
            if name == "href" and not (value or "").startswith(_SCHEMES):
                raise bad_json(f"clients drop the link {value!r}")
            if name == "class" and not (value or "").startswith("language-"):
                raise bad_json(f"clients drop the class {value!r}")
        if tag not in _VOID:
            self.open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open_tags or self.open_tags.pop() != tag:
            raise bad_json(f"</{tag}> closes nothing")

    def handle_comment(self, data: str) -> None:
        raise bad_json("a comment in formatted_body")

    def handle_decl(self, decl: str) -> None:
        raise bad_json("a declaration in formatted_body")
