"""Keys with which a running program calls models at `/v1`, on the account of its person.

In memory only: a key is worth nothing when its program has ended, or this process.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

RUN_KEY: Final = "hermes-run-"


class RunKey(msgspec.Struct, frozen=True, kw_only=True):
    """For whom a program calls models, and what the agent may spend on a day."""

    person_id: str
    tier: str
    agent: str
    platform: str
    budget_day_usd: float | None = None


class RunKeys:
    """The keys of the programs that run now."""

    def __init__(self) -> None:
        self._keys: dict[str, RunKey] = {}

    @contextmanager
    def issued(self, key: RunKey) -> Iterator[str]:
        """Issue a key for as long as the context lasts."""
        secret = RUN_KEY + secrets.token_urlsafe(32)
        self._keys[secret] = key
        try:
            yield secret
        finally:
            del self._keys[secret]

    def find(self, secret: str) -> RunKey | None:
        """Return whose a key is."""
        return self._keys.get(secret)
