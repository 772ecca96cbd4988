"""Arguments of models: checked before a tool runs, mended where nothing is lost, else explained."""

from typing import Annotated, Any, Literal

import msgspec
import pytest
from pydantic import Field

from hermes.errors import ToolError
from hermes.message.parts import ToolCallPart
from hermes.ports.provider import ToolSpec
from hermes.tools import tool
from hermes.tools.arguments import checked_arguments


class Guest(msgspec.Struct):
    name: str
    age: int = 0


@tool
def book(
    venue: str,
    party: Annotated[int, Field(ge=1, le=12)],
    guests: list[Guest],
    when: Literal["noon", "night"] = "noon",
    vip: bool = False,
    price: float = 1.0,
    tags: list[str] | None = None,
    either: int | str = 0,
) -> str:
    """Book a table."""
    return venue


FITTING: dict[str, Any] = {"venue": "Luna", "party": 4, "guests": []}


def checked(arguments: str, spec: ToolSpec = book.spec) -> Any:
    call = ToolCallPart("c1", spec.name, arguments)
    return msgspec.json.decode(checked_arguments(call, spec))


def changed(**changes: Any) -> str:
    return msgspec.json.encode(FITTING | changes).decode()


def problem(arguments: str, spec: ToolSpec = book.spec) -> str:
    with pytest.raises(ToolError) as told:
        checked(arguments, spec)
    return str(told.value)


@pytest.mark.req("A17")
def test_what_fits_is_left_as_the_model_wrote_it() -> None:
    written = '{"venue": "Luna",  "party": 4, "guests": []}'
    call = ToolCallPart("c1", "book", written)

    assert bytes(checked_arguments(call, book.spec)) == written.encode()


@pytest.mark.req("A17")
@pytest.mark.parametrize(
    ("change", "read"),
    [
        ({"party": "4"}, {"party": 4}),
        ({"party": 4.0}, {"party": 4}),
        ({"price": "2.50"}, {"price": 2.5}),
        ({"price": "3"}, {"price": 3}),
        ({"vip": "true"}, {"vip": True}),
        ({"guests": '[{"name":"Ann"}]'}, {"guests": [{"name": "Ann"}]}),
        ({"guests": [{"name": "Ann", "age": "7"}]}, {"guests": [{"name": "Ann", "age": 7}]}),
        ({"tags": '["a","b"]'}, {"tags": ["a", "b"]}),
        ({"tags": None}, {"tags": None}),
        ({"vip": None, "party": "4"}, {"party": 4}),
        ({"either": "5"}, {"either": "5"}),
    ],
    ids=str,
)
def test_what_can_only_be_meant_one_way_is_taken_so(
    change: dict[str, Any], read: dict[str, Any]
) -> None:
    found = checked(changed(**change))

    assert found == FITTING | read
    assert {name: type(value) for name, value in found.items() if name in read} == {
        name: type(value) for name, value in read.items()
    }


@pytest.mark.req("A17")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"venue": 3}, '"venue": expected a text, found the number 3'),
        ({"party": "four"}, 'found the text "four"'),
        ({"party": "4.5"}, 'found the text "4.5"'),
        ({"party": "04"}, 'found the text "04"'),
        ({"party": 4.5}, "expected a whole number (at least 1, at most 12), found the number 4.5"),
        ({"party": True}, "found true"),
        ({"party": 40}, "found the number 40"),
        ({"vip": "yes"}, 'expected true or false, found the text "yes"'),
        ({"vip": 1}, "expected true or false, found the number 1"),
        ({"guests": "Ann"}, "expected a list, each item an object"),
        ({"guests": {"name": "Ann"}}, "found an object"),
        ({"guests": [{"name": "Ann", "age": "old"}]}, '"guests[0].age": expected a whole number'),
        ({"guests": [{"nam": "Ann"}]}, 'no argument "nam" of "guests[0]"; did you mean "name"?'),
        ({"guests": [{}]}, '"guests[0].name" is missing: expected a text'),
        ({"when": "dawn"}, 'expected one of "night", "noon", found the text "dawn"'),
        ({"tags": "a,b"}, "expected a list, each item a text or null"),
        ({"venu": "x"}, 'there is no argument "venu"; did you mean "venue"? Known: venue, party'),
        ({"zzz": 1}, 'there is no argument "zzz" Known: venue, party'),
    ],
    ids=str,
)
def test_everything_else_is_told_with_place_wish_find_and_example(
    change: dict[str, Any], told: str
) -> None:
    text = problem(changed(**change))

    assert told in text
    assert text.startswith("the arguments of book do not fit: ")
    assert 'Example: {"venue":"text","party":1,"guests":[{"name":"text"}]}' in text
    assert text.endswith("Nothing was run; call it again with arguments that fit.")


@pytest.mark.req("A17")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("", '"venue" is missing: expected a text; "party" is missing'),
        ('{"venue":', "are not JSON"),
        ("[1]", "expected one JSON object"),
        ('"{"', "expected one JSON object"),
        ('{"a":' * 2_000, "nested more than 100 levels"),
        ("[" * 150 + "]" * 150, "expected one JSON object"),
        ('{"tags":' + "[" * 150 + "]" * 150 + "}", "nested more than 100 levels"),
        ('{"venue":"' + "x" * 1_048_577 + '"}', "1048576 are allowed"),
    ],
    ids=range(8),
)
def test_what_is_no_object_at_all_is_told_too(arguments: str, told: str) -> None:
    text = problem(arguments)

    assert told in text
    assert len(text) < 1_000


@pytest.mark.req("A17")
def test_found_values_are_shown_shortened() -> None:
    text = problem(changed(party="x" * 5_000))

    assert "x" * 80 + "…" in text
    assert "x" * 81 not in text


@pytest.mark.req("A17")
def test_a_text_that_spells_an_object_is_taken_as_one() -> None:
    whole = msgspec.json.encode(changed(party="4")).decode()

    assert checked(whole) == FITTING


@pytest.mark.req("W37")
def test_a_schema_that_nothing_can_be_checked_against_keeps_no_tool_from_running() -> None:
    foreign = ToolSpec("far", "", msgspec.Raw(b'{"$ref":"https://example.com/schema"}'))

    assert checked('{"a":"1"}', foreign) == {"a": "1"}


@pytest.mark.req("W37")
def test_references_and_alternatives_are_followed() -> None:
    schema = {
        "type": "object",
        "properties": {
            "node": {"$ref": "#/$defs/Node"},
            "shape": {
                "oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer"}}]
            },
        },
        "required": ["node"],
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {
                    "size": {"type": ["integer", "null"]},
                    "next": {"$ref": "#/$defs/Node"},
                },
                "required": ["size"],
            }
        },
    }
    spec = ToolSpec("far", "", msgspec.Raw(msgspec.json.encode(schema)))

    found = checked('{"node":{"size":"1","next":{"size":"2"}},"shape":["3"]}', spec)

    assert found == {"node": {"size": 1, "next": {"size": 2}}, "shape": [3]}
    assert '"node.next.size": expected a whole number or null, found the text "x"' in problem(
        '{"node":{"size":1,"next":{"size":"x"}}}', spec
    )


@pytest.mark.req("A17")
def test_a_number_in_quotes_stays_a_text_where_no_number_is_wanted() -> None:
    assert '"5"' in problem(changed(vip="5"))


@pytest.mark.req("A17")
def test_a_schema_of_lists_without_end_has_a_short_example() -> None:
    lists = {"type": "array", "items": {"$ref": "#/$defs/lists"}}
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/lists"}},
        "required": ["tree"],
        "$defs": {"lists": lists},
    }
    spec = ToolSpec("plant", "Plants.", msgspec.Raw(msgspec.json.encode(schema)))

    assert '{"tree":[' in problem("{}", spec).replace(" ", "")
