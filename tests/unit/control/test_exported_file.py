"""A file of exported rows is checked with nothing but the file."""

import json
from pathlib import Path

import pytest

from hermes.control.exported_file import RowTrouble, check_file, read_jsonl, read_table
from hermes.errors import BadRequest, NotFound
from hermes.graph.exports import export_rows, write_jsonl
from hermes.graph.exports.parquet import read_parquet, write_parquet
from hermes.graph.exports.report import Report
from tests.unit.control.memory_graph_reader import a_graph_reader


def rows() -> list[dict]:
    reader = a_graph_reader()
    graphs = [reader.open(entry.name) for entry in reader.graphs()]
    return list(
        export_rows(graphs, "openai", may_train=lambda _: True, salt=reader.salt(), report=Report())
    )


def lines(path: Path, *written: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in written))
    return path


def checked(path: Path):
    return check_file(path, read_jsonl(path, lambda _: None))


@pytest.mark.req("G6")
def test_every_row_of_a_file_is_computed_again_and_counted(tmp_path):
    path, steps = tmp_path / "openai.jsonl", list[int]()
    with path.open("w") as stream:
        write_jsonl(rows(), stream)

    report = check_file(path, read_jsonl(path, steps.append))

    assert (report.rows, report.broken, report.formats) == (4, 0, {"openai": 4})
    assert (len(steps), steps[-1]) == (4, path.stat().st_size)


@pytest.mark.req("G6")
def test_a_changed_row_is_named_by_its_line(tmp_path):
    good = rows()
    bad = json.loads(json.dumps(good[1]))
    bad["messages"][1]["content"] = "Changed."

    report = checked(lines(tmp_path / "x.jsonl", json.dumps(good[0]), json.dumps(bad)))

    assert (report.rows, report.broken) == (2, 1)
    (problem,) = report.problems
    assert (problem.row, problem.trouble, problem.where) == (2, "damaged", "message 1")


@pytest.mark.req("G6")
@pytest.mark.parametrize("line", ["[1]", "{}", '{"certificate": 1}', "null"])
def test_a_line_that_is_no_row_is_one_that_does_not_hold(tmp_path, line):
    report = checked(lines(tmp_path / "x.jsonl", line, json.dumps(rows()[0])))

    assert (report.rows, report.broken) == (2, 1)
    text = "it has no certificate, which every exported row has"
    assert report.problems == [RowTrouble(row=1, trouble="missing", where="row", text=text)]


@pytest.mark.req("G6")
@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"no json", "it is no JSON: JSON is malformed"),
        (b'{"messages": [', "it is no JSON: Input data was truncated"),
        (b"\x00\x01\x02", "it is no JSON: "),
        (b'{"a": "\xff"}', "it is no text: byte 8 of the line is no UTF-8"),
    ],
)
def test_a_line_that_is_no_json_is_named_with_what_is_wrong(tmp_path, line, text):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n\n" + line + b"\n")

    report = checked(path)

    (problem,) = report.problems
    assert (problem.row, problem.trouble, problem.where) == (3, "damaged", "line")
    assert text in problem.text


@pytest.mark.req("G6")
def test_a_parquet_file_of_another_name_is_said_to_be_one(tmp_path):
    path = tmp_path / "rows.jsonl"
    write_parquet(rows(), path)

    with pytest.raises(BadRequest, match=r"holds parquet .* ends in \.parquet"):
        checked(path)


@pytest.mark.req("G6")
def test_empty_lines_are_no_rows(tmp_path):
    report = checked(lines(tmp_path / "x.jsonl", "", json.dumps(rows()[0]), "  ", ""))

    assert (report.rows, report.broken) == (1, 0)


@pytest.mark.req("G6")
def test_of_very_many_broken_rows_all_are_counted_and_the_first_are_told(tmp_path):
    report = checked(lines(tmp_path / "x.jsonl", *["{}"] * 1_500))

    assert (report.rows, report.broken, len(report.problems)) == (1_500, 1_500, 1_000)


@pytest.mark.req("G6")
def test_a_parquet_file_is_checked_like_lines(tmp_path):
    path = tmp_path / "openai.parquet"
    changed = rows()
    changed[2]["messages"][-1]["content"] = "Changed."
    write_parquet(changed, path)

    report = check_file(path, read_table(path, read_parquet))

    assert (report.rows, report.broken) == (4, 1)
    assert report.problems[0].row == 3


@pytest.mark.req("G6")
def test_a_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path):
    for read in (
        lambda path: read_jsonl(path, lambda _: None),
        lambda p: read_table(p, read_parquet),
    ):
        with pytest.raises(NotFound, match=r"There is no file .*none\.parquet"):
            list(read(tmp_path / "none.parquet"))
    with pytest.raises(BadRequest, match="cannot be read: Is a directory"):
        list(read_jsonl(tmp_path, lambda _: None))
    odd = tmp_path / "odd.parquet"
    odd.write_text("no table")
    with pytest.raises(BadRequest, match=r"odd\.parquet is not a readable parquet file"):
        list(read_table(odd, read_parquet))
