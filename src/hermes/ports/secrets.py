"""Secrets that operators store: API keys and passwords of the gateway, and those of single agents."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

# The owner of the secrets that every agent may use; no agent has this name.
EVERY_AGENT = ""
# How the owners begin of what OAuth has granted for MCP servers; no agent's key has a colon.
GRANTS_OWNER = "mcp:"
# Values by agent (or `EVERY_AGENT`) and name.
SecretValues = Mapping[tuple[str, str], str]


class StoredSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret without its value.

    `hash` are 8 hex digits of a keyed hash: they change with the value, and tell nothing about it.
    It is empty for an agent's value that hides the global one.
    """

    name: str
    agent: str
    hash: str
    set_at: float
    set_by: str


class SecretStore(Protocol):
    """Secrets by agent and name; each write is durable when it returns.

    Values are encrypted at rest, with a key for each agent. Names are not.
    """

    async def values(self) -> SecretValues:
        """Return every secret with its value."""
        ...

    async def list(self, agent: str) -> tuple[StoredSecret, ...]:
        """Return the secrets of an agent, or those of the gateway, by name."""
        ...

    async def put(
        self, name: str, value: str, *, agent: str, at: float, by: str, most: int
    ) -> StoredSecret:
        """Set a secret, in place of the one before.

        Raises `BadRequest` if there are `most` others already.
        """
        ...

    async def replace(
        self, name: str, value: str, *, before: str, agent: str, at: float, by: str
    ) -> bool:
        """Set a secret whose value is `before`; False, and nothing is set, if it is not."""
        ...

    async def drop(self, name: str, *, agent: str) -> bool:
        """Delete a secret; False if there is none."""
        ...

    async def erase(self, agent: str) -> int:
        """Delete every secret of an agent, and the key that they are sealed with; return how many."""
        ...


class SecretReader(Protocol):
    """Reads secrets from the files of a home, beside its gateway."""

    def secret_values(self) -> SecretValues:
        """Return every secret with its value."""
        ...
