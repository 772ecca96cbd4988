"""`WordLlamaEmbedder`: vectors for recall at a hundredth of the cost of a model with layers.

A message takes less time here than a thread takes to start on it, so short texts are embedded
where they are asked for. The table is loaded, and long texts are embedded, on a thread. It fits
`memory.fact_vectors.TextEmbedder`; it answers nobody and is no provider of `/v1`. It stays loaded:
unloading would give 4 of its 37 MB back, since numpy and the heap keep the rest.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from hermes.errors import ProviderUnavailable
from hermes.providers.wordllama.model import MAX_CHARS, WordLlama

NAME = "wordllama"
MODEL_NAME = "l2-supercat-256"
# About 0.15 ms of work.
_INLINE_CHARS = 1_024


class WordTable(Protocol):
    """Computes vectors; for several threads at once."""

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        ...


class WordLlamaEmbedder:
    """The small embedder of recall; loads on its first text."""

    model = f"{NAME}:{MODEL_NAME}"
    # Its unrelated texts lie further apart than those of a model with layers.
    least = 0.05

    def __init__(self, *, load: Callable[[], WordTable] = WordLlama.load) -> None:
        self._load = load
        self._model: WordTable | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=NAME)
        self._closed = False

    async def __call__(self, texts: tuple[str, ...]) -> list[list[float]]:
        """Return a vector for each text."""
        if self._closed:
            raise ProviderUnavailable(f"{NAME}: the gateway is stopping")
        if self._model is not None and _size(texts) <= _INLINE_CHARS:
            return self._model.vectors(texts)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._vectors, texts)

    async def close(self) -> None:
        """Stop for good; what the thread has begun ends first."""
        self._closed = True
        self._thread.shutdown(wait=False)

    def _vectors(self, texts: tuple[str, ...]) -> list[list[float]]:
        if self._model is None:
            self._model = self._load()
        return self._model.vectors(texts)


def _size(texts: tuple[str, ...]) -> int:
    return sum(min(len(text), MAX_CHARS) for text in texts)
