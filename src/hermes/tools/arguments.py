"""Checks a model's arguments for a tool against the tool's schema before it runs. Pure."""

import re
from functools import lru_cache
from typing import Any

import msgspec
import structlog

from hermes.errors import ToolError
from hermes.message.parts import ToolCallPart
from hermes.ports.provider import ToolSpec
from hermes.schema.checker import TOO_DEEP, Checker, UnusableSchema, ValueTooLarge, checker_of
from hermes.schema.paths import SchemaPaths
from hermes.tools.argument_advice import advice, example_text
from hermes.tools.argument_repair import mended

# Any: JSON values.
Json = Any

MAX_ARGUMENT_CHARS = 1_048_576
_AGAIN = "Nothing was run; call it again with arguments that fit."
_FRACTION = re.compile(r"\d[.eE]")
_log = structlog.get_logger(__name__)


def checked_arguments(call: ToolCallPart, spec: ToolSpec) -> msgspec.Raw:
    """Return the arguments of a call in the form that its tool accepts.

    Raises `ToolError` with the problem and the correct form. A string that can only mean a number,
    a boolean, a list or an object is converted.
    """
    raw = call.arguments.strip() or "{}"
    value = _decoded(call.name, raw)
    rules = _rules(bytes(spec.parameters))
    if rules is None:
        return msgspec.Raw(raw.encode())
    checker, places = rules
    try:
        # JSON schema accepts 2.0 as a whole number; Python does not.
        if _FRACTION.search(raw) is None and isinstance(value, dict) and checker.fits(value):
            return msgspec.Raw(raw.encode())
        again = mended(value, places)
        if isinstance(again, dict) and checker.fits(again):
            return msgspec.Raw(msgspec.json.encode(again))
        problem = _problem(again, checker, places)
    except ValueTooLarge as error:
        raise ToolError(f"the arguments of {call.name}: the object {error}. {_AGAIN}") from error
    raise ToolError(f"the arguments of {call.name} do not fit: {problem}. {_AGAIN}")


def _problem(value: Json, checker: Checker, places: SchemaPaths) -> str:
    if isinstance(value, dict):
        return advice(value, checker, places).rstrip(".")
    return f"expected one JSON object.{example_text(checker, places)}".rstrip(".")


def _decoded(name: str, raw: str) -> Json:
    if len(raw) > MAX_ARGUMENT_CHARS:
        raise ToolError(
            f"the arguments of {name} are {len(raw)} characters long; at most "
            f"{MAX_ARGUMENT_CHARS} are allowed. Nothing was run; call it again with less"
        )
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise ToolError(f"the arguments of {name} are not JSON: {error}. {_AGAIN}") from error
    except RecursionError as error:
        raise ToolError(f"the arguments of {name}: the object {TOO_DEEP}. {_AGAIN}") from error


@lru_cache(maxsize=256)
def _rules(parameters: bytes) -> tuple[Checker, SchemaPaths] | None:
    """Return the checker of a tool's arguments, or None if its schema is unusable."""
    try:
        checker = checker_of(parameters)
    except UnusableSchema as problem:
        _log.warning("tool_schema_unfit", problem=str(problem))
        return None
    return checker, SchemaPaths(msgspec.json.decode(parameters))
