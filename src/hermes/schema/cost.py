"""Estimates from a JSON schema alone what checking against it costs. Pure.

References make small schemas large: definitions that use each other twice double with every step. A
validator follows them all, on the event loop and on its own stack, so `checker` measures first.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import msgspec

# Any: JSON schemas and JSON values.
Json = Any

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_HERE = frozenset(
    {"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)
_BELOW = frozenset(
    {"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"}
    | {"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"}
    | {"propertyNames"}
)
_MAPS = frozenset({"dependentSchemas", "dependencies", "properties", "patternProperties"})
_ENOUGH = 10**12


class SchemaCost(msgspec.Struct, frozen=True):
    """The size of a schema with all its references followed, each cycle once.

    `size` counts the places, `height` the longest path down, `stack` the longest chain of places
    that check the same value, and `circles` the references that lead back to themselves.
    """

    size: int = 1
    height: int = 1
    stack: int = 1
    circles: int = 0

    def reasons(self, depth: int) -> int:
        """Return about how many reasons a misfit of a value of `depth` levels can have."""
        total = self.size
        for _ in range(depth):
            total = min(total * max(1, self.circles), _ENOUGH)
        return total


class TooTall(Exception):
    """A path down is longer than the limit, or a place refers to itself without end."""


def cost_of(schema: dict[str, Json], *, max_height: int) -> SchemaCost:
    """Return what `schema` costs; raises `TooTall` if a path down is over `max_height`."""
    return _Walk(schema, max_height).measure(schema, level=1)


def size_of(value: Json) -> tuple[int, int]:
    """Return how many values `value` contains, itself included, and how many levels it has."""
    level, count, depth = [value] if isinstance(value, dict | list) else [], 1, 0
    while level:
        depth += 1
        inner = [one for place in level for one in _inside(place)]
        count += len(inner)
        level = [one for one in inner if isinstance(one, dict | list)]
    return count, depth


class _Walk:
    def __init__(self, root: dict[str, Json], max_height: int) -> None:
        self._root = root
        self._max_height = max_height
        self._known: dict[int, SchemaCost | None] = {}
        self._anchors = {
            place[word]: place
            for place in _objects(root)
            for word in _ANCHORS
            if isinstance(place.get(word), str)
        }

    def measure(self, place: Json, *, level: int) -> SchemaCost:
        if not isinstance(place, dict):
            return SchemaCost()
        if id(place) in self._known:
            found = self._known[id(place)]
            if found is None:
                return SchemaCost(circles=1)
            if level + found.height > self._max_height:
                raise TooTall
            return found
        if level > self._max_height:
            raise TooTall
        self._known[id(place)] = None
        here = [self.measure(one, level=level + 1) for one in self._applied_here(place)]
        below = [self.measure(one, level=level + 1) for one in _under(place, _BELOW)]
        cost = SchemaCost(
            min(1 + sum(one.size for one in (*here, *below)), _ENOUGH),
            1 + max((one.height for one in (*here, *below)), default=0),
            1 + max((one.stack for one in here), default=0),
            min(sum(one.circles for one in (*here, *below)), _ENOUGH),
        )
        self._known[id(place)] = cost
        return cost

    def _applied_here(self, place: dict[str, Json]) -> Iterator[Json]:
        yield from _under(place, _HERE)
        for word in REFERENCES:
            if isinstance(place.get(word), str):
                yield self._target(place[word])

    def _target(self, reference: str) -> Json:
        pointer = unquote(reference.removeprefix("#"))
        if not pointer.startswith("/"):
            return self._anchors.get(pointer, self._root)
        found: Json = self._root
        for step in pointer[1:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict):
                found = found.get(name)
            elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            else:
                return None
        return found


def _under(place: dict[str, Json], words: frozenset[str]) -> Iterator[Json]:
    for word in words & place.keys():
        value = place[word]
        if isinstance(value, list):
            yield from value
        elif word in _MAPS and isinstance(value, dict):
            yield from value.values()
        else:
            yield value


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    ahead = [value]
    while ahead:
        place = ahead.pop()
        if isinstance(place, dict):
            yield place
        ahead.extend(one for one in _inside(place) if isinstance(one, dict | list))


def _inside(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
