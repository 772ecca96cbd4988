"""Exports as the tests take them: with consent and a salt, as a list, with the report."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hermes.errors import PersonErased
from hermes.graph import MemoryStorage, MessageGraph
from hermes.graph.exports import FormatName, Report, Row, Tokenizer, export_rows

SALT = b"a salt of 16 bytes or more"
ALL_BUT_TOKENS: tuple[FormatName, ...] = (
    "openai", "sharegpt", "trl-messages", "trl-prompt-completion", "trl-preference",
)  # fmt: skip


class Letters:
    """A tokenizer with a token for each letter, and a template that is easy to read."""

    template = "<role>content tools</role>"

    def encode(
        self, messages: Sequence[Row], tools: list[Any] | None, *, open_answer: bool
    ) -> list[int]:
        told = f"[{len(tools)} tools]" if tools else ""
        told += "".join(f"<{one['role']}>{_said(one)}</>" for one in messages)
        return [ord(letter) for letter in told + "<assistant>" * open_answer]


class Forgetful(Letters):
    """A template that shows earlier answers without what they say, as some do with thoughts."""

    def encode(
        self, messages: Sequence[Row], tools: list[Any] | None, *, open_answer: bool
    ) -> list[int]:
        last = len(messages) - 1
        shown = [
            one
            if one["role"] != "assistant" or (at == last and not open_answer)
            else one | {"content": "."}
            for at, one in enumerate(messages)
        ]
        return super().encode(shown, tools, open_answer=open_answer)


class Spoiled(MemoryStorage):
    """A storage in which one message was erased, lost or changed."""

    def __init__(self, spoiled: bytes, found: bytes | None, *, erased: bool = False) -> None:
        super().__init__()
        self.spoiled, self.found, self.erased = spoiled, found, erased

    def get_blobs(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        kept = dict(super().get_blobs(ids))
        for name in [name for name, data in kept.items() if data == self.spoiled]:
            if self.erased:
                raise PersonErased("The person was erased.")
            if self.found is None:
                del kept[name]
            else:
                kept[name] = self.found
        return kept


class Holed(MemoryStorage):
    """A storage that lost a chunk."""

    lost: bytes | None = None

    def get_chunks(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        return {name: data for name, data in super().get_chunks(ids).items() if name != self.lost}


def _said(line: Row) -> str:
    called = [call["function"]["arguments"] for call in line.get("tool_calls", ())]
    return f"{line.get('content', '')}{''.join(map(json.dumps, called))}"


def spelled(tokens: Iterable[int]) -> str:
    return "".join(chr(token) if token >= 0 else "." for token in tokens)


def take(
    graphs: MessageGraph | Iterable[MessageGraph],
    format_name: FormatName = "openai",
    *,
    tokenizer: Tokenizer | None = None,
    template: str | None = None,
) -> tuple[list[Row], Report]:
    report = Report()
    given = [graphs] if isinstance(graphs, MessageGraph) else graphs
    rows = export_rows(
        given, format_name, may_train=lambda _: True, salt=SALT, report=report,
        tokenizer=tokenizer, template=template,
    )  # fmt: skip
    return list(rows), report


def weights(row: Row) -> list[tuple[str, int]]:
    """The answers of a row with their weights."""
    return [
        (line.get("content", ""), line["weight"]) for line in row["messages"] if "weight" in line
    ]
