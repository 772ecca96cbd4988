"""Redo: an undone change is made again, as a version of its own."""

import pytest

from hermes.errors import BadRequest
from hermes.graph import MemoryStorage, MessageGraph
from tests.unit.graph.said import assistant, user


def texts(graph: MessageGraph) -> list[str]:
    return [message["content"] for message in graph]


@pytest.mark.req("G1", "G7")
def test_what_was_undone_comes_back_step_by_step() -> None:
    graph = MessageGraph([user("a")])
    graph.user("b")
    graph[0]["content"] = "A"

    graph.undo()
    graph.undo()
    assert texts(graph) == ["a"]
    graph.redo()
    assert texts(graph) == ["a", "b"]
    graph.undo()
    graph.redo()
    graph.redo()

    assert texts(graph) == ["A", "b"]
    kinds = [version.kind for version in graph.versions()[3:]]
    assert kinds == ["undo", "undo", "redo", "undo", "redo", "redo"]
    assert graph.verify().ok
    graph.undo()
    assert texts(graph) == ["a", "b"]


@pytest.mark.req("G7")
def test_nothing_is_redone_after_another_change() -> None:
    graph = MessageGraph([user("a")])
    with pytest.raises(BadRequest, match="nothing to redo"):
        graph.redo()
    graph.user("b")
    graph.undo()
    graph.user("c")

    with pytest.raises(BadRequest, match="nothing to redo"):
        graph.redo()
    assert texts(graph) == ["a", "c"]


@pytest.mark.req("G1", "G6")
def test_an_answer_that_comes_back_is_sampled_again() -> None:
    storage = MemoryStorage()
    graph = MessageGraph([user("a")], name="talk", storage=storage)
    graph.record_call(assistant("b"), model="m")
    graph.undo()
    graph.redo()
    graph.save()

    opened = MessageGraph.open("talk", storage)

    assert (graph.is_sampled(1), opened.is_sampled(1)) == (True, True)
    opened[1]["content"] = "c"
    opened.undo()
    opened.redo()
    assert [line for line in str(opened.draw()).splitlines() if "was:" in line] != []
    assert str(opened.draw()).count("was:") == 1
    assert opened.verify().ok
