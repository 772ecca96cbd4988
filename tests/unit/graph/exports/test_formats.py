"""How each format writes a message: roles, tools, thoughts, and nothing that holds nothing."""

from typing import Any

import msgspec
import pytest

from hermes.graph import Message, MessageGraph
from hermes.graph.exports import FormatName, Row, verify_row
from tests.unit.graph.exports.taken import ALL_BUT_TOKENS, Letters, spelled, take
from tests.unit.graph.said import (
    ARGUMENTS,
    assistant,
    pictured,
    system,
    thinking,
    tool_call,
    tool_result,
    user,
    with_objects,
)

TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"default": None}}}]
SIGNATURE = "EqQBCgIYAhIk/+=="


def weather() -> MessageGraph:
    """A tool is called and its result is answered."""
    graph = MessageGraph([system("be kind"), user("weather?")])
    graph.record_call(tool_call("c1") | {"content": None}, model="m", tools=TOOLS)
    graph.append(tool_result("c1"))
    graph.record_call(assistant("cool"), model="m", tools=TOOLS)
    return graph


def body(row: Row) -> Row:
    return {key: value for key, value in row.items() if key != "certificate"}


def nothings(value: Any) -> int:
    """How many keys hold nothing."""
    if isinstance(value, dict):
        return sum(one is None for one in value.values()) + sum(map(nothings, value.values()))
    return sum(map(nothings, value)) if isinstance(value, list) else 0


@pytest.mark.req("G6")
def test_openai() -> None:
    (row,), _ = take(weather(), "openai")

    assert body(row) == {
        "messages": [
            system("be kind"),
            user("weather?"),
            tool_call("c1") | {"weight": 1},
            tool_result("c1"),
            assistant("cool") | {"weight": 1},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {}}}],
    }
    assert list(row) == ["messages", "tools", "certificate"]


@pytest.mark.req("G6")
def test_sharegpt() -> None:
    (row,), _ = take(weather(), "sharegpt")

    called = f'<tool_call>\n{{"name": "weather", "arguments": {ARGUMENTS}}}\n</tool_call>'
    assert body(row) == {
        "conversations": [
            {"from": "system", "value": "be kind"},
            {"from": "human", "value": "weather?"},
            {"from": "gpt", "value": called, "weight": 1},
            {"from": "tool", "value": "<tool_response>\n12 degrees\n</tool_response>"},
            {"from": "gpt", "value": "cool", "weight": 1},
        ],
        "tools": msgspec.json.encode(TOOLS).decode(),
    }


@pytest.mark.req("G6")
def test_trl_messages() -> None:
    (row,), _ = take(weather(), "trl-messages")

    called = with_objects(tool_call("c1"))
    said = [system("be kind"), user("weather?"), called, tool_result("c1")]
    assert row["messages"] == [*said, assistant("cool")]
    assert row["tools"][0]["function"]["name"] == "weather"


@pytest.mark.req("G6")
@pytest.mark.parametrize("format_name", ALL_BUT_TOKENS)
def test_no_key_holds_nothing_and_the_row_can_still_be_computed_again(
    format_name: FormatName,
) -> None:
    graph = weather()
    graph[-1]["content"] = "warm"

    rows, report = take(graph, format_name)

    assert rows
    assert [nothings(row) for row in rows] == [0] * len(rows)
    assert [verify_row(row) for row in rows] == [None] * len(rows)
    assert report.refused == {}


@pytest.mark.req("G6")
@pytest.mark.parametrize("format_name", ["openai", "sharegpt"])
def test_argument_texts_are_never_written_again(format_name: FormatName) -> None:
    (row,), _ = take(weather(), format_name)

    assert msgspec.json.encode(ARGUMENTS)[1:-1] in msgspec.json.encode(body(row))


@pytest.mark.req("G6")
@pytest.mark.parametrize("format_name", ALL_BUT_TOKENS[2:])
def test_trl_is_given_arguments_as_objects_and_the_certificate_keeps_the_text(
    format_name: FormatName,
) -> None:
    graph = MessageGraph([user("weather?")])
    graph.record_call(tool_call("c1", ARGUMENTS[:-1] + ', "at":null}'), model="m")
    graph[1]["tool_calls"][0]["function"]["name"] = "Weather"

    (row, *_), report = take(graph, format_name)

    answer = {"trl-messages": "messages", "trl-preference": "rejected"}.get(
        format_name, "completion"
    )
    function = row[answer][-1]["tool_calls"][0]["function"]
    assert function == {
        "name": "weather",
        "arguments": {"city": "Bonn", "unit": "C", "n": 1.5, "at": None},
    }
    kept = [msgspec.json.decode(one["message"]) for one in row["certificate"]["source"]]
    assert kept[-1] == tool_call("c1", ARGUMENTS[:-1] + ', "at":null}')
    assert (verify_row(row), report.refused) == (None, {})


@pytest.mark.req("G6")
@pytest.mark.parametrize(
    "arguments", ['{"city": Bonn', '["Bonn"]', "12", '{"n": 1e999}', '{"n": "\\ud800"}']
)
def test_arguments_that_are_no_object_are_refused_for_trl(arguments: str) -> None:
    graph = MessageGraph([user("weather?")])
    graph.record_call(tool_call("c1", arguments), model="m")

    rows, report = take(graph, "trl-messages")

    assert (rows, report.refused) == ([], {"unfit": 1})
    assert "tool call 'c1'" in report.refusals[0].text


@pytest.mark.req("G6")
def test_no_arguments_at_all_are_an_empty_object_for_trl() -> None:
    graph = MessageGraph([user("weather?")])
    graph.record_call(tool_call("c1", ""), model="m")

    (row,), _ = take(graph, "trl-messages")

    assert row["messages"][1]["tool_calls"][0]["function"]["arguments"] == {}
    assert verify_row(row) is None


@pytest.mark.req("G6")
def test_a_null_that_was_put_into_the_arguments_is_noticed() -> None:
    (row,), _ = take(weather(), "trl-messages")

    row["messages"][2]["tool_calls"][0]["function"]["arguments"]["at"] = None

    assert verify_row(row) is not None


@pytest.mark.req("G6")
def test_a_call_that_saw_nothing_has_no_prompt_for_trl() -> None:
    graph = MessageGraph([])
    graph.record_call(assistant("hello"), model="m")
    graph[0]["content"] = "welcome"

    made = {name: take(graph, name) for name in ALL_BUT_TOKENS}

    assert [len(rows) for rows, _ in made.values()] == [1, 1, 1, 0, 0]
    assert [made[name][1].refused for name in ALL_BUT_TOKENS[3:]] == [{"unfit": 1}] * 2


@pytest.mark.req("G6")
def test_arguments_that_are_no_json_stay_what_the_model_wrote() -> None:
    graph = MessageGraph([user("weather?")])
    graph.record_call(tool_call("c1", '{"city": Bonn'), model="m")

    (chat,), _ = take(graph, "openai")
    (turns,), _ = take(graph, "sharegpt")

    function = chat["messages"][1]["tool_calls"][0]["function"]
    assert function["arguments"] == '{"city": Bonn'
    assert '"arguments": {"city": Bonn}' in turns["conversations"][1]["value"]


@pytest.mark.req("G6")
@pytest.mark.parametrize("format_name", ["openai", "sharegpt", "trl-messages"])
def test_signatures_of_thoughts_are_kept_in_the_line_or_beside_it(format_name: FormatName) -> None:
    graph = MessageGraph([user("hi")])
    graph.record_call(thinking("hello"), model="m")

    (row,), _ = take(graph, format_name)

    assert SIGNATURE in str(row)
    assert verify_row(row) is None


@pytest.mark.req("G6")
def test_thoughts_stand_where_a_format_has_a_place_for_them() -> None:
    graph = MessageGraph([user("hi")])
    graph.record_call(thinking("hello"), model="m")

    answers = {name: take(graph, name)[0][0] for name in ALL_BUT_TOKENS[:3]}

    assert answers["openai"]["messages"][1] == assistant("hello") | {"weight": 1}
    assert answers["sharegpt"]["conversations"][1]["value"] == (
        "<think>\nLet me see.\n</think>\nhello"
    )
    thought = {"type": "thinking", "thinking": "Let me see.", "signature": SIGNATURE}
    assert answers["trl-messages"]["messages"][1] == assistant("hello") | {
        "reasoning_content": "Let me see.",
        "thinking_blocks": [thought],
    }


@pytest.mark.req("G6")
def test_pictures_are_in_openai() -> None:
    graph = MessageGraph([pictured("what?")])
    graph.record_call(assistant("a cat"), model="m")

    (row,), _ = take(graph, "openai")

    assert row["messages"][0] == pictured("what?")
    assert "source" not in row["certificate"]


@pytest.mark.req("G6")
def test_roles_are_those_of_the_format() -> None:
    graph = MessageGraph([{"role": "developer", "content": "be kind"}, user("hi")])
    graph.record_call({"role": "model", "content": "hello"}, model="m")

    rows = {name: take(graph, name)[0][0] for name in ALL_BUT_TOKENS[:3]}

    roles = [
        [line["role"] for line in rows[name]["messages"]] for name in ("openai", "trl-messages")
    ]
    assert roles == [["developer", "user", "assistant"], ["system", "user", "assistant"]]
    turns = [line["from"] for line in rows["sharegpt"]["conversations"]]
    assert turns == ["system", "human", "gpt"]
    assert [verify_row(row) for row in rows.values()] == [None, None, None]


@pytest.mark.req("G6")
@pytest.mark.parametrize(
    ("call", "result"),
    [
        (
            {"content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bonn"}},
                {"type": "tool_use", "id": "c2", "name": "weather", "input": {"city": "Ulm"}},
            ]},
            {"content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "12"},
                {"type": "tool_result", "tool_use_id": "c2",
                 "content": [{"type": "text", "text": "13"}]},
                {"type": "text", "text": "go on"},
            ]},
        ),
        (
            {"parts": [
                {"type": "text", "text": "I look."},
                {"type": "tool_call", "id": "c1", "name": "weather", "arguments": '{"city":"Bonn"}'},
                {"type": "tool_call", "id": "c2", "name": "weather", "arguments": '{"city":"Ulm"}'},
            ]},
            {"parts": [
                {"type": "tool_result", "call_id": "c1", "name": "weather", "text": "12"},
                {"type": "tool_result", "call_id": "c2", "name": "weather", "text": "13"},
                {"type": "text", "text": "go on"},
            ]},
        ),
    ],
    ids=["blocks", "parts"],
)  # fmt: skip
def test_other_dialects_are_written_in_that_of_the_format(call: Message, result: Message) -> None:
    graph = MessageGraph([user("weather?")])
    graph.record_call({"role": "assistant", **call}, model="m")
    graph.append({"role": "user", **result})
    graph.record_call(assistant("cool"), model="m")

    (row,), _ = take(graph, "openai")

    functions = [
        {"name": "weather", "arguments": '{"city":"Bonn"}'},
        {"name": "weather", "arguments": '{"city":"Ulm"}'},
    ]
    assert row["messages"][1:5] == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": functions[0]},
                {"id": "c2", "type": "function", "function": functions[1]},
            ],
            "weight": 1,
        },
        tool_result("c1", "12"),
        tool_result("c2", "13"),
        user("go on"),
    ]
    assert [verify_row(take(graph, name)[0][0]) for name in ALL_BUT_TOKENS[:4]] == [None] * 4
    (tokens,), _ = take(graph, "tokens", tokenizer=Letters())
    assert spelled(tokens["labels"]).endswith("." * len("<assistant>") + "cool</>")
    assert verify_row(tokens, tokenizer=Letters()) is None


@pytest.mark.req("G6")
def test_other_keys_of_a_message_go_where_they_may() -> None:
    asked = {"role": "user", "content": "hi", "name": "ann", "cache_control": {"type": "x"}}
    graph = MessageGraph([asked])
    graph.record_call(assistant("hello", reasoning_content="hm", refusal=None), model="m")

    (chat,), _ = take(graph, "openai")
    (trl,), _ = take(graph, "trl-messages")

    assert chat["messages"] == [
        {"role": "user", "content": "hi", "name": "ann"},
        assistant("hello") | {"weight": 1},
    ]
    assert trl["messages"] == [asked, assistant("hello", reasoning_content="hm")]
