"""A blob: one message frozen to bytes and named by the hash of exactly what a model sees.

The message's own keys are put in one order (role first); everything inside keeps its order and
text, so that a message sent twice has the same bytes. Times and provenance are refused: they belong
to calls and edits.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from hermes.errors import BadRequest, TooLarge
from hermes.graph.hasher import Hasher
from hermes.graph.refusal import is_too_deep, why_refused

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
# Keys that responses and logs add to a message and that no model is shown.
NEVER_SEEN = frozenset({
    "created", "created_at", "finish_reason", "logprobs", "metadata", "model", "stop_reason",
    "stop_sequence", "timestamp", "usage", "weight",
})  # fmt: skip

# A message is JSON, and JSON has no narrower type in Python.
Message = dict[str, Any]

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder().decode


class Blob(msgspec.Struct, eq=False, gc=False):
    """A frozen message; `data` is None until it is read from the storage; `kept` if it is stored.

    Two equal messages at two places of a conversation are two blobs with the same name.
    """

    id: bytes
    data: bytes | None
    kept: bool = False

    def message(self) -> Message:
        """Return the message as plain data that the caller may change."""
        assert self.data is not None, "the sequence reads a blob before it returns it"
        found: Message = _decode(self.data)
        return found


def freeze(message: Mapping[str, Any], hasher: Hasher) -> Blob:
    """Return `message` as a blob; raises BadRequest with the reason if it is refused."""
    data = canonical(message)
    return Blob(hasher.blob(data), data)


def canonical(message: Mapping[str, Any]) -> bytes:
    """Return the bytes whose hash names `message`."""
    if not isinstance(message, dict):
        raise BadRequest(
            f"A message is a dict with a role, this one is of type {type(message).__name__}. "
            "Pass a dict such as {'role': 'user', 'content': '...'}."
        )
    role = message.get("role")
    if type(role) is not str or not role:
        raise BadRequest(
            f"A message needs a role that is a text, found {role!r}. "
            "Add one, such as 'system', 'user', 'assistant' or 'tool'."
        )
    if not NEVER_SEEN.isdisjoint(message):
        raise BadRequest(_bookkeeping(message))
    return canonical_value(_in_order(message))


def canonical_value(value: object) -> bytes:
    """Return a JSON value as bytes that decode to exactly this value."""
    try:
        data = _encode(value)
        same = _decode(data) == value
    except (TypeError, ValueError, RecursionError, OverflowError) as problem:
        raise BadRequest(why_refused(value)) from problem
    if not same or is_too_deep(value, data):
        raise BadRequest(why_refused(value))
    if len(data) > MAX_MESSAGE_BYTES:
        raise TooLarge(
            f"A message has at most {MAX_MESSAGE_BYTES} bytes as JSON, this one has {len(data)}. "
            "Keep large media in a file and refer to it."
        )
    return data


def detached(value: object) -> Any:  # Any: JSON read back
    """Return a plain copy of a JSON value that shares nothing with it."""
    return _decode(canonical_value(value))


def reads_the_same(one: Blob, other: Blob) -> bool:
    """Return whether two loaded blobs are the same message except for the order of keys."""
    if one.id == other.id:
        return True
    if one.data is None or other.data is None or len(one.data) != len(other.data):
        return False
    return _encode_sorted(_decode(one.data)) == _encode_sorted(_decode(other.data))


def _in_order(message: Message) -> Message:
    keys = list(message)
    if keys[0] == "role" and (len(keys) <= 2 or keys[1:] == sorted(keys[1:], key=str)):
        return message
    rest = sorted((key for key in keys if key != "role"), key=str)
    return {key: message[key] for key in ("role", *rest)}


def _bookkeeping(message: Message) -> str:
    found = ", ".join(sorted(NEVER_SEEN.intersection(message)))
    return (
        f"A message holds what a model sees, and no model sees {found}. "
        "Leave it out; record_call() and link() keep what is known about an answer."
    )
