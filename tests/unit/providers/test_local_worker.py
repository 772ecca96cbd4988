"""The engine's own process: an engine that fails says so, and the next request is served."""

import json
import queue
from collections.abc import Callable
from typing import Any

import pytest

from hermes.providers.local.worker import Worker


class GrudgingEngine:
    """Refuses what it does not like, as the real one does: by raising."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def handle_chat_completions(
        self, body: str, on_chunk: Callable[[dict[str, Any]], bool]
    ) -> None:
        if "bad" in body:
            raise self._error
        on_chunk({"choices": []})


@pytest.mark.req("M6", "J8")
@pytest.mark.parametrize(("error", "code"), [(ValueError("no"), 400), (RuntimeError("no"), 500)])
def test_an_engine_that_raises_ends_the_call_with_an_error_and_serves_the_next(error, code):
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    worker = Worker(GrudgingEngine(error), lines.put)
    worker.start()

    worker.take(b'{"id":1,"body":{"say":"bad"}}')
    worker.take(b'{"id":2,"body":{"say":"good"}}')

    said = {"message": f"{type(error).__name__}: no", "code": code}
    assert [json.loads(lines.get(timeout=10)) for _ in range(4)] == [
        {"id": 1, "chunk": {"error": said}},
        {"id": 1, "end": True},
        {"id": 2, "chunk": {"choices": []}},
        {"id": 2, "end": True},
    ]
