"""What an authorization server has granted for an MCP server: tokens, sealed in the store.

They are kept beside the secrets that operators store, under an owner that no agent can be: so they are
encrypted, masked in everything that is shown, and part of backups, and nobody reads them back.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from hermes.config import McpServerSettings
from hermes.errors import TryLater
from hermes.ports.clock import Clock
from hermes.ports.fleet import Fleet
from hermes.ports.secrets import GRANTS_OWNER, SecretStore

_NAME = "OAUTH_GRANT"
_BY = "oauth"
# The secrets of operators count, too: there may be a thousand of them, and a grant for every server.
_MOST = 100_000
# How often, and how long, one node looks whether another one has renewed the tokens.
_LOOK_S = 0.25
_WAIT_S = 120.0
_PORTS: Mapping[str, int] = {"http": 80, "https": 443}


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, and the client that they were given to; `expires_at` None means unknown.

    They are for the server at `url` alone, and their `issuer` is the only one that sees them again.
    """

    client_id: str
    client_secret: str = ""
    access_token: str = ""
    refresh_token: str = ""
    expires_at: float | None = None
    scope: str = ""
    url: str = ""
    issuer: str = ""

    def is_for(self, *, url: str, issuer: str) -> bool:
        """Return whether the tokens may be sent to this server and this issuer."""
        return self.url == url and self.issuer.rstrip("/") == issuer.rstrip("/")

    def __repr__(self) -> str:
        return f"Grant(client_id={self.client_id!r}, ****)"


_decode = msgspec.json.Decoder(Grant).decode


class GrantStore(Protocol):
    """Keeps the grants of MCP servers; each write is durable when it returns."""

    def now(self) -> float:
        """Return the time."""
        ...

    async def load(self, server: str) -> Grant | None:
        """Return what was granted for a server."""
        ...

    async def save(self, server: str, grant: Grant) -> None:
        """Keep a grant, in place of the one before."""
        ...

    async def replace(self, server: str, grant: Grant, *, before: Grant) -> bool:
        """Keep a grant in place of this one; False, and it is not kept, if there is another or none."""
        ...

    async def drop(self, server: str) -> bool:
        """Forget a grant; False if there is none."""
        ...

    def renewing(self, server: str) -> AbstractAsyncContextManager[None]:
        """Return a block in which nobody else on the store renews the tokens of a server.

        Raises `TryLater` if somebody else does for too long.
        """
        ...


class StoredGrants:
    """Keeps grants beside the secrets of the gateway; one node of the `fleet` renews at a time."""

    def __init__(
        self,
        store: SecretStore,
        *,
        fleet: Fleet,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._fleet = fleet
        self._clock = clock
        self._sleep = sleep
        self._locks: dict[str, asyncio.Lock] = {}

    def now(self) -> float:
        """Return the time."""
        return self._clock.now()

    async def load(self, server: str) -> Grant | None:
        """Return what was granted for a server."""
        found = await self._text(server)
        return None if found is None else _decode(found.encode())

    async def _text(self, server: str) -> str | None:
        return (await self._store.values()).get((GRANTS_OWNER + server, _NAME))

    async def save(self, server: str, grant: Grant) -> None:
        """Keep a grant, in place of the one before."""
        value = msgspec.json.encode(grant).decode()
        await self._store.put(
            _NAME, value, agent=GRANTS_OWNER + server, at=self.now(), by=_BY, most=_MOST
        )

    async def replace(self, server: str, grant: Grant, *, before: Grant) -> bool:
        """Keep a grant in place of this one; False, and it is not kept, if there is another or none."""
        found, value = await self._text(server), msgspec.json.encode(grant).decode()
        if found is None or _decode(found.encode()) != before:
            return False
        return await self._store.replace(
            _NAME, value, before=found, agent=GRANTS_OWNER + server, at=self.now(), by=_BY
        )

    @asynccontextmanager
    async def renewing(self, server: str) -> AsyncIterator[None]:
        """Run a block in which nobody else on the store renews the tokens of a server.

        The claim of a node that dies is free once the node is buried.
        """
        claim = GRANTS_OWNER + server
        async with self._locks.setdefault(server, asyncio.Lock()):
            until = self._clock.monotonic() + _WAIT_S
            while await self._fleet.claim(claim) is None:
                if self._clock.monotonic() >= until:
                    raise TryLater("another node renews its tokens, and does not come to an end")
                await self._sleep(_LOOK_S)
            try:
                yield
            finally:
                await self._fleet.release(claim)

    async def drop(self, server: str) -> bool:
        """Forget a grant; False if there is none."""
        return await self._store.drop(_NAME, agent=GRANTS_OWNER + server)


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address, in one form."""
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"


def oauth_origins(settings: McpServerSettings) -> frozenset[str]:
    """Return where requests about tokens may go: nowhere that the operator has not written down."""
    oauth = settings.oauth
    known = (settings.url, oauth.issuer, *oauth.endpoints)
    return frozenset(origin_of(url) for url in known if url is not None)
