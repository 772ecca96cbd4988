"""The arguments of each method: their names, types and scopes, and how they may be sent. Pure."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from hermes.testing.slack.refusal import SlackError

# Any: arguments are JSON of the method's own.
Json = dict[str, Any]


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """One method: `takes` maps each argument to its type, with `!` if it is required."""

    takes: Mapping[str, str]
    scopes: tuple[str, ...] = ()
    json: bool = False
    token: str = "xoxb-"


_PAGED = {"cursor": "text", "limit": "number"}
_HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")
_READ = ("channels:read", "groups:read", "im:read", "mpim:read")
_MESSAGE = {
    "text": "text",
    "blocks": "list",
    "attachments": "list",
    "metadata": "object",
    "link_names": "flag",
    "parse": "text",
    "reply_broadcast": "flag",
    "mrkdwn": "flag",
}
METHODS: Mapping[str, Method] = {
    "api.test": Method(takes={"foo": "text", "error": "text"}, json=True),
    "auth.test": Method(takes={}, json=True),
    "apps.connections.open": Method(
        takes={}, json=True, token="xapp-", scopes=("connections:write",)
    ),
    "chat.postMessage": Method(
        takes={
            "channel": "text!",
            "thread_ts": "text",
            "unfurl_links": "flag",
            "unfurl_media": "flag",
            "icon_emoji": "text",
            "icon_url": "text",
            "username": "text",
            **_MESSAGE,
        },
        json=True,
        scopes=("chat:write",),
    ),
    "chat.update": Method(
        takes={"channel": "text!", "ts": "text!", "file_ids": "list", **_MESSAGE},
        json=True,
        scopes=("chat:write",),
    ),
    "chat.delete": Method(
        takes={"channel": "text!", "ts": "text!"}, json=True, scopes=("chat:write",)
    ),
    "conversations.history": Method(
        takes={
            "channel": "text!",
            "include_all_metadata": "flag",
            "inclusive": "flag",
            "latest": "text",
            "oldest": "text",
            **_PAGED,
        },
        scopes=_HISTORY,
    ),
    "conversations.replies": Method(
        takes={
            "channel": "text!",
            "ts": "text!",
            "include_all_metadata": "flag",
            "inclusive": "flag",
            "latest": "text",
            "oldest": "text",
            **_PAGED,
        },
        scopes=_HISTORY,
    ),
    "conversations.list": Method(
        takes={"exclude_archived": "flag", "types": "text", "team_id": "text", **_PAGED},
        scopes=_READ,
    ),
    "conversations.info": Method(
        takes={"channel": "text!", "include_num_members": "flag", "include_locale": "flag"},
        scopes=_READ,
    ),
    "conversations.open": Method(
        takes={"channel": "text", "users": "text", "return_im": "flag"},
        json=True,
        scopes=("im:write",),
    ),
    "users.info": Method(takes={"user": "text!", "include_locale": "flag"}, scopes=("users:read",)),
    "files.getUploadURLExternal": Method(
        takes={
            "filename": "text!",
            "length": "number!",
            "alt_txt": "text",
            "snippet_type": "text",
        },
        scopes=("files:write",),
    ),
    "files.completeUploadExternal": Method(
        takes={
            "files": "list!",
            "channel_id": "text",
            "channels": "text",
            "thread_ts": "text",
            "initial_comment": "text",
            "blocks": "list",
        },
        json=True,
        scopes=("files:write",),
    ),
    "files.delete": Method(takes={"file": "text!"}, json=True, scopes=("files:write",)),
    "assistant.threads.setStatus": Method(
        takes={
            "channel_id": "text!",
            "thread_ts": "text!",
            "status": "text!",
            "loading_messages": "list",
        },
        json=True,
        scopes=("chat:write", "assistant:write"),
    ),
}
ALL_SCOPES = frozenset(scope for method in METHODS.values() for scope in method.scopes) | {
    "app_mentions:read",
    "commands",
    "files:read",
}


def read_arguments(name: str, query: str, *, kind: str, body: bytes) -> Json:
    """Return a call's checked arguments; raise `SlackError` as Slack would."""
    method = METHODS.get(name)
    if method is None:
        raise SlackError("unknown_method", name)
    given: Json = dict(parse_qsl(query, keep_blank_values=True))
    is_json = kind == "application/json"
    if is_json and method.json:
        given |= _object(body)
    elif is_json and body not in (b"", b"{}"):
        raise SlackError("invalid_arguments", f"{name} does not accept JSON")
    elif kind in ("application/x-www-form-urlencoded", "multipart/form-data") or not body:
        given |= dict(parse_qsl(body.decode(), keep_blank_values=True))
    elif not is_json:
        raise SlackError("invalid_post_type", kind)
    given.pop("token", None)
    return _checked(name, given, method=method, from_form=not is_json)


def _object(body: bytes) -> Json:
    try:
        found = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SlackError("invalid_json", "the body") from None
    if not isinstance(found, dict):
        raise SlackError("json_not_object", "the body")
    return found


def _checked(name: str, given: Json, *, method: Method, from_form: bool) -> Json:
    for argument in given:
        if argument not in method.takes:
            raise SlackError("invalid_arguments", f"{name} takes no {argument}")
    checked: Json = {}
    for argument, kind in method.takes.items():
        value = given.get(argument)
        if value is None:
            if kind.endswith("!"):
                raise SlackError("invalid_arguments", f"{name} needs {argument}")
            continue
        checked[argument] = _value(argument, value, kind=kind.rstrip("!"), from_form=from_form)
    return checked


def _value(argument: str, value: Any, *, kind: str, from_form: bool) -> Any:
    if from_form and kind in ("list", "object", "number"):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, TypeError):
            raise SlackError("invalid_arguments", f"{argument} is no {kind}") from None
    if from_form and kind == "flag":
        value = {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())
    types = {"text": str, "flag": bool, "list": list, "object": dict, "number": int}
    if not isinstance(value, types[kind]):
        raise SlackError("invalid_arguments", f"{argument} is no {kind}")
    return value
