"""Recall: how well each embedder finds what a message is about and what that costs, and how long it
takes to find the ten nearest of one person's many facts among everybody's, in a real database file,
in this process.
"""

import asyncio
import statistics
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack

from bench.calm import Rounds, cpu_numbers, ratio_number
from bench.recall_scores import RecallSet, cpu_ms_each, ranks_of, read_set, score
from bench.recall_store import (
    DIMENSIONS,
    OneVector,
    Taken,
    fill,
    fresh_store,
    look,
    question_vector,
    recall_of,
)
from bench.registry import Group, Say, Settings, Target
from hermes.app.make_memory import LocalTextEmbedder
from hermes.config import MemorySettings
from hermes.memory.fact_vectors import TextEmbedder
from hermes.memory.recall import Recall
from hermes.providers.minilm.provider import MiniLmEmbedder
from hermes.providers.minilm.settings import MiniLmSettings
from hermes.providers.wordllama.embedder import WordLlamaEmbedder

PEOPLE, FACTS_EACH = 100, 10_000
_FOUND = MemorySettings().recall_facts
_WHOLE = 20
_SCORE_ROUNDS = 5


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    with asyncio.Runner() as runner:
        yield measure_embedders(runner, say)
        yield measure_people(runner, PEOPLE, facts_each=FACTS_EACH, say=say)


def measure_embedders(runner: asyncio.Runner, say: Say) -> dict[str, float]:
    """Score the built-in embedders by the labelled set, each with what a message costs it."""
    small, large = WordLlamaEmbedder(), MiniLmEmbedder(MiniLmSettings())
    labelled = read_set()
    try:
        return {
            **_score(runner, "wordllama", small, labelled=labelled, say=say),
            **_score(
                runner,
                "minilm",
                LocalTextEmbedder(large, large.info),
                labelled=labelled,
                say=say,
            ),
        }
    finally:
        runner.run(small.close())
        runner.run(large.close())


def _score(
    runner: asyncio.Runner, name: str, embed: TextEmbedder, *, labelled: RecallSet, say: Say
) -> dict[str, float]:
    say(f"{len(labelled.messages)} messages about {len(labelled.facts)} facts by {name}")
    found = score(runner.run(ranks_of(embed, labelled, labelled.messages)))
    unseen = score(runner.run(ranks_of(embed, labelled, labelled.held_out)))
    cost: Rounds[float] = Rounds()
    for _ in range(_SCORE_ROUNDS):
        cost.run(lambda: runner.run(cpu_ms_each(embed, labelled)))
    return {
        f"recall_at_10_{name}": found.at_10,
        f"recall_at_3_{name}": found.at_3,
        f"recall_mrr_{name}": found.mrr,
        f"recall_at_10_held_out_{name}": unseen.at_10,
        f"recall_at_3_held_out_{name}": unseen.at_3,
        f"recall_mrr_held_out_{name}": unseen.mrr,
        **cpu_numbers(f"embed_cpu_ms_{name}", cost),
    }


def measure_people(
    runner: asyncio.Runner, people: int, *, facts_each: int, say: Say
) -> dict[str, float]:
    """Fill a store, then recall once for everybody, so that nothing was read before.

    The loop runs within each round only, because the fixed piece between two rounds has its own.
    """
    stack = AsyncExitStack()
    try:
        model = MiniLmEmbedder(MiniLmSettings())
        stack.push_async_callback(model.close)
        embedder = LocalTextEmbedder(model, model.info)
        near = runner.run(question_vector(embedder))
        store = runner.run(stack.enter_async_context(fresh_store()))
        known = runner.run(fill(store, people, facts_each=facts_each, near=near, say=say))
        say(f"one recall for each of {people} people")
        found = _look_all(runner, recall_of(store, OneVector(near)), known)
        say("the same with the question embedded by the real model")
        whole = _look_all(runner, recall_of(store, embedder), known[:_WHOLE])
    finally:
        runner.run(stack.aclose())
    return _numbers(found, whole)


def _look_all(runner: asyncio.Runner, recall: Recall, people: Sequence[str]) -> Rounds[Taken]:
    rounds: Rounds[Taken] = Rounds()
    for one in people:
        rounds.run(lambda one=one: runner.run(look(recall, one, expected=_FOUND)))  # type: ignore[misc]
    return rounds


def _numbers(found: Rounds[Taken], whole: Rounds[Taken]) -> dict[str, float]:
    times = sorted(one.wall_ms for one in found.all)
    return {
        "recall_10_of_10k_among_1m_ms": statistics.median(times),
        "recall_10_of_10k_among_1m_p99_ms": times[min(len(times) - 1, len(times) * 99 // 100)],
        **_cpu("recall_10_of_10k_among_1m_cpu_ms", found),
        "recall_with_embedding_ms": statistics.median(one.wall_ms for one in whole.all),
        **_cpu("recall_with_embedding_cpu_ms", whole),
    }


def _cpu(figure: str, rounds: Rounds[Taken]) -> dict[str, float]:
    cpu = rounds.read(lambda one: one.cpu_ms)
    return {figure: statistics.median(cpu.all), **ratio_number(figure, cpu)}


def effective_settings() -> Settings:
    """Return what the numbers were measured with."""
    return {
        "facts": f"{FACTS_EACH:,} of each of {PEOPLE} people, sealed as shipped, in one SQLite file",
        "vectors": f"{DIMENSIONS} numbers each, random, in sealed pages",
        "one recall": "pages read, opened and compared, the nearest facts read and opened; each "
        "person once, so that no cache of ours has seen them",
        "with embedding": f"the same and the question embedded by all-MiniLM-L6-v2, {_WHOLE} times",
        "scores": "bench/recall_set.toml: messages with the facts that each is about; what lies "
        "below an embedder's least likeness is not found",
    }


GROUP = Group(
    name="recall",
    about="the ten nearest of a person's 10,000 facts among 1,000,000 of everybody",
    targets={
        "recall_10_of_10k_among_1m_ms": Target(at_most=30),
        "recall_at_10_minilm": Target(at_least=0.85),
    },
    settings=effective_settings,
    run=measure,
    library_figures=("",),
    has_gateway_cpu=False,
)
