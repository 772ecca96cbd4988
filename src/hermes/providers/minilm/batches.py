"""Batches texts of several calls into one pass through the model, which halves the cost of each.

Each caller gets one text per round, from each of its calls in turn, so a small call never waits for
more than the current piece, however large or many the calls of others are. Knows neither the model
nor threads.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

Tokens = Sequence[list[int]]
Vectors = list[tuple[float, ...]]


class _Call:
    """One call: its texts as token ids, how many were taken, and the vectors so far."""

    __slots__ = ("asker", "future", "taken", "tokens", "vectors")

    def __init__(self, tokens: Tokens, future: "asyncio.Future[Vectors]", *, asker: str) -> None:
        self.asker = asker
        self.tokens = tokens
        self.future = future
        self.taken = 0
        self.vectors: Vectors = []

    def take_back(self, vector: tuple[float, ...]) -> None:
        """Keep a vector; texts come back in order."""
        self.vectors.append(vector)
        if len(self.vectors) == len(self.tokens) and not self.future.done():
            self.future.set_result(self.vectors)

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Batches:
    """Runs pieces of about `piece_tokens`, one after another, for all waiting callers."""

    def __init__(
        self, run: Callable[[list[list[int]]], Awaitable[Vectors]], *, piece_tokens: int
    ) -> None:
        self._run = run
        self._piece_tokens = piece_tokens
        # By caller, in the order of their turns.
        self._calls: dict[str, deque[_Call]] = {}
        self._worker: asyncio.Task[None] | None = None

    async def embed(self, tokens: Tokens, *, asker: str = "") -> Vectors:
        """Return the vector of each text; cancelling withdraws what has not begun."""
        if not tokens:
            return []
        call = _Call(tokens, asyncio.get_running_loop().create_future(), asker=asker)
        self._calls.setdefault(asker, deque()).append(call)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work(), name="minilm-pieces")
        try:
            return await call.future
        finally:
            self._drop(call)

    async def ended(self) -> None:
        """Wait until no call is waiting."""
        if self._worker is not None:
            await self._worker

    async def _work(self) -> None:
        try:
            while self._calls:
                piece = self._next_piece()
                try:
                    vectors = await self._run([call.tokens[place] for call, place in piece])
                except Exception as error:  # noqa: BLE001  piece boundary: callers get it
                    for call, _ in piece:
                        call.fail(error)
                        self._drop(call)
                else:
                    for (call, _), vector in zip(piece, vectors, strict=True):
                        call.take_back(vector)
        finally:
            self._worker = None

    def _next_piece(self) -> list[tuple[_Call, int]]:
        """Take one text of each caller in turn, at least one, until the piece is full."""
        piece: list[tuple[_Call, int]] = []
        room = self._piece_tokens
        while self._calls:
            asker, calls = next(iter(self._calls.items()))
            call = calls[0]
            size = len(call.tokens[call.taken])
            if piece and size > room:
                break
            room -= size
            piece.append((call, call.taken))
            call.taken += 1
            calls.popleft()
            if call.taken < len(call.tokens):
                calls.append(call)
            del self._calls[asker]
            if calls:
                self._calls[asker] = calls
        return piece

    def _drop(self, call: _Call) -> None:
        calls = self._calls.get(call.asker)
        if calls is None or call not in calls:
            return
        calls.remove(call)
        if not calls:
            del self._calls[call.asker]
