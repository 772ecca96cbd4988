"""How well an embedder finds the facts that a message is about, in a small labelled set, and what one
message costs it.
"""

import statistics
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time

import msgspec

from hermes.config import MemorySettings
from hermes.memory.fact_vectors import TextEmbedder
from hermes.ports.vectors import Page, VectorEntry, nearest

_SET = Path(__file__).with_name("recall_set.toml")
_FOUND = MemorySettings().recall_facts
_FEW = 3


class RecallSet(msgspec.Struct, frozen=True):
    """Facts by their id, and for each kind of message the ids of the facts that it is about.

    By `queries` the embedders and their limits were chosen; by `held_out` nothing was.
    """

    facts: dict[str, str]
    queries: dict[str, dict[str, list[str]]]
    held_out: dict[str, list[str]]

    @property
    def messages(self) -> dict[str, list[str]]:
        """The messages of every kind."""
        return {text: ids for kind in self.queries.values() for text, ids in kind.items()}


class Score(msgspec.Struct, frozen=True):
    """The share of the expected facts among the ten and the three nearest, and the mean of one
    divided by the rank of the first; facts below the embedder's least likeness are not found.
    """

    at_10: float
    at_3: float
    mrr: float


def read_set() -> RecallSet:
    """Return the labelled set."""
    return msgspec.convert(tomllib.loads(_SET.read_text("utf-8")), RecallSet)


async def index_of(embed: TextEmbedder, labelled: RecallSet) -> bytes:
    """Return the page of all facts, as a store keeps it."""
    vectors = await embed(tuple(labelled.facts.values()))
    entries = [VectorEntry(name, one) for name, one in zip(labelled.facts, vectors, strict=True)]
    return Page.of(entries, embed.model).pack()


async def ranks_of(
    embed: TextEmbedder, labelled: RecallSet, messages: Mapping[str, list[str]]
) -> list[tuple[list[str], list[str]]]:
    """Return for each of some messages the ids that are found, nearest first, and those expected."""
    page = await index_of(embed, labelled)
    ranks = []
    for text, expected in messages.items():
        (query,) = await embed((text,))
        found = nearest(query, [page], k=_FOUND, model=embed.model)
        ranks.append(([name for name, score in found if score >= embed.least], expected))
    return ranks


def score(ranks: Sequence[tuple[list[str], list[str]]]) -> Score:
    """Return how much of what was expected was found."""
    return Score(
        at_10=statistics.fmean(_share(found[:_FOUND], expected) for found, expected in ranks),
        at_3=statistics.fmean(_share(found[:_FEW], expected) for found, expected in ranks),
        mrr=statistics.fmean(_reciprocal(found, expected) for found, expected in ranks),
    )


async def cpu_ms_each(embed: TextEmbedder, labelled: RecallSet) -> float:
    """Return the CPU of embedding one message, one after another, by an embedder in use."""
    began = process_time()
    for text in labelled.messages:
        await embed((text,))
    return (process_time() - began) * 1000 / len(labelled.messages)


def _share(found: Sequence[str], expected: Sequence[str]) -> float:
    return len(set(found).intersection(expected)) / len(expected)


def _reciprocal(found: Sequence[str], expected: Sequence[str]) -> float:
    return next((1 / rank for rank, name in enumerate(found, start=1) if name in expected), 0.0)
