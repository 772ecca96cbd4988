"""Token rows: a sheet as `input_ids` and `labels`, with loss on the sampled tokens only.

An answer is located by encoding the conversation up to it: a template that rewrites earlier
messages is detected, and the row is refused.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from hermes.graph.exports.report import UnfitRow
from hermes.graph.exports.sheet import Body, Line, TrainingSheet

IGNORED = -100


class Tokenizer(Protocol):
    """Turns chat messages into tokens, as a tokenizer with a chat template does."""

    @property
    def template(self) -> str:
        """The chat template as text; its hash goes into the certificates."""

    def encode(
        self, messages: Sequence[Line], tools: list[Any] | None, *, open_answer: bool
    ) -> Sequence[int]:
        """Return the tokens; with `open_answer` they end where an answer would begin."""


def token_body(sheet: TrainingSheet, groups: list[list[Line]], tokenizer: Tokenizer) -> Body:
    """Return the tokens of a sheet, or raise UnfitRow if its answers cannot be located in them."""
    lines = [line for group in groups for line in group]
    ids = list(tokenizer.encode(lines, sheet.tools, open_answer=False))
    labels = [IGNORED] * len(ids)
    for index in sheet.trained:
        before = sum(map(len, groups[:index]))
        opening = tokenizer.encode(lines[:before], sheet.tools, open_answer=True)
        whole = tokenizer.encode(lines[: before + 1], sheet.tools, open_answer=False)
        start, stop = len(opening), len(whole)
        if ids[:start] != list(opening) or ids[:stop] != list(whole) or start >= stop:
            raise UnfitRow(
                "tokens",
                f"The template renders answer {index}, or what comes before it, differently in "
                "the complete conversation, so its tokens are not those that a model saw.",
            )
        stop = _sampled_stop(sheet, index, ids[start:stop]) + start
        labels[start:stop] = ids[start:stop]
    return {"input_ids": ids, "labels": labels}


def why_unsound(body: Body) -> str | None:
    """Return what is wrong with the shape of a token row, or None."""
    ids, labels = body.get("input_ids"), body.get("labels")
    if not isinstance(ids, list) or not isinstance(labels, list) or len(ids) != len(labels):
        return "input_ids and labels are not two lists of the same length"
    if any(label not in {IGNORED, token} for token, label in zip(ids, labels, strict=True)):
        return f"one label is neither its token nor {IGNORED}"
    return None if any(label != IGNORED for label in labels) else "no token is trained"


def _sampled_stop(sheet: TrainingSheet, index: int, found: list[int]) -> int:
    sampled = sheet.token_ids.get(index)
    if not sampled:
        return len(found)
    if found[: len(sampled)] != list(sampled):
        raise UnfitRow(
            "tokens",
            f"The tokens of answer {index} are not the {len(sampled)} that were sampled: the "
            "tokenizer or template differs from the model's.",
        )
    return len(sampled)
