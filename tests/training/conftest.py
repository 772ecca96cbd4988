"""What the training checks have in common: they need torch, and nothing from the network."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes.graph.exports import FormatName, Row, write_jsonl, write_parquet
from tests.training.chats import rows_of

# Importing the trainers takes its time on a busy machine, and they warn about each other.
SLOW_S = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests time, and let the trainers warn."""
    for item in items:
        if "training" in item.path.parts:
            item.add_marker(pytest.mark.timeout(SLOW_S))
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="session")
def tokenizer() -> Any:  # Any: transformers is not installed where types are checked
    """SmolLM2's, from the weights that the built-in model has, with a template of ours."""
    from tests.training.chat_tokenizer import read_tokenizer

    return read_tokenizer()


@pytest.fixture
def load(tmp_path: Path, tokenizer: Any) -> Callable[..., Any]:
    """Export the chats into a file and load it as a user would."""
    import datasets

    def load(format_name: FormatName, file: str, rows: list[Row] | None = None) -> Any:
        rows = rows_of(format_name, tokenizer) if rows is None else rows
        path = tmp_path / f"{format_name}.{file}"
        if file == "parquet":
            write_parquet(rows, path)
        else:
            with path.open("w", encoding="utf-8") as stream:
                write_jsonl(rows, stream)
        kind = {"jsonl": "json"}.get(file, file)
        return datasets.load_dataset(
            kind, data_files=str(path), split="train", cache_dir=str(tmp_path / "cache")
        )

    return load
