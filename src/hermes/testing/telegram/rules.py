"""The parameters of the Bot API's methods, and their types; all others are refused.

The real API silently ignores unknown parameters. Here they break a rule, since an unread parameter
is a mistake in the channel.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from hermes.testing.telegram.refusal import ApiError, bad

_PLACE: Final = (
    "business_connection_id:str chat_id:chat! message_thread_id:int direct_messages_topic_id:int "
)
_SENT: Final = (
    _PLACE + "disable_notification:bool protect_content:bool allow_paid_broadcast:bool "
    "message_effect_id:str suggested_post_parameters:object reply_parameters:object "
    "reply_markup:object "
)
_CAPTION: Final = "caption:str parse_mode:str caption_entities:list "
_TABLE: Final = {
    "getMe": "",
    "getUpdates": "offset:int limit:int timeout:int allowed_updates:list",
    "setWebhook": "url:str! certificate:file ip_address:str max_connections:int "
    "allowed_updates:list drop_pending_updates:bool secret_token:str",
    "deleteWebhook": "drop_pending_updates:bool",
    "getWebhookInfo": "",
    "sendMessage": _SENT + "text:str! parse_mode:str entities:list link_preview_options:object",
    "editMessageText": "business_connection_id:str chat_id:chat! message_id:int! text:str! "
    "parse_mode:str entities:list link_preview_options:object reply_markup:object",
    "deleteMessage": "chat_id:chat! message_id:int!",
    "sendChatAction": "business_connection_id:str chat_id:chat! message_thread_id:int action:str!",
    "sendPhoto": _SENT + _CAPTION + "photo:file! show_caption_above_media:bool has_spoiler:bool",
    "sendDocument": _SENT
    + _CAPTION
    + "document:file! thumbnail:file disable_content_type_detection:bool",
    "sendVoice": _SENT + _CAPTION + "voice:file! duration:int",
    "sendAudio": _SENT
    + _CAPTION
    + "audio:file! duration:int performer:str title:str thumbnail:file",
    "sendVideo": _SENT
    + _CAPTION
    + "video:file! duration:int width:int height:int thumbnail:file cover:file "
    "start_timestamp:int show_caption_above_media:bool has_spoiler:bool supports_streaming:bool",
    "sendMediaGroup": _PLACE + "media:list! disable_notification:bool protect_content:bool "
    "allow_paid_broadcast:bool message_effect_id:str reply_parameters:object",
    "sendMessageDraft": "chat_id:int! message_thread_id:int draft_id:int! text:str parse_mode:str "
    "entities:list",
    "getFile": "file_id:str!",
    "getChat": "chat_id:chat!",
    "getChatMemberCount": "chat_id:chat!",
    "answerCallbackQuery": "callback_query_id:str! text:str show_alert:bool url:str cache_time:int",
}
_OBJECTS: Final = {
    "reply_parameters": "message_id:int! chat_id:chat allow_sending_without_reply:bool quote:str "
    "quote_parse_mode:str quote_entities:list quote_position:int checklist_task_id:int "
    "poll_option_id:str",
    "link_preview_options": "is_disabled:bool url:str prefer_small_media:bool "
    "prefer_large_media:bool show_above_text:bool",
}
_CAPTIONED: Final = "type:str! media:str! " + _CAPTION
_MEDIA: Final = {
    "photo": _CAPTIONED + "show_caption_above_media:bool has_spoiler:bool",
    "video": _CAPTIONED + "thumbnail:str cover:str start_timestamp:int width:int height:int "
    "duration:int supports_streaming:bool show_caption_above_media:bool has_spoiler:bool",
    "document": _CAPTIONED + "thumbnail:str disable_content_type_detection:bool",
    "audio": _CAPTIONED + "thumbnail:str duration:int performer:str title:str",
}
ACTIONS: Final = frozenset(
    {
        *("typing", "upload_photo", "record_video", "upload_video", "record_voice"),
        *("upload_voice", "upload_document", "choose_sticker", "find_location"),
        *("record_video_note", "upload_video_note"),
    }
)
METHODS: Final = frozenset(_TABLE)


def _read(table: str) -> dict[str, tuple[str, bool]]:
    rows = (entry.partition(":") for entry in table.split())
    return {name: (kind.rstrip("!"), kind.endswith("!")) for name, _, kind in rows}


_RULES: Final = {method: _read(table) for method, table in _TABLE.items()}
_OBJECT_RULES: Final = {name: _read(table) for name, table in _OBJECTS.items()}
_MEDIA_RULES: Final = {name: _read(table) for name, table in _MEDIA.items()}


def rules_of(method: str) -> Mapping[str, tuple[str, bool]]:
    """Return each parameter of a method with its type and whether it is required."""
    return _RULES[method]


def check(method: str, given: Mapping[str, Any], *, is_form: bool) -> dict[str, Any]:
    """Return the parameters by type; `is_form` means that they were sent as texts."""
    rules = _RULES.get(method)
    if rules is None:
        raise ApiError(404, "Not Found: method not found")
    params = {
        name: _from_form(name, value, rules.get(name)) if is_form else value
        for name, value in given.items()
    }
    _check(params, rules, of=method)
    for name, inner in _OBJECT_RULES.items():
        if name in params:
            _check(params[name], inner, of=name)
    for item in params.get("media", ()) if method == "sendMediaGroup" else ():
        _check_item(item)
    return params


def _check_item(item: object) -> None:
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(item, dict) or kind not in _MEDIA_RULES:
        raise bad("can't parse InputMedia: type must be one of photo, video, document, audio")
    _check(item, _MEDIA_RULES[kind], of=f"InputMedia{kind.capitalize()}")


def _check(params: Mapping[str, Any], rules: Mapping[str, tuple[str, bool]], *, of: str) -> None:
    for name, value in params.items():
        if name not in rules:
            raise bad(f"{of} has no parameter {name}")
        kind = rules[name][0]
        if not _KINDS[kind](value):
            raise bad(f"{of}: parameter {name} must be of type {kind}")
    for name, (_, is_required) in rules.items():
        if is_required and name not in params:
            raise bad(f"{of}: parameter {name} is required")


def _from_form(name: str, value: Any, rule: tuple[str, bool] | None) -> Any:
    """Convert a form's text to the type of its parameter."""
    if rule is None or not isinstance(value, str) or rule[0] in {"str", "file"}:
        return value
    if rule[0] == "chat" and value.startswith("@"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise bad(f"can't parse parameter {name} as JSON") from None


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


_KINDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "int": _is_int,
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "chat": lambda value: _is_int(value) or (isinstance(value, str) and value.startswith("@")),
    "object": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "file": lambda value: isinstance(value, str) or hasattr(value, "data"),
}
