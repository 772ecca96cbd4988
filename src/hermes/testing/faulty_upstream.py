"""A loopback model service that implements every HTTP dialect strictly, and fails in one named way.

It recognises the dialect by the path, checks each request against the dialect's strict shape, and
then applies the fault. Without a fault it gives the good answer. Every request is kept, and
requests that no real service would accept are in `complaints`.
"""

import asyncio

from hermes.testing.faulty_upstream_answers import Dialect
from hermes.testing.faulty_upstream_faults import FAULTS, REFUSED, Scene, none
from hermes.testing.faulty_upstream_requests import NotAsked, answer_to, key_of
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp, Sleep

_WITHOUT_VERSION: frozenset[Dialect] = frozenset({"anthropic", "gemini", "ollama"})


class FaultyUpstream(ScriptedHttp):
    """The server; used in a test as `async with FaultyUpstream("no_end") as upstream`."""

    def __init__(self, fault: str | None = None, *, sleep: Sleep = asyncio.sleep) -> None:
        super().__init__(self._answer)
        self._is_refusing = fault == REFUSED
        self._fault = none if fault is None or self._is_refusing else FAULTS[fault]
        self._sleep = sleep
        self.complaints: list[str] = []

    def base_url(self, dialect: Dialect) -> str:
        """Return the `base_url` for a provider of `dialect`."""
        return self.origin if dialect in _WITHOUT_VERSION else f"{self.origin}/v1"

    async def __aenter__(self) -> "FaultyUpstream":
        await super().__aenter__()
        if self._is_refusing:
            self.stop_listening()
        return self

    async def _answer(self, received: ReceivedRequest, out: Out) -> None:
        try:
            answer = answer_to(received)
        except NotAsked as error:
            self.complaints.append(str(error))
            out.whole(400, b"")
            return
        await self._fault(Scene(out, answer, key_of(received), self._sleep))
