"""Patterns of a stranger's schema are bounded together: compiled, each is far larger than its text."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from hermes.schema.checker import MAX_PATTERNS, UnusableSchema, checker_of

# Compiled it takes about a megabyte, and several milliseconds.
LARGE = r"(?=\w{1,20})"


def patterns(count: int, begin: str) -> list[dict[str, str]]:
    return [{"pattern": f"{begin}{number}"} for number in range(count)]


# Any: a JSON schema.
@pytest.mark.req("M6")
@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": patterns(MAX_PATTERNS + 1, "^a")},
        {"patternProperties": {f"^a{number}": {} for number in range(MAX_PATTERNS + 1)}},
        {"examples": patterns(MAX_PATTERNS + 1, "^a"), "$ref": "#/examples/0"},
    ],
)
def test_a_schema_with_too_many_patterns_is_refused(schema: Mapping[str, Any]) -> None:
    with pytest.raises(UnusableSchema, match="has 201 different patterns, and 200 are allowed"):
        checker_of(msgspec.json.encode(schema))


@pytest.mark.req("M6")
def test_many_large_patterns_are_refused_and_a_few_are_not() -> None:
    assert checker_of(msgspec.json.encode({"allOf": patterns(4, LARGE)})).fits(1)
    with pytest.raises(UnusableSchema, match="pattern"):
        checker_of(msgspec.json.encode({"allOf": patterns(100, LARGE)}))


def test_many_ordinary_patterns_are_accepted() -> None:
    ordinary = [*patterns(90, r"^[a-z0-9][a-z0-9-]{0,61}$"), *patterns(90, r"^\d{4}-\d\d-\d\d$")]

    assert checker_of(msgspec.json.encode({"allOf": ordinary})).fits(1)
