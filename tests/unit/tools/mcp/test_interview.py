"""A person's words as the answer to a server's question: read, checked, asked for again."""

from collections.abc import Mapping
from typing import Any

import pytest

from hermes.tools.mcp.interview import Interview, InterviewStep, secret_in, speaks_of_secrets

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TRIP = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "description": "Where to?", "enum": ["Rome", "Oslo"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
        "sure": {"type": "boolean"},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["bus", "bed"]}},
    },
    "required": ["to", "sure"],
}
TITLED = {
    "type": "object",
    "properties": {
        "hero": {
            "type": "string",
            "oneOf": [{"const": "h1", "title": "Superman"}, {"const": "h2", "title": "Cancel"}],
        },
        "pet": {"type": "string", "enum": ["p1", "p2"], "enumNames": ["Cats", "Dogs"]},
    },
    "required": ["hero", "pet"],
}


def heard(schema: Mapping[str, Any], *texts: str) -> InterviewStep:
    """Return what follows from the last of several messages."""
    interview = Interview("Who?", schema)
    return [interview.hear(text) for text in texts][-1]


@pytest.mark.req("W37")
@pytest.mark.parametrize(
    ("schema", "texts", "answer"),
    [
        (NAME, ["  Ada Lovelace "], {"name": "Ada Lovelace"}),
        (NAME, ['{"name": "Ada"}'], {"name": "Ada"}),
        (NAME, ["no"], {"name": "no"}),
        (TRIP, ["to: oslo\nsure: Yes"], {"to": "Oslo", "sure": True}),
        (
            TRIP,
            ["to: Rome\ndays: 3\nsure: no\nextras: bus, bed\nrest: x"],
            {"to": "Rome", "days": 3, "sure": False, "extras": ["bus", "bed"]},
        ),
        (TRIP, ['{"to": "Rome", "sure": true, "more": 1}'], {"to": "Rome", "sure": True}),
        (TRIP, ["rome", "yes", "skip", "-"], {"to": "Rome", "sure": True}),
        (TRIP, ["rome", "yes", "done"], {"to": "Rome", "sure": True}),
        (TRIP, ["to: rome", "yes"], {"to": "Rome", "sure": True}),
        (
            TRIP,
            ["rome", "no", "12", "many", "4", "Bed"],
            {"to": "Rome", "sure": False, "days": 4, "extras": ["bed"]},
        ),
        (TRIP, ["to: Rome\ndays: 2", "ja"], {"to": "Rome", "days": 2, "sure": True}),
        (TITLED, ["superman", "dogs"], {"hero": "h1", "pet": "p2"}),
        (TITLED, ["cancel", "p1"], {"hero": "h2", "pet": "p1"}),
        ({}, ["perhaps", "Yes!"], {}),
    ],
)
def test_an_answer_is_read_as_the_question_wants_it(
    schema: dict[str, Any], texts: list[str], answer: dict[str, Any]
) -> None:
    last = heard(schema, *texts)

    assert last.is_over
    assert last.answer == answer


@pytest.mark.req("W37")
@pytest.mark.parametrize(
    ("schema", "text", "told"),
    [
        (TRIP, "Paris", "“Paris” does not fit. Please give to (Rome or Oslo): Where to?"),
        (TRIP, "to: Rome\nsure: perhaps", "does not fit. Please give sure (yes or no)"),
        (TRIP, '{"to": "Rome", "sure": true, "days": 99}', "Please give days (a whole number)"),
        (TRIP, "Oslo", "sure (yes or no)"),
        ({"properties": {"n": {"type": "number"}}}, "nan", "Please give n (a number)"),
        ({"properties": {"n": {"type": "integer"}}}, "9" * 400, "Please give n (a whole number)"),
        ({"properties": {"n": {"type": "integer"}}}, "[" * 9_000, "Please give n (a whole number)"),
        ({}, "maybe", "Please answer yes or no."),
    ],
)
def test_what_does_not_fit_is_asked_for_again(schema: dict[str, Any], text: str, told: str) -> None:
    last = heard(schema, text)

    assert not last.is_over
    assert told in last.say


@pytest.mark.req("W37")
@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        (NAME, ["No thanks."]),
        (TRIP, ["rome", "cancel"]),
        ({}, ["no"]),
        (TRIP, ["?", "??", "???", "????", "?????"]),
        ({"type": "object", "properties": {"a": {"type": 7}}}, ["x"] * 5),
    ],
)
def test_a_person_declines_or_gives_up(schema: dict[str, Any], texts: list[str]) -> None:
    last = heard(schema, *texts)

    assert last.is_over
    assert last.answer is None


@pytest.mark.req("W37")
def test_the_opening_says_how_to_answer() -> None:
    assert Interview("Go?", {}).opening == "Go?\nAnswer yes or no."
    assert Interview("Who?", NAME).opening.endswith("Write your answer here; “no thanks” declines.")
    assert "`to: ...`" in Interview("Trip?", TRIP).opening
    assert "a server must not ask" in Interview("Your password, please", NAME).opening


@pytest.mark.req("W35", "W37")
@pytest.mark.parametrize(
    "field",
    [
        {"password": {}},
        {"apiKey": {}},
        {"client_secret": {}},
        {"x": {"title": "Credit card"}},
        {"x": {"description": "Your PIN code"}},
        {"x": {"format": "password"}},
    ],
)
def test_fields_for_credentials_are_known(field: dict[str, Any]) -> None:
    assert secret_in({"properties": field}) == next(iter(field))


@pytest.mark.req("W37")
@pytest.mark.parametrize("words", ["max_tokens", "Keyboard", "secret santa", "pin_to_top", "card"])
def test_harmless_words_are_no_credentials(words: str) -> None:
    assert not speaks_of_secrets(words)
