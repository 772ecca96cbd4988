"""Explains arguments that do not fit: where, what was expected, what was found, an example. Pure.

The reader is a model that will try again at once, so each sentence says what to write instead.
"""

from typing import Any

import msgspec

from hermes.schema.checker import Checker, Misfit, bounded
from hermes.schema.paths import SchemaPaths, kind_of
from hermes.similar_words import nearest

# Any: JSON values and schemas.
Json = Any

MOST_MISFITS = 3
_MAX_FOUND = 80
_MAX_CHOICES = 12
_MAX_EXAMPLE = 600
_MAX_DEPTH = 4
_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_FORMATS = {
    "date": "2024-05-31",
    "date-time": "2024-05-31T18:30:00Z",
    "time": "18:30:00",
    "duration": "PT1H30M",
    "uuid": "8e2f0b1c-6a3d-4f5e-9b7a-1c2d3e4f5a6b",
    "email": "ann@example.com",
    "uri": "https://example.com",
}
_LIMITS = (
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("exclusiveMinimum", "more than {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("pattern", "matching {}"),
)
_TOO_MANY = ("additionalProperties", "unevaluatedProperties")


def advice(value: Json, checker: Checker, places: SchemaPaths) -> str:
    """Return what is wrong with arguments, and an example of arguments that fit."""
    told = [_told(misfit, places) for misfit in checker.misfits(value, most=MOST_MISFITS)]
    problem = "; ".join(told) or "they do not fit the schema"
    return f"{problem}.{example_text(checker, places)}"


def example_text(checker: Checker, places: SchemaPaths) -> str:
    """Return a sentence with the shortest arguments that fit, if they are easy to find."""
    found = _example(places.root, places, depth=0)
    text = msgspec.json.encode(found).decode()
    if len(text) > _MAX_EXAMPLE or not checker.fits(found):
        return ""
    return f" Example: {text}"


def _told(misfit: Misfit, places: SchemaPaths) -> str:
    word, place = str(misfit.rule[-1]), places.at(misfit.rule[:-1])
    where = _where(misfit.path)
    if word == "required" and misfit.names:
        name = misfit.names[0]
        wanted = _expected(places.below(place, name), places)
        return f"{_where((*misfit.path, name))} is missing: expected {wanted}"
    if word in _TOO_MANY and misfit.names:
        return _too_many(misfit, place, where=where)
    if word == "falseSchema" or not place:
        return bounded(f"{where}: {misfit.message}")
    found = _found(misfit.found)
    return f"{where}: expected {_expected(place, places)}, found {found}"


def _too_many(misfit: Misfit, place: Json, *, where: str) -> str:
    known = list(place.get("properties", {}))
    unknown = misfit.names[0]
    near = nearest(unknown, known)
    hint = f'; did you mean "{near}"?' if near else ""
    names = ", ".join(known[:_MAX_CHOICES]) or "none"
    inside = "" if not misfit.path else f" of {where}"
    return f'there is no argument "{unknown[:_MAX_FOUND]}"{inside}{hint} Known: {names}'


def _where(path: tuple[str | int, ...]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return f'"{text.removeprefix(".")[:160]}"' if text else "the arguments"


def _expected(place: Json, places: SchemaPaths, *, depth: int = 0) -> str:
    found = places.alternatives(place)
    told = list(dict.fromkeys(_expected_value(one, places, depth=depth) for one in found))
    return " or ".join(told)


def _expected_value(place: Json, places: SchemaPaths, *, depth: int) -> str:
    if "const" in place:
        return _found(place["const"])
    choices = place.get("enum")
    if isinstance(choices, list) and choices:
        named = ", ".join(msgspec.json.encode(one).decode() for one in choices[:_MAX_CHOICES])
        more = f" and {len(choices) - _MAX_CHOICES} more" if len(choices) > _MAX_CHOICES else ""
        return f"one of {named}{more}"
    kinds = place.get("type")
    listed = kinds if isinstance(kinds, list) else [kinds] if isinstance(kinds, str) else []
    told = " or ".join(_WORDS.get(kind, kind) for kind in listed) or "a value"
    # A list may be one of lists like itself.
    has_items = place.get("type") == "array" and isinstance(place.get("items"), dict)
    if has_items and depth < _MAX_DEPTH:
        told = f"a list, each item {_expected(place['items'], places, depth=depth + 1)}"
    if place.get("format") in _FORMATS:
        told += f" like {_FORMATS[place['format']]}"
    limits = [text.format(place[word]) for word, text in _LIMITS if word in place]
    return bounded(f"{told} ({', '.join(limits)})" if limits else told)


def _found(value: Json) -> str:
    kind = kind_of(value)
    if kind == "array":
        return f"a list of {len(value)}"
    if kind == "object":
        return "an object"
    if kind == "string":
        short = value if len(value) <= _MAX_FOUND else f"{value[:_MAX_FOUND]}…"
        return f"the text {msgspec.json.encode(short).decode()}"
    named = {"integer": "the number ", "number": "the number "}.get(kind, "")
    return named + msgspec.json.encode(value).decode()[:_MAX_FOUND]


def _example(place: Json, places: SchemaPaths, *, depth: int) -> Json:
    """Return a short value that probably fits."""
    place = next(places.alternatives(place))
    for word in ("examples", "enum"):
        if isinstance(place.get(word), list) and place[word]:
            return place[word][0]
    for word in ("const", "default"):
        if word in place:
            return place[word]
    kinds = place.get("type", "string")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if kind == "object":
        return _example_object(place, places, depth=depth)
    if kind == "array":
        return _example_list(place, places, depth=depth)
    if kind in ("integer", "number"):
        lowest = place.get("minimum", place.get("exclusiveMinimum", 0) + 1)
        return min(lowest, place.get("maximum", lowest))
    simple = {"boolean": True, "null": None}
    return simple.get(kind, _FORMATS.get(place.get("format", ""), "text"))


def _example_object(place: Json, places: SchemaPaths, *, depth: int) -> Json:
    names = place.get("required", ()) if depth < _MAX_DEPTH else ()
    return {name: _example(places.below(place, name), places, depth=depth + 1) for name in names}


def _example_list(place: Json, places: SchemaPaths, *, depth: int) -> Json:
    if depth >= _MAX_DEPTH:
        return []
    count = max(len(place.get("prefixItems", ())), place.get("minItems", 1))
    return [
        _example(places.below(place, index), places, depth=depth + 1)
        for index in range(min(count, _MAX_CHOICES))
    ]
