"""Recall: how long it takes to find the ten nearest of one person's many facts among everybody's, in
a real database file, in this process.
"""

import asyncio
import statistics
from collections.abc import Iterator

from bench.recall_store import (
    DIMENSIONS,
    OneVector,
    RealVector,
    Taken,
    fill,
    fresh_store,
    look,
    question_vector,
    real_embedder,
    recall_of,
)
from bench.registry import Group, Say, Settings, Target
from hermes.config import MemorySettings

PEOPLE, FACTS_EACH = 100, 10_000
_FOUND = MemorySettings().recall_facts
_WHOLE = 20


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    yield asyncio.run(measure_people(PEOPLE, facts_each=FACTS_EACH, say=say))


async def measure_people(people: int, *, facts_each: int, say: Say) -> dict[str, float]:
    """Fill a store, then recall once for everybody, so that nothing was read before."""
    embedder = real_embedder()
    try:
        near = await question_vector(embedder)
        async with fresh_store() as store:
            known = await fill(store, people, facts_each=facts_each, near=near, say=say)
            say(f"one recall for each of {people} people")
            alone = recall_of(store, OneVector(near))
            found = [await look(alone, one, expected=_FOUND) for one in known]
            say("the same with the question embedded by the real model")
            real = recall_of(store, RealVector(embedder))
            whole = [await look(real, one, expected=_FOUND) for one in known[:_WHOLE]]
    finally:
        await embedder.close()
    return _numbers(found, whole)


def _numbers(found: list[Taken], whole: list[Taken]) -> dict[str, float]:
    times = sorted(one.wall_ms for one in found)
    return {
        "recall_10_of_10k_among_1m_ms": statistics.median(times),
        "recall_10_of_10k_among_1m_p99_ms": times[min(len(times) - 1, len(times) * 99 // 100)],
        "recall_10_of_10k_among_1m_cpu_ms": statistics.median(one.cpu_ms for one in found),
        "recall_with_embedding_ms": statistics.median(one.wall_ms for one in whole),
        "recall_with_embedding_cpu_ms": statistics.median(one.cpu_ms for one in whole),
    }


def effective_settings() -> Settings:
    """Return what the numbers were measured with."""
    return {
        "facts": f"{FACTS_EACH:,} of each of {PEOPLE} people, sealed as shipped, in one SQLite file",
        "vectors": f"{DIMENSIONS} numbers each, random, in sealed pages",
        "one recall": "pages read, opened and compared, the nearest facts read and opened; each "
        "person once, so that no cache of ours has seen them",
        "with embedding": f"the same and the question embedded by all-MiniLM-L6-v2, {_WHOLE} times",
    }


GROUP = Group(
    name="recall",
    about="the ten nearest of a person's 10,000 facts among 1,000,000 of everybody",
    targets={"recall_10_of_10k_among_1m_ms": Target(at_most=30)},
    settings=effective_settings,
    run=measure,
)
