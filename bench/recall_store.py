"""Many people's facts and vectors in a real database file, and one recall after another over it."""

import math
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import cast

import msgspec
import numpy as np

from bench.known_people import sentence
from bench.registry import Say
from hermes.app.make_memory import LocalTextEmbedder
from hermes.config import MemorySettings
from hermes.memory.fact_vectors import TextEmbedder
from hermes.memory.recall import Recall
from hermes.message.ids import make_id
from hermes.message.trivial import is_trivial
from hermes.ports.clock import SystemClock
from hermes.ports.keys import CallerKey
from hermes.ports.memory import Decide, Fact, FactChange
from hermes.ports.store import Store
from hermes.ports.vectors import Page, VectorEntry
from hermes.providers.minilm.settings import MODEL_NAME
from tests.stores.engine import Options
from tests.stores.opening import open_store

DIMENSIONS = 384
NAME = f"minilm:{MODEL_NAME}"
QUESTION = "What should I wear when I walk the dog in the rain this evening?"
_TOLD_EVERY = 10
_NEARNESS = 0.2


class Taken(msgspec.Struct, frozen=True):
    """What one recall took, as time passed and as the processor counts."""

    wall_ms: float
    cpu_ms: float


class OneVector:
    """Fits `TextEmbedder`: the question's vector, made before, so that only the search counts."""

    model = NAME
    least = LocalTextEmbedder.least

    def __init__(self, vector: Sequence[float]) -> None:
        self._vector = vector

    async def __call__(self, texts: tuple[str, ...]) -> Sequence[Sequence[float]]:
        """Return the vector for each text."""
        return [self._vector for _ in texts]


@asynccontextmanager
async def fresh_store() -> AsyncIterator[Store]:
    """Open a store as a gateway does; its file is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        options = Options(synchronous="FULL")
        store = await open_store(Path(folder), clock=SystemClock(), options=options)
        try:
            yield store
        finally:
            await store.close()


async def fill(
    store: Store, people: int, *, facts_each: int, near: Sequence[float], say: Say
) -> list[str]:
    """Make people of whom much is known; returns their ids."""
    chance = np.random.default_rng(1)
    made: list[str] = []
    for number in range(people):
        if number % _TOLD_EVERY == 0:
            say(f"{number * facts_each:,} of {people * facts_each:,} facts")
        made.append(await _person(store, number))
        put = tuple(_fact(made[-1], place) for place in range(facts_each))
        await store.facts.change(made[-1], _deciding(FactChange(put=put)))
        page = _page([one.id for one in put], near=near, chance=chance)
        await store.vectors.keep(made[-1], page, facts=put)
    return made


def _deciding(change: FactChange) -> Decide:
    return lambda _: change


async def _person(store: Store, number: int) -> str:
    user = f"person-{number}"
    key = CallerKey(id=f"k_{user}", label="", user=user, person_id="", hint="", created_at=1.0)
    return (await store.keys.add(key, digest=os.urandom(32), user=user)).person_id


def _fact(person_id: str, number: int) -> Fact:
    return Fact(
        id=make_id("f"),
        person_id=person_id,
        key=f"note {number}",
        value=sentence(number),
        source="m_bench",
        at=float(number),
        updated_at=float(number),
    )


def _page(ids: Sequence[str], *, near: Sequence[float], chance: np.random.Generator) -> Page:
    """Return vectors that all point a little where the question does, and else anywhere."""
    rows = chance.normal(size=(len(ids), DIMENSIONS)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows += np.float32(_NEARNESS) * np.asarray(near, np.float32)
    # cast: a row of numpy is a sequence of numbers, though its type does not say so.
    entries = [
        VectorEntry(name, cast("Sequence[float]", row)) for name, row in zip(ids, rows, strict=True)
    ]
    return Page.of(entries, f"{NAME}/{DIMENSIONS}")


def recall_of(store: Store, embed: TextEmbedder) -> Recall:
    """Return the recall of a gateway over this store."""
    return Recall(
        store.facts,
        store.vectors,
        settings=MemorySettings(recall_timeout_s=60),
        embed=embed,
        is_trivial=is_trivial,
    )


async def look(recall: Recall, person_id: str, *, expected: int) -> Taken:
    """Recall once; raises `RuntimeError` when not as much was found as is known."""
    wall, cpu = perf_counter(), process_time()
    found = await recall.of(person_id, QUESTION)
    taken = Taken((perf_counter() - wall) * 1000, (process_time() - cpu) * 1000)
    if len(found.ids) != expected:
        raise RuntimeError(f"{len(found.ids)} facts were recalled ({found.why}), not {expected}")
    return taken


async def question_vector(embed: TextEmbedder) -> Sequence[float]:
    """Return where the question points, as one step long; loads the model."""
    (vector,) = await embed((QUESTION,))
    length = math.hypot(*vector)
    return [one / length for one in vector]
