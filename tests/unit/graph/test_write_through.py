"""Every in-place write into a message, at any depth, becomes a version; none gets by unseen."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from hermes.errors import BadRequest, Conflict
from hermes.graph import MessageGraph
from tests.unit.graph.said import assistant, pictured, tool_call, user

Write = Callable[[dict[str, Any]], object]


def more(message: dict[str, Any]) -> None:
    message |= {"name": "ann", "content": "x"}


def longer(message: dict[str, Any]) -> None:
    message["content"] += [{"type": "text", "text": "more"}]


def doubled(message: dict[str, Any]) -> None:
    message["content"] *= 2


def without_a_key(message: dict[str, Any]) -> None:
    del message["content"]


def without_a_part(message: dict[str, Any]) -> None:
    del message["content"][0]


WRITES: list[Write] = [
    lambda m: m.__setitem__("content", "x"),
    lambda m: m.update({"content": "x"}, name="ann"),
    lambda m: m.update([("name", "ann")]),
    lambda m: m.setdefault("name", ["a", {"b": 1}]),
    lambda m: m.setdefault("names", []).append("ann"),
    lambda m: m.pop("content"),
    lambda m: m.popitem(),
    more,
    without_a_key,
    lambda m: m["content"].__setitem__(0, "x"),
    lambda m: m["content"].__setitem__(slice(0, 1), [{"type": "text", "text": "y"}] * 2),
    lambda m: m["content"].__setitem__(-1, {"type": "text", "text": "y"}),
    without_a_part,
    lambda m: m["content"].__delitem__(slice(None, None, 2)),
    lambda m: m["content"].append({"type": "text", "text": "more"}),
    lambda m: m["content"].extend(part for part in ["a", "b"]),
    lambda m: m["content"].insert(-1, "x"),
    longer,
    doubled,
    lambda m: m["content"].pop(),
    lambda m: m["content"].pop(0),
    lambda m: m["content"].remove({"type": "text", "text": "look"}),
    lambda m: m["content"].clear(),
    lambda m: m["content"].reverse(),
    lambda m: m["content"].sort(key=lambda part: part["type"]),
    lambda m: m["content"].sort(key=lambda part: part["type"], reverse=True) or m.update(a=1),
    lambda m: m["content"][0].__setitem__("text", "x"),
    lambda m: m["content"][0].update(text="x"),
    lambda m: m["content"][0].pop("text"),
    lambda m: m["content"][0].clear(),
    lambda m: m["content"][1]["image_url"].setdefault("detail", "low"),
    lambda m: m["content"][1]["image_url"].popitem(),
]


@pytest.mark.req("G2")
@pytest.mark.parametrize("write", WRITES)
def test_a_write_reads_as_in_a_plain_dict_and_keeps_the_version_before(write: Write) -> None:
    graph = MessageGraph([user("first"), pictured("look"), user("last")])
    expected = copy.deepcopy(graph.to_list())
    held = graph[1]

    write(graph[1])
    write(expected[1])

    assert graph.to_list() == expected
    assert held == expected[1]
    assert graph[1] is held
    assert graph.at(0) == [user("first"), pictured("look"), user("last")]
    assert graph.version >= 1
    assert graph.verify().ok


@pytest.mark.req("G2")
def test_what_was_written_into_a_message_can_be_written_into() -> None:
    graph = MessageGraph([user("x")])

    graph[0]["content"] = [{"type": "text", "text": "a"}]
    graph[0]["content"][0]["text"] = "b"
    graph[0]["content"].append({"deep": [{"er": []}]})
    graph[0]["content"][1]["deep"][0]["er"].append("c")

    assert graph.to_list()[0]["content"] == [{"type": "text", "text": "b"}, {"deep": [{"er": ["c"]}]}]  # fmt: skip


@pytest.mark.req("G2")
def test_what_was_taken_out_of_a_message_is_the_callers_own() -> None:
    graph = MessageGraph([tool_call("c1"), pictured("look")])
    old = graph[1]["content"]

    calls = graph[0].pop("tool_calls")
    part = graph[1]["content"].pop(0)
    graph[1]["content"] = "text"
    calls[0]["id"] = part["text"] = "mine"
    old.append("mine")

    assert graph.to_list() == [{"role": "assistant"}, user("text")]
    assert (type(calls), type(part)) == (list, dict)


@pytest.mark.req("G2")
@pytest.mark.parametrize(
    ("edit", "place"),
    [
        (lambda g: g.insert(0, user("new")), 3),
        (lambda g: g.append(user("new")), 2),
        (lambda g: g.pop(0), 1),
        (lambda g: g.__setitem__(slice(0, 2), []), 0),
        (lambda g: g.__setitem__(1, user("other")), 2),
        (lambda g: g.reverse(), 1),
        (lambda g: g.sort(key=lambda m: m["content"], reverse=True), 1),
        (lambda g: (g.pop(), g.undo()), 2),
        (lambda g: (g.clear(), g.undo()), 2),
    ],
)
def test_a_message_that_is_held_is_followed_to_where_it_moves(edit: Any, place: int) -> None:
    graph = MessageGraph([user("0"), user("1"), user("2"), user("3")])
    held = graph[2]

    edit(graph)
    held["content"] = "changed"

    assert graph[place] == user("changed")
    assert graph[place] is held
    assert [m["content"] for m in graph].count("changed") == 1


@pytest.mark.req("G2")
@pytest.mark.parametrize(
    "edit",
    [
        lambda g: g.__setitem__(2, user("other")),
        lambda g: g.__delitem__(2),
        lambda g: g.clear(),
        lambda g: g.__setitem__(slice(1, 3), [user("other")]),
    ],
)
def test_a_message_that_has_left_is_a_dict_of_its_holders_own(edit: Any) -> None:
    graph = MessageGraph([user("0"), user("1"), user("2"), user("3")])
    held = graph[2]
    edit(graph)
    expected, version = graph.to_list(), graph.version

    held["content"] = "changed"
    held["anything"] = {1, 2} and "goes"

    assert (graph.to_list(), graph.version) == (expected, version)
    assert held == user("changed") | {"anything": "goes"}


@pytest.mark.req("G2", "G6")
@pytest.mark.parametrize(
    "around",
    [
        lambda m: dict.__setitem__(m, "content", "evil"),
        lambda m: dict.update(m, name="evil"),
        lambda m: dict.pop(m, "content"),
        lambda m: dict.__delitem__(m, "role"),
        lambda m: m.__init__(content="evil"),
    ],
)
def test_a_write_around_the_view_is_caught_at_call_time(around: Any) -> None:
    graph = MessageGraph([user("0"), user("1"), user("2")])
    held = graph[1]
    graph.insert(0, user("new"))
    around(held)

    with pytest.raises(Conflict, match=r"Message 2 was changed without its methods"):
        graph.record_call(assistant("ok"), model="m")

    assert graph.calls() == []
    assert graph == [user("new"), user("0"), user("1"), user("2")]
    # It was told, and the next look at the message is true again.
    assert graph[2] == user("1")
    assert graph.record_call(assistant("ok"), model="m").length == 4


@pytest.mark.req("G2", "G6")
def test_a_nested_write_around_the_view_is_caught_at_call_time() -> None:
    graph = MessageGraph([pictured("look")])
    parts = graph[0]["content"]
    list.append(parts, "evil")

    with pytest.raises(Conflict, match=r"Message 0 was changed"):
        graph.context()

    assert graph == [pictured("look")]


@pytest.mark.req("G6")
def test_what_was_really_sent_is_checked() -> None:
    graph = MessageGraph([user("0"), user("1")])
    sent = graph.to_list()
    graph.record_call(assistant("ok"), model="m", sent=sent, append=False)
    sent[1]["content"] = "evil"

    with pytest.raises(
        Conflict, match=r"differs from the graph from message 1 on \(2 sent, 2 held\)"
    ):
        graph.record_call(assistant("ok"), model="m", sent=sent)

    assert len(graph.calls()) == 1


@pytest.mark.req("G2")
def test_a_write_that_only_turns_keys_round_is_none_and_the_message_stays_tied() -> None:
    graph = MessageGraph([{"role": "user", "content": [{"a": 1, "b": 2}]}])
    held = graph[0]

    held["content"][0] = {"b": 2, "a": 1}

    assert (graph.version, len(graph.context())) == (0, 1)
    held["content"][0]["a"] = 3
    assert graph.to_list()[0]["content"] == [{"a": 3, "b": 2}]
    assert graph[0] is held
    assert len(graph.context()) == 1


@pytest.mark.req("G2")
def test_what_another_library_copies_by_its_type_is_plain_and_the_callers_own() -> None:
    @dataclasses.dataclass
    class Holder:
        message: Any

    graph = MessageGraph([pictured("look")])
    message, parts = graph[0], graph[0]["content"]
    made = [
        type(message)(message),
        type(message)(message.items(), name="ann"),
        type(parts)(parts),
        type(parts[0])(parts[0]),
        type(message).fromkeys(["role", "x"], "y"),
        dataclasses.asdict(Holder(message))["message"],
        dataclasses.asdict(Holder(parts))["message"],
        type(message)(),
    ]

    for one in made:
        if isinstance(one, dict):
            one["new"] = "mine"
            one.get("content", []).append("mine")
        else:
            one.append("mine")
            one[0]["text"] = "mine"

    assert {type(one) for one in made} == {dict, list}
    assert (graph.to_list(), graph.version) == ([pictured("look")], 0)


@pytest.mark.req("G2")
@pytest.mark.parametrize(
    ("write", "place"),
    [
        (
            lambda m: m.__setitem__("content", ("a",)),
            r"\['content'\] there is a value of type tuple",
        ),
        (lambda m: m["content"].append({1}), r"\['content'\]\[2\] there is a value of type set"),
        (lambda m: m["content"][0].update(text=[b""]), r"\['content'\]\[0\]\['text'\]\[0\] "),
        (lambda m: m["content"].__setitem__(slice(0, 1), [1, {2}]), r"\['content'\]\[1\] "),
    ],
)
def test_a_write_that_is_refused_names_the_place_in_the_message(write: Write, place: str) -> None:
    graph = MessageGraph([pictured("look")])

    with pytest.raises(BadRequest, match=place):
        write(graph[0])

    assert (graph[0], graph.version) == (pictured("look"), 0)
