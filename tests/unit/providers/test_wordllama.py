"""The embedder of recall: a text is the mean of its words, and short ones never wait for a thread."""

import asyncio
import math
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from bench.recall_scores import ranks_of, read_set, score
from hermes.errors import ProviderUnavailable
from hermes.provider_kit.weights import Weights
from hermes.providers.wordllama.embedder import WordLlamaEmbedder
from hermes.providers.wordllama.model import is_installed

pytestmark = pytest.mark.skipif(not is_installed(), reason="no package for this machine")
# What is loaded by a gateway that has the embedder and has recalled nothing yet.
UNUSED = """
import sys
import hermes.providers.wordllama.embedder
hermes.providers.wordllama.embedder.WordLlamaEmbedder()
print(sorted({"numpy", "tokenizers", "threadpoolctl", "wordllama"} & set(sys.modules)))
"""


class ThreadNames:
    """A model that notes on which thread it was asked."""

    def __init__(self) -> None:
        self.threads: list[str] = []

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        self.threads.append(threading.current_thread().name.split("_")[0])
        return [[float(len(text))] for text in texts]


@pytest.fixture
async def embed() -> AsyncIterator[WordLlamaEmbedder]:
    made = WordLlamaEmbedder()
    yield made
    await made.close()


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    length = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / length


@pytest.mark.req("A12")
async def test_what_means_the_same_is_nearer_than_what_does_not(embed: WordLlamaEmbedder) -> None:
    asked, food, car = await embed(
        ("What can I eat?", "food: allergic to peanuts", "car: drives a red car")
    )

    assert cosine(asked, food) > cosine(asked, car) + 0.1


@pytest.mark.req("A12")
async def test_a_text_is_the_mean_of_its_words_without_marks_at_its_ends(
    embed: WordLlamaEmbedder,
) -> None:
    tea, twice = await embed(("tea", "tea tea"))

    assert cosine(tea, twice) == pytest.approx(1, abs=1e-4)


@pytest.mark.req("A12")
async def test_whatever_a_text_is_its_vector_can_be_compared(embed: WordLlamaEmbedder) -> None:
    made = await embed(("", "\ud800 half a character", "\0", "🦙" * 30_000))

    assert [len(vector) for vector in made] == [256] * 4
    assert all(0 < math.hypot(*vector) < math.inf for vector in made)
    assert await embed(()) == []


@pytest.mark.req("A12")
async def test_it_finds_the_facts_of_the_labelled_set(embed: WordLlamaEmbedder) -> None:
    labelled = read_set()
    found = score(await ranks_of(embed, labelled, labelled.messages))

    assert found.at_10 > 0.8
    assert found.at_3 > 0.65


@pytest.mark.req("A12")
async def test_short_texts_are_embedded_at_once_and_long_ones_on_a_thread() -> None:
    model = ThreadNames()
    embed = WordLlamaEmbedder(load=lambda: model)

    first = await embed(("tea",))
    short = await embed(("x" * 1_000,))
    long = await embed(("x" * 1_000, "y" * 1_000))

    assert (first, short, long) == ([[3.0]], [[1_000.0]], [[1_000.0], [1_000.0]])
    assert model.threads == ["wordllama", "MainThread", "wordllama"]
    await embed.close()


@pytest.mark.req("A12")
def test_nothing_heavy_is_imported_before_the_first_text() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNUSED], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.req("A12")
async def test_two_first_texts_load_it_once() -> None:
    loads: list[ThreadNames] = []

    def load() -> ThreadNames:
        loads.append(ThreadNames())
        return loads[-1]

    embed = WordLlamaEmbedder(load=load)
    await asyncio.gather(embed(("tea",)), embed(("coffee",)))

    assert len(loads) == 1
    await embed.close()


@pytest.mark.req("A12")
async def test_a_table_that_cannot_be_read_is_named_and_tried_again() -> None:
    problems = [ProviderUnavailable("damaged: install wordllama again")]

    def load() -> ThreadNames:
        if problems:
            raise problems.pop()
        return ThreadNames()

    embed = WordLlamaEmbedder(load=load)
    with pytest.raises(ProviderUnavailable, match="install wordllama again"):
        await embed(("tea",))

    assert await embed(("tea",)) == [[3.0]]
    await embed.close()


def test_a_damaged_table_names_its_package(tmp_path: Path) -> None:
    path = tmp_path / "table.safetensors"
    path.write_bytes(b"no weights at all, but long enough")

    with pytest.raises(ProviderUnavailable, match="install wordllama again"):
        Weights.open(path, package="wordllama")


@pytest.mark.req("A12")
async def test_after_its_end_it_says_so() -> None:
    embed = WordLlamaEmbedder()
    await embed.close()
    await embed.close()

    with pytest.raises(ProviderUnavailable, match="stopping"):
        await embed(("tea",))
