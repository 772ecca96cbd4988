"""Repairs arguments that a model wrote in the wrong type, if only one reading fits and nothing is
lost.

Repaired are: a string that spells a number, a boolean, a list or an object where only that type is
allowed; a whole number written with a fraction; null for an optional argument. Everything else is
left unchanged and reported to the model. Pure.
"""

import re
from typing import Any

import msgspec

from hermes.schema.paths import SchemaPaths

# Any: JSON values and schemas.
Json = Any

_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_TRUTH = {"true": True, "false": False}


def mended(value: Json, places: SchemaPaths) -> Json:
    """Return the arguments with everything repaired that can be repaired."""
    return _mend(value, places.root, places)


def _mend(value: Json, place: Json, places: SchemaPaths) -> Json:
    kinds = places.kinds(place)
    if isinstance(value, str) and "string" not in kinds:
        value = _unquoted(value, kinds)
    if isinstance(value, float) and value.is_integer() and "number" not in kinds:
        return int(value) if "integer" in kinds else value
    if isinstance(value, dict):
        return _mend_object(value, places.branch(place, value), places)
    if isinstance(value, list):
        inner = places.branch(place, value)
        return [_mend(one, places.below(inner, index), places) for index, one in enumerate(value)]
    return value


def _mend_object(value: dict[str, Json], place: Json, places: SchemaPaths) -> Json:
    needed = place.get("required", ())
    found = {}
    for name, one in value.items():
        inner = places.below(place, name)
        if one is None and name not in needed and "null" not in places.kinds(inner):
            continue
        found[name] = _mend(one, inner, places)
    return found


def _unquoted(text: str, kinds: frozenset[str]) -> Json:
    """Return the value that a string spells, if it has the only type allowed there."""
    bare = text.strip()
    if "integer" in kinds and _WHOLE.fullmatch(bare):
        return int(bare)
    if "number" in kinds and _NUMBER.fullmatch(bare):
        return float(bare)
    if "boolean" in kinds and bare in _TRUTH:
        return _TRUTH[bare]
    wanted = {"array": "[", "object": "{"}
    if any(kind in kinds and bare.startswith(sign) for kind, sign in wanted.items()):
        try:
            return msgspec.json.decode(bare)
        except (msgspec.DecodeError, RecursionError):
            return text
    return text
