"""Parquet files: rows come back as they were, and are never all in memory."""

import io
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hermes.errors import BadRequest, ConfigurationError
from hermes.graph import MessageGraph
from hermes.graph.exports import FormatName, Row, read_parquet, verify_row, write_parquet
from tests.unit.graph.exports.taken import ALL_BUT_TOKENS, Letters, take
from tests.unit.graph.said import assistant, system, thinking, tool_call, tool_result, user

FORMATS: tuple[FormatName, ...] = (*ALL_BUT_TOKENS, "tokens")
TOOLS = [{"type": "function", "function": {"name": "weather", "strict": None, "n": 0.3}}]
JSONS = pa.list_(pa.field("element", pa.json_()))
IDS = pa.list_(pa.field("element", pa.int64()))


class Taken(dict):
    """A row that can be watched, each for itself."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def rows_of(format_name: FormatName) -> list[Row]:
    """Rows whose messages have different keys, with and without tools."""
    graph = MessageGraph([system("be kind"), user("weather? ☂\u2028\x00")], name="talk")
    graph.record_call(tool_call("c1", '{"at":null}'), model="m", tools=TOOLS)
    graph.append(tool_result("c1"))
    graph.record_call(thinking("cool"), model="m", tools=TOOLS)
    graph[-1]["content"][1]["text"] = "warm"
    plain = MessageGraph([user("hi")], name="plain")
    plain.record_call(assistant("hello"), model="m")
    plain[-1]["content"] = "hallo"
    return take([plain, graph], format_name, tokenizer=Letters())[0]


def plain_row() -> Row:
    graph = MessageGraph([user("hi")])
    graph.record_call(assistant("hello"), model="m")
    return take(graph)[0][0]


@pytest.mark.req("G6")
@pytest.mark.parametrize("format_name", FORMATS)
def test_rows_come_back_as_they_were(format_name: FormatName, tmp_path: Path) -> None:
    rows, path = rows_of(format_name), tmp_path / "rows.parquet"

    count = write_parquet(iter(rows), path)

    found = list(read_parquet(path))
    assert (count, found) == (len(rows), rows)
    assert len(rows) >= 2
    assert [verify_row(row) for row in found] == [None] * len(rows)
    assert [one.name for one in tmp_path.iterdir()] == ["rows.parquet"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("G6")
@pytest.mark.parametrize(
    ("format_name", "columns"),
    [
        ("openai", {"messages": JSONS, "tools": JSONS}),
        ("sharegpt", {"conversations": JSONS, "tools": pa.string()}),
        ("trl-messages", {"messages": JSONS, "tools": JSONS}),
        ("trl-prompt-completion", {"prompt": JSONS, "completion": JSONS, "tools": JSONS}),
        ("trl-preference", {"prompt": JSONS, "chosen": JSONS, "rejected": JSONS, "tools": JSONS}),
        ("tokens", {"input_ids": IDS, "labels": IDS}),
    ],
)
def test_what_varies_is_json_so_that_no_row_gets_the_keys_of_another(
    format_name: FormatName, columns: dict[str, pa.DataType], tmp_path: Path
) -> None:
    write_parquet(rows_of(format_name), tmp_path / "rows.parquet")

    schema = pq.read_schema(tmp_path / "rows.parquet")

    assert {field.name: field.type for field in schema} == columns | {"certificate": pa.json_()}
    assert schema.names == [*columns, "certificate"]


@pytest.mark.req("G6")
def test_a_file_has_no_column_for_tools_when_no_row_has_any(tmp_path: Path) -> None:
    write_parquet([plain_row()], tmp_path / "rows.parquet")

    assert pq.read_schema(tmp_path / "rows.parquet").names == ["messages", "certificate"]


@pytest.mark.req("G6")
def test_a_column_that_comes_late_is_empty_in_the_rows_before(tmp_path: Path) -> None:
    late = rows_of("openai")[1]
    rows = [plain_row()] * 1_500 + [late]

    write_parquet(rows, tmp_path / "rows.parquet")

    assert list(read_parquet(tmp_path / "rows.parquet")) == rows
    assert pq.read_schema(tmp_path / "rows.parquet").names == ["messages", "tools", "certificate"]
    assert [one.name for one in tmp_path.iterdir()] == ["rows.parquet"]


@pytest.mark.req("G6")
def test_rows_are_written_as_they_come(tmp_path: Path) -> None:
    alive: weakref.WeakSet[Taken] = weakref.WeakSet()
    most, told = 0, plain_row()

    def watched() -> Iterator[Row]:
        nonlocal most
        for _ in range(2_500):
            row = Taken(told)
            alive.add(row)
            most = max(most, len(alive))
            yield row

    count = write_parquet(watched(), tmp_path / "rows.parquet")

    assert (count, most <= 2) == (2_500, True)
    groups = pq.ParquetFile(tmp_path / "rows.parquet").metadata
    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == [
        1_000, 1_000, 500,
    ]  # fmt: skip


@pytest.mark.req("G6")
def test_large_rows_make_short_batches(tmp_path: Path) -> None:
    row = plain_row()
    row["messages"][0]["content"] = "x" * 9_000_000

    write_parquet([row] * 4, tmp_path / "rows.parquet")

    assert pq.ParquetFile(tmp_path / "rows.parquet").num_row_groups == 2


@pytest.mark.req("G6")
def test_certificates_can_have_a_file_of_their_own(tmp_path: Path) -> None:
    rows, beside = rows_of("openai"), io.StringIO()

    write_parquet(rows, tmp_path / "rows.parquet", certificates=beside)

    told = [msgspec.json.decode(line) for line in beside.getvalue().splitlines()]
    found = read_parquet(tmp_path / "rows.parquet")
    assert [row | {"certificate": one} for row, one in zip(found, told, strict=True)] == rows


@pytest.mark.req("G6")
def test_an_export_that_breaks_off_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write_parquet([plain_row()], path)
    before = path.read_bytes()

    def breaking() -> Iterator[Row]:
        yield from [plain_row()] * 1_500
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        write_parquet(breaking(), path)

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.req("G6")
def test_rows_of_two_formats_are_no_table(tmp_path: Path) -> None:
    rows = [rows_of("openai")[1], rows_of("sharegpt")[1]]

    with pytest.raises(BadRequest, match="Column 'tools' was jsons in earlier rows and is text"):
        write_parquet(rows, tmp_path / "rows.parquet")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("G6")
def test_no_rows_are_a_file_without_rows(tmp_path: Path) -> None:
    count = write_parquet([], tmp_path / "rows.parquet")

    assert (count, list(read_parquet(tmp_path / "rows.parquet"))) == (0, [])
    assert pq.ParquetFile(tmp_path / "rows.parquet").num_row_groups == 0


@pytest.mark.req("G6")
def test_what_is_no_parquet_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_text('{"messages": []}\n')

    with pytest.raises(BadRequest, match=r"rows\.parquet is not a readable parquet file"):
        list(read_parquet(tmp_path / "rows.parquet"))


@pytest.mark.req("G6")
def test_without_pyarrow_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'pyarrow>=19'"):
        write_parquet([plain_row()], tmp_path / "rows.parquet")
