"""A12: which facts a message is about; and that looking for them never stops a turn."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from hermes.config import MemorySettings
from hermes.errors import ProviderUnavailable
from hermes.memory.recall import Recall, RecalledFacts, Why
from hermes.message.ids import make_id
from hermes.ports.memory import Fact, FactChange
from hermes.ports.store import Store
from tests.contract.store.people import person
from tests.stores.opening import opened

WORDS = ("dog", "wine", "bali", "rex")


class WordEmbed:
    """A vector is which of a few words a text has; fits `memory.recall.Embed`."""

    model = "words:1"
    least = 0.15

    def __init__(self, problem: Exception | None = None, words: tuple[str, ...] = WORDS) -> None:
        self.texts: list[str] = []
        self._problem = problem
        self._words = words

    async def __call__(self, texts: tuple[str, ...]) -> Sequence[Sequence[float]]:
        self.texts += texts
        if self._problem is not None:
            raise self._problem
        return [[float(word in text.casefold()) for word in self._words] for text in texts]


def recall(store: Store, embed: WordEmbed | None, **settings: object) -> Recall:
    return Recall(
        store.facts,
        store.vectors,
        settings=MemorySettings.model_validate(settings),
        embed=embed,
        is_trivial=lambda text: text == "ok",
    )


async def learn(store: Store, person_id: str, **facts: str) -> None:
    put = tuple(
        Fact(
            id=make_id("f"),
            person_id=person_id,
            key=key,
            value=value,
            source="m_1",
            at=float(number),
            updated_at=1.0,
            is_structural=key == "diet",
        )
        for number, (key, value) in enumerate(facts.items())
    )
    await store.facts.change(person_id, lambda _: FactChange(put=put))


@pytest.mark.req("A12")
async def test_the_facts_that_a_message_is_about_are_found_and_no_structural_one(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        ann, bob = await person(store, "ann"), await person(store, "bob")
        await learn(store, ann, dog="a dog called Rex", drink="red wine", diet="vegan, no dog")
        await learn(store, bob, dog="the dog of bob")
        embed = WordEmbed()
        looking = recall(store, embed)

        first = await looking.of(ann, "how is my dog Rex?")
        again = await looking.of(ann, "which wine?")
        fresh = await recall(store, embed).of(ann, "wine, dog, wine")

        dog, drink, _ = await store.facts.of(ann)
        assert first == RecalledFacts(("- dog: a dog called Rex",), ids=(dog.id,))
        assert again == RecalledFacts(("- drink: red wine",), ids=(drink.id,))
        assert set(fresh.lines) == {"- dog: a dog called Rex", "- drink: red wine"}
        # Each fact was embedded once, whoever looked.
        assert sorted(text for text in embed.texts if ": " in text) == [
            "dog: a dog called Rex",
            "drink: red wine",
        ]
        assert looking.counts == {"semantic_recall_used": 2}


@pytest.mark.req("A12")
async def test_trivial_messages_and_people_of_whom_nothing_is_known_cost_nothing(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        ann, bob = await person(store, "ann"), await person(store, "bob")
        await learn(store, ann, dog="a dog called Rex")
        await learn(store, bob, diet="vegan")
        embed = WordEmbed()
        looking = recall(store, embed)

        assert (await looking.of(ann, "ok")).why == "trivial"
        assert (await looking.of(bob, "my dog")).why == "no_facts"
        assert embed.texts == []
        assert looking.counts == {"semantic_recall_skipped_trivial": 1}


@pytest.mark.req("A12")
async def test_a_fact_that_changed_is_found_by_what_it_says_now(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store, "ann")
        await learn(store, ann, pet="a dog")
        looking = recall(store, WordEmbed())
        assert (await looking.of(ann, "dog")).lines == ("- pet: a dog",)
        (fact,) = await store.facts.of(ann)
        changed = msgspec.structs.replace(fact, value="wine")
        await store.facts.change(ann, lambda _: FactChange(put=(changed,)))

        assert (await looking.of(ann, "dog")).lines == ()
        assert (await looking.of(ann, "wine")).lines == ("- pet: wine",)


@pytest.mark.req("A12")
@pytest.mark.parametrize(
    ("settings", "embed", "why"),
    [
        ({"recall": False}, WordEmbed(), "off"),
        ({}, None, "off"),
        ({}, WordEmbed(ProviderUnavailable("away")), "failed"),
        ({}, WordEmbed(TimeoutError()), "failed"),
    ],
)
async def test_without_an_embedder_or_when_it_fails_nothing_is_recalled(
    tmp_path: Path, settings: dict[str, object], embed: WordEmbed | None, why: Why
) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store, "ann")
        await learn(store, ann, dog="a dog")
        looking = recall(store, embed, **settings)

        assert await looking.of(ann, "dog") == RecalledFacts((), why)
        assert (looking.problem is None) == (why == "failed")


class StrictEmbed(WordEmbed):
    """Calls related only what is nearly the same."""

    least = 0.9


@pytest.mark.req("A12")
async def test_the_embedder_says_how_similar_related_texts_are(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store, "ann")
        await learn(store, ann, pet="a dog", drink="wine")

        half = await recall(store, WordEmbed()).of(ann, "dog, wine and bali")
        none = await recall(store, StrictEmbed()).of(ann, "dog, wine and bali")
        same = await recall(store, StrictEmbed()).of(ann, "dog")

        assert len(half.lines) == 2
        assert none.lines == ()
        assert same.lines == ("- pet: a dog",)


class SlowEmbed(WordEmbed):
    """Makes the vectors of facts only when it is allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go = asyncio.Event()

    async def __call__(self, texts: tuple[str, ...]) -> Sequence[Sequence[float]]:
        if ": " in texts[0]:
            await self.may_go.wait()
        return await super().__call__(texts)


@pytest.mark.req("A12")
async def test_vectors_that_take_long_are_made_behind_the_message(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store, "ann")
        await learn(store, ann, dog="a dog called Rex")
        embed = SlowEmbed()
        looking = recall(store, embed, recall_timeout_s=0.02)

        early = await looking.of(ann, "dog")
        embed.may_go.set()
        async with asyncio.timeout(30):
            while await store.vectors.waiting(ann, limit=1):  # noqa: ASYNC110  a task makes it true
                await asyncio.sleep(0)
        late = await recall(store, embed).of(ann, "dog")

        assert early == RecalledFacts()
        assert late.lines == ("- dog: a dog called Rex",)
        assert sum(": " in text for text in embed.texts) == 1


@pytest.mark.req("A12")
async def test_who_asks_twice_at_once_gets_one_vector_for_each_fact(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store, "ann")
        await learn(store, ann, **{f"n{number}": f"dog {number}" for number in range(70)})
        embed = WordEmbed()
        looking = recall(store, embed, recall_facts=100)

        both = await asyncio.gather(looking.of(ann, "dog"), looking.of(ann, "dog"))

        assert [len(one.lines) for one in both] == [70, 70]
        assert sum(": " in text for text in embed.texts) == 70


@pytest.mark.req("A12")
async def test_a_stop_leaves_no_task_and_the_facts_wait(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store, "ann")
        await learn(store, ann, dog="a dog called Rex")
        looking = recall(store, SlowEmbed(), recall_timeout_s=0.02)
        await looking.of(ann, "dog")

        await looking.close()

        assert [task for task in asyncio.all_tasks() if task.get_name().startswith("place-")] == []
        assert len(await store.vectors.waiting(ann, limit=9)) == 1


@pytest.mark.req("A12")
async def test_vectors_of_another_length_are_made_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store, "ann")
        await learn(store, ann, dog="a dog called Rex")
        await recall(store, WordEmbed()).of(ann, "dog")
        await learn(store, ann, drink="red wine")

        shorter = WordEmbed(words=("dog", "wine"))
        found = await recall(store, shorter).of(ann, "wine and a dog")

        assert set(found.lines) == {"- dog: a dog called Rex", "- drink: red wine"}
        assert await store.vectors.pages(ann, "words:1/4") == ()


@pytest.mark.req("A12")
async def test_whatever_an_embedder_does_wrong_the_message_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store, "ann")
        await learn(store, ann, dog="a dog")
        looking = recall(store, WordEmbed(ZeroDivisionError("a fault of its own")))

        assert await looking.of(ann, "dog") == RecalledFacts((), "failed")
        assert looking.counts == {"semantic_recall_failed": 1}
