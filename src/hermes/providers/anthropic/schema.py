"""Converts a JSON schema to the subset of Anthropic's structured output: pure.

The service wants closed objects and knows few keywords. Unknown keywords move into the description,
so that the model can still follow them; the caller validates against the full schema. A schema that
would lose its meaning does not fit.
"""

from typing import Any

# Any: JSON schemas.
Json = dict[str, Any]

_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email"} | {"hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_REF = "#/$defs/"
_IGNORED = ("$schema", "$id", "$comment")


class DoesNotFit(Exception):
    """The schema contains something that structured output cannot express."""


def fit(schema: Json) -> Json:
    """Return `schema` in the service's subset; raise `DoesNotFit` if its meaning would change."""
    definitions = schema.get("$defs", {})
    _check_recursion(definitions)
    fitted = _fit({key: value for key, value in schema.items() if key != "$defs"})
    if definitions:
        return {"$defs": {name: _fit(inner) for name, inner in definitions.items()}, **fitted}
    return fitted


# Any: what is found in place of a schema.
def _fit(schema: Any) -> Json:
    if not isinstance(schema, dict):
        raise DoesNotFit("a boolean schema")
    rest = {key: value for key, value in schema.items() if key not in _IGNORED}
    reference = rest.pop("$ref", None)
    if reference is not None:
        if not str(reference).startswith(_REF):
            raise DoesNotFit(f"a reference to {reference}")
        return {"$ref": reference}
    if isinstance(rest.get("type"), list):
        rest["anyOf"] = [{"type": kind, **_own(rest, kind)} for kind in rest.pop("type")]
        rest = {key: rest[key] for key in ("anyOf", "title", "description") if key in rest}
    fitted = _kind(rest)
    for word in ("description", "title"):
        if word in rest:
            fitted[word] = rest.pop(word)
    _shape(fitted, rest)
    if rest:
        told = "{" + ", ".join(f"{key}: {value}" for key, value in rest.items()) + "}"
        before = fitted.get("description")
        fitted["description"] = told if before is None else f"{before}\n\n{told}"
    return fitted


def _own(schema: Json, kind: str) -> Json:
    """Return the part of a schema with several types that concerns `kind`."""
    outside = {"type", "anyOf", "title", "description"}
    if kind == "null":
        return {}
    return {key: value for key, value in schema.items() if key not in outside}


def _kind(rest: Json) -> Json:
    """Take the literals, the variants or the type out of `rest`."""
    kind = rest.pop("type", None)
    fitted: Json = {}
    if rest.get("enum") and all(_is_plain(value) for value in rest["enum"]):
        fitted["enum"] = rest.pop("enum")
    if "const" in rest and _is_plain(rest["const"]):
        fitted["const"] = rest.pop("const")
    variants = {word: rest.pop(word) for word in ("anyOf", "oneOf", "allOf") if word in rest}
    if len(variants) > 1:
        raise DoesNotFit("more than one of anyOf, oneOf and allOf")
    for word, inner in variants.items():
        if word == "allOf" and any("$ref" in one for one in inner):
            raise DoesNotFit("a reference inside allOf")
        fitted["allOf" if word == "allOf" else "anyOf"] = [_fit(one) for one in inner]
    if not fitted:
        if not isinstance(kind, str):
            raise DoesNotFit("a schema without a type")
        fitted["type"] = kind
    return fitted


def _shape(fitted: Json, rest: Json) -> None:
    """Move the keywords of the type that the service knows from `rest` to `fitted`."""
    kind = fitted.get("type")
    if kind == "object":
        _close(fitted, rest)
    elif kind == "string" and rest.get("format") in _FORMATS:
        fitted["format"] = rest.pop("format")
    elif kind == "array":
        if "items" in rest:
            fitted["items"] = _fit(rest.pop("items"))
        if rest.get("minItems") in {0, 1}:
            fitted["minItems"] = rest.pop("minItems")


def _close(fitted: Json, rest: Json) -> None:
    properties = rest.pop("properties", {})
    others = rest.pop("additionalProperties", None)
    if not properties and others is not False:
        raise DoesNotFit("an object with free keys")
    fitted["properties"] = {name: _fit(inner) for name, inner in properties.items()}
    fitted["additionalProperties"] = False
    if "required" in rest:
        fitted["required"] = rest.pop("required")


def _check_recursion(definitions: Json) -> None:
    """Raise `DoesNotFit` if a definition can reach itself."""
    reaches = {name: set(_references(inner)) for name, inner in definitions.items()}
    for name, first in reaches.items():
        seen: set[str] = set()
        ahead = set(first)
        while ahead:
            if name in ahead:
                raise DoesNotFit(f"the recursive definition {name}")
            seen |= ahead
            ahead = {step for one in ahead for step in reaches.get(one, ())} - seen


# Any: any place of a JSON schema.
def _references(place: Any) -> list[str]:
    if isinstance(place, dict):
        own = [str(place["$ref"]).removeprefix(_REF)] if "$ref" in place else []
        return own + [name for inner in place.values() for name in _references(inner)]
    if isinstance(place, list):
        return [name for inner in place for name in _references(inner)]
    return []


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)
