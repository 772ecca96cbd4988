"""Versions, undo, branches and differences."""

import pytest

from hermes.errors import BadRequest, Conflict, NotFound
from hermes.graph import Change, MessageGraph
from tests.unit.graph.said import assistant, user


@pytest.mark.req("G1", "G5")
def test_every_version_still_reads_as_it_did() -> None:
    graph = MessageGraph([user("a")])
    read = [graph.to_list()]

    for edit in (
        lambda: graph.append(assistant("b")),
        lambda: graph[0].update(content="A"),
        lambda: graph.insert(0, user("0")),
        graph.pop,
        graph.clear,
        lambda: graph.extend([user("x"), user("y")]),
        graph.reverse,
    ):
        edit()
        read.append(graph.to_list())

    versions = graph.versions()
    assert [graph.at(version).to_list() for version in versions] == read
    assert [graph.at(version.number) for version in versions] == read
    assert [version.kind for version in versions] == [
        "start", "append", "set", "insert", "delete", "delete", "append", "replace",
    ]  # fmt: skip


@pytest.mark.req("G1")
def test_an_edit_says_who_and_why() -> None:
    clock = iter([1.0, 2.0, 3.0])
    graph = MessageGraph([user("a")], actor="gateway", now=lambda: next(clock))

    with graph.editing("ann", "a typo"):
        graph[0]["content"] = "b"
    graph.append(user("c"))

    told = [(version.actor, version.reason) for version in graph.versions()]
    assert told == [("", ""), ("ann", "a typo"), ("gateway", "")]
    assert [version.at for version in graph.versions()] == [1.0, 2.0, 3.0]


@pytest.mark.req("G7")
def test_undo_goes_back_step_by_step_and_is_a_version_itself() -> None:
    graph = MessageGraph([user("a")])
    graph.append(user("b"))
    graph[0]["content"] = "A"

    graph.undo()
    assert graph == [user("a"), user("b")]
    graph.undo()
    assert graph == [user("a")]
    with pytest.raises(BadRequest, match="nothing to undo"):
        graph.undo()
    graph.append(user("c"))
    graph.undo()

    assert graph == [user("a")]
    assert graph.at(2) == [user("A"), user("b")]
    kinds = [version.kind for version in graph.versions()]
    assert kinds == ["start", "append", "set", "undo", "undo", "append", "undo"]
    assert graph.verify().ok


@pytest.mark.req("G1", "G7")
def test_undoing_what_a_call_saw_makes_a_parallel_edge() -> None:
    graph = MessageGraph([user("a")])
    graph.record_call(assistant("b"), model="m")

    graph.undo()

    assert (graph.to_list(), len(graph.edges())) == ([user("a")], 1)


@pytest.mark.req("G7")
def test_a_version_that_is_not_there() -> None:
    graph = MessageGraph([user("a")])

    for number in (-1, 1):
        with pytest.raises(
            NotFound, match=f"has the versions 0 to 0, and {number} is not one of them"
        ):
            graph.at(number)


@pytest.mark.req("G1", "G7")
def test_branches_go_their_own_ways() -> None:
    graph = MessageGraph([user("a"), assistant("b")])

    other = graph.branch("other")
    other[1]["content"] = "B"
    graph.append(user("c"))

    assert graph == [user("a"), assistant("b"), user("c")]
    assert other == [user("a"), assistant("B")]
    assert (graph.branches(), other.branch_name) == (["main", "other"], "other")
    first = other.versions()[0]
    assert first.origin is not None
    assert (first.kind, first.origin.branch, first.origin.version) == ("branch", "main", 0)
    with pytest.raises(Conflict, match="has a branch 'other' already"):
        graph.branch("other")
    assert graph.verify().ok
    assert other.verify().ok


@pytest.mark.req("G1")
def test_a_call_on_one_branch_is_known_on_the_others() -> None:
    graph = MessageGraph([user("a"), assistant("b")])
    other = graph.branch("other")
    graph.append(user("only here"))
    graph.record_call(assistant("c"), model="m")
    other.append(user("only there"))

    other[2]["content"] = "x"
    assert other.edges() == []
    other[0]["content"] = "x"

    assert len(other.edges()) == 1


@pytest.mark.req("G2")
def test_messages_held_from_one_branch_do_not_write_into_another() -> None:
    graph = MessageGraph([user("a")])
    mine = graph[0]
    other = graph.branch("other")
    theirs = other[0]

    mine["content"] = "mine"
    theirs["content"] = "theirs"

    assert (graph.to_list(), other.to_list()) == ([user("mine")], [user("theirs")])


@pytest.mark.req("G7")
def test_a_difference_is_told_message_by_message() -> None:
    many = [user(f"{n}") for n in range(500)]
    graph = MessageGraph(many)
    graph[100]["content"] = "changed"
    del graph[200]
    graph.insert(400, assistant("new"))
    graph.append(user("end"))

    changes = graph.diff(0)

    assert changes == [
        Change("replace", 100, 100, (user("100"),), (user("changed"),)),
        Change("delete", 200, 200, (user("200"),), ()),
        Change("insert", 401, 400, (), (assistant("new"),)),
        Change("insert", 500, 500, (), (user("end"),)),
    ]
    assert graph.diff(0, 1) == changes[:1]
    assert graph.diff(graph.versions()[1], graph.at(1)) == []


@pytest.mark.req("G7")
def test_what_two_calls_saw_is_compared() -> None:
    graph = MessageGraph([user("a")])
    one = graph.record_call(assistant("b"), model="m")
    graph[0]["content"] = "A"
    two = graph.record_call(assistant("c"), model="m")

    assert graph.diff(one, two) == [
        Change("replace", 0, 0, (user("a"),), (user("A"), assistant("b")))
    ]
