"""A checked and compiled JSON schema: whether a value fits it, and where not.

Schemas and values both come from strangers, so both are bounded in size and depth, nothing is ever
fetched, and patterns cannot run forever. The caller knows whose values they are and words the
error.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from hermes.schema.cost import REFERENCES, SchemaCost, TooTall, cost_of, size_of

if TYPE_CHECKING:
    import jsonschema_rs

# Any: JSON schemas and JSON values.
Json = Any

MAX_SCHEMA_BYTES = 262_144
MAX_SCHEMA_DEPTH = 64
MAX_SCHEMA_HEIGHT = 150
MAX_SCHEMA_STACK = 40
MAX_SCHEMA_SIZE = 200_000
MAX_VALUE_DEPTH = 100
MAX_PROBLEM_CHARS = 400
TOO_DEEP = f"is nested more than {MAX_VALUE_DEPTH} levels deep"
_MAX_STEPS = 20_000_000
_MAX_REASONS = 4_000
_MAX_PATH_CHARS = 160
_KEPT = 64
_STEPS_BACK = 100_000
# Compiled patterns are far larger than their text, and compiling them blocks the event loop. A schema
# with many has less room for each.
_PATTERN_BYTES = 1_048_576
_PATTERNS_BYTES = 8 * _PATTERN_BYTES
MAX_PATTERNS = 200
_VALUES = frozenset({"enum", "const", "default", "examples", "example"})


class UnusableSchema(Exception):
    """A schema that cannot be used; the text continues after "the schema"."""


class ValueTooLarge(Exception):
    """A value that is too large to check; the text continues after the name of the value."""


class Misfit(msgspec.Struct, frozen=True):
    """One place where a value does not fit: its path, and the rule that it breaks.

    `rule` is the path through the schema to the keyword, and `message` is the validator's own.
    `names` are the keys that are missing or superfluous, if that is the problem.
    """

    path: tuple[str | int, ...]
    rule: tuple[str | int, ...]
    message: str
    found: Json
    names: tuple[str, ...] = ()


class Checker:
    """A compiled schema and its cost."""

    def __init__(self, validator: "jsonschema_rs.Validator", cost: SchemaCost) -> None:
        self._validator = validator
        self._cost = cost

    def fits(self, value: Json) -> bool:
        """Return whether `value` fits; raises `ValueTooLarge` if the check would take too long."""
        count, depth = size_of(value)
        if depth > MAX_VALUE_DEPTH:
            raise ValueTooLarge(TOO_DEEP)
        if self._cost.size * count > _MAX_STEPS:
            raise ValueTooLarge("is too long to be checked against a schema as large as this one")
        return bool(self._validator.is_valid(value))

    def misfits(self, value: Json, *, most: int) -> Iterator[Misfit]:
        """Yield where a value that does not fit breaks the schema.

        The verdict is cheap; listing the reasons for many alternatives is not. If that would take
        too long, it yields nothing.
        """
        if self._cost.reasons(size_of(value)[1]) > _MAX_REASONS:
            return
        for error in islice(self._validator.iter_errors(value), most):
            yield Misfit(
                tuple(error.instance_path),
                tuple(error.schema_path),
                error.message,
                error.instance,
                _names(error.kind),
            )


@lru_cache(maxsize=_KEPT)
def checker_of(raw: bytes) -> Checker:
    """Return the checker for the schema `raw`; raises `UnusableSchema` if it cannot be used."""
    if len(raw) > MAX_SCHEMA_BYTES:
        raise UnusableSchema(
            f"is {len(raw)} bytes long, and {MAX_SCHEMA_BYTES} are allowed; shorten it"
        )
    root = _decoded(raw)
    patterns = _check_places(root)
    cost = _cost(root, raw)
    return Checker(_compiled(raw, patterns=len(patterns)), cost)


def path_text(steps: Sequence[str | int]) -> str:
    """Return a path as text, bounded."""
    told = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return told if len(told) <= _MAX_PATH_CHARS else f"{told[: _MAX_PATH_CHARS - 1]}…"


def bounded(text: str) -> str:
    """Return `text` on one line, cut in the middle: the value comes first, the reason last."""
    line = " ".join(text.split())
    if len(line) <= MAX_PROBLEM_CHARS:
        return line
    half = (MAX_PROBLEM_CHARS - 3) // 2
    return f"{line[:half]} … {line[-half:]}"


def _names(kind: object) -> tuple[str, ...]:
    missing, unexpected = getattr(kind, "property", None), getattr(kind, "unexpected", None)
    if isinstance(missing, str):
        return (missing,)
    return tuple(map(str, unexpected)) if isinstance(unexpected, list) else ()


def _compiled(raw: bytes, *, patterns: int) -> "jsonschema_rs.Validator":
    import jsonschema_rs  # noqa: PLC0415 - 40 ms that a start without schemas need not pay

    size = min(_PATTERN_BYTES, _PATTERNS_BYTES // max(1, patterns))
    options = jsonschema_rs.FancyRegexOptions(
        backtrack_limit=_STEPS_BACK, size_limit=size, dfa_size_limit=size
    )
    try:
        return jsonschema_rs.validator_for(raw.decode(), offline=True, pattern_options=options)
    except jsonschema_rs.ValidationError as error:
        told = f"is not valid at {path_text(error.instance_path)}: {bounded(error.message)}"
        raise UnusableSchema(told) from error
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        raise UnusableSchema(f"is not valid: {bounded(str(error))}") from error


def _cost(root: dict[str, Json], raw: bytes) -> SchemaCost:
    try:
        cost = cost_of(root, max_height=MAX_SCHEMA_HEIGHT)
    except TooTall as problem:
        raise UnusableSchema(
            f"leads through more than {MAX_SCHEMA_HEIGHT} nested places when its references are"
            " followed; flatten it"
        ) from problem
    if cost.stack > MAX_SCHEMA_STACK:
        raise UnusableSchema(
            f"puts {cost.stack} references and alternatives inside each other for the same value,"
            f" and {MAX_SCHEMA_STACK} are allowed; flatten it"
        )
    # What is left over can only be told by going through everything once more at each place.
    counts_rest = b'"unevaluated' in raw
    if counts_rest and cost.circles:
        raise UnusableSchema(
            "refers to itself and asks for what is left unevaluated, which takes too long to check;"
            " use additionalProperties or items instead"
        )
    if (cost.size**2 if counts_rest else cost.size) > MAX_SCHEMA_SIZE:
        raise UnusableSchema(
            f"has {cost.size} places when its references are followed, which is too much to check"
            " an answer against; use fewer alternatives that share definitions"
        )
    return cost


def _decoded(raw: bytes) -> dict[str, Json]:
    try:
        root = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise UnusableSchema(f"is not JSON: {bounded(str(error))}") from error
    except RecursionError as error:
        raise UnusableSchema(_too_deep()) from error
    if not isinstance(root, dict):
        raise UnusableSchema(f"must be a JSON object, and is {_kind(root)}")
    return root


def _check_places(root: dict[str, Json]) -> set[str]:
    """Check every place of a schema; return its patterns."""
    patterns: set[str] = set()
    name_word = "id" if "draft-04" in str(root.get("$schema")) else "$id"
    level: list[tuple[Json, tuple[str | int, ...]]] = [(root, ())]
    for _ in range(MAX_SCHEMA_DEPTH):
        for place, path in level:
            if isinstance(place, dict):
                # Also in values: a reference can lead there.
                patterns.update(_patterns(place))
            if isinstance(place, dict) and _VALUES.isdisjoint(path):
                _check_references(place, path)
                _check_name(place, path, word=name_word)
        level = [
            (inner, (*path, name))
            for place, path in level
            for name, inner in (place.items() if isinstance(place, dict) else enumerate(place))
            if isinstance(inner, dict | list)
        ]
    if level:
        raise UnusableSchema(_too_deep())
    if len(patterns) > MAX_PATTERNS:
        raise UnusableSchema(
            f"has {len(patterns)} different patterns, and {MAX_PATTERNS} are allowed; leave some out"
        )
    return patterns


def _patterns(place: dict[str, Json]) -> Iterator[str]:
    pattern, by_pattern = place.get("pattern"), place.get("patternProperties")
    if isinstance(pattern, str):
        yield pattern
    if isinstance(by_pattern, dict):
        yield from by_pattern


def _check_references(place: dict[str, Json], path: tuple[str | int, ...]) -> None:
    for word in REFERENCES:
        value = place.get(word)
        if isinstance(value, str) and not value.startswith("#"):
            raise UnusableSchema(
                f'refers outside of itself at {path_text((*path, word))}: "{value[:100]}"; only'
                " references that begin with # can be followed, so put what is meant under $defs"
            )


def _check_name(place: dict[str, Json], path: tuple[str | int, ...], *, word: str) -> None:
    if path and isinstance(place.get(word), str):
        raise UnusableSchema(
            f"gives a part of itself an address at {path_text((*path, word))}; only the whole schema"
            " may have one, so leave it out"
        )


def _too_deep() -> str:
    return f"is nested more than {MAX_SCHEMA_DEPTH} levels deep; flatten it, or use $defs"


def _kind(value: Json) -> str:
    kinds = {list: "an array", str: "a text", bool: "a truth value", type(None): "null"}
    return kinds.get(type(value), "a number")
