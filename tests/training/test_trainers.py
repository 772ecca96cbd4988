"""TRL's trainers take a step on every format, and train the sampled answers and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes.graph.exports import FormatName, Report, export_rows, verify_row
from hermes.graph.exports.tokenizer_file import load_tokenizer
from tests.training.chat_tokenizer import read_tokenizer, weights
from tests.training.chats import ARGUMENTS, colours, rows_of

pytest.importorskip("torch", reason="torch is not installed here: run make test-training")

from trl import maybe_convert_to_chatml

from tests.training.steps import IGNORED, Step, dpo_step, sft_step

FILES = ("jsonl", "parquet")
END = "<|im_end|>"
AS_WRITTEN = f'<tool_call>\n{{"name": "weather", "arguments": {ARGUMENTS}}}\n</tool_call>'
AS_OBJECT = AS_WRITTEN.replace(ARGUMENTS, '{"city": "Bonn", "at": null}')


def check(step: Step, texts: list[str], *, tokenizer: Any) -> None:
    """Exactly these texts were trained, token for token, and the loss came from them alone."""
    assert step.texts == sorted(texts)
    assert step.tokens == sum(len(tokenizer.encode(text)) for text in texts)
    assert step.loss == pytest.approx(step.loss_again, abs=1e-4)


def as_messages(row: Any) -> Any:
    """Name ShareGPT's speakers as templates do; TRL's own function renames the keys."""
    roles = {"human": "user", "gpt": "assistant"}
    for turn in row["conversations"]:
        turn["from"] = roles.get(turn["from"], turn["from"])
    return maybe_convert_to_chatml(row)


@pytest.mark.req("G6")
@pytest.mark.parametrize("file", FILES)
def test_openai_with_weights(
    file: str, load: Callable[..., Any], tokenizer: Any, tmp_path: Path
) -> None:
    dataset = load("openai", file)

    step = sft_step(dataset, tokenizer, folder=tmp_path, assistant_only_loss=True)

    trained = [f"Grey.{END}", f"Blue.{END}Red.{END}", f"{AS_WRITTEN}{END}Cool.{END}"]
    check(step, trained, tokenizer=tokenizer)


@pytest.mark.req("G6")
@pytest.mark.parametrize("file", FILES)
def test_sharegpt(file: str, load: Callable[..., Any], tokenizer: Any, tmp_path: Path) -> None:
    dataset = load("sharegpt", file).map(as_messages, remove_columns="conversations")

    step = sft_step(dataset, tokenizer, folder=tmp_path, assistant_only_loss=True)

    thought = "<think>\nNot warm.\n</think>\n"
    trained = [f"Grey.{END}", f"Blue.{END}Red.{END}", f"{AS_WRITTEN}{END}{thought}Cool.{END}"]
    check(step, trained, tokenizer=tokenizer)


@pytest.mark.req("G6")
@pytest.mark.parametrize("file", FILES)
def test_trl_messages_and_tools(
    file: str, load: Callable[..., Any], tokenizer: Any, tmp_path: Path
) -> None:
    dataset = load("trl-messages", file)

    step = sft_step(dataset, tokenizer, folder=tmp_path, assistant_only_loss=True)

    trained = [f"Blue.{END}Red.{END}", f"{AS_OBJECT}{END}Cool.{END}"]
    check(step, trained, tokenizer=tokenizer)


@pytest.mark.req("G6")
@pytest.mark.parametrize("file", FILES)
def test_trl_prompt_and_completion(
    file: str, load: Callable[..., Any], tokenizer: Any, tmp_path: Path
) -> None:
    dataset = load("trl-prompt-completion", file)

    step = sft_step(dataset, tokenizer, folder=tmp_path)

    answers = ["Grey.", "Red.", "Blue.", "Cool.", AS_OBJECT]
    check(step, [f"{answer}{END}\n" for answer in answers], tokenizer=tokenizer)


@pytest.mark.req("G6")
@pytest.mark.parametrize("file", FILES)
def test_trl_preference_pairs(
    file: str, load: Callable[..., Any], tokenizer: Any, tmp_path: Path
) -> None:
    dataset = load("trl-preference", file)

    compared = dpo_step(dataset, tokenizer, folder=tmp_path)

    assert [answer for _, answer in compared] == [
        f"{answer}{END}\n" for answer in ("Green.", "Mild.", "Blue.", "Cool.")
    ]
    prompts = [prompt for prompt, _ in compared]
    colours = f"<|im_start|>system\nBe brief.{END}\n<|im_start|>user\nName a colour.{END}\n"
    assert prompts[0] == prompts[2] == f"{colours}<|im_start|>assistant\n"
    assert prompts[1] == prompts[3]
    assert AS_OBJECT in prompts[1]
    assert prompts[1].endswith(f"12 degrees{END}\n<|im_start|>assistant\n")


@pytest.mark.req("G6")
@pytest.mark.parametrize("file", FILES)
def test_tokens_and_labels_are_taken_as_they_are(
    file: str, load: Callable[..., Any], tokenizer: Any, tmp_path: Path
) -> None:
    rows = rows_of("tokens", tokenizer)
    assert all(IGNORED in row["labels"] for row in rows)

    step = sft_step(load("tokens", file), tokenizer, folder=tmp_path)

    assert sorted(step.rows) == sorted((row["input_ids"], row["labels"]) for row in rows)
    trained = [f"Grey.{END}\n", f"Blue.{END}\nRed.{END}\n", f"{AS_OBJECT}{END}\nCool.{END}\n"]
    check(step, trained, tokenizer=tokenizer)


@pytest.mark.req("G6")
def test_a_tokenizer_from_the_weights_of_a_model_makes_token_rows() -> None:
    tokenizer, report = load_tokenizer(weights()), Report()

    (row, *_) = export_rows(
        [colours()],
        "tokens",
        may_train=lambda _: True,
        salt=bytes(16),
        report=report,
        tokenizer=tokenizer,
    )

    answer = [label for label in row["labels"] if label != IGNORED]
    assert read_tokenizer().decode(answer) == f"Grey.{END}\n"
    assert (verify_row(row, tokenizer=tokenizer), report.refused) == (None, {})


@pytest.mark.req("G6")
@pytest.mark.parametrize("format_name", ["openai", "trl-messages", "trl-prompt-completion"])
@pytest.mark.parametrize("file", FILES)
def test_a_row_without_tools_is_shown_none_beside_one_that_has_some(
    format_name: FormatName, file: str, load: Callable[..., Any], tokenizer: Any, tmp_path: Path
) -> None:
    marks = format_name != "trl-prompt-completion"

    step = sft_step(load(format_name, file), tokenizer, folder=tmp_path, assistant_only_loss=marks)

    # The template writes a list of tools for whatever is given as one, an empty list too.
    shown = [tokenizer.decode(ids) for ids, _ in step.rows]
    beginnings = {text.partition("weather")[0].partition("Be brief")[0] for text in shown}
    told = '<|im_start|>system\n[{"type": "function", "function": {"name": "'
    assert beginnings == {told, "<|im_start|>system\n"}
