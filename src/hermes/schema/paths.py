"""Navigates a JSON schema: references, alternatives, and which values a place allows. Pure.

Only references within the schema are followed; a place that cannot be found is an empty schema,
which allows anything.
"""

from collections.abc import Iterator, Sequence
from typing import Any

# Any: JSON schemas and JSON values.
Json = Any

KINDS = ("string", "integer", "number", "boolean", "array", "object", "null")
_ALTERNATIVES = ("anyOf", "oneOf")
_MAX_HOPS = 32


class SchemaPaths:
    """One schema and the paths through it."""

    def __init__(self, root: Json) -> None:
        self._root = root

    @property
    def root(self) -> Json:
        """The whole schema."""
        return self.resolved(self._root)

    def resolved(self, place: Json) -> Json:
        """Return the schema at a place, following its references."""
        for _ in range(_MAX_HOPS):
            reference = place.get("$ref") if isinstance(place, dict) else None
            if not isinstance(reference, str):
                break
            beside = {key: value for key, value in place.items() if key != "$ref"}
            found = self._target(reference)
            place = {**found, **beside} if isinstance(found, dict) else beside
        return place if isinstance(place, dict) else {}

    def at(self, steps: Sequence[str | int]) -> Json:
        """Return the place that a validator's path through the schema leads to."""
        place: Json = self._root
        for step in steps:
            if step == "$ref":
                place = self.resolved(place)
            elif isinstance(place, dict):
                place = place.get(str(step), {})
            elif isinstance(place, list) and isinstance(step, int) and step < len(place):
                place = place[step]
            else:
                return {}
        return self.resolved(place)

    def alternatives(self, place: Json) -> Iterator[Json]:
        """Yield the alternatives that a place allows."""
        place = self.resolved(place)
        groups = [place[word] for word in _ALTERNATIVES if isinstance(place.get(word), list)]
        if not groups:
            yield place
        for group in groups:
            for inner in group:
                yield from self.alternatives(inner)

    def kinds(self, place: Json) -> frozenset[str]:
        """Return the kinds of values that a place allows, by their JSON names."""
        found: set[str] = set()
        for one in self.alternatives(place):
            found.update(_kinds_of(one))
        return frozenset(found)

    def branch(self, place: Json, value: Json) -> Json:
        """Return the one alternative that a value of this kind can match, else {}."""
        kind = kind_of(value)
        fitting = [one for one in self.alternatives(place) if kind in _kinds_of(one)]
        return fitting[0] if len(fitting) == 1 else {}

    def below(self, place: Json, step: str | int) -> Json:
        """Return the schema for one key or index of a value."""
        if isinstance(step, str):
            known = place.get("properties", {})
            return self.resolved(
                known[step] if step in known else place.get("additionalProperties")
            )
        first = place.get("prefixItems", ())
        return self.resolved(first[step] if step < len(first) else place.get("items"))

    def _target(self, reference: str) -> Json:
        place: Json = self._root
        for step in reference.removeprefix("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            place = place.get(name) if isinstance(place, dict) else None
        return place


def kind_of(value: Json) -> str:
    """Return the kind of a JSON value, by its JSON name."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "array" if isinstance(value, list) else "object"


def _kinds_of(place: Json) -> frozenset[str]:
    told = place.get("type")
    if isinstance(told, str):
        found = {told}
    elif isinstance(told, list):
        found = set(told)
    elif "const" in place:
        found = {kind_of(place["const"])}
    elif isinstance(place.get("enum"), list):
        found = {kind_of(value) for value in place["enum"]}
    else:
        found = set(KINDS)
    return frozenset(found | {"integer"} if "number" in found else found)
