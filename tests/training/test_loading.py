"""`datasets` reads the files and hands out the rows as they were written, with no empty keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes.graph.exports import FormatName, Row, verify_row, write_jsonl, write_parquet
from tests.training.chats import colours, rows_of, weather
from tests.unit.graph.exports.taken import ALL_BUT_TOKENS

pytest.importorskip("datasets", reason="datasets is not installed here: run make test-training")

from datasets import Features, Json, List, load_dataset
from huggingface_hub.constants import HF_HUB_OFFLINE

FORMATS: tuple[FormatName, ...] = (*ALL_BUT_TOKENS, "tokens")
FILES = ("jsonl", "parquet")


def without_empty_column(row: Row) -> Row:
    """A file has one set of columns: beside rows that have tools, a row without reads None."""
    return {key: value for key, value in row.items() if key != "tools" or value is not None}


def test_nothing_can_be_fetched() -> None:
    assert HF_HUB_OFFLINE


@pytest.mark.req("G6")
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("chat", [colours, weather])
@pytest.mark.parametrize("format_name", FORMATS)
def test_rows_come_back_as_they_were_and_no_key_holds_nothing(
    format_name: FormatName, chat: Any, file: str, load: Callable[..., Any], tokenizer: Any
) -> None:
    rows = rows_of(format_name, tokenizer, [chat()])

    loaded = load(format_name, file, rows)

    assert list(loaded) == rows
    assert [verify_row(row) for row in loaded] == [None] * len(rows)


@pytest.mark.req("G6")
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("format_name", FORMATS)
def test_rows_with_and_without_tools_share_a_file(
    format_name: FormatName, file: str, load: Callable[..., Any], tokenizer: Any
) -> None:
    rows = rows_of(format_name, tokenizer)

    loaded = load(format_name, file, rows)

    assert list(map(without_empty_column, loaded)) == rows
    assert [verify_row(row) for row in loaded] == [None] * len(rows)


@pytest.mark.req("G6")
def test_a_parquet_file_can_be_streamed(tmp_path: Path, tokenizer: Any) -> None:
    rows, path = rows_of("openai", tokenizer, [weather()]), tmp_path / "rows.parquet"
    write_parquet(rows, path)

    loaded = load_dataset("parquet", data_files=str(path), split="train", streaming=True)

    assert list(loaded) == rows


@pytest.mark.req("G6")
def test_json_lines_that_only_later_have_other_keys_need_the_features_of_the_page(
    tmp_path: Path, tokenizer: Any
) -> None:
    """`datasets` guesses from the first 10 MB; who says what the columns are is safe."""
    same = rows_of("trl-messages", tokenizer, [colours()])
    other = rows_of("trl-messages", tokenizer, [weather()])
    path, cache = tmp_path / "rows.jsonl", str(tmp_path / "cache")
    with path.open("w", encoding="utf-8") as stream:
        write_jsonl(same * 20_000 + other, stream)
    features = Features(messages=List(Json()), tools=List(Json()), certificate=Json())

    loaded = load_dataset(
        "json", data_files=str(path), split="train", features=features, cache_dir=cache
    )

    assert path.stat().st_size > 10 << 20
    assert list(map(without_empty_column, [loaded[0], loaded[-1]])) == [same[0], other[0]]
