"""Converts type hints to JSON schemas that a model can read: short, inlined, without titles. Pure.

msgspec knows the standard types, structs, dataclasses and typed dicts; pydantic models bring their
own schema. A type that neither knows is refused when the tool is made, not when it is called.
"""

from collections.abc import Iterator
from dataclasses import is_dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

# Any: type hints and JSON schemas.
Hint = Any
Json = Any

_REF = "#/$defs/"
# These keywords hold maps from names to schemas, whose keys are not keywords.
_MAPS = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
# The names that pydantic, annotated-types and msgspec use.
_LIMITS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")
_VALUES = frozenset({"enum", "const", "default", "examples", "required"})


def readable(hint: Hint) -> Hint:
    """Return a hint whose annotations msgspec understands: descriptions, and pydantic's limits."""
    origin: Hint = get_origin(hint)
    arguments = get_args(hint)
    if origin is Annotated:
        bare, *said = arguments
        metas = [meta for item in said for meta in _metas(item)]
        inner = readable(bare)
        return Annotated[inner, *metas] if metas else inner
    if origin in (Union, UnionType):
        return Union[tuple(map(readable, arguments))]  # noqa: UP007 - a tuple of hints
    if origin in (list, dict, tuple, set, frozenset) and arguments:
        return origin[tuple(item if item is ... else readable(item) for item in arguments)]
    return hint


def description_of(hint: Hint) -> str | None:
    """Return the description that a readable hint gives for the value."""
    said = [item.description for item in get_args(hint) if isinstance(item, msgspec.Meta)]
    return next((text for text in reversed(said) if text), None)


def schema_of(hint: Hint) -> Json:
    """Return the JSON schema of a type; raises `TypeError` if it has none."""
    models: dict[str, Json] = {}

    def of_model(kind: Hint) -> Json:
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            raise NotImplementedError
        prefix = f"{kind.__qualname__}_"
        told = kind.model_json_schema(ref_template=f"{_REF}{prefix}{{model}}")
        models.update({prefix + name: inner for name, inner in told.pop("$defs", {}).items()})
        return told

    (schema,), defs = msgspec.json.schema_components(
        [hint], schema_hook=of_model, ref_template=_REF + "{name}"
    )
    for kind in _classes(hint, seen=set()):
        _describe(kind, defs)
    return _Inlined(defs | models).whole(schema)


def of_model(kind: type, value: object) -> object:
    """Make a pydantic model from JSON; the inverse of `schema_of`."""
    if not issubclass(kind, BaseModel):
        raise NotImplementedError
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where}: {first['msg']}" if where else first["msg"]) from error


def as_json(value: object) -> bytes:
    """Return a value as JSON; raises `TypeError` if it has no JSON form."""
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise NotImplementedError(f"objects of type {type(value).__name__} have no JSON form")


def _metas(said: object) -> Iterator[msgspec.Meta]:
    if isinstance(said, msgspec.Meta):
        yield said
    elif isinstance(said, str):
        yield msgspec.Meta(description=said)
    elif isinstance(said, FieldInfo):
        if said.description:
            yield msgspec.Meta(description=said.description)
        for limit in said.metadata:
            yield from _metas(limit)
    else:
        found = {name: getattr(said, name, None) for name in _LIMITS}
        limits = {name: limit for name, limit in found.items() if limit is not None}
        if limits:
            yield msgspec.Meta(**limits)


def _classes(hint: Hint, *, seen: set[Hint]) -> Iterator[type]:
    """Yield the classes with fields that a hint refers to."""
    for argument in get_args(hint):
        yield from _classes(argument, seen=seen)
    is_ours = isinstance(hint, type) and (
        is_dataclass(hint) or is_typeddict(hint) or issubclass(hint, msgspec.Struct)
    )
    if not is_ours or hint in seen:
        return
    seen.add(hint)
    yield hint
    for inner in get_type_hints(hint, include_extras=True).values():
        yield from _classes(inner, seen=seen)


def _describe(kind: type, defs: dict[str, Json]) -> None:
    """Add the descriptions that are plain strings in a class's annotations."""
    place = next((one for one in defs.values() if one.get("title") == kind.__name__), None)
    if place is None:
        return
    for name, hint in get_type_hints(kind, include_extras=True).items():
        said = [item for item in get_args(hint)[1:] if isinstance(item, str)]
        if get_origin(hint) is Annotated and said and name in place.get("properties", {}):
            place["properties"][name].setdefault("description", said[0])


class _Inlined:
    """Inlines definitions where they are used; only recursive ones stay separate."""

    def __init__(self, defs: dict[str, Json]) -> None:
        self._defs = defs
        self._apart: dict[str, Json] = {}

    def whole(self, schema: Json) -> Json:
        told = self._schema(schema, ())
        return {**told, "$defs": self._apart} if self._apart else told

    def _schema(self, schema: Json, trail: tuple[str, ...]) -> Json:
        if not isinstance(schema, dict):
            return schema
        name = str(schema.get("$ref", "")).removeprefix(_REF)
        if not name:
            return _tidy({key: self._under(key, item, trail) for key, item in schema.items()})
        beside = {key: item for key, item in schema.items() if key != "$ref"}
        if name in trail:
            self._apart.setdefault(name, {})
            return {"$ref": _REF + name, **beside}
        told = self._schema(self._defs[name], (*trail, name))
        if name in self._apart:
            self._apart[name] = told
        return {**told, **self._schema(beside, trail)}

    def _under(self, key: str, value: Json, trail: tuple[str, ...]) -> Json:
        if key in _VALUES:
            return value
        if key in _MAPS:
            return {name: self._schema(inner, trail) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._schema(inner, trail) for inner in value]
        return self._schema(value, trail)


def _tidy(schema: Json) -> Json:
    """Remove what only costs a model tokens, and forbid unknown keys."""
    schema.pop("title", None)
    if schema.get("default", ...) is None:
        del schema["default"]
    choices = schema.get("enum")
    if choices and all(isinstance(choice, str) for choice in choices):
        schema.setdefault("type", "string")
    if "properties" in schema:
        # Otherwise a misspelt key would be dropped silently.
        schema.setdefault("additionalProperties", False)
    return schema
