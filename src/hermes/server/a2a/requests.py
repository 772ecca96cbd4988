"""Reads and bounds the JSON of a request before the SDK sees it. Pure.

The SDK converts a request several times, piece by piece; what is too deep or has too many pieces
would keep the gateway from everything else.
"""

import binascii
from typing import Any, Final

import msgspec
from a2a.utils.errors import InvalidParamsError, JSONParseError

from hermes.message.ids import MakeId

# The methods that carry a message, in both versions.
_SENDS: Final = frozenset({"message/send", "message/stream", "SendMessage", "SendStreamingMessage"})
_GETS_PUSH: Final = "tasks/pushNotificationConfig/get"
_MOST_PIECES: Final = 10_000
_DEEPEST: Final = 40
_MOST_PARTS: Final = 100
_LONGEST_ID: Final = 200
_IDS: Final = ("messageId", "contextId", "taskId", "message_id", "context_id", "task_id")
_decode = msgspec.json.Decoder().decode


# Any: JSON, here and below.
def read_json(raw: bytes) -> Any:
    """Return the JSON in a request body; raises `JSONParseError`."""
    try:
        return _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise JSONParseError(f"The body is not valid JSON: {problem}.") from None
    except RecursionError:
        raise JSONParseError("The body is nested too deeply.") from None


def prepare(content: Any, *, make_id: MakeId) -> None:
    """Check the bounds of a request, and fill in what it may leave out, such as the id of its message.

    Raises `InvalidParamsError`. What is wrong by the protocol is left to the SDK.
    """
    _check_size(content)
    method = content.get("method") if isinstance(content, dict) else None
    params = content.get("params") if isinstance(content, dict) else None
    if not isinstance(method, str) or not isinstance(params, dict):
        return
    if method == _GETS_PUSH and not params.get("pushNotificationConfigId"):
        # The version 0.3 may leave it out, and the SDK wants it; the first configuration has the task's id.
        params["pushNotificationConfigId"] = params.get("id")
    message = params.get("message")
    if method not in _SENDS or not isinstance(message, dict):
        return
    if not message.get("messageId") and not message.get("message_id"):
        message["messageId"] = make_id("x")
    _check_message(message)


def request_id(content: Any) -> str | int | None:
    """Return the id of a request, as its answer has it."""
    found = content.get("id") if isinstance(content, dict) else None
    is_id = isinstance(found, str | int) and not isinstance(found, bool)
    return found if is_id else None


def _check_size(content: Any) -> None:
    """Raise for JSON that is too deep or has too many values."""
    level, count = [content], 0
    for _ in range(_DEEPEST):
        following: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                following.extend(value.values())
            elif isinstance(value, list):
                following.extend(value)
        count += len(following)
        if count > _MOST_PIECES:
            raise InvalidParamsError(f"The request has more than {_MOST_PIECES:,} values.")
        if not following:
            return
        level = following
    raise InvalidParamsError(f"The request is nested more than {_DEEPEST} levels deep.")


def _check_message(message: dict[str, Any]) -> None:
    for name in _IDS:
        value = message.get(name)
        if isinstance(value, str) and len(value) > _LONGEST_ID:
            raise InvalidParamsError(f"'{name}' is longer than {_LONGEST_ID} characters.")
    parts = message.get("parts")
    if not isinstance(parts, list):
        return
    if len(parts) > _MOST_PARTS:
        raise InvalidParamsError(f"The message has more than {_MOST_PARTS} parts.")
    for part in parts:
        file = part.get("file") if isinstance(part, dict) else None
        data = file.get("bytes") if isinstance(file, dict) else None
        if isinstance(data, str):
            _check_base64(data)


def _check_base64(data: str) -> None:
    """Raise for bytes of a file that are not base64; the SDK would call it an error of its own."""
    try:
        binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError):
        raise InvalidParamsError("The bytes of a file are not base64.") from None
