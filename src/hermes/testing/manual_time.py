"""Time that moves only when a test says so, with a matching sleep."""

import asyncio

_TURNS_OF_THE_LOOP = 200


class ManualClock:
    """A clock that moves only on demand; the twin for tests."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._monotonic = 1_000.0

    def now(self) -> float:
        """Return the wall time in seconds since 1970."""
        return self._now

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move both clocks forward."""
        self._now += seconds
        self._monotonic += seconds


class ManualTime(ManualClock):
    """A clock and its sleep."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        super().__init__(start)
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        """Return once the clock has moved `seconds` ahead."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        wakes: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (self.monotonic() + seconds, wakes)
        self._sleepers.append(entry)
        try:
            await wakes
        finally:
            self._sleepers.remove(entry)

    async def pass_by(self, seconds: float) -> None:
        """Move on by `seconds`, stopping at every wake-up time, as real time would."""
        until = self.monotonic() + seconds
        await settle()
        while coming := [at for at, wakes in self._sleepers if at <= until and not wakes.done()]:
            self.advance(max(0.0, min(coming) - self.monotonic()))
            self._wake()
            await settle()
        self.advance(max(0.0, until - self.monotonic()))
        await settle()

    def _wake(self) -> None:
        for at, wakes in self._sleepers:
            if at <= self.monotonic() and not wakes.done():
                wakes.set_result(None)


async def settle() -> None:
    """Run everything that can run without time passing."""
    for _ in range(_TURNS_OF_THE_LOOP):
        await asyncio.sleep(0)
