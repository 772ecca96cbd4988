"""JSON schemas and the answers that must fit them: checked here and nowhere else; pure.

A schema is checked before a call, an answer after it. Both come from strangers, so both are bounded
in size and depth, nothing is ever fetched, and patterns cannot run away. How a model is made to
answer in JSON is told in `schema_ways`.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from hermes.calls.schema_cost import REFERENCES, Cost, TooTall, cost_of, size_of
from hermes.errors import BadRequest
from hermes.ports.provider import OutputSchema

if TYPE_CHECKING:
    import jsonschema_rs

# Any: JSON schemas and JSON values.
Json = Any

MAX_SCHEMA_BYTES = 262_144
MAX_SCHEMA_DEPTH = 64
MAX_SCHEMA_HEIGHT = 150
MAX_SCHEMA_STACK = 40
MAX_SCHEMA_SIZE = 200_000
MAX_ANSWER_CHARS = 4_194_304
MAX_ANSWER_DEPTH = 100
MAX_PROBLEM_CHARS = 400
_MAX_STEPS = 20_000_000
_MAX_REASONS = 4_000
_MAX_PATH_CHARS = 160
_KEPT = 32
_STEPS_BACK = 100_000
_PATTERN_BYTES = 1_048_576
_VALUES = frozenset({"enum", "const", "default", "examples", "example"})
_ANSWER_TOO_DEEP = f"the answer is nested more than {MAX_ANSWER_DEPTH} levels deep"


def check_schema(schema: OutputSchema) -> None:
    """Raise `BadRequest` when `schema` is none that an answer can be checked against."""
    try:
        _checker(bytes(schema.schema))
    except _Unfit as problem:
        raise BadRequest(f'the JSON schema "{schema.name[:64]}" {problem}') from problem


def problem_of(schema: OutputSchema, text: str) -> str | None:
    """Return in one sentence why `text` is not JSON that fits the schema, or None when it is."""
    if len(text) > MAX_ANSWER_CHARS:
        return f"the answer has {len(text)} characters, and {MAX_ANSWER_CHARS} can be checked"
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return _bounded(f"the answer is not JSON: {error}")
    except RecursionError:
        return _ANSWER_TOO_DEEP
    try:
        return _checker(bytes(schema.schema)).problem(value)
    except _Unfit as problem:
        return _bounded(f"the answer cannot be checked, since the schema {problem}")


class _Unfit(Exception):
    """A schema that nothing can be checked against; the text goes on from "the schema"."""


class _Checker:
    """A schema that was found fit, compiled, and what it costs."""

    def __init__(self, validator: "jsonschema_rs.Validator", cost: Cost) -> None:
        self._validator = validator
        self._cost = cost

    def problem(self, value: Json) -> str | None:
        """Return why `value` does not fit."""
        count, depth = size_of(value)
        if depth > MAX_ANSWER_DEPTH:
            return _ANSWER_TOO_DEEP
        if self._cost.size * count > _MAX_STEPS:
            return "the answer is too long to be checked against a schema as large as this one"
        if self._validator.is_valid(value):
            return None
        # The verdict is cheap; listing the reasons of many alternatives is not.
        if self._cost.reasons(depth) <= _MAX_REASONS:
            for error in self._validator.iter_errors(value):
                where = _path(error.instance_path)
                return _bounded(f"the answer does not fit at {where}: {error.message}")
        return "the answer is JSON, but it does not fit the schema"


@lru_cache(maxsize=_KEPT)
def _checker(raw: bytes) -> _Checker:
    if len(raw) > MAX_SCHEMA_BYTES:
        raise _Unfit(f"is {len(raw)} bytes long, and {MAX_SCHEMA_BYTES} are allowed; shorten it")
    root = _decoded(raw)
    _check_places(root)
    cost = _cost(root, raw)
    return _Checker(_compiled(raw), cost)


def _compiled(raw: bytes) -> "jsonschema_rs.Validator":
    import jsonschema_rs  # noqa: PLC0415 - 40 ms that a start without schemas need not pay

    patterns = jsonschema_rs.FancyRegexOptions(
        backtrack_limit=_STEPS_BACK, size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES
    )
    try:
        return jsonschema_rs.validator_for(raw.decode(), offline=True, pattern_options=patterns)
    except jsonschema_rs.ValidationError as error:
        told = f"is not valid at {_path(error.instance_path)}: {_bounded(error.message)}"
        raise _Unfit(told) from error
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        raise _Unfit(f"is not valid: {_bounded(str(error))}") from error


def _cost(root: dict[str, Json], raw: bytes) -> Cost:
    try:
        cost = cost_of(root, max_height=MAX_SCHEMA_HEIGHT)
    except TooTall as problem:
        raise _Unfit(
            f"leads through more than {MAX_SCHEMA_HEIGHT} nested places when its references are"
            " followed; flatten it"
        ) from problem
    if cost.stack > MAX_SCHEMA_STACK:
        raise _Unfit(
            f"puts {cost.stack} references and alternatives inside each other for the same value,"
            f" and {MAX_SCHEMA_STACK} are allowed; flatten it"
        )
    # What is left over can only be told by going through everything once more at each place.
    counts_rest = b'"unevaluated' in raw
    if counts_rest and cost.circles:
        raise _Unfit(
            "refers to itself and asks for what is left unevaluated, which takes too long to check;"
            " use additionalProperties or items instead"
        )
    if (cost.size**2 if counts_rest else cost.size) > MAX_SCHEMA_SIZE:
        raise _Unfit(
            f"has {cost.size} places when its references are followed, which is too much to check"
            " an answer against; use fewer alternatives that share definitions"
        )
    return cost


def _decoded(raw: bytes) -> dict[str, Json]:
    try:
        root = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise _Unfit(f"is not JSON: {_bounded(str(error))}") from error
    except RecursionError as error:
        raise _Unfit(_too_deep()) from error
    if not isinstance(root, dict):
        raise _Unfit(f"must be a JSON object, and is {_kind(root)}")
    return root


def _check_places(root: dict[str, Json]) -> None:
    name_word = "id" if "draft-04" in str(root.get("$schema")) else "$id"
    level: list[tuple[Json, tuple[str | int, ...]]] = [(root, ())]
    for _ in range(MAX_SCHEMA_DEPTH):
        for place, path in level:
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
        raise _Unfit(_too_deep())


def _check_references(place: dict[str, Json], path: tuple[str | int, ...]) -> None:
    for word in REFERENCES:
        value = place.get(word)
        if isinstance(value, str) and not value.startswith("#"):
            raise _Unfit(
                f'refers outside of itself at {_path((*path, word))}: "{value[:100]}"; only'
                " references that begin with # can be followed, so put what is meant under $defs"
            )


def _check_name(place: dict[str, Json], path: tuple[str | int, ...], *, word: str) -> None:
    if path and isinstance(place.get(word), str):
        raise _Unfit(
            f"gives a part of itself an address at {_path((*path, word))}; only the whole schema"
            " may have one, so leave it out"
        )


def _too_deep() -> str:
    return f"is nested more than {MAX_SCHEMA_DEPTH} levels deep; flatten it, or use $defs"


def _kind(value: Json) -> str:
    kinds = {list: "an array", str: "a text", bool: "a truth value", type(None): "null"}
    return kinds.get(type(value), "a number")


def _path(steps: Sequence[str | int]) -> str:
    told = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return told if len(told) <= _MAX_PATH_CHARS else f"{told[: _MAX_PATH_CHARS - 1]}…"


def _bounded(text: str) -> str:
    """Return `text` on one line, cut in the middle: the value stands first, the reason last."""
    line = " ".join(text.split())
    if len(line) <= MAX_PROBLEM_CHARS:
        return line
    half = (MAX_PROBLEM_CHARS - 3) // 2
    return f"{line[:half]} … {line[-half:]}"
