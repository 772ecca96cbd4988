"""Calls, what they saw and wrote, and the parallel edges that follow from it."""

from typing import Any

import pytest

from hermes.errors import BadRequest, Conflict
from hermes.graph import Edge, MemoryStorage, MessageGraph, context_root, message_id
from tests.unit.graph.said import assistant, system, tool_call, tool_result, user

TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]


def asked() -> MessageGraph:
    """A conversation in which a call saw two messages and wrote the third."""
    graph = MessageGraph([system("be kind"), user("hi")])
    graph.record_call(assistant("hello"), model="m")
    return graph


@pytest.mark.req("G4", "G6")
def test_a_call_keeps_what_it_saw_and_what_is_known_about_its_answer() -> None:
    graph = MessageGraph([user("hi")], name="talk", now=lambda: 7.0)
    usage, sampling = {"in": 3, "out": 1}, {"temperature": 0.7}

    call = graph.record_call(
        assistant("hello"), model="m-1", tools=TOOLS, sampling=sampling, usage=usage,
        token_ids=[1, 2], logprobs=[-0.1, -0.5], metadata={"stop": "end"},
    )  # fmt: skip

    assert graph.calls() == [call]
    assert (call.model, call.sampling, call.usage) == ("m-1", sampling, usage)
    assert (call.token_ids, call.logprobs, call.metadata) == ((1, 2), (-0.1, -0.5), {"stop": "end"})
    assert (call.context, call.length, call.version) == (context_root([user("hi")]), 1, 0)
    assert (call.response, call.at) == (message_id(assistant("hello")), 7.0)
    assert graph.at(call) == [user("hi")]
    assert graph == [user("hi"), assistant("hello")]
    assert graph.verify().ok


@pytest.mark.req("G4", "G6")
def test_what_a_call_wrote_and_was_given_can_be_read_before_and_after_saving() -> None:
    storage = MemoryStorage()
    graph = MessageGraph([user("hi")], name="talk", storage=storage)
    call = graph.record_call(assistant("a"), model="m", tools=TOOLS, append=False)
    failed = graph.record_call(None, model="m")
    before = [(graph.answer_of(one), graph.tools_of(one)) for one in (call, failed)]
    graph.save()

    opened = MessageGraph.open("talk", storage)

    assert before == [(assistant("a"), TOOLS), (None, None)]
    assert [(opened.answer_of(one), opened.tools_of(one)) for one in opened.calls()] == before


@pytest.mark.req("G6")
def test_two_equal_calls_are_two_calls() -> None:
    graph = MessageGraph([user("hi")])

    one = graph.record_call(assistant("a"), model="m", append=False)
    two = graph.record_call(assistant("a"), model="m", append=False)

    assert one.id != two.id
    assert one.context == two.context
    with pytest.raises(Conflict, match="has a call"):
        graph.record_call(assistant("a"), model="m", call_id=one.id)


@pytest.mark.req("G6")
def test_what_is_sent_and_not_kept_is_part_of_the_context() -> None:
    graph = MessageGraph([user("hi")])

    context = graph.context([system("recalled: likes tea")])
    call = graph.record_call(assistant("tea?"), model="m", context=context)

    assert graph.at(call) == [user("hi"), system("recalled: likes tea")]
    assert graph == [user("hi"), assistant("tea?")]
    assert (call.length, call.shared) == (2, 1)
    graph[0]["content"] = "ho"
    assert graph.versions()[-1].parallel


@pytest.mark.req("G1")
@pytest.mark.parametrize(
    ("edit", "index"),
    [
        (lambda g: g[1].update(content="new"), 1),
        (lambda g: g.__setitem__(2, assistant("rewritten")), 2),
        (lambda g: g.__delitem__(0), 0),
        (lambda g: g.pop(), 2),
        (lambda g: g.__setitem__(slice(1, 2), [user("a"), user("b")]), 1),
    ],
)
def test_changing_what_a_call_saw_or_wrote_makes_a_parallel_edge(edit: Any, index: int) -> None:
    graph = asked()
    before = graph.to_list()

    edit(graph)

    assert graph.versions()[-1].parallel
    (edge,) = graph.edges()
    assert (edge.version, edge.index, edge.before) == (2, index, message_id(before[index]))


@pytest.mark.req("G1")
@pytest.mark.parametrize(
    "edit",
    [
        lambda g: g[3].update(content="new"),
        lambda g: g.pop(),
        lambda g: g.append(user("more")),
        lambda g: g.insert(1, user("between")),
        lambda g: g.__setitem__(slice(3, None), []),
        lambda g: g.__setitem__(slice(0, 4), [*g.to_list()[:3], user("other")]),
    ],
)
def test_changing_what_no_call_has_seen_makes_none(edit: Any) -> None:
    graph = asked()
    graph.append(user("not yet sent"))

    edit(graph)

    assert (graph.edges(), any(version.parallel for version in graph.versions())) == ([], False)


@pytest.mark.req("G1")
def test_without_a_call_nothing_is_parallel_whatever_the_role() -> None:
    graph = MessageGraph([user("hi"), assistant("written by hand")])

    graph[1]["content"] = graph[0]["content"] = "new"

    assert (graph.edges(), graph.is_sampled(1)) == ([], False)


@pytest.mark.req("G1")
def test_the_same_words_said_twice_are_two_messages() -> None:
    graph = MessageGraph([user("ok")])
    graph.record_call(assistant("fine"), model="m")
    graph.append(user("ok"))

    graph[2]["content"] = "not ok"
    assert graph.edges() == []
    graph[0]["content"] = "not ok"

    assert graph.edges() == [Edge(4, 0, message_id(user("ok")), message_id(user("not ok")))]


@pytest.mark.req("G1")
def test_a_message_that_moved_is_still_one_that_a_call_saw() -> None:
    graph = asked()
    graph.insert(0, user("before all"))
    graph.append(user("after all"))

    graph[3]["content"] = "rewritten"
    assert [edge.index for edge in graph.edges()] == [3]
    graph[3]["content"] = "again"

    assert [edge.index for edge in graph.edges()] == [3]


@pytest.mark.req("G1", "G6")
def test_an_answer_rewritten_by_a_human_is_not_counted_as_sampled() -> None:
    graph = asked()
    assert [graph.is_sampled(n) for n in range(-3, 0)] == [False, False, True]

    graph[2]["content"] = "hello, written by hand"
    assert graph.is_sampled(2) is False
    graph.undo()
    assert graph.is_sampled(2) is True
    graph[2] = graph[2].copy()
    assert graph.is_sampled(2) is True
    graph.append(assistant("hello"))

    assert graph.is_sampled(3) is False


@pytest.mark.req("G6")
def test_an_answer_from_a_cache_is_not_sampled() -> None:
    graph = MessageGraph([user("hi")])

    call = graph.record_call(assistant("hello"), model="m", sampled=False)

    assert (call.sampled, graph.is_sampled(1)) == (False, False)


@pytest.mark.req("G1")
def test_a_call_that_ends_after_an_edit_marks_what_is_left_of_what_it_saw() -> None:
    graph = MessageGraph([user("a"), user("b"), user("c")])
    context = graph.context()
    graph[1]["content"] = "changed while the model was thinking"
    graph.insert(0, user("new"))

    graph.record_call(assistant("answer"), model="m", context=context)

    marked = []
    for index in range(5):
        branch = graph.branch(f"try {index}")
        branch[index]["content"] = "x"
        marked.append(branch.versions()[-1].parallel)
    assert marked == [False, True, False, True, True]


@pytest.mark.req("G1")
def test_a_failed_call_has_seen_its_context_and_written_nothing() -> None:
    graph = MessageGraph([user("hi")])

    call = graph.record_call(None, model="m")
    graph[0]["content"] = "ho"

    assert (call.response, len(graph), len(graph.edges())) == (None, 1, 1)


@pytest.mark.req("G6")
@pytest.mark.parametrize(
    "facts",
    [
        {"token_ids": [1, -1]},
        {"token_ids": [1.5]},
        {"logprobs": [float("nan")]},
        {"usage": {"in": float("inf")}},
        {"sampling": {"seed": object()}},
        {"tools": [{"f": {1}}]},
        {"metadata": {"at": b"x"}},
    ],
)
def test_what_is_told_about_a_call_is_checked_before_anything_is_kept(facts: Any) -> None:
    graph = MessageGraph([user("hi")])

    with pytest.raises(BadRequest):
        graph.record_call(assistant("a"), model="m", **facts)

    assert (graph.calls(), graph.to_list(), graph.version) == ([], [user("hi")], 0)


@pytest.mark.req("G6")
def test_a_context_of_another_graph_is_refused() -> None:
    graph, other = MessageGraph([user("hi")]), MessageGraph([user("ho")])

    with pytest.raises(BadRequest, match="of another branch or graph"):
        graph.record_call(assistant("a"), model="m", context=other.context())

    assert graph.calls() == []


@pytest.mark.req("G4")
def test_a_subagents_chat_is_a_graph_of_its_own() -> None:
    graph = MessageGraph([user("plan my day")], name="parent")
    call = graph.record_call(tool_call("c1"), model="m")
    child = MessageGraph([user("find a museum")], name="child")
    child.record_call(assistant("the Kunstmuseum"), model="small")

    link = graph.link("c1", call=call, child=child, metadata={"length": len(child)})
    graph.append(tool_result("c1", "the Kunstmuseum"))

    assert graph.links() == [link]
    assert (link.graph, link.call, link.tool_call_id, link.child, link.metadata) == (
        "parent", call.id, "c1", "child", {"length": 2},
    )  # fmt: skip
    assert graph.verify().ok
    with pytest.raises(
        BadRequest, match=r"made the tool calls \['c1'\], but 'c2' is not one of them"
    ):
        graph.link("c2", call=call, child=child)
