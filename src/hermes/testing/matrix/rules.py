"""What a homeserver refuses: JSON that is not canonical, events that are too large, wrong shapes.

Clients silently drop unknown markup; here it is refused, too. Pure.
"""

import json
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

MAX_EVENT_BYTES = 65_536
# What a homeserver adds to an event: ids, hashes, a signature, references.
_ADDED_BYTES = 2_000
_MAX_INT = (1 << 53) - 1
_MAX_DEPTH = 100
_VOID = frozenset({"br", "hr"})
_TAGS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        [
            "del",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "blockquote",
            "p",
            "ul",
            "li",
            "strong",
            "em",
            "s",
            "u",
            "sup",
            "sub",
            "hr",
            "br",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "caption",
            "pre",
            "details",
            "summary",
        ],
        frozenset(),
    ),
    "a": frozenset({"href"}),
    "ol": frozenset({"start"}),
    "code": frozenset({"class"}),
    "span": frozenset({"data-mx-spoiler", "data-mx-color"}),
}
_SCHEMES = ("https:", "http:", "ftp:", "mailto:", "magnet:", "tel:")
_FILTER_KEYS = frozenset({"event_fields", "event_format", "presence", "account_data", "room"})
_ROOM_KEYS = frozenset(
    {"not_rooms", "rooms", "ephemeral", "include_leave", "state", "timeline", "account_data"}
)
_EVENT_KEYS = frozenset({"limit", "types", "not_types", "senders", "not_senders"})
_ROOM_EVENT_KEYS = _EVENT_KEYS | {
    "lazy_load_members",
    "include_redundant_members",
    "contains_url",
    "rooms",
    "not_rooms",
    "unread_thread_notifications",
}


class MatrixError(Exception):
    """The homeserver refuses; a `fault` is not the caller's."""

    def __init__(
        self,
        status: int,
        code: str,
        text: str = "",
        *,
        retry_after: float | None = None,
        planned: bool = False,
        soft_logout: bool = False,
    ) -> None:
        super().__init__(f"{status} {code} {text}".strip())
        self.status = status
        self.code = code
        self.text = text
        self.retry_after = retry_after
        self.planned = planned
        self.soft_logout = soft_logout


def read_object(body: bytes) -> dict[str, Any]:
    """Return a body as an object of canonical JSON."""
    try:
        found = json.loads(body.decode(), parse_float=_no_float, parse_constant=_no_float)
    except MatrixError:
        raise
    except (ValueError, RecursionError) as error:
        raise MatrixError(400, "M_NOT_JSON", "Content not JSON.") from error
    if not isinstance(found, dict):
        raise MatrixError(400, "M_BAD_JSON", "Content must be a JSON object.")
    _check_values(found, 0)
    return found


def check_size(event: Mapping[str, Any]) -> None:
    """Refuse an event that is too large with everything that is added to it."""
    size = len(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode())
    if size + _ADDED_BYTES > MAX_EVENT_BYTES:
        raise MatrixError(413, "M_TOO_LARGE", "event too large")


def check_message(content: Mapping[str, Any]) -> None:
    """Refuse a message that clients could not show as intended."""
    if not isinstance(content.get("msgtype"), str) or not isinstance(content.get("body"), str):
        raise MatrixError(400, "M_BAD_JSON", "msgtype and body must be text")
    if not content["body"].strip():
        raise MatrixError(400, "M_BAD_JSON", "a message without text")
    if ("format" in content) != ("formatted_body" in content):
        raise MatrixError(400, "M_BAD_JSON", "format goes with formatted_body")
    if "format" in content:
        if content["format"] != "org.matrix.custom.html":
            raise MatrixError(400, "M_BAD_JSON", f"unknown format {content['format']!r}")
        check_html(content["formatted_body"])
    mentions = content.get("m.mentions", {})
    if not isinstance(mentions, dict) or set(mentions) - {"user_ids", "room"}:
        raise MatrixError(400, "M_BAD_JSON", "m.mentions is wrong")
    if content["msgtype"] in {"m.image", "m.audio", "m.video", "m.file"}:
        url = content.get("url")
        if not isinstance(url, str) or not url.startswith("mxc://"):
            raise MatrixError(400, "M_BAD_JSON", "an attachment needs an mxc address")
    new = content.get("m.new_content")
    if new is not None:
        check_message(new)


def check_html(text: object) -> None:
    """Refuse tags and attributes that clients drop, and unclosed tags."""
    if not isinstance(text, str):
        raise MatrixError(400, "M_BAD_JSON", "formatted_body must be text")
    reader = _Html()
    reader.feed(text)
    reader.close()
    if reader.open_tags:
        raise MatrixError(400, "M_BAD_JSON", f"unclosed {reader.open_tags}")


def check_filter(text: str) -> dict[str, Any]:
    """Return the filter of /sync; refuse unknown or wrong fields."""
    asked = read_object(text.encode())
    _check_keys(asked, _FILTER_KEYS)
    for name in ("presence", "account_data"):
        _check_events(asked.get(name, {}), _EVENT_KEYS)
    room = asked.get("room", {})
    _check_keys(room, _ROOM_KEYS)
    for name in ("ephemeral", "state", "timeline", "account_data"):
        check_room_filter(room.get(name, {}))
    return asked


def check_room_filter(asked: object) -> dict[str, Any]:
    """Return the filter of events in rooms; refuse unknown or wrong fields."""
    return _check_events(asked, _ROOM_EVENT_KEYS)


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


def _check_events(asked: object, keys: frozenset[str]) -> dict[str, Any]:
    if not isinstance(asked, dict):
        raise MatrixError(400, "M_BAD_JSON", "a filter must be an object")
    _check_keys(asked, keys)
    limit = asked.get("limit", 1)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise MatrixError(400, "M_BAD_JSON", "limit must be a whole number above 0")
    for name in ("types", "not_types", "senders", "not_senders", "rooms", "not_rooms"):
        listed = asked.get(name, [])
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise MatrixError(400, "M_BAD_JSON", f"{name} must be a list of texts")
    return asked


def _check_keys(table: object, keys: frozenset[str]) -> None:
    if not isinstance(table, dict) or set(table) - keys:
        raise MatrixError(400, "M_BAD_JSON", f"a filter has fields that do not exist: {table}")


def _no_float(_text: str) -> None:
    raise MatrixError(400, "M_BAD_JSON", "Bad JSON value: float")


def _check_values(value: object, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise MatrixError(400, "M_BAD_JSON", "nested too deep")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _MAX_INT:
        raise MatrixError(400, "M_BAD_JSON", "JSON integer out of range")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise MatrixError(400, "M_BAD_JSON", "half a character") from error
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
            raise MatrixError(400, "M_BAD_JSON", f"clients drop <{tag}>")
        for name, value in attrs:
            if name not in _TAGS[tag]:
                raise MatrixError(400, "M_BAD_JSON", f"clients drop {name} of <{tag}>")
            if name == "href" and not (value or "").startswith(_SCHEMES):
                raise MatrixError(400, "M_BAD_JSON", f"clients drop the link {value!r}")
            if name == "class" and not (value or "").startswith("language-"):
                raise MatrixError(400, "M_BAD_JSON", f"clients drop the class {value!r}")
        if tag not in _VOID:
            self.open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open_tags or self.open_tags.pop() != tag:
            raise MatrixError(400, "M_BAD_JSON", f"</{tag}> closes nothing")

    def handle_comment(self, data: str) -> None:
        raise MatrixError(400, "M_BAD_JSON", "a comment in formatted_body")

    def handle_decl(self, decl: str) -> None:
        raise MatrixError(400, "M_BAD_JSON", "a declaration in formatted_body")
