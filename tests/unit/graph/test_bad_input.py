"""What cannot be a message is refused with a reason, and the graph stays as it was."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from hermes.errors import BadRequest, HermesError, TooLarge
from hermes.graph import MessageGraph
from tests.unit.graph.said import assistant, pictured, tool_call, tool_result, user


def cyclic() -> dict[str, Any]:
    parts: list[Any] = []
    parts.append({"type": "text", "inside": parts})
    return {"role": "user", "content": parts}


def nested(depth: int) -> dict[str, Any]:
    inside: Any = "x"
    for _ in range(depth):
        inside = [inside]
    return {"role": "user", "content": inside}


BAD: list[tuple[Any, str]] = [
    ({"content": "hi"}, "needs a role that is a text, found None"),
    ({"role": "", "content": "hi"}, "needs a role"),
    ({"role": 7, "content": "hi"}, "needs a role that is a text, found 7"),
    ("hi", "is a dict with a role, this one is of type str"),
    (7, "of type int"),
    (user("x") | {"content": float("nan")}, r"at \['content'\] there is the number nan"),
    (user("x") | {"content": [1, float("inf")]}, r"at \['content'\]\[1\] there is the number inf"),
    (user("a\ud800b"), r"at \['content'\] there is half a surrogate pair \('\\ud800', character 1"),
    (user("x") | {"\udfff": 1}, "a key with half a surrogate pair"),
    (user("x") | {"content": datetime(2026, 1, 1, tzinfo=UTC)}, "a value of type datetime"),
    (user("x") | {"content": b"bytes"}, "a value of type bytes"),
    (user("x") | {"content": ("a", "b")}, "a value of type tuple"),
    (user("x") | {"content": {"a"}}, "a value of type set"),
    (user("x") | {"content": {1: "a"}}, "the key 1 of type int"),
    (user("x") | {1: "a"}, "the key 1 of type int"),
    (cyclic(), "a container that contains itself"),
    (nested(65), "a nesting of more than 64 levels"),
    (nested(100_000), "a nesting of more than 64 levels"),
]

WAYS: list[Callable[[MessageGraph, Any], object]] = [
    lambda graph, bad: graph.append(bad),
    lambda graph, bad: graph.extend([user("good"), bad]),
    lambda graph, bad: graph.insert(0, bad),
    lambda graph, bad: graph.__setitem__(0, bad),
    lambda graph, bad: graph.__setitem__(slice(0, 1), [user("good"), bad]),
    lambda graph, bad: graph.__iadd__([bad]),
    lambda graph, bad: graph.record_call(bad, model="m"),
    lambda graph, bad: MessageGraph([bad]),
]


@pytest.mark.req("G1", "G2")
@pytest.mark.parametrize(("bad", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_bad_input_is_refused_with_its_place(bad: object, reason: str) -> None:
    graph = MessageGraph([user("one"), assistant("two")])

    for way in WAYS:
        with pytest.raises(BadRequest, match=reason):
            way(graph, bad)

    assert graph.to_list() == [user("one"), assistant("two")]
    assert (len(graph.versions()), graph.calls(), graph.verify().problems) == (1, [], ())


@pytest.mark.req("G2")
@pytest.mark.parametrize(
    ("write", "error"),
    [
        (lambda m: m.__setitem__("content", float("nan")), BadRequest),
        (lambda m: m.__delitem__("role"), BadRequest),
        (lambda m: m.update(role=None), BadRequest),
        (lambda m: m.clear(), BadRequest),
        (lambda m: m.pop("role"), BadRequest),
        (lambda m: m.setdefault("usage", {}), BadRequest),
        (lambda m: m["content"].append({1, 2}), BadRequest),
        (lambda m: m["content"].append({"type": "tool_result", "tool_use_id": "c9"}), BadRequest),
        (lambda m: m.update(cyclic()), BadRequest),
        (lambda m: m["content"].extend(nested(100_000)["content"]), BadRequest),
        (lambda m: m["content"][0].update(text="\ud800"), BadRequest),
        (lambda m: m["content"][1]["image_url"].__setitem__("url", b"x"), BadRequest),
        (lambda m: m["content"].sort(key=lambda part: part["none"]), KeyError),
        (lambda m: m["content"].pop(7), IndexError),
    ],
)
def test_a_refused_write_into_a_message_is_taken_back(write: Any, error: type[Exception]) -> None:
    graph = MessageGraph([pictured("look")])
    message = graph[0]

    with pytest.raises(error):
        write(message)

    assert message == pictured("look")
    assert (graph.to_list(), graph.version) == ([pictured("look")], 0)
    message["content"][0]["text"] = "again"
    assert graph.to_list() == [pictured("again")]


@pytest.mark.req("G1")
def test_fifty_megabytes_are_too_large_and_fifteen_work() -> None:
    graph = MessageGraph()

    with pytest.raises(TooLarge, match=r"at most 16777216 bytes as JSON, this one has 52428828"):
        graph.append(user("x" * 50 * 1024 * 1024))
    graph.append(user("x" * 15 * 1024 * 1024))

    assert (len(graph), len(graph[0]["content"])) == (1, 15 * 1024 * 1024)


@pytest.mark.req("G2")
@pytest.mark.parametrize(
    "result",
    [
        tool_result("c9"),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c9"}]},
        {"role": "tool", "parts": [{"type": "tool_result", "call_id": "c9", "text": "x"}]},
    ],
)
def test_a_tool_result_without_its_call_is_refused(result: dict[str, Any]) -> None:
    graph = MessageGraph([user("weather?"), tool_call("c1"), tool_result("c1")])

    for way in WAYS[:6]:
        with pytest.raises(BadRequest, match=r"no message before this one makes the call 'c9'"):
            way(graph, result)
    with pytest.raises(BadRequest, match="'c9'"):
        graph[2]["tool_call_id"] = "c9"
    with pytest.raises(BadRequest, match="'c1'"):
        graph.insert(0, tool_result("c1"))

    assert (len(graph), graph.version) == (3, 0)


@pytest.mark.req("G2")
def test_a_tool_result_may_come_with_its_call_or_long_after_it() -> None:
    graph = MessageGraph([tool_call("c1"), *(user(f"{n}") for n in range(300))])

    graph.append(tool_result("c1"))
    graph.extend([tool_call("c2"), tool_result("c2")])

    assert len(graph) == 304


@pytest.mark.req("G2")
@pytest.mark.parametrize(
    "result",
    [
        {"role": "tool", "content": "no id"},
        {"role": "tool", "tool_call_id": None, "content": "x"},
        {"role": "tool", "tool_call_id": 5, "content": "x"},
        {"role": "tool", "parts": [{"type": "tool_result", "text": "x"}]},
        {"role": "user", "content": [{"type": "tool_result", "content": "x"}]},
    ],
)
def test_a_tool_result_says_which_call_it_answers(result: dict[str, Any]) -> None:
    graph = MessageGraph([tool_call("c1"), tool_result("c1")])

    with pytest.raises(BadRequest, match="must name the call it answers"):
        graph.append(result)
    with pytest.raises(BadRequest, match="must name the call it answers"):
        graph[1] = result
    with pytest.raises(BadRequest, match="must name the call it answers"):
        del graph[1]["tool_call_id"]
    with pytest.raises(BadRequest, match="a model's answer"):
        graph.record_call(tool_result("c1"), model="m")

    assert (graph.version, graph.calls()) == (0, [])


@pytest.mark.req("G2")
def test_a_call_may_be_deleted_before_its_result() -> None:
    graph = MessageGraph([tool_call("c1"), tool_result("c1")])

    del graph[0]

    assert graph == [tool_result("c1")]
    assert graph.verify().ok


def _made(**named: Any) -> Callable[[MessageGraph], object]:
    return lambda _: MessageGraph(**named)


def _recorded(**told: Any) -> Callable[[MessageGraph], object]:
    return lambda graph: graph.record_call(assistant("ok"), **{"model": "m", **told})


@pytest.mark.req("G2", "G4")
@pytest.mark.parametrize(
    ("use", "text"),
    [
        (_recorded(model=None), "The model of a call is a text, this is of type NoneType"),
        (_recorded(model=""), "The model of a call is a text of at least one letter"),
        (_recorded(model="\ud800"), "The model of a call cannot be stored as text"),
        (_recorded(tools="abc"), "The tools of a call are a list, this is of type str"),
        (_recorded(tools={"name": "f"}), "The tools of a call are a list, this is of type dict"),
        (_recorded(tools=[{}, 5]), "a list of dicts, number 1 is of type int"),
        (_recorded(tools=5), "The tools of a call are a list, this is of type int"),
        (_recorded(usage=5), "The usage of a call is a dict, this is of type int"),
        (_recorded(usage=0), "The usage of a call is a dict, this is of type int"),
        (_recorded(sampling=[1]), "The sampling of a call is a dict, this is of type list"),
        (_recorded(metadata="x"), "The metadata of a call is a dict, this is of type str"),
        (_recorded(call_id=5), "The id of a call is a text, this is of type int"),
        (_recorded(context=[user("0")]), "what context.. returned before it; this is of type list"),
        (_recorded(token_ids=5), "Token ids are a list, this is of type int"),
        (_recorded(logprobs="ab"), "Log-probabilities are a list, this is of type str"),
        (_recorded(logprobs=["a"]), "Log-probabilities are finite numbers"),
        (lambda graph: graph.branch(None), "The name of a branch is a text"),
        (lambda graph: graph.branch(""), "The name of a branch is a text of at least one letter"),
        (lambda graph: graph.at("x"), "A version is named by its number.* of type str"),
        (lambda graph: graph.at(None), "A version is named by its number.* of type NoneType"),
        (lambda graph: graph.diff(0, 1.5), "A version is named by its number.* of type float"),
        (lambda graph: graph.editing(5).__enter__(), "Who edits is a text, this is of type int"),
        (lambda graph: graph.editing("a", None).__enter__(), "The reason of an edit is a text"),
        (lambda graph: graph.link("c1", call="c_1"), "A link needs a call .* of type str"),
        (_made(name=5), "The name of a graph is a text, this is of type int"),
        (_made(name=""), "The name of a graph is a text of at least one letter"),
        (_made(branch=None), "The name of a branch is a text"),
        (_made(actor=None), "Who edits is a text"),
    ],
)
def test_an_argument_that_could_not_be_stored_is_refused_with_what_it_is(
    use: Callable[[MessageGraph], object], text: str
) -> None:
    graph = MessageGraph([user("0")])

    with pytest.raises(BadRequest, match=text):
        use(graph)

    assert (graph.calls(), graph.version, graph.branches()) == ([], 0, ["main"])


@pytest.mark.req("G2")
@pytest.mark.parametrize("values", ["text", b"bytes", {"role": "user"}])
def test_several_messages_are_a_list(values: Any) -> None:
    graph = MessageGraph()

    for way in (graph.extend, MessageGraph, lambda given: graph.__setitem__(slice(0, 0), given)):
        with pytest.raises(HermesError, match="Expected a list of message dicts"):
            way(values)

    assert len(graph) == 0


@pytest.mark.req("G1", "G2")
def test_a_hundred_thousand_messages_work() -> None:
    graph = MessageGraph([user(f"{n}") for n in range(100_000)])

    graph[50_000]["content"] = "changed"
    graph.insert(70_000, assistant("new"))

    assert (graph[50_000], graph[70_000], graph[-1]) == (
        user("changed"),
        assistant("new"),
        user("99999"),
    )
    assert graph.at(0)[50_000] == user("50000")
