"""Copies and pickles of a graph keep its whole past, and share nothing with it."""

import copy
import pickle
from collections.abc import Callable

import pytest

from hermes.errors import BadRequest
from hermes.graph import MemoryStorage, MessageGraph, keyed_hasher
from tests.unit.graph.said import assistant, tool_call, user

Copied = Callable[[MessageGraph], MessageGraph]
COPIED = [copy.deepcopy, copy.copy, lambda graph: pickle.loads(pickle.dumps(graph))]


def talk(storage: MemoryStorage | None = None) -> MessageGraph:
    graph = MessageGraph([user("hi")], name="talk", storage=storage, actor="ann")
    call = graph.record_call(tool_call("c1"), model="m", tools=[{"name": "f"}], token_ids=[1, 2])
    graph.link("c1", call=call, child="sub")
    graph.record_call(None, model="m", context=graph.context([user("not kept")]))
    graph.rate(call, "up")
    graph[0]["content"] = "hello"
    graph.branch("other").user("Why?")
    graph.undo()
    return graph


@pytest.mark.req("G1", "G2", "G7")
@pytest.mark.parametrize("copied", COPIED)
@pytest.mark.parametrize("stored", [False, True])
def test_a_copy_has_the_whole_past(copied: Copied, stored: bool) -> None:
    graph = talk(MemoryStorage() if stored else None)
    if stored:
        graph.save()
        graph = MessageGraph.open("talk", graph.checkout("main")._history.family.storage)
        graph.user("unsaved")

    made = copied(graph)

    assert type(made) is MessageGraph
    assert list(map(repr, made.versions())) == list(map(repr, graph.versions()))
    assert (made.calls(), made.links(), made.feedback()) == (
        graph.calls(), graph.links(), graph.feedback()
    )  # fmt: skip
    assert made.branches() == graph.branches()
    assert [made.at(call) for call in made.calls()] == [graph.at(call) for call in graph.calls()]
    assert made.tools_of(made.calls()[0]) == [{"name": "f"}]
    assert [made.is_sampled(n) for n in range(len(made))] == [
        graph.is_sampled(n) for n in range(len(graph))
    ]
    assert made.verify().ok


@pytest.mark.req("G1", "G2")
@pytest.mark.parametrize("copied", COPIED)
def test_a_copy_shares_nothing(copied: Copied) -> None:
    graph = talk()
    before = graph.to_list(), graph.version, len(graph.calls()), graph.branches()

    made = copied(graph)
    made[0]["content"] = "mine"
    made.record_call(assistant("x"), model="m")
    made.branch("third")
    made.checkout("other").clear()

    assert (graph.to_list(), graph.version, len(graph.calls()), graph.branches()) == before
    assert len(graph.checkout("other")) == 3
    with pytest.raises(BadRequest, match="only in memory"):
        made.save()


@pytest.mark.req("G7")
def test_branches_that_are_copied_together_stay_one_graph() -> None:
    graph = talk()

    one, two = copy.deepcopy([graph, graph.checkout("other")])
    one.record_call(assistant("x"), model="m")

    assert two.calls() == one.calls()
    assert (one.branch_name, two.branch_name) == ("main", "other")


@pytest.mark.req("G7")
def test_a_graph_with_keyed_names_is_copied_but_not_pickled() -> None:
    graph = MessageGraph([user("hi")], hasher=keyed_hasher(b"k" * 32))

    assert copy.deepcopy(graph).root == graph.root
    with pytest.raises(BadRequest, match="its pickle would hold the key"):
        pickle.dumps(graph)
