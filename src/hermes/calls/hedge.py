"""A hedged call: if the first candidate has no output after a while, the next one is asked as well.

The first output wins, and the other call is cancelled: it is charged like a call whose caller leaves.
Each leg is the usual walk through a plan, driven one event at a time, so the listener still sees
every try before it is sent.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

from hermes.calls.events import CallEvent, CallFailure, CallStart, SlotWait
from hermes.errors import HermesError, ProviderRejected, ProviderTimeout
from hermes.routing.plan import Candidate, Plan

Walk = Callable[[Plan], AsyncGenerator[CallEvent, None]]
_BEFORE_OUTPUT = (SlotWait, CallStart, CallFailure)


class _Leg:
    """One walk in progress: its next event, and the candidate that is asked (None between two)."""

    def __init__(self, events: AsyncGenerator[CallEvent, None]) -> None:
        self.events = events
        self.candidate: Candidate | None = None
        self.next: asyncio.Task[CallEvent] = self._ask()

    def _ask(self) -> asyncio.Task[CallEvent]:
        async def ask() -> CallEvent:
            return await anext(self.events)

        return asyncio.create_task(ask())

    def go_on(self, event: CallEvent) -> None:
        """Ask for the event after this one."""
        if isinstance(event, CallStart):
            self.candidate = event.candidate
        elif isinstance(event, CallFailure):
            self.candidate = None
        self.next = self._ask()

    async def close(self) -> None:
        """Cancel the walk, and wait until what it used was charged."""
        self.next.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration, HermesError):
            await self.next
        await self.events.aclose()


class HedgedCall:
    """One call with a second leg that starts `after_s` after the first one was sent."""

    def __init__(self, walk: Walk, plan: Plan, *, after_s: float) -> None:
        self._walk = walk
        self._plan = plan
        self._after_s = after_s
        self._first: _Leg | None = None
        self._legs: list[_Leg] = []
        self._due: float | None = None
        self._is_hedged = False

    async def run(self) -> AsyncGenerator[CallEvent, None]:
        """Run the call; raises the last error if no candidate answers."""
        self._first = _Leg(self._walk(self._plan))
        self._legs.append(self._first)
        try:
            while True:
                leg, event = await self._next_event()
                if event is None:
                    continue
                if not isinstance(event, _BEFORE_OUTPUT):
                    break
                yield event
                await self._follow(leg, event)
            for loser in [one for one in self._legs if one is not leg]:
                await self._drop(loser)
                if loser.candidate is not None:
                    yield CallFailure(loser.candidate, _slower(loser.candidate))
            yield event
            async for more in leg.events:
                yield more
        finally:
            for one in tuple(self._legs):
                await self._drop(one)

    async def _next_event(self) -> tuple[_Leg, CallEvent | None]:
        """Return the next event of any leg; None if a leg ended or the second one was started."""
        loop = asyncio.get_running_loop()
        wait_s = None if self._due is None else max(0.0, self._due - loop.time())
        tasks = {one.next: one for one in self._legs}
        done, _ = await asyncio.wait(tasks, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            self._start_second()
            return self._legs[0], None
        leg = next(one for task, one in tasks.items() if task in done)
        try:
            return leg, leg.next.result()
        except (HermesError, StopAsyncIteration) as error:
            await self._ended(leg, error)
            return leg, None

    def _start_second(self) -> None:
        """Ask the candidates after the one that is silent."""
        self._due = None
        first, candidates = self._legs[0], self._plan.candidates
        place = candidates.index(first.candidate) if first.candidate in candidates else -1
        rest = candidates[place + 1 :]
        if rest:
            self._is_hedged = True
            self._legs.append(_Leg(self._walk(Plan(rest, self._plan.dropped))))

    async def _follow(self, leg: _Leg, event: CallEvent) -> None:
        is_first = leg is self._first
        if isinstance(event, CallFailure) and is_first and self._is_hedged:
            # What it would try next is asked already.
            await self._drop(leg)
            if not self._legs:
                raise event.error
            return
        if is_first and not self._is_hedged:
            self._set_due(event)
        leg.go_on(event)

    def _set_due(self, event: CallEvent) -> None:
        """Count from the start of a try; between two tries the first leg goes on by itself."""
        if isinstance(event, CallStart):
            self._due = asyncio.get_running_loop().time() + self._after_s
        elif isinstance(event, CallFailure):
            self._due = None

    async def _ended(self, leg: _Leg, error: Exception) -> None:
        """Go on with the other leg if there is one, otherwise raise why this one ended."""
        is_first = leg is self._first
        await self._drop(leg)
        is_final = isinstance(error, ProviderRejected) and error.everywhere
        if not self._legs or (is_first and is_final):
            raise error

    async def _drop(self, leg: _Leg) -> None:
        self._legs.remove(leg)
        await leg.close()


def _slower(candidate: Candidate) -> ProviderTimeout:
    return ProviderTimeout(
        f"{candidate.provider} was slower than another candidate (routing.hedge_after_s)"
    )
