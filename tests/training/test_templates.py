"""Tool calls as TRL rows hold them are what the chat templates of real models take."""

from pathlib import Path
from typing import Any

import pytest

from tests.training.chats import rows_of, weather

trl = pytest.importorskip("trl", reason="trl is not installed here: run make test-training")

TEMPLATES = Path(trl.__file__).parent / "chat_templates"


@pytest.mark.req("G6")
@pytest.mark.parametrize(
    "name",
    ["glm4moe", "gptoss", "llama3_1", "nemotron_3_nano", "qwen2_5", "qwen3", "qwen3_5_think"],
)
def test_a_tool_call_is_written_once_and_not_quoted_again(name: str, tokenizer: Any) -> None:
    (row,) = rows_of("trl-messages", tokenizer, [weather()])
    template = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")

    text = tokenizer.apply_chat_template(
        row["messages"], tools=row["tools"], chat_template=template, tokenize=False
    )

    assert text.count("Bonn") == 1
    assert '\\"' not in text
