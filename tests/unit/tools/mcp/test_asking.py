"""A server's question in the words of the chat, and a person's words as its answer."""

from typing import Any

import pytest

from hermes.tools.mcp.asking import fits, question_text, read_answer

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TRIP = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "description": "Where to?", "enum": ["Rome", "Oslo"]},
        "days": {"type": "integer"},
        "sure": {"type": "boolean"},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["bus", "bed"]}},
    },
    "required": ["to", "sure"],
}


@pytest.mark.req("W37")
def test_a_question_says_who_asks_and_what_is_wanted() -> None:
    assert question_text("trips", "Book\x1b it?", schema=TRIP).splitlines() == [
        "The tool server trips asks:",
        "Book it?",
        "- to (Rome or Oslo): Where to?",
        "- days (a whole number)",
        "- sure (yes or no)",
        "- extras (any of bus or bed, with commas between)",
    ]


@pytest.mark.req("W37")
def test_a_question_is_bounded_whatever_the_server_says() -> None:
    schema = {"properties": {f"f{n}": {"title": "x" * 9_999} for n in range(1_000)}}

    assert len(question_text("s", "m" * 10**6, schema=schema)) < 10_000
    assert question_text("s", "m", schema={"properties": ["odd"]}).endswith("m")


@pytest.mark.req("W37")
def test_an_address_is_shown_whole() -> None:
    told = question_text("s", "Sign in", schema={}, url="https://example.org/auth?x=1")

    assert told.endswith("open this address:\nhttps://example.org/auth?x=1")


@pytest.mark.req("W37")
@pytest.mark.parametrize(
    ("text", "schema", "answer"),
    [
        ("  Ada Lovelace ", NAME, {"name": "Ada Lovelace"}),
        ('{"name": "Ada"}', NAME, {"name": "Ada"}),
        ("to: oslo\nsure: Yes", TRIP, {"to": "Oslo", "sure": True}),
        (
            "to: Rome\ndays: 3\nsure: no\nextras: bus, bed\nrest: x",
            TRIP,
            {"to": "Rome", "days": 3, "sure": False, "extras": ["bus", "bed"]},
        ),
        ('{"to": "Rome", "sure": true}', TRIP, {"to": "Rome", "sure": True}),
        ("to: Paris\nsure: yes", TRIP, None),
        ("to: Rome\nsure: perhaps", TRIP, None),
        ("to: Rome\nsure: yes\ndays: many", TRIP, None),
        ("no idea", TRIP, None),
    ],
)
def test_an_answer_is_read_as_the_question_wants_it(
    text: str, schema: dict[str, Any], answer: dict[str, Any] | None
) -> None:
    assert read_answer(text, schema) == answer


@pytest.mark.req("W37")
def test_nothing_fits_a_question_that_makes_no_sense() -> None:
    assert not fits({}, {"type": "object", "required": 7})
    assert fits({}, {})
