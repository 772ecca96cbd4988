"""One step of a real trainer on a tiny model, and what of it reached the model.

What is recorded are the batches that the trainer computes its loss from, and the loss that it
reports is computed again from them: labels that were ignored on the way would show there.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

# Any, everywhere here: torch and the trainers are not installed where types are checked.
IGNORED = -100


@dataclass(frozen=True)
class Step:
    """What was trained, row by row, and the loss as reported and as computed from the labels."""

    rows: list[tuple[list[int], list[int]]]
    texts: list[str]
    tokens: int
    loss: float
    loss_again: float


def sft_step(dataset: Any, tokenizer: Any, *, folder: Path, **settings: Any) -> Step:
    """Train on the whole dataset in one batch."""
    batches = []

    class Watched(SFTTrainer):  # type: ignore[misc] # it has no types here
        def compute_loss(self, model: Any, inputs: Any, *args: Any, **more: Any) -> Any:
            batches.append({name: tensor.clone() for name, tensor in inputs.items()})
            return super().compute_loss(model, inputs, *args, **more)

    trainer = Watched(
        tiny_model(len(tokenizer)),
        args=SFTConfig(**_common(dataset, folder), **settings),
        train_dataset=dataset,
        processing_class=tokenizer,
    )
    trainer.train()
    (batch,) = batches
    rows = [
        (ids[shown == 1].tolist(), labels[shown == 1].tolist())
        for ids, labels, shown in _rows(batch, "input_ids", "labels", "attention_mask")
    ]
    trained = [[label for label in labels if label != IGNORED] for _, labels in rows]
    return Step(
        rows=rows,
        texts=sorted(map(tokenizer.decode, trained)),
        tokens=int((batch["labels"] != IGNORED).sum()),
        loss=trainer.state.log_history[0]["loss"],
        loss_again=_loss_of(tiny_model(len(tokenizer)), batch),
    )


def dpo_step(dataset: Any, tokenizer: Any, *, folder: Path) -> list[tuple[str, str]]:
    """Compare every pair of the dataset in one batch; return each prompt with what was compared."""
    batches = []

    class Watched(DPOTrainer):  # type: ignore[misc] # it has no types here
        def compute_loss(self, model: Any, inputs: Any, *args: Any, **more: Any) -> Any:
            batches.append({name: tensor.clone() for name, tensor in inputs.items()})
            return super().compute_loss(model, inputs, *args, **more)

    trainer = Watched(
        tiny_model(len(tokenizer)),
        ref_model=tiny_model(len(tokenizer)),
        args=DPOConfig(**_common(dataset, folder)),
        train_dataset=dataset,
        processing_class=tokenizer,
    )
    trainer.train()
    (batch,) = batches
    return [
        (
            tokenizer.decode(ids[(shown == 1) & (compared == 0)]),
            tokenizer.decode(ids[compared == 1]),
        )
        for ids, shown, compared in _rows(batch, "input_ids", "attention_mask", "completion_mask")
    ]


def tiny_model(words: int) -> Any:
    """Make the same model every time, of random weights."""
    torch.manual_seed(7)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=words,
            hidden_size=8,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=1024,
            tie_word_embeddings=True,
        )
    )


def _rows(batch: Any, *names: str) -> Any:
    return zip(*(batch[name] for name in names), strict=True)


def _loss_of(model: Any, batch: Any) -> float:
    """Compute the mean loss over the tokens that have a label."""
    with torch.no_grad():
        scores = model(batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    labels = batch["labels"][:, 1:].flatten()
    return float(torch.nn.functional.cross_entropy(scores[:, :-1].flatten(0, 1), labels))


def _common(dataset: Any, folder: Path) -> dict[str, Any]:
    """One step, on the processor, in full precision, of which nothing is saved."""
    return {
        "output_dir": str(folder),
        "per_device_train_batch_size": len(dataset),
        "max_steps": 1,
        "max_length": None,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "disable_tqdm": True,
    }
