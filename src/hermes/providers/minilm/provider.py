"""`MiniLmEmbedder`: vectors without a key and without a network, from a small model in this
process.

It loads on the first call, works on its own thread, one piece at a time, and is unloaded after it
was idle. It implements the provider and embedder ports like any service, but cannot answer a chat.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar
from weakref import WeakValueDictionary

from hermes.errors import ProviderRejected, ProviderUnavailable
from hermes.message.reply import Usage
from hermes.ports.provider import Embedding, ModelEvent, ModelRequest, ProviderInfo
from hermes.provider_kit.idle_timer import CallLater, IdleTimer
from hermes.providers.minilm.batches import Batches, Vectors
from hermes.providers.minilm.model import MAX_CHARS, MAX_TOKENS, MiniLm
from hermes.providers.minilm.settings import (
    MODEL_NAME,
    MiniLmSettings,
    find_folder,
    is_installed,
)

Made = TypeVar("Made")
Tokens = list[list[int]]
# About 30 ms of work: other callers wait that long before their own texts are read.
_READ_CHARS = 4 * MAX_CHARS
# Less than 1 ms of work: such texts are read on the loop. On the thread each would wait for the piece
# before it, and every piece would hold one text.
_SHORT_CHARS = 2_000


class Model(Protocol):
    """Computes vectors, on one thread at a time; texts are read on any thread."""

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the token ids of each text."""
        ...

    def vectors(self, tokens: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return a vector for each list of token ids."""
        ...


OnStatus = Callable[[str], None]


class MiniLmEmbedder:
    """The built-in embedder; `on_status` is called when it is loaded and unloaded."""

    def __init__(
        self,
        settings: MiniLmSettings,
        *,
        on_status: OnStatus = lambda _text: None,
        call_later: CallLater | None = None,
        load: Callable[[], Model] = lambda: MiniLm.load(find_folder()),
    ) -> None:
        self._settings = settings
        self._load = load
        self._on_status = on_status
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=settings.name)
        self._model: Model | None = None
        self._waiting = 0
        self._together = Batches(
            lambda piece: self._run(partial(self._vectors, piece)),
            piece_tokens=settings.piece_tokens,
        )
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._timer = IdleTimer(settings.idle_unload_s, self._on_idle, call_later=call_later)
        self._unloading: asyncio.Task[None] | None = None
        self._closed = False
        self._info = ProviderInfo(
            name=settings.name,
            model=MODEL_NAME,
            chat=False,
            tools=False,
            vision=False,
            embeddings=is_installed(),
            context_tokens=MAX_TOKENS,
            local=True,
            probed=False,
        )

    @property
    def info(self) -> ProviderInfo:
        """What the embedder can do: nothing if its packages are not installed."""
        return self._info

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._model is not None

    async def available(self) -> bool:
        """Return whether it is enabled and its packages are installed."""
        return self._settings.enabled and not self._closed and is_installed()

    async def embed(self, texts: tuple[str, ...], *, model: str) -> Embedding:
        """Return a unit-length vector for each text; there is one model, whatever is requested."""
        return await self.embed_for("", texts, model=model)

    async def embed_for(self, asker: str, texts: tuple[str, ...], *, model: str) -> Embedding:
        """Return the vectors; the work is shared fairly between callers, whatever each has
        requested."""
        if self._waiting >= self._settings.max_waiting:
            raise ProviderUnavailable(
                f"{self._settings.name}: {self._waiting} calls are waiting, which is the maximum; "
                "try again in a moment"
            )
        self._timer.stop()
        if self._model is None and not self._waiting:
            self._on_status("loading the embedder")
        self._waiting += 1
        try:
            tokens = await self._read(asker, texts)
            vectors = await self._together.embed(tokens, asker=asker)
        finally:
            self._waiting -= 1
            self._start_timer()
        return Embedding(tuple(vectors), Usage(tokens_in=sum(map(len, tokens))), MODEL_NAME)

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Refuse: it cannot generate text."""
        raise ProviderRejected(
            f"{self._settings.name} only makes embeddings: use another model to answer "
            f"(requested: {request.model!r})"
        )

    async def unload(self) -> None:
        """Unload the model once the current piece is done."""
        await self._run(self._forget)
        self._on_status("the embedder has left memory")

    async def close(self) -> None:
        """Stop for good; an unfinished call ends with an error after its current piece."""
        if self._closed:
            return
        self._timer.stop()
        if self._unloading is not None:
            await self._unloading
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._thread, self._forget)
        await self._together.ended()
        self._thread.shutdown(wait=False)

    async def _read(self, asker: str, texts: tuple[str, ...]) -> Tokens:
        """Return the tokens of each text; of one caller's calls one piece at a time is read."""
        if self._model is not None and sum(map(len, texts)) <= _SHORT_CHARS:
            return self._model.tokens(texts)
        lock = self._reading.setdefault(asker, asyncio.Lock())
        tokens: Tokens = []
        for piece in _pieces(texts):
            async with lock:
                tokens += await self._run(partial(self._tokens, piece))
        return tokens

    async def _run(self, work: Callable[[], Made]) -> Made:
        """Do some work on the thread; cancelling withdraws what has not begun."""
        if self._closed:
            raise ProviderUnavailable(f"{self._settings.name}: the gateway is stopping")
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _loaded(self) -> Model:
        if self._model is None:
            self._model = self._load()
        return self._model

    def _tokens(self, texts: tuple[str, ...]) -> Tokens:
        return self._loaded().tokens(texts)

    def _vectors(self, piece: Tokens) -> Vectors:
        return [tuple(row) for row in self._loaded().vectors(piece)]

    def _forget(self) -> None:
        self._model = None

    def _start_timer(self) -> None:
        if not self._waiting and not self._closed and self._model is not None:
            self._timer.start()

    def _on_idle(self) -> None:
        # A call that came in between restarts the timer when it ends.
        if not self._waiting and not self._closed:
            self._unloading = asyncio.get_running_loop().create_task(self.unload())


def _pieces(texts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the texts in pieces of about `_READ_CHARS`, at least one text each."""
    start, size = 0, 0
    for place, text in enumerate(texts):
        chars = min(len(text), MAX_CHARS)
        if place > start and size + chars > _READ_CHARS:
            yield texts[start:place]
            start, size = place, 0
        size += chars
    yield texts[start:]
