"""The schema that a caller requires: checked before the call; the answer is checked after it. Pure.

`hermes.schema` checks values and `schema_ways` makes a model answer in JSON; this module builds the
errors for callers.
"""

import msgspec

from hermes.errors import BadRequest
from hermes.ports.provider import OutputSchema
from hermes.schema.checker import (
    TOO_DEEP,
    Checker,
    UnusableSchema,
    ValueTooLarge,
    bounded,
    checker_of,
    path_text,
)

MAX_ANSWER_CHARS = 4_194_304


def check_schema(schema: OutputSchema) -> None:
    """Raise `BadRequest` if `schema` cannot be used to check an answer."""
    try:
        checker_of(bytes(schema.schema))
    except UnusableSchema as problem:
        raise BadRequest(f'the JSON schema "{schema.name[:64]}" {problem}') from problem


def problem_of(schema: OutputSchema, text: str) -> str | None:
    """Return in one sentence why `text` is not JSON that fits the schema, or None if it fits."""
    if len(text) > MAX_ANSWER_CHARS:
        return f"the answer has {len(text)} characters; at most {MAX_ANSWER_CHARS} can be checked"
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return bounded(f"the answer is not JSON: {error}")
    except RecursionError:
        return f"the answer {TOO_DEEP}"
    try:
        return _problem(checker_of(bytes(schema.schema)), value)
    except UnusableSchema as problem:
        return bounded(f"the answer cannot be checked, because the schema {problem}")
    except ValueTooLarge as problem:
        return f"the answer {problem}"


def _problem(checker: Checker, value: object) -> str | None:
    if checker.fits(value):
        return None
    for misfit in checker.misfits(value, most=1):
        return bounded(f"the answer does not fit at {path_text(misfit.path)}: {misfit.message}")
    return "the answer is JSON, but it does not fit the schema"
