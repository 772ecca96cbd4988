"""Graphs as an operator names them, checks them, compares their calls and exports them."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from hermes.control.graph_check import check_graphs
from hermes.control.graph_diff import SettingDiff, ToolsDiff, diff_calls
from hermes.control.graph_export import GraphExportPlan, WriteRows, export_graphs, write_rows
from hermes.control.graphs import branches_of, current, find_all, find_graphs, list_graphs
from hermes.errors import BadRequest, NotFound, PersonErased, StoreError
from hermes.graph import MemoryStorage, MessageGraph, Problem
from hermes.graph.exports import Refusal, verify_row
from hermes.graph.exports.parquet import read_parquet, write_parquet
from hermes.ports.graph_reader import GraphReader
from tests.unit.control.memory_graph_reader import MemoryGraphReader, a_graph_reader

ANN, BOB = "agent:main:rest:dm:ann", "agent:main:rest:dm:bob"


def names(reader: GraphReader, *wanted: str) -> list[str]:
    return [entry.name for entry in find_all(reader, wanted)]


@pytest.mark.req("G7")
def test_a_session_is_found_by_its_name_a_part_of_it_or_one_epoch():
    reader = a_graph_reader()

    assert names(reader, ANN) == [f"{ANN}#1", f"{ANN}#0"]
    assert names(reader, "ann") == [f"{ANN}#1", f"{ANN}#0"]
    assert names(reader, "ann#0") == names(reader, f"{ANN}#0") == [f"{ANN}#0"]
    assert names(reader, "bob", "ann#1", "bob#0") == [f"{BOB}#0", f"{ANN}#1"]
    assert [entry.name for entry in list_graphs(reader).graphs] == [
        f"{BOB}#0",
        f"{ANN}#1",
        f"{ANN}#0",
    ]
    assert list_graphs(None).graphs == ()


@pytest.mark.req("G7")
def test_the_conversation_of_now_is_the_current_epoch_or_the_last():
    entries = find_graphs(a_graph_reader().graphs(), "ann")
    ended = [msgspec.structs.replace(entry, is_current=False) for entry in entries]

    assert current(entries).epoch == 1
    assert current(entries[::-1]).epoch == 1
    assert current(ended).epoch == 1


@pytest.mark.req("G7")
def test_an_exact_name_is_not_ambiguous_and_a_part_of_several_is():
    reader = MemoryGraphReader()
    for session in ("chat", "chat:1", "chat:2", "#7"):
        name = f"{session}#0"
        graph = MessageGraph([], name=name, storage=reader.storage(name))
        graph.save()
        reader.put(graph)

    assert names(reader, "chat") == ["chat#0"]
    assert names(reader, "#7") == ["#7#0"]
    with pytest.raises(BadRequest, match=r"3 conversations match 'cha': .*chat:1.*Write more"):
        find_all(reader, ["cha"])


@pytest.mark.req("G7")
def test_the_last_part_of_a_name_goes_first_and_chats_of_subagents_last():
    reader = MemoryGraphReader()
    for session in ("a:dm:sub", "a:dm:sub/m_1.0", "a:dm:subway", "a:dm:ann", "a:dm:ann/m_2.0"):
        name = f"{session}#0"
        graph = MessageGraph([], name=name, storage=reader.storage(name))
        graph.save()
        reader.put(graph)

    assert names(reader, "sub") == names(reader, "sub#0") == ["a:dm:sub#0"]
    assert names(reader, "an") == ["a:dm:ann#0"]
    assert names(reader, "m_1") == names(reader, "m_1.0") == ["a:dm:sub/m_1.0#0"]
    with pytest.raises(BadRequest, match="2 conversations match 'su': "):
        find_all(reader, ["su"])


@pytest.mark.req("G7")
def test_rows_that_a_graph_lacks_and_those_of_no_graph_are_damage():
    reader = a_graph_reader()
    reader.wrong = {
        f"{BOB}#0": [Problem("missing", "branch main", "it made 2 calls, but 1 are stored")],
        "": [Problem("missing", "graph number 7", "the graph of this number no longer exists")],
    }

    whole = check_graphs(reader, reader.graphs(), progress=lambda *_: None, whole=True)
    some = check_graphs(reader, find_all(reader, ["ann"]), progress=lambda *_: None)
    none = msgspec.structs.replace(reader.graphs()[1], branches=())
    empty = check_graphs(reader, [none], progress=lambda *_: None)

    assert [(one.graph, one.where) for one in whole.damage] == [
        (f"{BOB}#0", "branch main"),
        ("", "graph number 7"),
    ]
    assert some.damage == []
    assert [one.where for one in empty.damage] == ["branches"]


@pytest.mark.req("G7")
def test_what_is_not_known_is_said_with_what_is():
    reader = a_graph_reader()

    with pytest.raises(NotFound, match=rf"known as 'carl'\. The last ones used: {BOB}, {ANN}; "):
        find_all(reader, ["carl"])
    with pytest.raises(NotFound, match=r"no epoch 7\. It has: 1, 0\."):
        find_all(reader, ["ann#7"])
    with pytest.raises(NotFound, match="known as ''"):
        find_all(reader, [""])
    with pytest.raises(NotFound, match="Nothing is stored here yet"):
        find_all(MemoryGraphReader(), ["ann"])
    entry = msgspec.structs.replace(reader.graphs()[0], branches=())
    with pytest.raises(NotFound, match="has no branch"):
        branches_of(reader, entry)


class Spoiled(MemoryStorage):
    """A storage in which messages are erased or lost, or that cannot be read at all."""

    erased: bytes | None = None
    lost: bytes | None = None
    broken = False

    def get_blobs(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        found = super().get_blobs(ids)
        if self.erased and any(self.erased in data for data in found.values()):
            raise PersonErased("The data key of this person was destroyed.")
        return {
            name: data for name, data in found.items() if not self.lost or self.lost not in data
        }

    def moves(self, graph, branch):
        if self.broken:
            raise StoreError("the page is gone")
        return super().moves(graph, branch)


def spoiled(reader: MemoryGraphReader, name: str) -> Spoiled:
    """Return the storage of a graph as one that can be spoiled."""
    storage = Spoiled()
    storage.__dict__.update(reader.storages[name].__dict__)
    reader.storages[name] = storage
    return storage


@pytest.mark.req("J24", "G7")
def test_verifying_looks_at_every_branch_and_tells_erased_from_damaged():
    reader, steps = a_graph_reader(), []
    clean = check_graphs(reader, reader.graphs(), progress=lambda *step: steps.append(step))
    spoiled(reader, f"{BOB}#0").erased = b"2+2"
    spoiled(reader, f"{ANN}#1").lost = b"Blue."

    report = check_graphs(reader, reader.graphs(), progress=lambda *_: None)

    assert (clean.graphs, clean.branches, clean.calls) == (3, 4, 4)
    assert (clean.damage, clean.erased) == ([], [])
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert {one.graph for one in report.erased} == {f"{BOB}#0"}
    assert {one.trouble for one in report.erased} == {"erased"}
    assert {(one.graph, one.branch) for one in report.damage} == {
        (f"{ANN}#1", "main"),
        (f"{ANN}#1", "tea"),
    }
    assert {one.trouble for one in report.damage} == {"missing"}
    # The calls are those of the whole graph: what is wrong with one is told once.
    assert [one.where for one in report.damage].count("call m_2.1") == 1


@pytest.mark.req("G7")
def test_a_graph_that_cannot_be_opened_is_damage_and_stops_nothing():
    reader = a_graph_reader()
    spoiled(reader, f"{BOB}#0").broken = True

    report = check_graphs(reader, reader.graphs(), progress=lambda *_: None)

    assert [(one.graph, one.trouble, one.where) for one in report.damage] == [
        (f"{BOB}#0", "damaged", "branch")
    ]
    assert "the page is gone" in report.damage[0].text
    assert (report.graphs, report.branches) == (3, 4)


@pytest.mark.req("G4", "G7")
def test_two_calls_differ_in_messages_model_tools_and_sampling():
    reader = a_graph_reader()

    found = diff_calls(reader, "m_2.1", "m_3.1")

    assert (found.before.graph, found.before.messages) == (f"{ANN}#1", 2)
    assert (found.after.messages, found.after.model) == (4, "openai:small-1")
    assert (found.same_context, found.same_answer) == (False, False)
    assert found.tools == ToolsDiff()
    assert found.sampling == (SettingDiff("temperature", 0.7, 0.2),)
    assert [
        (one.kind, one.at_before, [m["content"] for m in one.after]) for one in found.changes
    ] == [("insert", 2, ["Green.", "Another."])]


@pytest.mark.req("G7")
def test_calls_of_two_graphs_can_be_compared_and_one_with_itself():
    reader = a_graph_reader()

    across, same = diff_calls(reader, "m_1.1", "m_4.1"), diff_calls(reader, "m_1.1", "m_1.1")

    assert [(one.kind, one.before, one.after) for one in across.changes] == [
        (
            "replace",
            ({"role": "user", "content": "Hello."},),
            ({"role": "user", "content": "What is 2+2?"},),
        )
    ]
    assert across.sampling == ()
    assert across.tools == ToolsDiff()
    assert (same.same_context, same.same_answer, same.changes) == (True, True, ())
    with pytest.raises(NotFound, match=r"No call is known as 'm_9\.1'"):
        diff_calls(reader, "m_1.1", "m_9.1")


@pytest.mark.req("G4")
def test_tools_are_told_apart_by_name():
    reader = MemoryGraphReader()
    graph = MessageGraph([], name="a#0", storage=reader.storage("a#0"))
    one: list[dict] = [{"type": "function", "function": {"name": "look"}}, {"name": "go", "x": 1}]
    two: list[dict] = [{"name": "go", "x": 2}, {"name": "stop"}]
    for call_id, tools in (("c1", one), ("c2", two), ("c3", None)):
        graph.record_call(None, model="m", call_id=call_id, tools=tools)
    graph.save()
    reader.put(graph)

    assert diff_calls(reader, "c1", "c2").tools == ToolsDiff(
        removed=("look",), added=("stop",), changed=("go",)
    )
    assert diff_calls(reader, "c3", "c2").tools == ToolsDiff(added=("go", "stop"))


def plan(
    folder: Path, *, file: str = "openai.jsonl", write: WriteRows = write_rows
) -> GraphExportPlan:
    return GraphExportPlan(format="openai", file=folder / file, write=write)


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.req("G6")
@pytest.mark.usefixtures("usual_umask")
def test_an_export_writes_one_whole_file_of_those_who_agreed(tmp_path):
    reader, steps = a_graph_reader(), []
    folder = tmp_path / "new" / "data"

    report = export_graphs(
        reader,
        reader.graphs(),
        plan=plan(folder),
        progress=lambda *step: steps.append(step),
    )

    rows = [json.loads(line) for line in (folder / "openai.jsonl").read_text().splitlines()]
    assert [verify_row(row) for row in rows] == [None] * 3
    assert (report.rows, report.trained, report.graphs, report.with_rows) == (3, 3, 3, 2)
    assert (report.file, report.bytes) == (
        str(folder / "openai.jsonl"),
        (folder / "openai.jsonl").stat().st_size,
    )
    assert (report.without_consent, report.refused) == (1, {"no_consent": 1})
    assert report.refusals == (Refusal("no_consent", "m_4.1", "This graph may not be trained on."),)
    assert "2+2" not in (folder / "openai.jsonl").read_text()
    assert ANN not in (folder / "openai.jsonl").read_text()
    assert steps == [(0, 3, 0), (1, 3, 0), (2, 3, 0), (3, 3, 3)]
    assert [path.name for path in folder.iterdir()] == ["openai.jsonl"]
    assert (folder / "openai.jsonl").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.req("G6")
@pytest.mark.usefixtures("usual_umask")
def test_an_export_as_parquet_holds_the_same_rows(tmp_path):
    reader = a_graph_reader()
    file = tmp_path / "openai.parquet"

    report = export_graphs(
        reader,
        reader.graphs(),
        plan=plan(tmp_path, file=file.name, write=write_parquet),
        progress=lambda *_: None,
    )
    export_graphs(reader, reader.graphs(), plan=plan(tmp_path), progress=lambda *_: None)

    lines = (tmp_path / "openai.jsonl").read_text().splitlines()
    assert list(read_parquet(file)) == [json.loads(line) for line in lines]
    assert report.bytes == file.stat().st_size
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("G6")
def test_without_a_row_nothing_is_written_and_what_was_there_stays(tmp_path):
    reader = a_graph_reader()
    (tmp_path / "openai.jsonl").write_text("from before")

    report = export_graphs(
        reader, find_all(reader, ["bob"]), plan=plan(tmp_path), progress=lambda *_: None
    )

    assert (report.file, report.rows, report.bytes) == (None, 0, 0)
    assert (tmp_path / "openai.jsonl").read_text() == "from before"
    assert [path.name for path in tmp_path.iterdir()] == ["openai.jsonl"]


@pytest.mark.req("G6")
def test_an_export_that_fails_on_its_way_leaves_the_old_file_and_no_other(tmp_path):
    reader = a_graph_reader()
    (tmp_path / "openai.jsonl").write_text("from before")

    def full(rows, path):
        path.write_text(str(next(iter(rows))))
        raise OSError(28, "No space left on device")

    with pytest.raises(BadRequest, match=r"openai\.jsonl cannot be written: No space left"):
        export_graphs(
            reader, reader.graphs(), plan=plan(tmp_path, write=full), progress=lambda *_: None
        )

    assert (tmp_path / "openai.jsonl").read_text() == "from before"
    assert [path.name for path in tmp_path.iterdir()] == ["openai.jsonl"]


@pytest.mark.req("G6")
def test_a_graph_that_cannot_be_opened_is_named_and_the_others_are_exported(tmp_path):
    reader = a_graph_reader()
    spoiled(reader, f"{ANN}#0").broken = True

    report = export_graphs(reader, reader.graphs(), plan=plan(tmp_path), progress=lambda *_: None)

    assert [(one.graph, one.text) for one in report.unopened] == [(f"{ANN}#0", "the page is gone")]
    assert report.rows == 2
