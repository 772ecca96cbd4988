"""Graphs in a file: it comes back whole, foreign files are refused, and writers do not lose work."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hermes.errors import BadRequest, Conflict, HermesError, NotFound, StoreDamaged, StoreError
from hermes.graph import MessageGraph, keyed_hasher
from hermes.graph.files import FileStorage, FreedSpace
from tests.unit.graph.said import assistant, tool_call, tool_result, user

_MAGIC_AT, _VERSION_AT = 68, 60


def talk(name: str = "talk") -> MessageGraph:
    graph = MessageGraph([user("hi")], name=name)
    call = graph.record_call(tool_call("c1"), model="m", tools=[{"name": "f"}])
    graph.append(tool_result("c1"))
    graph.link("c1", call=call, child="sub")
    graph.rate(call, "down", actor="ann", reason="too long")
    graph[0]["content"] = "hello"
    graph.branch("other").user("Why?")
    return graph


@pytest.mark.req("G7")
def test_a_saved_graph_comes_back_whole(tmp_path: Path) -> None:
    graph, file = talk(), tmp_path / "talk.db"
    graph.save(file)

    opened = MessageGraph.open(str(file))

    assert opened.to_list() == graph.to_list()
    assert list(map(repr, opened.versions())) == list(map(repr, graph.versions()))
    assert (opened.calls(), opened.links(), opened.feedback(), opened.branches()) == (
        graph.calls(), graph.links(), graph.feedback(), ["main", "other"]
    )  # fmt: skip
    assert opened.checkout("other") == graph.checkout("other")
    assert opened.tools_of(opened.calls()[0]) == [{"name": "f"}]
    assert (opened.is_sampled(1), opened.verify().ok) == (True, True)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["talk.db"]


@pytest.mark.req("G7")
def test_later_saves_go_to_the_same_file(tmp_path: Path) -> None:
    graph, file = talk(), tmp_path / "talk.db"
    graph.save(file)

    graph.user("more")
    graph.save()
    graph.checkout("other").user("and here")
    graph.save(file)
    graph.record_call(assistant("Yes."), model="m")
    graph.save(file)

    opened = MessageGraph.open(file)
    assert opened.to_list() == graph.to_list()
    assert opened.checkout("other")[-1] == user("and here")
    assert (len(opened.calls()), opened.verify().ok) == (2, True)


@pytest.mark.req("G7")
def test_an_opened_graph_is_saved_under_another_name(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    talk().save(one)
    graph = MessageGraph.open(one)

    graph.save(two)
    graph.user("only in two")
    graph.save()

    assert MessageGraph.open(two) == graph
    assert len(MessageGraph.open(one)) == len(graph) - 1
    assert MessageGraph.open(two).verify().ok


@pytest.mark.req("G7")
def test_the_same_cell_may_run_again(tmp_path: Path) -> None:
    file = tmp_path / "talk.db"
    talk().save(file)
    talk().save(file)
    longer = talk()
    longer.user("more")
    longer.save(file)

    with pytest.raises(Conflict, match=r"has another graph 'talk' already.*overwrite=True"):
        talk().save(file)
    with pytest.raises(Conflict, match="another graph 'talk'"):
        MessageGraph([user("else")], name="talk").save(file)
    assert MessageGraph.open(file).to_list() == longer.to_list()

    MessageGraph([user("else")], name="talk").save(file, overwrite=True)
    opened = MessageGraph.open(file)
    assert (opened.to_list(), opened.branches(), opened.calls()) == ([user("else")], ["main"], [])
    assert opened.verify().ok


@pytest.mark.req("G7")
def test_a_file_of_several_graphs(tmp_path: Path) -> None:
    file = tmp_path / "talks.db"
    talk("ann").save(file)
    talk("bob").save(file)

    with pytest.raises(BadRequest, match=r"several graphs: 'ann', 'bob'. Choose one with graph="):
        MessageGraph.open(file)
    with pytest.raises(NotFound, match="no graph 'eve'; it holds: 'ann', 'bob'"):
        MessageGraph.open(file, graph="eve")
    assert MessageGraph.open(file, graph="bob").name == "bob"
    assert FileStorage(file).graphs() == {"ann": ["main", "other"], "bob": ["main", "other"]}


@pytest.mark.req("G7")
def test_of_two_writers_the_second_is_told_and_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "talk.db"
    talk().save(file)
    one, two = MessageGraph.open(file), MessageGraph.open(file)
    one.user("first")
    two.user("second")

    one.save()
    for saving in (two.save, lambda: two.save(file)):
        with pytest.raises(Conflict, match=r"is at version 4, not at 3.*another writer"):
            saving()
    two.branch("second").save()

    assert MessageGraph.open(file)[-1] == user("first")
    assert MessageGraph.open(file, branch="second")[-1] == user("second")
    assert MessageGraph.open(file).verify().ok


@pytest.mark.req("G7")
def test_one_call_id_for_two_calls_is_a_conflict(tmp_path: Path) -> None:
    file = tmp_path / "talk.db"
    MessageGraph([user("hi")]).save(file)
    one, two = MessageGraph.open(file), MessageGraph.open(file)
    one.record_call(assistant("a"), model="m", call_id="c1", append=False)
    two.record_call(assistant("b"), model="m", call_id="c1", append=False)

    one.save()
    with pytest.raises(Conflict, match="another call 'c1'"):
        two.save()

    assert MessageGraph.open(file).calls() == one.calls()


def _change(file: Path, at: int, data: bytes) -> None:
    content = bytearray(file.read_bytes())
    content[at : at + len(data)] = data
    file.write_bytes(content)


@pytest.mark.req("G7")
@pytest.mark.parametrize(
    ("spoil", "error", "text"),
    [
        (lambda file: file.unlink(), NotFound, "There is no file"),
        (lambda file: file.write_bytes(b""), NotFound, "holds no graph yet"),
        (lambda file: file.write_text("notes " * 999), BadRequest, "is not a file of message graphs"),
        (lambda file: _change(file, _MAGIC_AT, b"abcd"), BadRequest, "database of another program"),
        (lambda file: _change(file, _VERSION_AT, b"\0\0\0\x07"), BadRequest, "has format 7 .* reads 1"),
        (lambda file: _change(file, 4096, b"\xff" * 30_000), StoreDamaged, "is damaged"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_says_why(
    tmp_path: Path, spoil: Callable[[Path], object], error: type[HermesError], text: str
) -> None:
    file = tmp_path / "talk.db"
    talk().save(file)
    spoil(file)
    before = file.read_bytes() if file.exists() else None

    with pytest.raises(error, match=text):
        MessageGraph.open(file)

    assert (file.read_bytes() if file.exists() else None) == before


@pytest.mark.req("G7")
def test_a_foreign_file_is_not_written_to(tmp_path: Path) -> None:
    file = tmp_path / "talk.db"
    talk().save(file)
    _change(file, _MAGIC_AT, b"abcd")
    before = file.read_bytes()

    with pytest.raises(BadRequest, match="another program"):
        talk().save(file)

    assert file.read_bytes() == before
    file.write_bytes(b"")
    talk().save(file)
    assert MessageGraph.open(file) == talk()


_ENDLESS = """
ALTER TABLE moves RENAME TO true_moves;
CREATE VIEW moves AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
SELECT graph, branch, number, data FROM true_moves, c;
"""


@pytest.mark.req("G7")
@pytest.mark.parametrize(
    ("script", "text"),
    [
        (_ENDLESS, "they differ in the table 'true_moves'"),
        ("CREATE TRIGGER x AFTER INSERT ON moves BEGIN UPDATE blobs SET data = x'00'; END;", "trigger 'x'"),
        ("CREATE TABLE notes (text);", "table 'notes'"),
        ("CREATE INDEX i ON moves (abs(number));", "index 'i'"),
        ("DROP TABLE calls; CREATE VIEW calls AS SELECT 1 AS data;", "view 'calls'"),
        ("DROP TABLE feedback;", "table 'feedback'"),
        ("DROP TABLE links; CREATE TABLE links (graph, data CHECK (length(data) < 5));", "table 'links'"),
    ],
)  # fmt: skip
def test_a_file_with_other_tables_is_neither_read_nor_written(
    tmp_path: Path, script: str, text: str
) -> None:
    file, graph = tmp_path / "talk.db", talk()
    graph.save(file)
    with closing(sqlite3.connect(file)) as db:
        db.executescript(script)
    before = file.read_bytes()
    graph.user("more")

    with pytest.raises(BadRequest, match=text):
        MessageGraph.open(file)
    with pytest.raises(BadRequest, match=text):
        graph.save(file)

    assert file.read_bytes() == before


@pytest.mark.req("G7")
def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no folder"):
        talk().save(tmp_path / "nowhere" / "talk.db")
    with pytest.raises(StoreError, match="cannot be used"):
        talk().save(tmp_path)


@pytest.mark.req("G7")
def test_names_of_another_hasher_are_noticed(tmp_path: Path) -> None:
    file, secret = tmp_path / "talk.db", keyed_hasher(b"k" * 32)
    MessageGraph([user("hi")], hasher=secret).save(file)

    with pytest.raises(BadRequest, match="written with another hasher"):
        MessageGraph.open(file)
    assert MessageGraph.open(file, hasher=secret).verify().ok


@pytest.mark.req("G7")
def test_what_no_graph_refers_to_is_collected(tmp_path: Path) -> None:
    file = tmp_path / "talks.db"
    storage = FileStorage(file)
    talk("ann").save(file)
    assert storage.collect() == FreedSpace()
    size = file.stat().st_size
    large = talk("bob")
    large.extend(user(f"{n} " + "x" * 500) for n in range(1_000))
    large.save(file)

    gone = storage.delete("bob")

    # Everything but the thousand messages is also Ann's.
    assert (gone.blobs, gone.bytes > 500_000) == (1_000, True)
    assert file.stat().st_size == size
    assert storage.graphs() == {"ann": ["main", "other"]}
    ann = MessageGraph.open(file)
    assert (ann.verify().ok, ann.checkout("other").verify().ok) == (True, True)
    assert ann.tools_of(ann.calls()[0]) == [{"name": "f"}]


@pytest.mark.req("G7")
def test_a_summary_keeps_what_it_replaces(tmp_path: Path) -> None:
    file = tmp_path / "talk.db"
    graph = MessageGraph([user("a"), assistant("b"), user("c")])
    graph.squish(0, 2, assistant("a summary"))
    graph.save(file)

    assert FileStorage(file).collect() == FreedSpace()
    assert MessageGraph.open(file).originals(0) == [user("a"), assistant("b")]


@pytest.mark.req("G7")
def test_a_graph_whose_parts_were_removed_meanwhile_is_not_saved_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "talk.db"
    talk().save(file)
    graph = MessageGraph.open(file)
    branch = graph.branch("third")
    branch.user("more")
    FileStorage(file).delete("talk")

    with pytest.raises(Conflict, match=r"lacks .*another program removed a graph"):
        branch.save()

    assert FileStorage(file).graphs() == {}
