"""A server's question in the words of the chat."""

import pytest

from hermes.tools.mcp.questions import fits, question_text

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
def test_nothing_fits_a_question_that_makes_no_sense() -> None:
    assert not fits({}, {"type": "object", "required": 7})
    assert fits({}, {})
