"""A graph reads and edits like a list of dicts: the traps, each by its name."""

import copy
import pickle
from typing import Any

import pytest

from hermes.errors import BadRequest
from hermes.graph import MessageGraph
from tests.unit.graph.said import (
    assistant,
    pictured,
    system,
    thinking,
    tool_call,
    tool_result,
    user,
)

TALK = [system("be kind"), user("hi"), assistant("hello"), pictured("look")]


def talk() -> MessageGraph:
    return MessageGraph(copy.deepcopy(TALK))


@pytest.mark.req("G2")
def test_aliasing_after_append() -> None:
    mine, parts = user("mine"), [{"type": "text", "text": "part"}]
    graph = MessageGraph()

    graph.append(mine)
    graph[0]["content"] = parts
    mine["content"] = "changed"
    parts[0]["text"] = "changed"

    assert graph.to_list() == [{"role": "user", "content": [{"type": "text", "text": "part"}]}]


@pytest.mark.req("G2")
def test_nested_mutation() -> None:
    graph = talk()

    graph[3]["content"][0]["text"] = "closer"
    graph[3]["content"][1]["image_url"]["detail"] = "high"

    picture = {"url": "https://example.org/a.png", "detail": "high"}
    parts = [{"type": "text", "text": "closer"}, {"type": "image_url", "image_url": picture}]
    assert graph.to_list()[3] == {"role": "user", "content": parts}
    assert graph.version == 2
    assert graph.at(0) == TALK


@pytest.mark.req("G2")
@pytest.mark.parametrize(
    "where",
    [slice(1, 3), slice(None), slice(2, 1), slice(-1, None), slice(4, 9), slice(0, 0), slice(1)],
)
def test_slice_assignment(where: slice) -> None:
    graph, expected = talk(), copy.deepcopy(TALK)
    new = [user("a"), assistant("b"), user("c")]

    graph[where] = new
    expected[where] = new

    assert graph == expected
    assert graph.at(0) == TALK


@pytest.mark.req("G2")
def test_slice_assignment_with_a_step() -> None:
    graph, expected = talk(), copy.deepcopy(TALK)

    graph[::-2] = expected[::-2] = [user("last"), user("second")]
    with pytest.raises(ValueError, match="a step of 2 has 2 messages here, 1 given"):
        graph[::2] = [user("x")]
    assert graph == expected
    del graph[::2], expected[::2]

    assert graph == expected


@pytest.mark.req("G2")
@pytest.mark.parametrize("index", [-1, -4, 3, 0])
def test_negative_index(index: int) -> None:
    graph, expected = talk(), copy.deepcopy(TALK)

    graph[index] = expected[index] = user("new")
    graph[index]["content"] = expected[index]["content"] = "newer"
    graph.insert(index, user("before"))
    expected.insert(index, user("before"))
    popped = graph.pop(index), expected.pop(index)

    assert popped[0] == popped[1]
    assert graph == expected
    del graph[index], expected[index]
    assert graph[-2] == expected[-2]
    assert graph == expected


@pytest.mark.req("G2")
@pytest.mark.parametrize("index", [4, -5, 100])
def test_an_index_out_of_range(index: int) -> None:
    graph = talk()

    for way in (
        lambda: graph[index],
        lambda: graph.pop(index),
        lambda: graph.__delitem__(index),
        lambda: graph.__setitem__(index, user("x")),
    ):
        with pytest.raises(IndexError, match=f"{index} is out of range: there are 4"):
            way()

    assert graph == TALK


@pytest.mark.req("G2")
def test_equality_against_none_and_across_roles() -> None:
    graph = MessageGraph([user("hi")])

    unequal: list[Any] = [
        None, 1, "hi", user("hi"), [], [None], [assistant("hi")], [system("hi")], [user("hi")] * 2,
        [user("ho")], MessageGraph([assistant("hi")]), MessageGraph(), (user("hi"),),
    ]  # fmt: skip

    assert [other for other in unequal if graph == other] == []
    assert [other for other in unequal if graph != other] == unequal
    assert graph == [user("hi")]
    assert [user("hi")] == graph
    assert graph == MessageGraph([user("hi")])
    assert graph[0] == user("hi")
    assert graph[0] != assistant("hi")
    assert graph[0] is not None


@pytest.mark.req("G2")
def test_hashing() -> None:
    graph = talk()

    for unhashable in (graph, graph[0], graph[3]["content"], graph.at(0)):
        with pytest.raises(TypeError, match="unhashable"):
            hash(unhashable)


@pytest.mark.req("G2")
@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))])  # fmt: skip
def test_copies_and_pickles_of_messages_are_detached_plain_data(copied: Any) -> None:
    graph = talk()

    message, parts = copied(graph[3]), copied(graph[3]["content"])

    assert (message, parts) == (TALK[3], TALK[3]["content"])
    assert {type(one) for one in (parts, message["content"])} == {list}
    assert {type(one) for one in (message, parts[0])} == {dict}
    message["content"][0]["text"] = parts[0]["text"] = "mine"
    assert (graph == TALK, graph.version) == (True, 0)


@pytest.mark.req("G2")
def test_an_assistant_message_without_content() -> None:
    graph = MessageGraph([user("weather?"), tool_call("c1"), tool_result("c1"), assistant(None)])

    graph[1]["content"] = None
    graph[3] = {"role": "assistant"}

    assert "content" not in graph[3]
    assert graph[1] == tool_call("c1") | {"content": None}
    assert graph == [*graph.to_list()]


@pytest.mark.req("G3")
def test_tool_calls_changed_with_the_content_equal() -> None:
    first, other = tool_call("c1", "{}"), tool_call("c1", '{"a":1}')
    graph = MessageGraph([first])

    graph[0] = other

    assert (graph.version, graph[0], graph.at(0)[0]) == (1, other, first)


@pytest.mark.req("G3")
@pytest.mark.parametrize("message", [user("hi"), tool_call("c1"), thinking("x"), pictured("x")])
def test_writing_the_same_again_is_no_change(message: dict[str, Any]) -> None:
    graph = MessageGraph([message, user("end")])
    turned = dict(reversed(list(copy.deepcopy(message).items())))
    if isinstance(turned.get("content"), list):
        turned["content"] = [dict(reversed(list(part.items()))) for part in turned["content"]]

    graph[0] = message
    graph[0] = turned
    graph[0] = graph[0]
    graph[:] = graph
    graph[:] = graph.to_list()
    graph[0:1] = [turned]
    graph[0].update(message)
    graph[0]["role"] = message["role"]
    graph.extend([])
    graph.reverse()
    graph.reverse()
    graph[5:] = []

    assert [version.kind for version in graph.versions()] == ["start", "replace", "replace"]
    assert graph.to_list() == [message, user("end")]


@pytest.mark.req("G2")
def test_a_chain_of_ten_thousand_edits() -> None:
    graph = MessageGraph([user("0"), assistant("hello")])

    for number in range(1, 10_001):
        graph[0]["content"] = f"{number}"
    for _ in range(5_000):
        graph.undo()

    assert (graph.version, graph[0]["content"]) == (15_000, "5000")
    assert [graph.at(n)[0]["content"] for n in (0, 1, 7_777, 10_000)] == ["0", "1", "7777", "10000"]
    assert graph.verify().ok


@pytest.mark.req("G2")
def test_the_rest_of_what_a_list_can_do() -> None:
    graph, expected = talk(), copy.deepcopy(TALK)

    graph += [user("x"), user("x")]
    expected += [user("x"), user("x")]
    graph *= 2
    expected *= 2
    graph.remove(user("hi"))
    expected.remove(user("hi"))
    graph.sort(key=lambda message: message["role"])
    expected.sort(key=lambda message: message["role"])
    graph.reverse()
    expected.reverse()

    assert graph.to_list() == expected
    assert (user("x") in graph, assistant("x") in graph, None in graph) == (True, False, False)
    assert (graph.index(user("x")), graph.count(user("x"))) == (expected.index(user("x")), 4)
    assert graph.index(user("x"), 4) == expected.index(user("x"), 4)
    assert [*reversed(graph)] == expected[::-1]
    assert (graph[2:5], graph[::-3]) == (expected[2:5], expected[::-3])
    more = [user("y")]
    assert (graph + more, more + graph) == (expected + more, more + expected)
    assert (graph.copy(), graph * 2, bool(graph)) == (expected, expected * 2, True)
    with pytest.raises(ValueError, match="is not among the messages"):
        graph.index(user("nobody"))
    graph *= 0
    assert (len(graph), bool(graph), [*graph]) == (0, False, [])
    with pytest.raises(IndexError, match="pop from"):
        graph.pop()


@pytest.mark.req("G2")
def test_copies_of_a_message_in_one_list_are_edited_apart() -> None:
    graph = MessageGraph([user("x")])
    graph *= 3
    first, last = graph[0], graph[2]

    graph[1]["content"] = "y"
    first["content"] = "z"

    assert graph == [user("z"), user("y"), user("x")]
    assert last == user("x")


@pytest.mark.req("G2")
def test_going_through_a_list_that_changes() -> None:
    graph = MessageGraph([user(f"{n}") for n in range(60)])
    expected = graph.to_list()

    for talk in (graph, expected):
        for number, message in enumerate(talk):
            message["content"] += "!"
            if number == 10:
                talk.append(user("60"))
            if number == 20:
                del talk[22]
            if number == 30:
                talk.insert(35, user("new"))

    assert graph.to_list() == expected


@pytest.mark.req("G2")
def test_a_write_into_the_past_says_where_to_write_instead() -> None:
    past = talk().at(0)

    for write in ("append", "extend", "insert", "pop", "user"):
        with pytest.raises(
            AttributeError, match=r"do not change.*Write into the graph itself.*to_list"
        ):
            getattr(past, write)
    with pytest.raises(BadRequest, match="Write into the graph itself"):
        past[0] = user("new")
    with pytest.raises(BadRequest, match="Write into the graph itself"):
        del past[0]
    with pytest.raises(AttributeError, match="'Context' object has no attribute 'apend'"):
        past.apend  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(past, "append")
    assert past == TALK
