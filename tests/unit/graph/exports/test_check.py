"""Rows are checked offline: what is written can be computed again, what is changed is noticed."""

import copy
import io
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.graph import MessageGraph, context_root, message_id
from hermes.graph.exports import FormatName, Row, verify_row, write_jsonl
from tests.unit.graph.exports.taken import ALL_BUT_TOKENS, Letters, take
from tests.unit.graph.said import (
    assistant,
    system,
    thinking,
    tool_call,
    tool_result,
    user,
)

FORMATS: tuple[FormatName, ...] = (*ALL_BUT_TOKENS, "tokens")
TOOLS = [{"name": "weather", "strict": None}]
Place = tuple[str | int, ...]


def row_of(format_name: FormatName) -> Row:
    graph = MessageGraph([system("be kind"), user("weather? ☂\u2028")], name="talk")
    graph.record_call(tool_call("c1"), model="m", tools=TOOLS)
    graph.append(tool_result("c1"))
    graph.record_call(thinking("cool"), model="m", tools=TOOLS)
    graph[-1]["content"][1]["text"] = "warm"
    rows, _ = take(graph, format_name, tokenizer=Letters(), template="a template")
    return rows[0]


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*place, key))
    else:
        yield place


def changed(row: Row, place: Place, value: object) -> Row:
    made: Any = copy.deepcopy(row)
    at = made
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    found: Row = made
    return found


@pytest.mark.req("G6", "J24")
def test_a_certificate_says_what_the_row_is_made_from() -> None:
    graph = MessageGraph([user("hi")], name="talk")
    graph.record_call(assistant("hello"), model="small-1", tools=TOOLS)

    (row,), _ = take(graph, template="a template")

    certificate = row["certificate"]
    assert list(certificate) == [
        "format", "graph", "model", "context", "messages", "trained", "tools", "template",
        "tools_source", "seal",
    ]  # fmt: skip
    assert (certificate["format"], certificate["model"]) == ("openai", "small-1")
    assert certificate["context"] == context_root([user("hi")]).hex()
    assert certificate["messages"] == [
        message_id(user("hi")).hex(),
        message_id(assistant("hello")).hex(),
    ]
    assert (certificate["trained"], len(certificate["tools"])) == ([1], 64)
    assert len(certificate["template"]) == 64


@pytest.mark.req("G6")
@pytest.mark.parametrize("format_name", FORMATS)
def test_a_row_that_was_written_and_read_is_as_it_was(format_name: FormatName) -> None:
    row, stream = row_of(format_name), io.StringIO()

    count = write_jsonl([row, row], stream)

    lines = stream.getvalue().split("\n")
    assert (count, len(lines), lines[2]) == (2, 3, "")
    assert msgspec.json.decode(lines[0]) == row
    assert list(msgspec.json.decode(lines[0])) == list(row)
    assert "☂" in lines[0]
    assert verify_row(msgspec.json.decode(lines[1])) is None


@pytest.mark.req("G6")
def test_certificates_can_have_a_file_of_their_own() -> None:
    row, stream, beside = row_of("openai"), io.StringIO(), io.StringIO()

    write_jsonl([row], stream, certificates=beside)

    told = msgspec.json.decode(stream.getvalue())
    assert list(told) == ["messages", "tools"]
    assert told | {"certificate": msgspec.json.decode(beside.getvalue())} == row


@pytest.mark.req("G6")
@pytest.mark.parametrize("format_name", FORMATS)
def test_whatever_is_changed_in_a_row_is_noticed(format_name: FormatName) -> None:
    row = row_of(format_name)
    assert verify_row(row) is None

    unnoticed = [
        place
        for place in leaves(row)
        for value in ("another", 77, None)
        if verify_row(changed(row, place, value)) is None
    ]

    assert unnoticed == []


@pytest.mark.req("G6")
@pytest.mark.parametrize("key", ["context", "tools", "messages"])
def test_a_false_name_is_noticed_before_the_seal(key: str) -> None:
    row = row_of("openai")
    false = "00" * 32

    found = verify_row(
        changed(row, ("certificate", key), [false] * 5 if key == "messages" else false)
    )

    assert found is not None
    assert "seal" not in found.text


@pytest.mark.req("G6")
def test_a_weight_that_the_certificate_does_not_know_is_noticed() -> None:
    graph = MessageGraph([user("hi"), assistant("human"), user("ho")])
    graph.record_call(assistant("sampled"), model="m")
    (row,), _ = take(graph)

    found = verify_row(changed(row, ("messages", 1, "weight"), 1))

    assert found is not None
    assert (found.trouble, found.where) == ("inconsistent", "row")


@pytest.mark.req("G6")
@pytest.mark.parametrize("format_name", ALL_BUT_TOKENS)
def test_what_is_added_or_left_out_is_noticed(format_name: FormatName) -> None:
    row = row_of(format_name)
    (place, *_) = [key for key in row if isinstance(row[key], list)]

    longer = changed(row, (place,), [*row[place], row[place][0]])
    shorter = changed(row, (place,), row[place][:-1])

    others = [row | {"more": 1}, changed(row, ("certificate", "more"), 1)]
    assert None not in [verify_row(one) for one in (longer, shorter, *others)]


@pytest.mark.req("G6")
def test_keys_that_a_table_added_without_a_value_do_no_harm() -> None:
    row = row_of("openai")
    row["messages"] = [
        {"name": None, "tool_calls": None, "tool_call_id": None, **line} for line in row["messages"]
    ]

    assert verify_row(row) is None


@pytest.mark.req("G6")
@pytest.mark.parametrize(
    "row",
    [None, [], {}, {"messages": []}, {"certificate": 7}, {"certificate": {}}],
)
def test_what_is_no_exported_row_is_said_to_be_none(row: object) -> None:
    assert verify_row(row) is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@pytest.mark.req("G6")
@given(st.sampled_from(FORMATS), st.data())
def test_rubbish_in_a_row_is_a_problem_and_never_an_error(
    format_name: FormatName, data: st.DataObject
) -> None:
    row = row_of(format_name)
    place = data.draw(st.sampled_from(list(leaves(row))))
    short = place[: data.draw(st.integers(1, len(place)))]

    made = changed(row, short, data.draw(JSON))

    assert (verify_row(made) is None) == (
        msgspec.json.encode(made, order="sorted") == msgspec.json.encode(row, order="sorted")
    )
