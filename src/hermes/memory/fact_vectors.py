"""Computes the vectors of facts when a person's facts are first searched, in one task per person.

Results are saved in pieces, so that a task that is cut off loses one piece at most. It knows
neither the store's files nor which model embeds.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import structlog

from hermes.errors import HermesError
from hermes.ports.memory import Fact, VectorStore
from hermes.ports.vectors import Page, VectorEntry

_log = structlog.get_logger(__name__)
_PIECE = 32
Vectors = Sequence[Sequence[float]]


class TextEmbedder(Protocol):
    """Makes vectors of texts, with the model of this name."""

    @property
    def model(self) -> str:
        """The name of the model, under which its vectors are stored."""
        ...

    @property
    def least(self) -> float:
        """How similar two vectors of this model are at least if their texts are related."""
        ...

    async def __call__(self, texts: tuple[str, ...]) -> Vectors:
        """Return a vector for each text."""
        ...


def page_name(embed: TextEmbedder, vector: Sequence[float]) -> str:
    """Return the name under which such vectors are stored; another length is another model."""
    return f"{embed.model}/{len(vector)}"


class FactPlacement:
    """Keeps people's vectors complete."""

    def __init__(self, vectors: VectorStore, embed: TextEmbedder) -> None:
        self._vectors = vectors
        self._embed = embed
        self._tasks: dict[str, asyncio.Task[None]] = {}
        # One piece at a time, in turn: a person with many facts does not delay others.
        self._turn = asyncio.Lock()

    async def catch_up(self, person_id: str, *, model: str, timeout_s: float) -> None:
        """Wait, within a limit, until every fact of a person has its vector; the work goes on."""
        if self._task_of(person_id) is None and not await self._has_work(person_id, model):
            return
        # Somebody else may have begun meanwhile.
        task = self._task_of(person_id)
        if task is None:
            task = asyncio.create_task(self._place(person_id, model), name=f"place-{person_id}")
            self._tasks[person_id] = task
            task.add_done_callback(lambda done: self._forget(person_id, done))
        await asyncio.wait({task}, timeout=timeout_s)

    def _task_of(self, person_id: str) -> "asyncio.Task[None] | None":
        task = self._tasks.get(person_id)
        return None if task is None or task.done() else task

    async def _has_work(self, person_id: str, model: str) -> bool:
        vectors = self._vectors
        return bool(
            await vectors.is_foreign(person_id, model) or await vectors.waiting(person_id, limit=1)
        )

    async def close(self) -> None:
        """Stop the work; the remaining facts get their vectors later."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, person_id: str, done: "asyncio.Task[None]") -> None:
        if self._tasks.get(person_id) is done:
            del self._tasks[person_id]

    async def _place(self, person_id: str, model: str) -> None:
        vectors = self._vectors
        try:
            if await vectors.is_foreign(person_id, model):
                await vectors.renew(person_id)
            while facts := await vectors.waiting(person_id, limit=_PIECE):
                async with self._turn:
                    page = await self._page(facts, model)
                await vectors.keep(person_id, page, facts=facts)
        except HermesError as error:
            _log.warning("vectors_missing", person_id=person_id, problem=str(error))
        except Exception:  # noqa: BLE001  task boundary: the facts wait, the next recall tries again
            _log.exception("vectors_missing", person_id=person_id)

    async def _page(self, facts: Sequence[Fact], model: str) -> Page:
        """Return the facts that need vectors; structural facts are always in the prompt and need
        none."""
        loose = [fact for fact in facts if not fact.is_structural]
        texts = tuple(f"{fact.key}: {fact.value}" for fact in loose)
        made = await self._embed(texts) if texts else ()
        entries = [VectorEntry(fact.id, vector) for fact, vector in zip(loose, made, strict=True)]
        return await asyncio.to_thread(Page.of, entries, model)
