"""Verifying finds what is missing, damaged, erased or told wrongly, and says where."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from hermes.errors import PersonErased, StoreError
from hermes.graph import MemoryStorage, MessageGraph, message_id
from hermes.graph.records import Call, Link, Move
from hermes.graph.sequence import Sequence as Messages
from tests.unit.graph.said import assistant, tool_call, user


class Damaged(MemoryStorage):
    """A storage that says something else than it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.instead: dict[bytes, bytes | None] = {}
        self.erased: set[bytes] = set()
        self.told: dict[type, dict[str, object]] = {}

    def get_blobs(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        if self.erased.intersection(ids):
            raise PersonErased("The data key of this person was destroyed.")
        return self._instead(super().get_blobs(ids))

    def get_chunks(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        return self._instead(super().get_chunks(ids))

    def moves(self, graph: str, branch: str) -> Sequence[Move]:
        return self._told(super().moves(graph, branch))

    def calls(self, graph: str) -> Sequence[Call]:
        return self._told(super().calls(graph))

    def links(self, graph: str) -> Sequence[Link]:
        return self._told(super().links(graph))

    def _instead(self, found: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
        changed = {name: self.instead.get(name, data) for name, data in found.items()}
        return {name: data for name, data in changed.items() if data is not None}

    def _told(self, found: Sequence) -> Sequence:
        return [
            msgspec.structs.replace(one, **self.told[type(one)]) if type(one) in self.told else one
            for one in found
        ]


def kept() -> Damaged:
    storage = Damaged()
    graph = MessageGraph([user(f"{n}") for n in range(200)], name="talk", storage=storage)
    call = graph.record_call(tool_call("c1"), model="m", tools=[{"name": "f"}])
    graph.link("c1", call=call)
    graph[5]["content"] = "changed"
    graph.save()
    return storage


def problems(storage: Damaged) -> set[tuple[str, str]]:
    found = MessageGraph.open("talk", storage).verify().problems
    return {(problem.trouble, problem.where.split(" c_")[0]) for problem in found}


@pytest.mark.req("G1", "G7")
def test_a_whole_graph_is_counted() -> None:
    report = MessageGraph.open("talk", kept()).verify()

    assert (report.ok, report.problems) == (True, ())
    assert (report.versions, report.blobs, report.calls) == (3, 202, 1)
    assert report.chunks > 5


@pytest.mark.req("G1")
@pytest.mark.parametrize(
    ("data", "trouble"),
    [
        (None, "missing"),
        (b'{"role":"user","content":"8"}', "damaged"),
        (b"\x00", "damaged"),
    ],
)
def test_a_blob_that_is_not_what_its_name_says(data: bytes | None, trouble: str) -> None:
    storage = kept()
    storage.instead[message_id(user("7"))] = data

    assert problems(storage) == {(trouble, "version 0")}


@pytest.mark.req("J24")
def test_what_was_erased_is_called_erased() -> None:
    storage = kept()
    storage.erased = {message_id(user("7")), message_id(user("150"))}

    assert problems(storage) == {("erased", "version 0")}
    assert len(MessageGraph.open("talk", storage).verify().problems) == 2


@pytest.mark.req("G1")
@pytest.mark.parametrize(
    "data", [None, b"", b"\x01\x00" + b"x" * 32, b"\x01\x00" + b"x" * 31, b"\x02\x00"]
)
def test_a_chunk_that_is_not_what_its_name_says(data: bytes | None) -> None:
    storage = kept()
    name = next(iter(MessageGraph.open("talk", storage).sequence.leaves())).id
    assert name is not None
    storage.instead[name] = data

    found = problems(storage)

    assert found == {("missing" if data is None else "damaged", "version 2")}


@pytest.mark.req("G1")
def test_a_message_in_another_form_than_its_one_form() -> None:
    class Sloppy(MemoryStorage):
        def write(self, batch):
            super().write(batch)

    storage = Sloppy()
    graph = MessageGraph([user("a")], name="talk", storage=storage)
    blob = graph.sequence.blob(0)
    blob.data = b'{"content":"a","role":"user"}'
    blob.id = graph.sequence.reader.hasher.blob(blob.data)

    (problem,) = graph.verify().problems

    assert "is not a message in canonical form" in problem.text


@pytest.mark.req("G1", "G7")
@pytest.mark.parametrize(
    ("told", "where"),
    [
        ({Call: {"length": 7}}, "call"),
        ({Call: {"response": message_id(assistant("never written"))}}, "call"),
        ({Call: {"context": bytes(32)}}, "call"),
        ({Link: {"call": "c_nobody"}}, "the link of c1"),
        ({Move: {"length": 4}}, "version 1"),
        ({Move: {"content": 0}}, "version 1"),
        ({Move: {"content": -1}}, "version 2"),
    ],
)
def test_records_that_tell_something_else(told: dict[type, dict[str, object]], where: str) -> None:
    storage = kept()
    storage.told = told

    assert where in {place for _, place in problems(storage)}


@pytest.mark.req("G1")
def test_an_edit_that_does_not_lead_to_its_messages() -> None:
    storage = kept()
    edit = MessageGraph.open("talk", storage).versions()[2].edit
    storage.told = {Move: {"edit": msgspec.structs.replace(edit, start=6)}}

    assert ("inconsistent", "version 2") in problems(storage)


@pytest.mark.req("G1")
def test_a_tree_that_is_cut_elsewhere() -> None:
    from hermes.graph.chunk import make_leaf
    from hermes.graph.tree_check import TreeCheck

    good = MessageGraph([user(f"{n}") for n in range(200)]).sequence
    check = TreeCheck(good.reader)

    check.tree(Messages(make_leaf([*good.blobs()]), good.reader), "here")

    assert [(p.trouble, p.text.split(" is ")[1]) for p in check.problems] == [
        ("inconsistent", "not cut where its content requires")
    ]


@pytest.mark.req("G7")
def test_a_log_that_ends_elsewhere_than_its_branch_stands() -> None:
    class Behind(MemoryStorage):
        lost = 0

        def moves(self, graph: str, branch: str) -> Sequence[Move]:
            found = super().moves(graph, branch)
            return found[: len(found) - self.lost]

    storage = Behind()
    graph = MessageGraph([user("a")], name="talk", storage=storage)
    graph.append(user("b"))
    graph.save()
    opened = MessageGraph.open("talk", storage)
    graph.append(user("c"))
    graph.save()

    # Somebody else moved it since: that is no damage.
    assert opened.verify().ok
    storage.lost = 1
    (problem,) = MessageGraph.open("talk", storage).verify().problems
    assert (problem.trouble, problem.where) == ("inconsistent", "branch main")
    assert problem.text == "its head is version 2, but its log ends at version 1"


@pytest.mark.req("G7")
def test_a_log_with_a_hole_is_not_opened() -> None:
    class Holed(MemoryStorage):
        def moves(self, graph: str, branch: str) -> Sequence[Move]:
            found = super().moves(graph, branch)
            return [move for move in found if move.number != 1]

    storage = Holed()
    graph = MessageGraph([user("a")], name="talk", storage=storage)
    graph.append(user("b"))
    graph.append(user("c"))
    graph.save()

    with pytest.raises(StoreError, match="lacks version 1"):
        MessageGraph.open("talk", storage)


@pytest.mark.req("G7")
def test_twice_the_past_takes_about_twice_as_long_to_verify() -> None:
    assert reads_to_verify(800) < 2.6 * reads_to_verify(400)


def reads_to_verify(turns: int) -> int:
    class Counting(MemoryStorage):
        reads = 0

        def get_chunks(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
            self.reads += len(ids)
            return super().get_chunks(ids)

    storage = Counting()
    graph = MessageGraph(name="talk", storage=storage)
    for turn in range(turns):
        graph.append(user(f"{turn}"))
        # What the gateway does: a prompt in front, which changes now and then.
        context = graph.context(lead=[{"role": "system", "content": f"Day {turn // 50}"}])
        graph.record_call(assistant(f"to {turn}"), model="m", context=context)
    graph.save()
    opened = MessageGraph.open("talk", storage)
    assert opened.verify().ok
    # What was read of the past is let go.
    assert not any(isinstance(version.kept, Messages) for version in opened.versions()[:-1])
    return storage.reads


@pytest.mark.req("G1", "G7")
def test_a_first_call_that_was_shown_another_first_message_than_its_version_holds() -> None:
    storage = kept()
    others = [user("another"), *(user(f"{n}") for n in range(1, 200))]
    other = MessageGraph(others, name="other", storage=storage)
    other.save()
    storage.told = {Call: {"context": other.sequence.root}}

    assert ("inconsistent", "call") in problems(storage)
