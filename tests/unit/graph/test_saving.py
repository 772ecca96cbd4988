"""Saving and opening: everything comes back, and of two writers one is told."""

import pytest

from hermes.errors import Conflict, NotFound
from hermes.graph import MemoryStorage, MessageGraph, context_root, keyed_hasher
from tests.unit.graph.said import assistant, pictured, system, tool_call, tool_result, user

KEYED = keyed_hasher(b"a key of thirty-two bytes, dummy")


def talked(storage: MemoryStorage) -> MessageGraph:
    graph = MessageGraph([system("be kind"), user("hi")], name="talk", storage=storage)
    graph.record_call(assistant("hello"), model="m", tools=[{"name": "f"}])
    graph.append(pictured("look"))
    with graph.editing("ann", "a typo"):
        graph[1]["content"] = "ho"
    graph.save()
    return graph


@pytest.mark.req("G7")
def test_a_graph_comes_back_with_its_versions_and_calls() -> None:
    storage = MemoryStorage()
    graph = talked(storage)

    opened = MessageGraph.open("talk", storage)

    assert (opened.to_list(), opened.version) == (graph.to_list(), graph.version)
    assert [opened.at(n) for n in range(4)] == [graph.at(n) for n in range(4)]
    assert [version.edit for version in opened.versions()] == [v.edit for v in graph.versions()]
    assert opened.calls() == graph.calls()
    assert opened.edges() == graph.edges()
    assert opened.root == graph.root == context_root(graph.to_list())
    assert opened.verify() == graph.verify()
    assert opened.verify().ok


@pytest.mark.req("G1", "G7")
def test_what_calls_saw_is_known_after_opening() -> None:
    storage = MemoryStorage()
    talked(storage)

    opened = MessageGraph.open("talk", storage)
    sampled = [opened.is_sampled(n) for n in range(4)]
    parallel = []
    for index in range(4):
        again = MessageGraph.open("talk", storage)
        again[index] = user("x")
        parallel.append(again.versions()[-1].parallel)

    assert sampled == [False, False, True, False]
    # Message 1 was rewritten after the call, message 3 was never sent.
    assert parallel == [True, False, True, False]


@pytest.mark.req("G7")
def test_work_goes_on_after_opening() -> None:
    storage = MemoryStorage()
    talked(storage)
    opened = MessageGraph.open("talk", storage)

    opened.undo()
    opened.append(user("more"))
    opened.save()
    opened.save()

    again = MessageGraph.open("talk", storage)
    assert again[1] == user("hi")
    assert (again.to_list(), again.version) == (opened.to_list(), 5)
    assert again.verify().ok
    again.undo()
    assert len(again) == 4
    again.undo()
    assert len(again) == 3


@pytest.mark.req("G7")
def test_two_writers_of_one_branch() -> None:
    storage = MemoryStorage()
    talked(storage)
    one, two = MessageGraph.open("talk", storage), MessageGraph.open("talk", storage)
    one.append(user("one"))
    two[0]["content"] = "two"
    two.record_call(assistant("for two"), model="m")

    one.save()
    with pytest.raises(Conflict, match=r"is at version 4, not at 3 where this change began"):
        two.save()

    # The first is kept, the second has lost nothing and can be kept beside it.
    assert MessageGraph.open("talk", storage).to_list() == one.to_list()
    beside = two.branch("two")
    beside.save()
    opened = MessageGraph.open("talk", storage, branch="two")
    assert opened.to_list() == two.to_list()
    assert [version.kind for version in opened.versions()] == ["branch", "set", "answer"]
    assert [opened.is_sampled(n) for n in range(5)] == [False, False, True, False, True]
    assert opened.verify().ok
    assert MessageGraph.open("talk", storage).verify().ok
    assert {call.branch for call in opened.calls()} == {"main", "two"}


@pytest.mark.req("G7")
def test_a_conflict_writes_nothing_at_all() -> None:
    storage = MemoryStorage()
    talked(storage)
    late = MessageGraph.open("talk", storage)
    MessageGraph([user("other")], name="other", storage=storage).save()
    first = MessageGraph.open("talk", storage)
    first.append(user("first"))
    first.save()
    size = storage.size()
    late.append(user("late"))

    with pytest.raises(Conflict):
        late.save()

    assert storage.size() == size
    assert len(storage.calls("talk")) == 1


@pytest.mark.req("G7")
def test_a_name_that_is_taken_and_one_that_is_not() -> None:
    storage = MemoryStorage()
    talked(storage)

    with pytest.raises(Conflict, match="is at version 3, not at -1"):
        MessageGraph([user("x")], name="talk", storage=storage).save()
    with pytest.raises(NotFound, match=r"'talk' has no branch 'b'; its branches are: main"):
        MessageGraph.open("talk", storage, branch="b")


@pytest.mark.req("G7")
def test_branches_are_saved_each_with_its_origin() -> None:
    storage = MemoryStorage()
    graph = talked(storage)
    other = graph.branch("other")
    other.append(user("there"))
    other.save()
    third = MessageGraph.open("talk", storage, branch="other").branch("third")
    third[0]["content"] = "third"
    third.save()

    opened = MessageGraph.open("talk", storage, branch="third")

    assert opened == [system("third"), *graph.to_list()[1:], user("there")]
    assert opened.branches() == ["main", "other", "third"]
    assert opened.versions()[1].parallel
    assert [opened.is_sampled(n) for n in range(5)] == [False, False, True, False, False]
    assert opened.verify().ok


@pytest.mark.req("G1")
def test_a_call_on_one_saved_branch_is_known_on_the_others() -> None:
    storage = MemoryStorage()
    graph = MessageGraph([user("a"), user("b")], name="talk", storage=storage)
    graph.save()
    graph.branch("other").save()
    graph.append(user("only here"))
    graph.record_call(assistant("c"), model="m")
    graph.save()

    other = MessageGraph.open("talk", storage, branch="other")
    other[0]["content"] = "A"

    assert len(other.edges()) == 1


@pytest.mark.req("J24")
def test_stored_names_are_keyed_and_exports_compute_plain_ones() -> None:
    storage = MemoryStorage()
    graph = MessageGraph([user(f"{n}") for n in range(100)], storage=storage, hasher=KEYED)
    graph.save()

    opened = MessageGraph.open("graph", storage, hasher=KEYED)

    assert (opened.to_list(), len(opened.root)) == (graph.to_list(), 16)
    assert opened.verify().ok
    assert context_root(opened.to_list()) == MessageGraph(graph.to_list()).root != opened.root


@pytest.mark.req("G7")
def test_only_what_is_new_is_written() -> None:
    storage = MemoryStorage()
    graph = MessageGraph([user(f"{n}") for n in range(20_000)], storage=storage, hasher=KEYED)
    graph.save()
    size = storage.size()

    for place in range(0, 20_000, 200):
        graph[place]["content"] = f"changed {place}"
    graph.save()

    assert (storage.size() - size) / 100 < 2048
    opened = MessageGraph.open("graph", storage, hasher=KEYED)
    assert opened == graph
    opened[7]["content"] = "changed again"
    size = storage.size()
    opened.save()
    assert storage.size() - size < 4096


@pytest.mark.req("G7")
def test_a_branch_of_what_is_saved_writes_its_ref_and_nothing_else() -> None:
    class Counting(MemoryStorage):
        written = (0, 0)

        def write(self, batch):
            self.written = len(batch.blobs), len(batch.chunks)
            super().write(batch)

    storage = Counting()
    MessageGraph([user(f"{n}") for n in range(500)], storage=storage).save()

    opened = MessageGraph.open("graph", storage)
    opened.at(0).to_list()
    opened.branch("other").save()

    assert storage.written == (0, 0)
    assert len(MessageGraph.open("graph", storage, branch="other")) == 500


@pytest.mark.req("G7")
def test_opening_reads_only_what_is_asked_for() -> None:
    class Counting(MemoryStorage):
        read = 0

        def get_blobs(self, ids):
            self.read += len(ids)
            return super().get_blobs(ids)

    storage = Counting()
    MessageGraph([user(f"{n}") for n in range(5_000)], storage=storage).save()

    opened = MessageGraph.open("graph", storage)
    opened.append(user("more"))
    held = opened[2_500]
    opened.insert(0, user("first"))
    del opened[1]
    opened.insert(0, user("zeroth"))
    held["content"] = "x"

    assert storage.read == 1
    assert (len(opened), opened[2_501]) == (5_002, user("x"))


@pytest.mark.req("G2", "G7")
def test_a_message_that_is_held_stays_the_same_through_an_undo_to_a_saved_version() -> None:
    storage = MemoryStorage()
    talked(storage)
    opened = MessageGraph.open("talk", storage)
    held = opened[0]

    opened.undo()
    opened.undo()
    held["content"] = "changed"

    assert opened[0] is held
    assert opened == [system("changed"), user("hi"), assistant("hello")]


@pytest.mark.req("G4", "G7")
def test_links_and_answers_that_were_not_kept_come_back() -> None:
    storage = MemoryStorage()
    graph = MessageGraph([user("a")], name="talk", storage=storage)
    call = graph.record_call(tool_call("c1"), model="m")
    graph.link("c1", call=call, child="child", metadata={"steps": 3})
    graph.append(tool_result("c1"))
    graph.record_call(
        assistant("beside"), model="m", append=False, context=graph.context([user("x")])
    )
    graph.save()

    opened = MessageGraph.open("talk", storage)

    assert opened.links() == graph.links()
    assert opened.verify().ok
    assert opened.at(opened.calls()[1])[-1] == user("x")
    assert opened.link("c1", call=opened.calls()[0]).child is None
