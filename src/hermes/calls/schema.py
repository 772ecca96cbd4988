"""The schema that a caller wants an answer to fit: checked before a call, the answer after it; pure.

How a value is checked is told in `hermes.schema`, how a model is made to answer in JSON in
`schema_ways`; here is what callers are told.
"""

import msgspec

from hermes.errors import BadRequest
from hermes.ports.provider import OutputSchema
from hermes.schema.checker import (
    TOO_DEEP,
    Checker,
    Unchecked,
    UnusableSchema,
    bounded,
    checker_of,
    path_text,
)

MAX_ANSWER_CHARS = 4_194_304


def check_schema(schema: OutputSchema) -> None:
    """Raise `BadRequest` when `schema` is none that an answer can be checked against."""
    try:
        checker_of(bytes(schema.schema))
    except UnusableSchema as problem:
        raise BadRequest(f'the JSON schema "{schema.name[:64]}" {problem}') from problem


def problem_of(schema: OutputSchema, text: str) -> str | None:
    """Return in one sentence why `text` is not JSON that fits the schema, or None when it is."""
    if len(text) > MAX_ANSWER_CHARS:
        return f"the answer has {len(text)} characters, and {MAX_ANSWER_CHARS} can be checked"
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return bounded(f"the answer is not JSON: {error}")
    except RecursionError:
        return f"the answer {TOO_DEEP}"
    try:
        return _problem(checker_of(bytes(schema.schema)), value)
    except UnusableSchema as problem:
        return bounded(f"the answer cannot be checked, since the schema {problem}")
    except Unchecked as problem:
        return f"the answer {problem}"


def _problem(checker: Checker, value: object) -> str | None:
    if checker.fits(value):
        return None
    for misfit in checker.misfits(value, most=1):
        return bounded(f"the answer does not fit at {path_text(misfit.path)}: {misfit.message}")
    return "the answer is JSON, but it does not fit the schema"
