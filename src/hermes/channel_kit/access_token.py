"""A platform's access token with an end: fetched when it is needed, once for all who wait for it.

A token that the platform no longer accepts is forgotten by who was told so, and the call is made once
more with a new one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from hermes.errors import HermesError
from hermes.ports.clock import Clock

# A token is renewed so long before its end, or after half of its life if that is shorter.
_EARLY_S: Final = 120.0


class IssuedToken(msgspec.Struct, frozen=True):
    """A token, and for how many seconds it is valid."""

    value: str
    lasts_s: float

    def __repr__(self) -> str:
        return f"IssuedToken(lasts_s={self.lasts_s!r})"


class AccessToken:
    """The current token of one account; `fetch` asks the platform for a new one."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[IssuedToken]],
        *,
        clock: Clock,
        header: str = "Authorization",
        prefix: str = "Bearer ",
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._header = header
        self._prefix = prefix
        self._value = ""
        self._until = 0.0
        self._failure: HermesError | None = None
        self._lock = asyncio.Lock()

    async def get(self) -> str:
        """Return a token that is valid for a while; raise what its platform refused it for."""
        if self._is_fresh():
            return self._value
        is_joining = self._lock.locked()
        async with self._lock:
            if self._is_fresh():
                return self._value
            if is_joining and self._failure is not None:
                # Somebody has just asked: asking again at once would not help.
                raise self._failure
            await self._renew()
        return self._value

    async def headers(self) -> Mapping[str, str]:
        """Return the header with a token that is valid for a while."""
        return {self._header: self._prefix + await self.get()}

    def forget(self, headers: Mapping[str, str]) -> None:
        """Forget the token that was sent in these headers; a newer one is kept."""
        if headers.get(self._header) == self._prefix + self._value:
            self._value = ""

    async def _renew(self) -> None:
        self._failure = None
        try:
            issued = await self._fetch()
        except HermesError as error:
            self._failure = error
            raise
        early = min(_EARLY_S, issued.lasts_s / 2)
        self._until = self._clock.monotonic() + issued.lasts_s - early
        self._value = issued.value

    def _is_fresh(self) -> bool:
        return bool(self._value) and self._clock.monotonic() < self._until
