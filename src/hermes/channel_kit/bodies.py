"""Decodes the bodies that platforms send; whatever does not fit is a `BadRequest`, never a crash. Pure."""

import json
import re
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec

from hermes.channel_kit.refusals import field_of
from hermes.errors import BadRequest, TooLarge

T = TypeVar("T")
_MOST_FIELDS: Final = 100
_BRACKETS: Final = re.compile(rb"[\[{}\]]")


def decode(raw: bytes, shape: type[T], *, platform: str) -> T:
    """Return the value that `raw` holds as JSON."""
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise BadRequest(
            f"{platform} sent something that is not a {shape.__name__}: {problem}"
        ) from None
    except RecursionError:
        raise BadRequest(f"{platform} sent JSON that is nested too deeply") from None


# Any: whatever a sender's JSON holds.
def decode_any(raw: bytes, *, most_bytes: int, most_depth: int) -> Any:
    """Return the value of a body in JSON that is neither too large nor nested too deeply."""
    if len(raw) > most_bytes:
        raise TooLarge(f"the body has {len(raw)} bytes, at most {most_bytes} are accepted")
    depth = deepest = 0
    for bracket in _BRACKETS.findall(raw):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    if deepest > most_depth:
        raise BadRequest(f"the body is nested {deepest} deep, at most {most_depth} are read")
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        found = _decode_halves(raw)
        if found is None:
            raise BadRequest(f"the body is not JSON: {problem}") from None
        return found


# Any: whatever a sender's JSON holds.
def _decode_halves(raw: bytes) -> Any:
    """Return the value of a body that escapes half a character, as of a name that was cut; else None."""
    try:
        written = json.dumps(json.loads(raw), ensure_ascii=False, allow_nan=False)
        return msgspec.json.decode(written.encode(errors="replace"))
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None


def decode_form(body: bytes, *, platform: str) -> dict[str, str]:
    """Return the fields of an urlencoded body; of two with one name the last counts."""
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            encoding="utf-8",
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except (UnicodeDecodeError, ValueError) as problem:
        raise BadRequest(f"{platform} sent no urlencoded form: {type(problem).__name__}") from None
    return dict(fields)


# Any: whatever a sender's JSON holds.
def text_at(found: Any, path: str) -> str:
    """Return the text at a path of names and list numbers, a whole number as text; "" without one."""
    value = field_of(found, path)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def objects_at(found: Any, path: str, *, most: int = 1000) -> list[dict[str, Any]]:
    """Return the objects of the list at a path, the first ones; what is no object is left out."""
    value = field_of(found, path)
    items = value[:most] if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]
