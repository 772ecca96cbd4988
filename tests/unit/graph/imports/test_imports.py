"""Conversations of other programs: what is read, what is refused, and where."""

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes.errors import BadRequest, HermesError, NotFound, TooLarge
from hermes.graph import MessageGraph
from hermes.graph.exports import FormatName
from hermes.graph.imports import read_chatgpt, read_jsonl, read_sharegpt
from hermes.graph.imports.source_file import MAX_LINE_BYTES
from tests.unit.graph.exports.taken import take, weights
from tests.unit.graph.said import assistant, system, tool_call, tool_result, user

Read = Callable[..., Iterator[MessageGraph]]


@pytest.mark.req("G2", "G6")
def test_rows_of_chats_become_graphs(tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    call = {
        "prompt": [user("w?"), tool_call("c1"), tool_result("c1")],
        "completion": [assistant("x")],
    }
    rows = [
        {"messages": [system("s"), user("a"), assistant("b") | {"weight": 0, "name": None}]},
        call,
        [user("only this")],
    ]
    file.write_text("\n\n".join(map(json.dumps, rows)))

    graphs = list(read_jsonl(file))

    assert [graph.to_list() for graph in graphs] == [
        [system("s"), user("a"), assistant("b")],
        [*call["prompt"], *call["completion"]],
        [user("only this")],
    ]
    assert [graph.name for graph in graphs] == ["chats-1", "chats-3", "chats-5"]
    assert [graph.calls() for graph in graphs] == [[], [], []]


@pytest.mark.req("G6")
def test_answers_count_as_sampled_only_for_a_named_model(tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    messages = [user("a"), assistant("b") | {"weight": 0}, user("c"), assistant("d")]
    file.write_text(json.dumps({"messages": messages, "tools": [{"name": "f"}]}))

    (plain,), (sampled,) = read_jsonl(file), read_jsonl(file, model="m")

    assert take(plain)[0] == []
    (row,), _ = take(sampled)
    assert (weights(row), row["tools"]) == ([("b", 0), ("d", 1)], [{"name": "f"}])
    assert [call.metadata for call in sampled.calls()] == [{"imported": "jsonl"}] * 2


@pytest.mark.req("G6")
def test_what_was_exported_is_read_back(tmp_path: Path) -> None:
    graph = MessageGraph([user("w?")], name="talk")
    graph.record_call(tool_call("call_1"), model="m", tools=[{"name": "weather"}])
    graph.append(tool_result("call_1"))
    graph.record_call(assistant("Cool."), model="m", tools=[{"name": "weather"}])

    formats: list[tuple[FormatName, Read]] = [("openai", read_jsonl), ("sharegpt", read_sharegpt)]
    for format_name, read in formats:
        file = tmp_path / f"{format_name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in take(graph, format_name)[0]))
        (again,) = read(file, model="m")
        assert again == graph
        assert [again.tools_of(call) for call in again.calls()] == [[{"name": "weather"}]] * 2


@pytest.mark.req("G2")
@pytest.mark.parametrize("indent", [None, 2])
def test_one_list_of_sharegpt_conversations(tmp_path: Path, indent: int | None) -> None:
    file = tmp_path / "chats.json"
    turns = [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]
    called = [
        {"from": "user", "value": "w?"},
        {"from": "function_call", "value": '{"name": "f", "arguments": {"n":  1.50}}'},
        {"from": "observation", "value": "12"},
    ]
    rows = [{"conversations": turns, "system": "s"}, {"conversations": called}]
    file.write_text(json.dumps(rows, indent=indent))

    one, two = read_sharegpt(file)

    assert one == [system("s"), user("a"), assistant("b")]
    assert two[1]["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"n":  1.50}'}
    assert two[2]["tool_call_id"] == two[1]["tool_calls"][0]["id"]


BROKEN: list[tuple[Read, str, str]] = [
    (read_jsonl, "{bad", "line 2 of chats.jsonl is not JSON"),
    (read_jsonl, "17", "line 2 of chats.jsonl: A row is an object"),
    (read_jsonl, '{"text": "x"}', "line 2 of chats.jsonl: A row needs .* it has: text"),
    (read_jsonl, '{"messages": ["x"]}', "line 2 .*: A message is an object, this one is str"),
    (read_jsonl, '{"messages": [{"content": "x"}]}', "line 2 .*: A message needs a role"),
    (read_jsonl, '[{"role": "tool", "tool_call_id": "c9", "content": ""}]', "line 2 .* the call 'c9'"),
    (read_jsonl, '{"messages": ' + "[" * 100_000 + "]" * 100_000 + "}", "line 2 .*deep|line 2 .*not JSON"),
    (read_jsonl, '{"messages": [{"role": "user", "content": ' + "[" * 99 + "]" * 99 + "}]}", "line 2 .* 64 levels"),
    (read_jsonl, '{"messages": ' + json.dumps([user("x")] * 100_001) + "}", "line 2 .*at most 100000"),
    (read_jsonl, '{"messages": [{"role": ["a"], "content": "x"}]}', r"line 2 .*: A message needs a role .*found \['a'\]"),
    (read_sharegpt, '{"messages": []}', "line 2 .*: A ShareGPT row needs `conversations`"),
    (read_sharegpt, '{"conversations": [{"from": "elf", "value": ""}]}', "turn 0: `from` is one of .* 'elf'"),
    (read_sharegpt, '{"conversations": [{"from": "tool", "value": ""}]}', "turn 0: .* before any call"),
    (read_sharegpt, '{"conversations": [{"from": "gpt", "value": "<tool_call> {"}]}', "turn 0: <tool_call> has no"),
    (read_sharegpt, json.dumps({"conversations": [{"from": "gpt", "value": f"<tool_call>{'[' * 100_000}</tool_call>"}]}),
     "line 2 .*turn 0: .*The tool call cannot be read: Expected `object`"),
    (read_sharegpt, json.dumps({"conversations": [{"from": "gpt", "value":
        f'<tool_call>{{"name": "f", "arguments": {"[" * 100_000}}}</tool_call>'}]}), "line 2 .*turn 0: The tool call is nested too deep"),
    (read_sharegpt, json.dumps({"conversations": [{"from": "function_call", "value": '{"name": 5}'}]}),
     "line 2 .*turn 0: The tool call cannot be read: .*name"),
]  # fmt: skip


@pytest.mark.req("G2")
@pytest.mark.parametrize(("read", "line", "text"), BROKEN)
def test_a_malformed_line_names_its_number(
    tmp_path: Path, read: Read, line: str, text: str
) -> None:
    file, good = tmp_path / "chats.jsonl", {"messages": [user("a")]}
    good |= {"conversations": [{"from": "human", "value": "a"}]}
    file.write_text("\n".join([json.dumps(good), line, json.dumps(good)]))
    problems: list[str] = []

    for model in ("", "m"):
        with pytest.raises(BadRequest, match=text):
            list(read(file, model=model))
    graphs = list(read(file, problems=problems))

    assert [graph.to_list() for graph in graphs] == [[user("a")], [user("a")]]
    assert len(problems) == 1


@pytest.mark.req("G2")
def test_sizes_are_bounded(tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    with file.open("wb") as stream:
        stream.truncate(MAX_LINE_BYTES + 10)

    with pytest.raises(TooLarge, match=r"line 1 of chats\.jsonl has more than 64 MB"):
        list(read_jsonl(file))
    with pytest.raises(NotFound, match="cannot be read"):
        list(read_jsonl(tmp_path / "none.jsonl"))


def node(name: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    content = more.pop("content", {"content_type": "text", "parts": [text]})
    message = {"id": name, "author": {"role": role}, "content": content, **more}
    return {"id": name, "parent": parent, "message": message, "children": []}


def exported() -> dict[str, Any]:
    nodes = [
        {"id": "root", "parent": None, "message": None, "children": ["u1"]},
        node("s", "root", "system", ""),
        node("u1", "s", "user", "Draw a cat."),
        node("call", "u1", "assistant", '{"size": 1}', recipient="dalle"),
        node("drawn", "call", "tool", "done"),
        node("a1", "drawn", "assistant", "Here.", recipient="all"),
        node("u2", "u1", "user", "It is urgent"),
        node("u3", "a1", "user", "", content={
            "content_type": "multimodal_text",
            "parts": [{"content_type": "image_asset_pointer"}, "like this"],
        }),
        node("loose", "u3", "tool", "a note"),
    ]  # fmt: skip
    mapping = {one["id"]: one for one in nodes}
    return {"title": "Cats", "id": "x1", "current_node": "loose", "mapping": mapping}


@pytest.mark.req("G1", "G7")
@pytest.mark.parametrize("zipped", [False, True])
def test_an_export_of_chatgpt_keeps_its_branches(tmp_path: Path, zipped: bool) -> None:
    file, content = tmp_path / "export", json.dumps([exported()])
    if zipped:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("user.json", "{}")
            archive.writestr("export/conversations.json", content)
    else:
        file.write_text(content)

    (graph,) = read_chatgpt(file)

    assert (graph.name, graph.branches()) == ("Cats x1", ["main", "path-1"])
    assert [(m["role"], m.get("content")) for m in graph] == [
        ("user", "Draw a cat."),
        ("assistant", None),
        ("tool", "done"),
        ("assistant", "Here."),
        ("user", "[image_asset_pointer]\nlike this"),
        ("system", "a note"),
    ]
    function = {"name": "dalle", "arguments": '{"size": 1}'}
    assert graph[1]["tool_calls"] == [{"id": "call", "type": "function", "function": function}]
    assert graph.checkout("path-1") == [user("Draw a cat."), user("It is urgent")]
    assert graph.verify().ok


@pytest.mark.req("G2")
def test_a_broken_export_of_chatgpt_names_the_conversation(tmp_path: Path) -> None:
    file, circle = tmp_path / "conversations.json", exported()
    circle["mapping"]["s"]["parent"] = "u1"
    file.write_text(json.dumps([exported(), circle, {"title": "no mapping"}, 5]))
    problems: list[str] = []

    assert len(list(read_chatgpt(file, problems=problems))) == 1
    assert [one.split(":")[0] for one in problems] == [
        f"conversation {number} of conversations.json" for number in (2, 3, 4)
    ]
    assert "is its own ancestor" in problems[0]
    with pytest.raises(BadRequest, match="conversation 2 of"):
        list(read_chatgpt(file))


@pytest.mark.req("G2")
@pytest.mark.parametrize("shown", [None, "a", "c"])
@pytest.mark.parametrize(
    "parents", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "b", "b": "a", "c": "a"}]
)
def test_a_circle_in_an_export_of_chatgpt_is_refused(
    tmp_path: Path, parents: dict[str, str], shown: str | None
) -> None:
    file, found = tmp_path / "conversations.json", exported()
    for name, parent in parents.items():
        found["mapping"][name] = node(name, parent, "user", name)
    file.write_text(json.dumps([found | {"current_node": shown}]))

    with pytest.raises(BadRequest, match=r"'a', or one before it, is its own ancestor"):
        list(read_chatgpt(file))


@pytest.mark.req("G2")
def test_a_type_in_an_export_of_chatgpt_that_is_no_text(tmp_path: Path) -> None:
    file, found = tmp_path / "conversations.json", exported()
    content = {"content_type": ["x"], "parts": ["odd", {"content_type": ["y"]}]}
    found["mapping"]["loose"] = node("loose", "u3", "user", "", content=content)
    file.write_text(json.dumps([found]))

    (graph,) = read_chatgpt(file, problems=[])

    assert graph[-1] == user("odd\n[file]")


def fan(trunk: int, leaves: int) -> dict[str, Any]:
    """Return a conversation of one trunk that ends in many leaves."""
    nodes = [node(f"t{n}", f"t{n - 1}" if n else None, "user", f"{n}") for n in range(trunk)]
    nodes += [node(f"l{n}", f"t{trunk - 1}", "user", f"leaf {n}") for n in range(leaves)]
    return {"title": "Fan", "id": "f", "mapping": {one["id"]: one for one in nodes}}


@pytest.mark.req("G2")
def test_the_paths_of_an_export_of_chatgpt_are_bounded_together(tmp_path: Path) -> None:
    file, problems = tmp_path / "conversations.json", list[str]()
    file.write_text(json.dumps([fan(1001, 200), fan(999, 3)]))

    (graph,) = read_chatgpt(file, problems=problems)

    assert problems == [
        "conversation 1 of conversations.json: Its 200 paths have 200400 messages together; at most "
        "200000 are read."
    ]
    branches = [graph.checkout(name) for name in graph.branches()]
    assert [(len(one), one[-1]["content"]) for one in branches] == [
        (1000, "leaf 0"), (1000, "leaf 1"), (1000, "leaf 2")
    ]  # fmt: skip
    assert (branches[1][:-1] == branches[0][:-1], graph.verify().ok) == (True, True)


@pytest.mark.req("G2")
def test_paths_of_an_export_of_chatgpt_that_are_left_out_are_counted(tmp_path: Path) -> None:
    file, problems = tmp_path / "conversations.json", list[str]()
    file.write_text(json.dumps([fan(2, 203) | {"current_node": "l202"}, fan(2, 200)]))

    cut, whole = read_chatgpt(file, problems=problems)

    told = (
        "conversation 1 of conversations.json: It has 203 paths; the 200 that were found first are "
        "read, 3 are left out."
    )
    assert problems == [told]
    assert (cut[-1], len(cut.branches()), len(whole.branches())) == (user("leaf 202"), 200, 200)
    with pytest.raises(BadRequest, match=re.escape(told)):
        list(read_chatgpt(file))


@pytest.mark.req("G2")
@pytest.mark.parametrize(
    ("content", "error"), [(b"not JSON", BadRequest), (b"PK\x05\x06" + bytes(18), BadRequest)]
)
def test_a_file_that_is_no_export(tmp_path: Path, content: bytes, error: type[HermesError]) -> None:
    file = tmp_path / "export.zip"
    file.write_bytes(content)

    with pytest.raises(error, match=r"is not JSON|no export of ChatGPT"):
        list(read_chatgpt(file))
    with pytest.raises(NotFound, match="cannot be read"):
        list(read_chatgpt(tmp_path / "none.zip"))
